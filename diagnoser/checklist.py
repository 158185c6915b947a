"""The checklist at the end of a report: points of ``rules/checklist.yaml``, judged like rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from diagnoser.findings import Check
from diagnoser.knowledge.yamlfile import Document, YamlError
from diagnoser.knowledge.yamlfile import load as load_yaml
from diagnoser.rules.model import Node

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


@dataclass(slots=True, frozen=True)
class Point:
    """One point.

    ``questions`` maps "not_applicable", "fail" and "pass" to conditions; ``reasons`` maps those and "unknown" to texts.
    """

    id: str
    title: str
    questions: Mapping[str, Node]
    reasons: Mapping[str, str] = field(default_factory=dict)


class ChecklistError(Exception):
    """Every fault of a checklist file, with file, line and column."""

    def __init__(self, problems: Sequence[YamlError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def load(path: Path, compiled: Callable[[str], Node]) -> list[Point]:
    """Read a checklist. ``compiled`` parses and checks a condition and raises ValueError for a wrong one.

    Raises ChecklistError that lists every fault.
    """
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


def _point(
    document: Document, name: str, entry: Any, compiled: Callable[[str], Node], faults: list[YamlError]
) -> Point:
    entry = entry if isinstance(entry, dict) else {}
    faults += [document.unknown((name, key), key, _KEYS, "key") for key in entry if key not in _KEYS]
    reasons, states = entry.get("reasons") or {}, (*QUESTIONS, "unknown")
    faults += [document.unknown((name, "reasons", key), key, states, "reason") for key in reasons if key not in states]
    if not entry.get("title"):
        faults.append(document.error((name,), f"{name}: title is missing"))
    questions = {}
    for key in QUESTIONS:
        text = entry.get(key)
        if text is None:
            continue
        try:
            questions[key] = compiled(str(text))
        except ValueError as error:
            faults.append(document.error((name, key), f"{name}: {key}: {error}"))
    return Point(name, str(entry.get("title", "")), questions, {key: str(text) for key, text in reasons.items()})


def evaluate(points: Sequence[Point], judge: Judge, render: Callable[[str], str]) -> list[Check]:
    """Judge every point over one run. Unknown points say what input would decide them where the conditions can."""
    return [_check(point, judge, render) for point in points]


def _check(point: Point, judge: Judge, render: Callable[[str], str]) -> Check:
    needs: set[str] = set()
    for question, state in QUESTIONS.items():
        if question not in point.questions:
            continue
        judged = judge.result(point.questions[question])
        if judged.value is True:
            return Check(point.id, point.title, state, render(point.reasons.get(question, "")))
        needs.update(judged.needs)
    reason = render(point.reasons.get("unknown", ""))
    missing = f"needs {', '.join(sorted(needs))}" if needs else ""
    return Check(point.id, point.title, "unknown", "; ".join(part for part in (reason, missing) if part))


def over_runs(checks: Mapping[int, Sequence[Check]]) -> list[Check]:
    """Make one list of several runs': a failure anywhere is a failure, a pass beats not having seen.

    The reason names its run where the runs do not agree.
    """
    by_id: dict[str, list[tuple[int, Check]]] = {}
    for run in sorted(checks):
        for check in checks[run]:
            by_id.setdefault(check.id, []).append((run, check))
    found = []
    for listed in by_id.values():
        # Of equals the last run: it is what runs now.
        run, check = min(reversed(listed), key=lambda item: _WORST.index(item[1].state))
        agreed = len({one.state for _, one in listed}) == 1
        reason = check.reason if agreed or not check.reason else f"run {run}: {check.reason}"
        found.append(Check(check.id, check.title, check.state, reason))
    return found
