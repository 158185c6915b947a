"""The checklist at the end of a report: points of ``rules/checklist.yaml``, judged like rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from diagnoser.contracts.findings import Check
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.rules.model import Node, Point, RuleBase
from diagnoser.rules.needs import listed, reasons
from diagnoser.rules.texts import TextError, placeholders

if TYPE_CHECKING:
    from diagnoser.knowledge.yamlfile import Document, YamlError

#: Questions of a point in the order they are asked, with the state that a yes gives.
QUESTIONS = {"not_applicable": "n/a", "fail": "fail", "pass": "pass"}
_KEYS = ("title", "source", *QUESTIONS, "reasons")

#: Which state speaks for several runs.
_WORST = ("fail", "pass", "unknown", "n/a")


class Judged(Protocol):
    """What judging an expression gives; ``needs`` says what would decide an unknown one."""

    @property
    def value(self) -> Any: ...  # noqa: D102

    @property
    def needs(self) -> Collection[str]: ...  # noqa: D102


class Judge(Protocol):
    """Evaluates expressions over one run."""

    def result(self, node: Node) -> Judged: ...  # noqa: D102


class ChecklistError(Exception):
    """Every fault of a checklist file, with file, line and column."""

    def __init__(self, problems: Sequence[YamlError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


#: Parses and checks an expression of a kind ("bool", or "" for any); raises ValueError for a wrong one.
Compiler = Callable[[str, str], Node]
#: Fills the placeholders of a text, given their expressions.
Render = Callable[[str, Mapping[str, Node]], str]


def compiler(vocabulary: Vocabulary, base: RuleBase) -> Compiler:
    """Return a compiler that knows all samples, facts, knobs, events and symptoms, but no causes."""
    from diagnoser.rules.compiling.check import check
    from diagnoser.rules.compiling.expression import parse
    from diagnoser.rules.names import Names

    names = Names(
        series={name: one.unit for name, one in vocabulary.series.items()},
        spreads={name for name, one in vocabulary.series.items() if one.kind == "spread"},
        facts={name: (one.type, one.unit) for name, one in vocabulary.facts.items()},
        knobs=list(vocabulary.knobs),
        events={name: one.fields for name, one in base.events.items()},
        symptoms=list(base.symptoms),
    )
    return lambda text, want: check(parse(text), names, want)


def load(path: Path, compiled: Compiler) -> list[Point]:
    """Read a checklist file. Raises ChecklistError that lists every fault."""
    from diagnoser.knowledge.yamlfile import YamlError
    from diagnoser.knowledge.yamlfile import load as load_yaml

    try:
        document = load_yaml(path)
    except YamlError as error:
        raise ChecklistError([error]) from error
    faults: list[YamlError] = []
    data = document.data if isinstance(document.data, dict) else {}
    points = [_point(document, name, entry, compiled, faults) for name, entry in data.items()]
    if faults:
        raise ChecklistError(faults)
    return points


def _point(document: Document, name: str, entry: Any, compiled: Compiler, faults: list[YamlError]) -> Point:
    entry = entry if isinstance(entry, dict) else {}
    faults += [document.unknown((name, key), key, _KEYS, "key") for key in entry if key not in _KEYS]
    reasons, states = entry.get("reasons") or {}, (*QUESTIONS, "unknown")
    faults += [document.unknown((name, "reasons", key), key, states, "reason") for key in reasons if key not in states]
    if not entry.get("title"):
        faults.append(document.error((name,), f"{name}: title is missing"))
    questions, inserted = {}, {}
    for key in QUESTIONS:
        try:
            if entry.get(key) is not None:
                questions[key] = compiled(str(entry[key]), "bool")
        except ValueError as error:
            faults.append(document.error((name, key), f"{name}: {key}: {error}"))
    for key, text in reasons.items():
        try:
            for found in placeholders(str(text)):
                inserted[found.expression] = compiled(found.expression, "")
        except (TextError, ValueError) as error:
            faults.append(document.error((name, "reasons", key), f"{name}: {key}: {error}"))
    texts = {key: str(text) for key, text in reasons.items()}
    return Point(name, str(entry.get("title", "")), questions, texts, inserted)


def evaluate(points: Sequence[Point], judge: Judge, render: Render, say: Say = ENGLISH) -> list[Check]:
    """Judge every point over one run. Unknown points say what input would decide them where the conditions can."""
    return [_check(point, judge, render, say) for point in points]


def _check(point: Point, judge: Judge, render: Render, say: Say) -> Check:
    needs: set[str] = set()
    for question, state in QUESTIONS.items():
        if question not in point.questions:
            continue
        judged = judge.result(point.questions[question])
        if judged.value is True:
            return Check(point.id, point.title, state, render(point.reasons.get(question, ""), point.placeholders))
        needs.update(judged.needs)
    # What is missing says more than why such a point is hard to tell.
    if needs:
        told = listed(needs, say)
        reason = told if reasons(needs) == needs else say("needs {input}").format(input=told)
    else:
        reason = render(point.reasons.get("unknown", ""), point.placeholders)
    return Check(point.id, point.title, "unknown", reason)


def over_runs(checks: Mapping[int, Sequence[Check]], say: Say = ENGLISH) -> list[Check]:
    """Make one list of several runs': a failure anywhere is a failure, a pass beats not having seen.

    The reason names its run where the runs do not agree.
    """
    by_id: dict[str, list[tuple[int, Check]]] = {}
    for run in sorted(checks):
        for check in checks[run]:
            by_id.setdefault(check.id, []).append((run, check))
    found = []
    for one in by_id.values():
        # Of equals the last run: it is what runs now.
        run, check = min(reversed(one), key=lambda item: _WORST.index(item[1].state))
        agreed = len({check.state for _, check in one}) == 1
        reason = check.reason
        if reason and not agreed:
            reason = say("run {number}: {reason}").format(number=run + 1, reason=reason)
        found.append(Check(check.id, check.title, check.state, reason))
    return found
