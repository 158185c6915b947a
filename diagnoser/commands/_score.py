"""`diagnose rules score`: every rule against labelled cases: precision, recall, confusion, misses."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from diagnoser.api import Knowledge, Session
from diagnoser.commands import _terminal
from diagnoser.commands._cases import Case, cases
from diagnoser.commands._errors import CommandError
from diagnoser.contracts.findings import Report
from diagnoser.options import Options
from diagnoser.values import dataclass, field

#: Findings that count as wrong when no label has them; lower ones are remarks.
_SERIOUS = ("warning", "critical")


@dataclass(slots=True)
class Verdict:
    """One case after its run: ``found`` are all findings in order, ``serious`` those of warning or above."""

    case: Case
    found: list[str]
    serious: list[str]
    first: str = ""

    @property
    def hit(self) -> list[str]:
        """Labelled causes that were found."""
        return [one for one in self.case.causes if one in self.found]

    @property
    def missed(self) -> list[str]:
        """Labelled causes that were not."""
        return [one for one in self.case.causes if one not in self.found]

    @property
    def wrong(self) -> list[str]:
        """Serious findings that the label does not have."""
        known = {*self.case.causes, *self.case.also}
        if self.case.must_not is not None:
            return [one for one in self.serious if one in self.case.must_not]
        return [one for one in self.serious if one not in known]

    @property
    def right(self) -> bool:
        """Whether the root cause comes first, or nothing serious is said of a healthy server."""
        return self.first == self.case.causes[0] if self.case.causes else not self.serious


@dataclass(slots=True)
class Tally:
    """Counts of one rule over all cases."""

    hits: int = 0
    misses: int = 0
    false: int = 0
    first: int = 0

    @property
    def precision(self) -> float | None:
        """Share of its findings that a label has; None when it found nothing."""
        said = self.hits + self.false
        return self.hits / said if said else None

    @property
    def recall(self) -> float | None:
        """Share of the labels that it found; None without one."""
        labels = self.hits + self.misses
        return self.hits / labels if labels else None


@dataclass(slots=True)
class Score:
    """Everything that the cases say."""

    verdicts: list[Verdict]
    rules: dict[str, Tally] = field(default_factory=dict)

    @property
    def confusion(self) -> dict[tuple[str, str], list[str]]:
        """(labelled root, what came first) to the cases, where they differ; "" for nothing."""
        found: dict[tuple[str, str], list[str]] = {}
        for one in self.verdicts:
            if not one.right:
                root = one.case.causes[0] if one.case.causes else ""
                found.setdefault((root, one.first), []).append(one.case.name)
        return found


def score(found: Sequence[Case], rule_ids: Sequence[str], knowledge: Knowledge) -> Score:
    """Run every case and count."""
    with tempfile.TemporaryDirectory() as scratch:
        verdicts = [_verdict(one, _report(one, Path(scratch), knowledge)) for one in found]
    made = Score(verdicts, {name: Tally() for name in sorted(rule_ids)})
    for verdict in verdicts:
        for names, key in ((verdict.hit, "hits"), (verdict.missed, "misses"), (verdict.wrong, "false")):
            for name in names:
                tally = made.rules.setdefault(name, Tally())
                setattr(tally, key, getattr(tally, key) + 1)
        if verdict.case.causes and verdict.right:
            made.rules[verdict.first].first += 1
    return made


def _report(case: Case, scratch: Path, knowledge: Knowledge) -> Report:
    paths = case.paths
    if not paths:
        path = scratch / "server.log"
        path.write_text("\n".join(case.lines) + "\n", encoding="utf-8")
        paths = [path]
    return Session(paths, knowledge=knowledge, options=Options(slo=case.slo)).report


def _verdict(case: Case, report: Report) -> Verdict:
    found = [one.id for one in report.findings]
    serious = [one.id for one in report.findings if one.severity in _SERIOUS]
    return Verdict(case, found, serious, (serious or found or [""])[0])


def run(args: argparse.Namespace) -> int:
    """Score the cases that are named; print figures, or write the page with --output. Exit code 0."""
    if not args.what:
        raise CommandError("rules score: give folders or files of labelled cases, such as samples tests/cases")
    found = cases(args.what)
    knowledge = Knowledge(Options(rules=tuple(args.rules or ())))
    made = score(found, list(knowledge.base.rules), knowledge)
    if args.output:
        from diagnoser.commands._scorepage import page

        _terminal.write_file(Path(args.output), page(made, args.what))
        return 0
    for one in made.verdicts:
        if one.missed or one.wrong or not one.right:
            parts = [("missed", one.missed), ("wrong", one.wrong), ("first", [one.first] if one.first else [])]
            said = "; ".join(f"{word} {', '.join(names) or '-'}" for word, names in parts)
            _terminal.write(f"{one.case.name}: {said}; label {', '.join(one.case.causes) or 'healthy'}\n")
    right = sum(one.right for one in made.verdicts)
    _terminal.write(f"{right} of {len(made.verdicts)} cases right: root first, or nothing where nothing is wrong\n")
    return 0
