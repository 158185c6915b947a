"""`--why` and `--why-not`: how a rule was decided in every run, with the values that decided it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from diagnoser.reports import RenderOptions, layout
from diagnoser.reports.safe import line
from diagnoser.reports.text.page import Page
from diagnoser.values import replace

if TYPE_CHECKING:
    from diagnoser.api import Session
    from diagnoser.rules.evaluating.value import Trace

_STYLES = {"yes": "ok", "no": "FAIL", "unknown": "suspect"}
_TRUTHS = {"yes": "true", "no": "false"}
_VALUE_WIDTH = 24
#: A why-tree of a person's rule is a few levels deep; a machine's may be a thousand.
_DEPTH = 40


def render(session: Session, rule_id: str, options: RenderOptions) -> str:
    """Return the evaluation trees of a rule, one for each run. Raises UsageError for an unknown id."""
    page = Page(options)
    traces = session.why(rule_id)
    rule = session.knowledge.base.rules[rule_id]
    found = {run for finding in session.report.findings if finding.id == rule_id for run in finding.runs}
    page.add((rule_id, "title"), f": {line(rule.title)}")
    if not traces:
        page.prose("No run of a server was found in the input, so nothing was decided.", 0)
    for place, (run, trace) in enumerate(traces, 1):
        page.gap()
        verdict = _verdict(trace.value, run.id in found)
        where = f"run {place} of {len(traces)}: " if len(traces) > 1 else ""
        page.add((f"{where}{verdict}", "label"))
        rows = list(_rows(trace, 0))
        width = min(_VALUE_WIDTH, max(layout.cells(value) for _, value, _, _ in rows))
        for depth, value, text, notes in rows:
            _row(page, depth, layout.cut(value, width, page.mark), text, notes, width)
    if rule.unless:
        page.gap()
        page.prose(f"Not reported where one of these explains it better: {', '.join(rule.unless)}.", 0)
    return page.text()


def _verdict(value: str, reported: bool) -> str:
    if reported:
        return "reported, its condition is true"
    if value == "yes":
        return "not reported although its condition is true: another cause explains it better"
    return f"not reported, its condition is {_TRUTHS.get(value, line(value))}"


def _rows(trace: Trace, depth: int, name: str = "") -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield depth, value, text and notes of a trace, the steps that only repeat folded away."""
    if len(trace.children) == 1 and trace.text.isidentifier() and not name:
        # A symptom and its definition are one step.
        yield from _rows(trace.children[0], depth, trace.text)
        return
    notes = [line(trace.note)] if trace.note else []
    text = f"{name} = {trace.text}" if name else trace.text
    children = _operands(trace)
    if len(children) == 1 and not children[0].children and children[0].value not in _TRUTHS:
        # A comparison and its one measured side are one step.
        measured = children[0]
        text += f"    (is {measured.value})" if measured.value != "unknown" else ""
        notes += [line(measured.note)] if measured.note else []
        trace, children = replace(trace, needs=trace.needs | measured.needs), []
    if trace.value == "unknown" and trace.needs and not children:
        notes.append(f"would be decided by: {', '.join(sorted(map(line, trace.needs)))}")
    yield depth, line(trace.value), line(text), notes
    for child in children if depth < _DEPTH else ():
        yield from _rows(child, depth + 1)


def _operands(trace: Trace) -> list[Trace]:
    """Return the parts of a trace; "a or b or c" has three, though it was parsed as two of which one has two."""
    word = _connective(trace)
    if not word:
        return list(trace.children)
    flat: list[Trace] = []
    for child in trace.children:
        flat += _operands(child) if _connective(child) == word else [child]
    return flat


def _connective(trace: Trace) -> str:
    bare = _bare(trace.text)
    return next((word for word in ("or", "and") if bare == _bare(f" {word} ".join(c.text for c in trace.children))), "")


def _bare(text: str) -> str:
    return " ".join(text.replace("(", " ").replace(")", " ").split())


def _row(page: Page, depth: int, value: str, text: str, notes: list[str], width: int) -> None:
    indent = width + 4 + 2 * min(depth, (page.width - width) // 6)
    lead = "  " + layout.pad(value, width) + " " * (indent - width - 2)
    for i, piece in enumerate(layout.wrap(text, page.width - indent)):
        page.add((lead if i == 0 else " " * indent, _STYLES.get(value, "") if i == 0 else ""), piece)
    for note in notes:
        page.prose(note, indent + 2, "dim")
