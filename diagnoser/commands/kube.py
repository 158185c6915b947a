"""`diagnose kube`, also `kubectl diagnose-llm`: collects what a cluster tells of a server, and diagnoses it as one."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.commands import _diagnose, _options, _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._options import _seconds as seconds
from diagnoser.commands._parser import Parser

if TYPE_CHECKING:
    from diagnoser.commands._kube_collect import Collector
    from diagnoser.commands._kube_target import Target
    from diagnoser.commands._kubectl import Kubectl

HELP = "logs, metrics and events of a pod or deployment, by kubectl"
DESCRIPTION = """\
  kubectl diagnose-llm llm-0 -n prod               a pod: all containers, the log before a restart too
  kubectl diagnose-llm deploy/llm --since 1h       all replicas, as one incident
  kubectl diagnose-llm -l app=llm --bundle b.tar.gz   keep what was collected; later: diagnose b.tar.gz

Collects pods, events, logs and metrics with kubectl, and diagnoses them together. It only reads: get, logs,
get --raw, port-forward. What could not be had is named in the report. All options of `diagnose` can be
given too (--format, --fail-on, -o, --slo, ...). More: docs/kubernetes.md"""
_FORMS = (".tar.gz", ".tgz", ".tar")


def main(arguments: Sequence[str]) -> int:
    """Collect, then diagnose what was collected."""
    from diagnoser.commands._kube_target import checked_name, target_of

    parser = _parser()
    own, passed = _parted(parser, arguments)
    args = parser.read(own)
    target = target_of(args.target, args.selector)
    namespace, only = checked_name("-n", args.namespace), checked_name("-c", args.container)
    # A misspelt option must not be found out after a minute of collecting.
    rest = _options.parser().read(passed)
    _terminal.check_output(rest.output, [])
    _check_bundle(args.bundle)
    with _folder(args.bundle) as folder:
        path = Path(folder, "collected.tar")
        _collect(args, target, namespace, only, path, rest.quiet)
        if args.bundle:
            # In one piece, and readable by its owner alone: logs hold prompts.
            path.chmod(0o600)
            path = path.replace(args.bundle)
        return _diagnose.main([*passed, str(path)])


def _folder(bundle: str | None) -> tempfile.TemporaryDirectory[str]:
    """Make a folder for what is collected, beside the bundle where one is kept."""
    try:
        return tempfile.TemporaryDirectory(prefix=".diagnose-", dir=Path(bundle).parent if bundle else None)
    except OSError as error:
        where = f"--bundle {bundle}" if bundle else "no place for what is collected (TMPDIR names one)"
        raise CommandError(f"{where}: {error.strerror or error}") from None


def _collect(
    args: argparse.Namespace, target: Target, namespace: str | None, only: str | None, path: Path, quiet: bool
) -> None:
    from diagnoser import __version__
    from diagnoser.commands._kube_bundle import Bundle, stamp
    from diagnoser.commands._kube_collect import Collector
    from diagnoser.commands._kubectl import Kubectl

    kubectl = Kubectl(args.kubectl, _cluster(args), time.monotonic() + args.timeout)
    asked = time.time()
    with path.open("wb") as file:
        bundle = Bundle(file, packed=bool(args.bundle) and not args.bundle.endswith(".tar"))
        collector = Collector(kubectl, target, namespace, only, bundle)
        try:
            collector.pods()
            containers = collector.containers()
            context = args.context or _context(kubectl)
            if not quiet:
                names = [str(pod["metadata"]["name"]) for pod in collector.found]
                shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
                where = f"namespace {collector.namespace}" + (f", context {context}" if context else "")
                _terminal.say(f"{target}: {shown} ({where})")
            _ask(collector, containers, args, quiet)
        finally:
            kubectl.stop()
        bundle.close(
            {
                "tool": f"diagnoser {__version__}",
                "collected": stamp(asked),
                "target": str(target),
                "namespace": collector.namespace,
                "context": context,
                "commands": kubectl.commands,
            }
        )
    if not quiet:
        count = len(bundle.files) - 1
        missing = f"; not had, and named in the report: {len(bundle.missing)}" if bundle.missing else ""
        _terminal.say(f"collected {count} files, {bundle.size:,} bytes{missing}")


def _ask(collector: Collector, containers: list, args: argparse.Namespace, quiet: bool) -> None:  # type: ignore[type-arg]
    from diagnoser.commands._kube_collect import rounds

    def say(text: str) -> None:
        if not quiet:
            _terminal.say(text)

    if args.no_metrics:
        collector.events()
        collector.logs(containers, say)
        return
    from diagnoser.commands._live import forwarded

    collector.events()
    collector.logs(containers, say)
    # Logs first: a network that lets no metrics through must not cost the time for them.
    metrics = collector.metrics(forwarded)
    try:
        started = time.monotonic()
        metrics.begin(containers)
        length = args.length or 10.0
        for moment in rounds(length, min(args.every or (5.0 if args.length else length), length), started):
            if not metrics.found:
                return
            wait = moment - time.monotonic()
            if wait > 0.5:
                say(f"metrics: next scrape in {wait:.0f} s")
            time.sleep(max(0.0, wait))
            metrics.again()
    finally:
        metrics.close()


def _cluster(args: argparse.Namespace) -> list[str]:
    """Return what kubectl needs to find the cluster. The sign between keeps a value from being an option."""
    given = (("context", args.context), ("kubeconfig", args.kubeconfig), ("as", args.as_))
    return [f"--{name}={value}" for name, value in given if value]


def _context(kubectl: Kubectl) -> str:
    ran = kubectl.run(["config", "current-context"], 5.0, 4096)
    from diagnoser.reports.safe import line

    return line(ran.out.decode("utf-8", "replace").strip()[:200]) if ran.ok else ""


def _check_bundle(name: str | None) -> None:
    if name is None:
        return
    if not name.endswith(_FORMS):
        raise CommandError(f"--bundle {name}: the name of a bundle ends in {', '.join(_FORMS)}")
    _terminal.check_output(name, [], "--bundle")


def _parted(parser: Parser, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part the options of collecting from those that go on to the bare command; names are collecting's."""
    main = _options.parser()
    own: list[str] = []
    passed: list[str] = []
    words = iter(arguments)
    for word in words:
        flag = word.partition("=")[0] if word.startswith("--") else word[:2]
        known = [one for one in (parser, main) if flag in one._option_string_actions]
        if not word.startswith("-") or not known:
            own.append(word)
            continue
        action = known[0]._option_string_actions[flag]
        into = own if known[0] is parser else passed
        into.append(word)
        if action.nargs is None and word == flag and (value := next(words, None)) is not None:
            into.append(value)
    return own, passed


def _parser() -> Parser:
    parser = Parser(
        "kubectl diagnose-llm",
        DESCRIPTION,
        "DIAGNOSE_KUBE",
        usage="kubectl diagnose-llm [OPTION ...] POD | KIND/NAME | -l SELECTOR",
    )
    parser.add_argument("target", metavar="TARGET", nargs="?", help="llm-0, deploy/llm, statefulset/llm, lws/llm, ...")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="default: the context's")
    parser.add_argument("-c", "--container", metavar="NAME", help="logs and metrics of this container only")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="all pods with these labels: app=llm,tier!=test")
    parser.add_argument("--context", metavar="NAME", help="the cluster, by its name in the kubeconfig")
    parser.add_argument("--kubeconfig", metavar="FILE", help="passed to kubectl")
    parser.add_argument("--as", dest="as_", metavar="USER", help="passed to kubectl")
    parser.add_argument("--kubectl", metavar="PATH", default="kubectl", help="the program (default: from PATH)")
    parser.add_argument("--bundle", metavar="FILE", help="keep what was collected in FILE.tar.gz, secrets masked")
    parser.add_argument("--no-metrics", action="store_true", help="do not scrape")
    parser.add_argument(
        "--for", dest="length", metavar="TIME", type=seconds, help="scrape for so long (default: twice, 10 s apart)"
    )
    parser.add_argument("--every", metavar="TIME", type=seconds, help="time between two scrapes (default: 5s)")
    parser.add_argument(
        "--timeout", metavar="TIME", type=seconds, default=180.0, help="stop collecting after that (default: 3m)"
    )
    return parser
