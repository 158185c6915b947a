"""`diagnose rules export`: alerting rules for Prometheus, their unit tests, and an account of what is left out."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnoser.alerting.export import RUNBOOKS, Exported, Told, Wanted, export, manifest
from diagnoser.commands import _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.knowledge.vocabulary import ENGINES

if TYPE_CHECKING:
    from diagnoser.alerting.proofs import Proofs
    from diagnoser.api import Knowledge

_HEAD = "# Made by `diagnose rules export`. Change the rules or the options, not this file.\n"
#: First words of what a rule misses, and what an operator calls it.
_NEEDS = {
    "messages": "the log",
    "the argument": "the log's start",
    "gpu.": "GPU telemetry",
    "profile.": "a profile",
    "bench.": "benchmark results",
    "prefill.": "statistics lines of the log",
    "objectives": "objectives (--slo)",
}


def run(args: argparse.Namespace) -> int:
    """Write the rules, and their tests where asked; say what is left out."""
    from diagnoser.api import Knowledge, Options

    if args.what:
        raise CommandError(f"rules export: unexpected '{args.what[0]}'; it exports every rule that metrics can show")
    if args.format in ("json", "text"):
        args.format = "prometheus"
    for output, option in ((args.output, "--output"), (args.tests, "--tests")):
        _terminal.check_output(output, [], option)
    if args.window < 8 * args.interval:
        raise CommandError(f"--window {args.window}s: eight times --interval at least, {8 * args.interval}s")
    if args.tests and args.output in (None, "-"):
        raise CommandError("--tests: the tests name the file of the rules; give it with --output")
    if args.tests and args.manifest:
        raise CommandError("--tests: promtool reads rule files; leave --manifest out")
    knowledge = Knowledge(Options(rules=tuple(args.rules)))
    wanted = Wanted(
        engines=ENGINES if args.engine == "all" else (args.engine,),
        window=args.window,
        interval=args.interval,
        hold=args.hold,
        least=args.severity,
        labels=dict(args.labels),
        runbooks=args.runbook_url or RUNBOOKS,
        slo=args.slo or {},
    )
    exported = export(knowledge.base, knowledge.vocabulary, wanted)
    if not exported.groups:
        raise CommandError("rules export: no rule is left to export; lower --severity or choose another --engine")
    if args.format == "promtool-tests" or args.tests:
        name = "alerts.yml" if args.output in (None, "-") or not args.tests else Path(args.output).name
        made = _proofs(knowledge, exported, wanted, name)
        _terminal.write(_yaml(made.document), args.tests or args.output, for_people=False)
    if args.format == "prometheus":
        document: dict[str, Any] = {"groups": exported.groups}
        if args.manifest:
            document = manifest(exported.groups, "diagnose-llm", dict(args.labels))
        _terminal.write(_yaml(document), args.output, for_people=False)
    if not args.quiet:
        _account(exported, args.explain)
        if args.format == "promtool-tests" or args.tests:
            _tested(made, args.explain)
    return 0


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    # The one in C is ten times as fast, and not everywhere.
    fastest: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(fastest):  # type: ignore[misc]
        """Writes conditions as people read them: line by line."""

        def ignore_aliases(self, data: Any) -> bool:
            """Anchors save bytes and cost readers."""
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return _HEAD + yaml.dump(document, Dumper=Dumper, sort_keys=False, width=100_000, allow_unicode=True)


def _proofs(knowledge: Knowledge, exported: Exported, wanted: Wanted, name: str) -> Proofs:
    """Make the tests; what is expected of an example is checked against what diagnose says of it."""
    from copy import copy

    from diagnoser.alerting.proofs import proofs, reduced
    from diagnoser.api import Session

    known: dict[str, Knowledge] = {}

    def judge(engine: str, lines: list[str]) -> Mapping[str, str]:
        if engine not in known:
            known[engine] = copy(knowledge)
            known[engine].base = reduced(knowledge.base, exported, engine)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "pages.prom"
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
            report = Session([page], knowledge=known[engine]).report
        return {finding.id: finding.severity for finding in report.findings}

    return proofs(knowledge.base, knowledge.vocabulary, exported, wanted, [name], judge)


def _account(exported: Exported, explain: bool) -> None:
    rules: dict[str, list[Told]] = {}
    for one in exported.told:
        rules.setdefault(one.rule, []).append(one)
    whole = {rule: found for rule, found in rules.items() if any(one.levels for one in found)}
    part = [rule for rule, found in whole.items() if any(one.levels and not one.exact for one in found)]
    told = f"{len(whole)} of {len(rules)} rules exported"
    _terminal.say(told + (f", {len(part)} of them in part ({', '.join(part)})" if part else ""))
    needs: dict[str, list[str]] = {}
    for rule, found in rules.items():
        if rule not in whole:
            needs.setdefault(_need(found), []).append(rule)
    for need, names in sorted(needs.items()):
        _terminal.say(f"not exported, {need}: {', '.join(names)}")
    if not explain:
        _terminal.say("--explain says of every rule what is missing")
        return
    for one in exported.told:
        state = "/".join(one.levels) + ("" if one.exact else ", in part") if one.levels else "not exported"
        why = [f"PromQL cannot say {', '.join(one.lost[:3])}"] if one.lost and not one.exact else []
        why += [f"metrics do not tell {_some(one.unseen)}"] if one.unseen and not (one.levels and one.exact) else []
        _terminal.say(f"{one.rule} ({one.engine}): {state}{'; ' + '; '.join(why) if why else ''}")


def _some(words: Iterable[str]) -> str:
    shown = [word for word in words if word]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")


def _need(found: list[Told]) -> str:
    """Say what most of the missing things of a rule are told by."""
    if any(one.lost and not one.exact and not one.unseen for one in found):
        return "PromQL cannot say it"
    counted: dict[str, int] = {}
    for one in found:
        for word in one.unseen:
            for head, name in _NEEDS.items():
                if word.startswith(head):
                    counted[name] = counted.get(name, 0) + 1
    if any(one.holds for one in found):
        return "below --severity"
    return f"needs {max(counted, key=lambda name: counted[name])}" if counted else "PromQL cannot say it"


def _tested(made: Proofs, explain: bool) -> None:
    _terminal.say(f"{made.made} examples became tests; {len(made.left)} did not" + ("" if explain else " (--explain)"))
    for one in made.left if explain else ():
        _terminal.say(f"no test: {one.rule}: {one.example}: {one.why}")
