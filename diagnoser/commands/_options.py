"""The options of the bare command: `diagnose [INPUT ...]`."""

from __future__ import annotations

import argparse

from diagnoser.commands import _workers
from diagnoser.commands._objectives import objectives
from diagnoser.commands._parser import Parser, add_common, add_language, one_of

DESCRIPTION = """\
Reads what an LLM inference server left behind (logs of vLLM and SGLang; metrics pages, GPU tables,
benchmark results, profiles, what kubectl prints) and prints ranked findings: the root cause first,
the lines that prove it, and the flags that fix it."""
EXAMPLES = """\
examples:
  diagnose server.log                       one file; folders, .gz, .zst and several files work too
  kubectl logs deploy/llm | diagnose        a pipe, with or without --timestamps and --prefix
  diagnose server.log metrics-*.prom gpu.csv bench.json pod.json
                                            what was captured beside the log; each is told by its content
  diagnose --since 15m server.log           only the last quarter of an hour of the log
  diagnose --alert webhook.json server.log  what an alert is about: its time and its pod (docs/alerting.md)
  diagnose --format json server.log         for programs; the schema is versioned
  diagnose --format html -o report.html server.log
                                            one page with charts and the lines around the evidence
  diagnose http://localhost:8000 --for 60s  metrics of a running server, beside logs or alone
  kubectl diagnose-llm deploy/llm -n prod   all of it, of all replicas, collected with kubectl
  diagnose --jobs auto logs/                one page for a whole fleet, read by all processors
  kubectl logs -f deploy/llm | diagnose --follow
                                            live: a screen on a terminal, JSON lines in a pipe
  diagnose explain memory.kv_cache_exhausted"""
EXIT_CODES = """\
exit code:
  0  no finding at or above --fail-on (default: critical)
  1  a finding at or above it
  2  could not run: bad option, unreadable input, invalid rule, nothing in the input that can be judged"""
ENVIRONMENT = """\
environment:
  Every long option has a twin: --fail-on is DIAGNOSE_FAIL_ON, --exit-zero is
  DIAGNOSE_EXIT_ZERO=1, --rules is DIAGNOSE_RULES (folders joined by '{sep}'). Options beat the environment;
  --rules adds to it. An option of a sub-command has its name in it: DIAGNOSE_EXPLAIN_FORMAT.
  NO_COLOR and FORCE_COLOR are respected."""
SHORT = """\
usage: diagnose [INPUT ...]
       kubectl logs deploy/llm | diagnose

Give a log file, a folder, or pipe a log in. All options: diagnose --help"""


class MainParser(Parser):
    """Adds to the help what only a reader of the help pays for."""

    def format_help(self) -> str:
        """Return the help with sub-commands, exit codes and environment under the options."""
        import os

        from diagnoser import commands

        listed = "\n".join(f"  diagnose {name:<10} {commands.load(name).HELP}" for name in commands.names())
        parts = [f"sub-commands:\n{listed}", EXAMPLES, EXIT_CODES, ENVIRONMENT.format(sep=os.pathsep)]
        return super().format_help() + "\n" + "\n\n".join(parts) + "\n"


def parser() -> MainParser:
    """Build the parser of the bare command."""
    main = MainParser("diagnose", DESCRIPTION, "DIAGNOSE", usage="diagnose [OPTION ...] [INPUT ...]")
    main.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="file, folder or address (http://HOST:PORT, prom://HOST:9090?match=...); - or nothing: standard input",
    )
    _output(main.add_argument_group("output"))
    _scope(main.add_argument_group("what is looked at"))
    _addresses(main.add_argument_group("addresses (docs/metrics.md)"))
    _fleet(main.add_argument_group("more than one processor (docs/fleet.md)"))
    _live(main.add_argument_group("live (docs/follow.md)"))
    _asking(main.add_argument_group("asking why"))
    common = add_common(main)
    add_language(main, common)
    common.add_argument("--cache-dir", metavar="DIR", help="where compiled rules are kept; 'none': nowhere")
    main.add_argument("-V", "--version", action="version", version=_version())
    return main


def _output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--format", metavar="NAME", type=_format, default="text", help=_Formats("output format (docs/formats.md): {}")
    )
    group.add_argument("--brief", action="store_true", help="a verdict and one line a finding (--format text)")
    add_redact(group)
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write there, in one piece, instead of to standard output"
    )
    group.add_argument(
        "--fail-on",
        metavar="LEVEL",
        type=one_of(("critical", "warning", "info", "never")),
        default="critical",
        help="exit 1 from this severity on: critical (default), warning, info, never",
    )
    group.add_argument("--exit-zero", action="store_true", help="exit 0 whatever is found")
    group.add_argument(
        "--color",
        metavar="WHEN",
        type=one_of(("auto", "always", "never")),
        default="auto",
        help="auto (default), always, never",
    )
    group.add_argument("--width", metavar="N", type=width, help="columns of the text report (default: the terminal's)")
    group.add_argument("--unrecognised", action="store_true", help="list all warnings and errors that no rule knows")


def add_redact(group: argparse._ActionsContainer, usual: str = "all formats but text and json") -> None:
    """Add --redact and --no-redact; None is the default of the format."""
    group.add_argument(
        "--redact",
        action=argparse.BooleanOptionalAction,
        help=f"hide addresses, mail, user names, prompts; default: in {usual}",
    )


def _scope(group: argparse._ArgumentGroup) -> None:
    when = "'2026-11-29 10:00', '07-12 10:00:03', '10:00', or '15m' before the end of the log"
    group.add_argument("--since", metavar="TIME", help=f"leave out what is older: {when}")
    group.add_argument("--until", metavar="TIME", help="leave out what is younger")
    group.add_argument(
        "--alert",
        metavar="FILE",
        help="body of an Alertmanager or Grafana webhook: its time, with 15 min before it, and its pod or instance",
    )
    group.add_argument(
        "--log-zone", metavar="OFFSET", help="with --alert: clock of a log without a zone, such as +08:00"
    )
    group.add_argument("--engine", metavar="NAME", help="vllm, sglang, ...: when the log does not show it")
    group.add_argument("--engine-version", metavar="VERSION", help="such as 0.9.2, when the log does not show it")
    group.add_argument("--gpu", metavar="NAME", help="such as H100, when the log does not show it")
    group.add_argument(
        "--baseline",
        metavar="INPUT",
        action="append",
        default=[],
        help="also say what differs from this good run: a log, metrics or a saved JSON report; may be repeated",
    )
    group.add_argument("--slo", metavar="LIST", type=objectives, help="objectives, such as ttft=500ms,tpot=50ms")
    group.add_argument(
        "--inference",
        metavar="NAME",
        type=one_of(("plain", "durable")),
        default="plain",
        help="inference back end: plain (default) or durable (needs the extra 'durable')",
    )


def _addresses(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--for",
        dest="length",
        metavar="TIME",
        type=_seconds,
        help="scrape for so long, such as 60s or 5m (default: two scrapes, 10 s apart)",
    )
    group.add_argument("--every", metavar="TIME", type=_seconds, help="time between two scrapes (default: 5s)")
    group.add_argument("--bearer-token-file", metavar="FILE", help="send the token in FILE to every address")


def _fleet(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs", metavar="N", type=_workers.jobs, default=1, help="processes that share the work: 1 (default), 8, auto"
    )
    group.add_argument(
        "--on", metavar="ADDRESS", help="an existing Dask cluster shares the work: dask://scheduler:8786 (extra 'dask')"
    )


def _live(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--follow",
        action="store_true",
        help="go on reading as files grow, pipes bring more and endpoints are scraped: a live screen on a terminal, "
        "else one JSON line for each finding that opens, changes or closes",
    )
    group.add_argument(
        "--window", metavar="TIME", type=_window, default=900.0, help="judge the last so much of the log: 15m, 1h, all"
    )
    group.add_argument(
        "--exit-on",
        metavar="LEVEL",
        type=one_of(("critical", "warning", "info")),
        help="stop with exit code 1 as soon as a finding of this severity or a higher one opens",
    )


def _asking(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--why", metavar="ID", help="instead of the report: how this rule was decided, with values")
    group.add_argument("--why-not", metavar="ID", help="the same; reads better for a rule that stayed silent")


def _format(name: str) -> str:
    from diagnoser import reports

    try:
        return reports.get(name).NAME
    except reports.UnknownFormatError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    from diagnoser.timefilter import parse_bound

    try:
        seconds = parse_bound(text).back
    except ValueError:
        seconds = None
    if not seconds or seconds < 0.1:
        raise argparse.ArgumentTypeError(f"'{text}' is no length of time such as 5s, 10m or 1h")
    return seconds


def _window(text: str) -> float | None:
    return None if text == "all" else _seconds(text)


def width(text: str) -> int:
    """Read a number of columns."""
    if not text.isdecimal() or not 50 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of columns from 50 to 1000")
    return int(text)


def _version() -> str:
    from diagnoser import __version__

    return f"diagnose {__version__}"


class _Formats(str):
    """Help text that lists the formats when it is printed, not when the parser is built."""

    __slots__ = ()

    def __mod__(self, values: object) -> str:
        from diagnoser import reports

        return self.format(", ".join(reports.formats()))
