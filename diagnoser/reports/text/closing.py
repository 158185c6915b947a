"""After the findings: the next experiment, and what could not be seen, told or read."""

from __future__ import annotations

from diagnoser.findings import Check, Plan, Report, Unknown, Unrecognised
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.summary import pairs, recognised
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import clock, plural

COLUMN = 18
_UNKNOWN_SHOWN = 3
_UNRECOGNISED_SHOWN = 3
_PROBLEMS_SHOWN = 5


def write(page: Page, report: Report) -> None:
    """Each part only where there is something to say."""
    page.gap()
    if report.plan is not None:
        _plan(page, report.plan)
        page.gap()
    if report.unknown and recognised(report):
        _unknown(page, report.unknown)
    if report.unrecognised:
        _unrecognised(page, report.unrecognised)
    if report.checklist and recognised(report):
        _checklist(page, report.checklist)
    _problems(page, report)


def _plan(page: Page, plan: Plan) -> None:
    page.labelled("next experiment", [f"one change, for {line(plan.finding)}, under the same load"], 0, COLUMN)
    for sign, style, words in (("-", "remove", plan.remove), ("+", "add", [*plan.env, *plan.add])):
        for word in pairs(words):
            page.add(" " * COLUMN, (f"{sign} {word}", style))
    if plan.command:
        _command(page, line(plan.command))


def _command(page: Page, command: str) -> None:
    """Never cut and never wrapped without a backslash: it is there to be pasted."""
    room = page.width - COLUMN - 4
    pieces: list[str] = []
    for word in pairs(command.split(" ")):
        if pieces and layout.cells(pieces[-1]) + 1 + layout.cells(word) <= room:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    for i, piece in enumerate(pieces):
        end = " \\" if i < len(pieces) - 1 else ""
        page.add(" " * COLUMN, ("" if i == 0 else "  ") + piece + end)


def _unknown(page: Page, unknown: list[Unknown]) -> None:
    groups: dict[str, list[str]] = {}
    for item in unknown:
        groups.setdefault(line(item.needs) or "more of the log", []).append(line(item.rule or item.symptom))
    ordered = sorted(groups.items(), key=lambda group: -len(set(group[1])))
    shown = ordered if page.options.verbose else ordered[:_UNKNOWN_SHOWN]
    texts = []
    for needs, rules in shown:
        names = list(dict.fromkeys(rules))
        most = len(names) if page.options.verbose else 3
        rest = f" and {len(names) - most} more" if len(names) > most else ""
        texts.append(f"{needs}: would decide {', '.join(names[:most])}{rest}")
    if len(ordered) > len(shown):
        texts.append(f"{plural(len(ordered) - len(shown), 'other input')} would decide the rest (-v)")
    page.labelled("not observed", texts, 0, COLUMN)


def _unrecognised(page: Page, residue: list[Unrecognised]) -> None:
    everything = page.options.verbose or page.options.unrecognised
    shown = residue if everything else residue[:_UNRECOGNISED_SHOWN]
    total = sum(item.count for item in residue)
    more = "" if len(shown) == len(residue) else "; all of them: --unrecognised"
    told = f"{plural(len(residue), 'kind')} of warning or error that no rule knows, {plural(total, 'line')}{more}"
    page.labelled("not recognised", [told], 0, COLUMN)
    times = "×" if page.options.unicode else "x"
    for item in shown:
        since, until = clock(item.first.time), clock(item.last_time)
        when = f"{since} - {until}" if until and until != since else since
        place = f"{layout.cut_left(page.source(item.first.source), 24, page.mark)}:{item.first.line}"
        lead = f"{line(item.level) or '-'} {times}{item.count}  {place}  {when}".rstrip()
        page.add(" " * COLUMN, (layout.cut(lead, page.width - COLUMN, page.mark), "dim"))
        sample = line((item.first.text or item.template).splitlines()[0] if item.first.text or item.template else "")
        indent = COLUMN + 2
        pieces = layout.wrap(sample, page.width - indent)
        for piece in pieces if everything else pieces[:1]:
            cut = piece if everything or len(pieces) == 1 else layout.cut(sample, page.width - indent, page.mark)
            page.add(" " * indent, cut)


def _checklist(page: Page, checks: list[Check]) -> None:
    spans: list[tuple[str, str]] = [(layout.pad("checklist", COLUMN), "label")]
    used = COLUMN
    for check in checks:
        state = "FAIL" if check.state == "fail" else check.state
        text = f"{line(check.id)} "
        if used + len(text) + len(state) > page.width:
            page.add(*spans)
            spans, used = [(" " * COLUMN, "")], COLUMN
        spans += [(text, ""), (state, "dim" if state in ("unknown", "n/a") else state), ("   ", "")]
        used += len(text) + len(state) + 3
    page.add(*spans)
    for check in checks:
        if check.state == "fail" or (page.options.verbose and check.state != "n/a"):
            reason = f": {line(check.reason)}" if check.reason else ""
            page.labelled("", [f"{line(check.id)} {line(check.title)}{reason}"], 0, COLUMN)
    if not page.options.verbose:
        groups: dict[str, list[str]] = {}
        for check in checks:
            if check.state == "unknown" and check.reason:
                groups.setdefault(line(check.reason), []).append(f"{line(check.id)} {line(check.title)}")
        texts = [f"unknown: {', '.join(names)}: {reason}" for reason, names in groups.items()]
        page.labelled("", texts[:2], 0, COLUMN, "dim")


def _problems(page: Page, report: Report) -> None:
    groups: dict[str, list[str]] = {}
    for source in report.inputs:
        for problem in source.problems:
            groups.setdefault(line(problem), []).append(line(source.name))
    every = page.options.verbose
    shown = list(groups.items())[: None if every else _PROBLEMS_SHOWN]
    texts = []
    for problem, names in shown:
        # One sentence for many files that share it: a folder of metrics pages is no list of faults.
        said = names if every or len(names) <= 2 else [names[0], f"{len(names) - 1} more"]
        texts.append(f"{' and '.join(said) if len(said) == 2 else ', '.join(said)}: {problem}")
    if len(groups) > len(shown):
        texts.append(f"{len(groups) - len(shown)} more (-v)")
    page.labelled("not readable", texts, 0, COLUMN, "warning")
