"""Runs the examples that rule files carry, and says which parts of a rule base no example reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from diagnoser.model import Record
from diagnoser.rules.matching.matcher import PLATFORMS, Matcher
from diagnoser.rules.model import Example, Node, Point, Rule, RuleBase
from diagnoser.rules.names import references
from diagnoser.tables.table import Origin
from diagnoser.values import dataclass


class AdviceLike(Protocol):
    """What a test reads of a remedy."""

    flag: str | None
    env: str | None
    action: str | None
    proposed: str | None


class FindingLike(Protocol):
    """What a test reads of a finding."""

    id: str
    severity: str

    @property
    def remedies(self) -> Sequence[AdviceLike]:
        """Its remedies."""


class Diagnosed(Protocol):
    """What a test reads of a diagnosis."""

    @property
    def findings(self) -> Sequence[FindingLike]:
        """Every finding, in any order."""


@dataclass(slots=True, frozen=True)
class ExampleResult:
    """What came of one example. ``problem`` is "" when it is as the rule file says."""

    rule: str
    kind: str  # fires | silent
    example: Example
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether the example holds."""
        return not self.problem


def run_examples(
    base: RuleBase,
    diagnose: Callable[[Example], Diagnosed],
    rules: Iterable[str] | None = None,
    late: Callable[[], Sequence[str]] = tuple,
) -> list[ExampleResult]:
    """Diagnose every example of ``rules`` (default: all) and compare with what its file says.

    ``late`` tells, after a diagnosis, of patterns that ran out of time: on the author's own lines that is a fault.
    ``base`` must have been loaded without the cache, which holds no examples.
    """
    results = []
    for rule in _chosen(base, rules):
        for kind, examples in (("fires", rule.fires), ("silent", rule.silent)):
            for example in examples:
                problem = _judge(rule.id, kind, example, diagnose(example))
                problem = "; ".join(filter(None, (problem, *late())))
                results.append(ExampleResult(rule.id, kind, example, problem))
    return results


def _chosen(base: RuleBase, rules: Iterable[str] | None) -> list[Rule]:
    return list(base.rules.values()) if rules is None else [base.rules[name] for name in rules]


def _judge(rule: str, kind: str, example: Example, report: Diagnosed) -> str:
    """Say what is wrong with a report, "" when nothing is."""
    found = [finding for finding in report.findings if finding.id == rule]
    if kind == "silent":
        return f"fires ({found[0].severity}), but must stay silent" if found else ""
    if not found:
        others = ", ".join(sorted({finding.id for finding in report.findings})) or "nothing"
        return f"does not fire; found: {others}"
    finding = found[0]
    if example.severity and finding.severity != example.severity:
        return f"severity is {finding.severity}, expected {example.severity}"
    said = [_words(advice) for advice in finding.remedies]
    missing = [word for word in example.remedies if not any(word in words for words in said)]
    if missing:
        return f"no remedy names {', '.join(missing)}; there are: {'; '.join(said) or 'none'}"
    wrong = [words for words in said if any(word in words for word in example.never)]
    return f"a remedy that must not be there: {'; '.join(wrong)}" if wrong else ""


def _words(advice: AdviceLike) -> str:
    return " ".join(filter(None, (advice.flag or advice.env or advice.action, advice.proposed)))


@dataclass(slots=True, frozen=True)
class Coverage:
    """What nobody would miss: each list sorted, empty when all is well.

    ``unproven``: rules without a firing or without a silent example. ``unmatched``: events that no line of any example
    matches. ``unused_events``, ``unused_symptoms``: named by no expression (life-cycle events, wrappers and events that
    set facts are used as they are).
    """

    unproven: tuple[str, ...]
    unmatched: tuple[str, ...]
    unused_events: tuple[str, ...]
    unused_symptoms: tuple[str, ...]


def coverage(base: RuleBase) -> Coverage:
    """Return what no example or expression of the rule base reaches."""
    events: set[str] = set()
    symptoms: set[str] = set()
    beside = [node for point in (*base.checklist, *base.notes) for node in _asked(point)]
    for node in chain(base.derived.values(), beside, *map(_nodes, base.rules.values())):
        used = references(node)
        events |= used.events
        symptoms |= used.symptoms
    for spec in base.events.values():
        if spec.role not in ("root", "notice") or spec.sets:
            events.add(spec.name)
    # Sentences that readers of other inputs make stand in no line.
    spoken = {spec.name for spec in base.events.values() if all(one.engine in PLATFORMS for one in spec.templates)}
    return Coverage(
        unproven=tuple(sorted(rule.id for rule in base.rules.values() if not (rule.fires and rule.silent))),
        unmatched=tuple(sorted(base.events.keys() - _matched(base) - spoken)),
        unused_events=tuple(sorted(base.events.keys() - events)),
        unused_symptoms=tuple(sorted(base.symptoms.keys() - symptoms)),
    )


def _asked(point: Point) -> list[Node]:
    """Return every expression of a point of the checklist, or of a note."""
    return [*point.questions.values(), *point.placeholders.values()]


def _nodes(rule: Rule) -> Iterator[Node]:
    """Yield every expression of a rule."""
    yield rule.when
    yield from rule.supports
    yield from (node for _, node in rule.not_applicable)
    yield from (node for _, node in (*rule.severity, *rule.symptoms, *rule.placeholders) if node is not None)
    for remedy in rule.remedies:
        yield from (node for node in (remedy.to, remedy.condition) if node is not None)


def _matched(base: RuleBase) -> set[str]:
    """Return the events that some example line matches, whatever kind of record it would become."""
    matcher = Matcher(base.events.values())
    lines = {line for rule in base.rules.values() for example in (*rule.fires, *rule.silent) for line in example.lines}
    found: set[str] = set()
    for line in sorted(lines):
        for kind in ("message", "stats", "access"):
            record = Record(Origin("example", 1), line, kind)
            found.update(match.spec.name for match in matcher.match(record, ""))
    return found
