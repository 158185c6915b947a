"""The main job: inputs to report."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from diagnoser.commands import _cache, _options, _terminal, _workers
from diagnoser.commands._errors import CommandError
from diagnoser.commands._progress import Progress

if TYPE_CHECKING:
    from diagnoser.alerts import Alert
    from diagnoser.api import Knowledge, Options
    from diagnoser.commands._live import Live
    from diagnoser.contracts.findings import Report
    from diagnoser.contracts.story import Story
    from diagnoser.language import Say

#: Objects made and not freed between two looks for cycles.
_NOW_AND_THEN = 20_000

_CLOCK = "an alert is in UTC: --log-zone, such as +08:00, where the log's clock is not, or other files"

_LEVELS = ("info", "warning", "critical")


def main(arguments: Sequence[str]) -> int:
    """Read, judge, print; return the exit code."""
    args = _options.parser().read(arguments)
    inputs = _inputs(args)
    if inputs is None:
        print(_options.SHORT, file=sys.stderr)
        return 2
    _terminal.check_output(args.output, [*inputs, *args.baseline, *([args.alert] if args.alert else [])])
    if args.follow or args.exit_on:
        from diagnoser.commands import _follow

        return _follow.main(inputs, args)
    if "-" in args.baseline:
        raise CommandError("--baseline -: standard input is for what is diagnosed; name a file")
    if args.brief and args.format != "text":
        raise CommandError(f"--brief: only the text report has a compact form, not --format {args.format}")
    alert = _alert(args, inputs)
    files, live = _parted(inputs, args)

    asked = args.why or args.why_not
    # Scrapes tell how far they are themselves.
    with Progress("reading", args.quiet or live is not None) as progress, _workers.hired(args) as crew:
        # Rules first: a faulty rule or a misspelt id must not be found out after minutes of reading.
        with lasting():
            from diagnoser.api import Knowledge, Session

            given = api_options(args, alert)
            knowledge = Knowledge(given)
        if asked:
            _check_rule(asked, knowledge)
        gathered = live.gather(knowledge.vocabulary) if live is not None else ()
        stdin = sys.stdin.buffer if "-" in files and sys.stdin is not None else None
        told = not asked and _tells(args.format)
        if told and stdin is not None and not stdin.seekable():
            stdin = _kept(stdin)
        watch = progress.watch
        session = Session(
            files, stdin=stdin, options=given, knowledge=knowledge, gathered=gathered, opened=watch, crew=crew
        )
        if args.baseline and not asked:
            _compare(session.report, args.baseline, given, knowledge)
        story = session.story() if told else None
    for problem in [] if args.quiet else knowledge.base.problems:
        _terminal.say(f"warning: {problem}")
    if asked:
        from diagnoser.commands import _why

        options = _terminal.render_options(args.color, args.width, args.output is not None, args.verbose)
        text = _why.render(session, asked, options)
        if args.redact:
            from diagnoser.reports.redacting import Redactor

            text = "\n".join(map(Redactor(_terminal.folder()).text, text.split("\n")))
        _terminal.write(text, args.output)
        return 0
    return print_report(session.report, args, knowledge.say, story)


@contextmanager
def lasting() -> Iterator[None]:
    """Keep the collector of garbage away from what is made inside: modules and rules live as long as the process.

    What is made after that, records and rows, is freed without a collector; it has to look for cycles now and then.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_NOW_AND_THEN)
        gc.enable()


def _inputs(args: argparse.Namespace) -> list[str] | None:
    """Return what to read; None when nothing was given and a person sits at standard input."""
    from diagnoser import commands

    for name in args.inputs:
        if name in commands.names() and not Path(name).exists():
            raise CommandError(f"no file {name}; to run the sub-command put it first: diagnose {name} ...")
    if len(args.inputs) > 1 and not Path(args.inputs[0]).exists() and args.inputs[0].isalpha():
        from diagnoser.knowledge.words import hint

        meant = hint(args.inputs[0], commands.names())
        if meant:
            raise CommandError(f"no file and no sub-command {args.inputs[0]}{meant}")
    if args.inputs:
        return list(args.inputs)
    if sys.stdin is None or sys.stdin.closed or _terminal.is_terminal(sys.stdin):
        return None
    return ["-"]


def _compare(report: Report, baseline: list[str], options: Options, knowledge: Knowledge) -> None:
    """Add what differs from a good run. Its window is its own: --since, --until and --alert are of the input."""
    from dataclasses import replace

    from diagnoser import sides

    good = sides.reports(baseline, replace(options, since=None, until=None, alert=None), knowledge)
    report.baseline = sides.compared(good, [report], knowledge.say)


def _parted(inputs: list[str], args: argparse.Namespace) -> tuple[list[str], Live | None]:
    """Part files from addresses; what addresses need is loaded only for them."""
    from diagnoser.sources.names import is_remote

    addresses = [name for name in inputs if "://" in name and not Path(name).exists() and not is_remote(name)]
    if not addresses:
        if not args.quiet and (args.length or args.every):
            _terminal.say("note: --for and --every are for addresses such as http://localhost:8000")
        return inputs, None
    from diagnoser.commands._live import Live

    files = [name for name in inputs if name not in addresses]
    return files, Live(addresses, files, args)


def _check_rule(name: str, knowledge: Knowledge) -> None:
    from diagnoser.knowledge.words import hint

    known = knowledge.base.rules
    if name not in known:
        raise CommandError(f"unknown rule '{name}'{hint(name, known) or '; see diagnose rules list'}")


def _alert(args: argparse.Namespace, inputs: list[str]) -> Alert | None:
    """Read the alert; its times stand in for --since and --until where these are not given."""
    if args.alert is None and not args.log_zone:
        return None
    from diagnoser.commands import _alertfile

    return _alertfile.asked(args, inputs)


def api_options(args: argparse.Namespace, alert: Alert | None = None) -> Options:
    from diagnoser.api import Options

    return Options(
        since=args.since,
        until=args.until,
        engine=args.engine,
        engine_version=args.engine_version,
        gpu=args.gpu,
        rules=tuple(args.rules),
        inference=args.inference,
        cache_dir=_cache.folder(args.cache_dir),
        slo=args.slo,
        alert=alert,
        lang=args.lang,
    )


def _tells(name: str) -> bool:
    """Whether a format also shows what happened over time, which costs a second look at the inputs."""
    from diagnoser import reports

    return bool(getattr(reports.get(name), "STORY", False))


def _kept(stdin: BinaryIO) -> BinaryIO:
    """Keep standard input so that it can be looked at again."""
    from diagnoser.session.reading import spool

    return spool(stdin)


def print_report(report: Report, args: argparse.Namespace, say: Say, story: Story | None = None) -> int:
    from diagnoser import reports
    from diagnoser.reports.summary import recognised

    seen = recognised(report)
    to_file = args.output is not None
    options = _terminal.render_options(args.color, args.width, to_file, args.verbose, args.unrecognised, say)
    options = options._replace(
        story=story,
        brief=args.brief,
        fail_on=args.fail_on,
        exit_code=exit_code(report, args.fail_on, args.exit_zero) if seen else 2,
        folder=_terminal.folder(),
    )
    text = reports.render(report, args.format, options, args.redact)
    _terminal.write(text, args.output, for_people=args.format == "text")
    if not seen:
        # Nothing was found because nothing could be looked at: that must not pass for health.
        window = " or ".join(f"--{end} {text}" for end, text in (("since", args.since), ("until", args.until)) if text)
        if args.alert and window:
            window = f"--alert {args.alert} ({window})"
        why = f"; {window} may have left out all of it" if window else ""
        _terminal.say(f"error: nothing in the input is the log or another trace of an inference server{why}")
        return 2
    if report.alert is not None and not any(run.lines or run.scrapes for run in report.runs):
        # Silence about the wrong hour would read as health.
        told = f"--since {args.since}" + (f" --until {args.until}" if args.until else "")
        _terminal.say(f"error: --alert {args.alert}: nothing of the input lies in its time ({told}); {_CLOCK}")
        return 2
    if args.output not in (None, "-") and not args.quiet:
        _terminal.say(f"{args.output}: {_summary(report)}")
    return exit_code(report, args.fail_on, args.exit_zero)


def exit_code(report: Report, fail_on: str, exit_zero: bool) -> int:
    """Return 1 when a finding is at or above the level."""
    if exit_zero or fail_on == "never":
        return 0
    counted = _LEVELS[_LEVELS.index(fail_on) :]
    return int(any(finding.severity in counted for finding in report.findings))


def _summary(report: Report) -> str:
    counts = [(level, sum(finding.severity == level for finding in report.findings)) for level in reversed(_LEVELS)]
    return ", ".join(f"{count} {level}" for level, count in counts if count) or "nothing found"
