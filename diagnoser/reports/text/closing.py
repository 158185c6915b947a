"""After the findings: the next experiment, and what could not be seen, told or read."""

from __future__ import annotations

from diagnoser.contracts.findings import Check, Plan, Report, Unknown, Unrecognised
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.summary import pairs, recognised
from diagnoser.reports.text.page import Page
from diagnoser.reports.undecided import asked
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
    problems(page, report)


def _plan(page: Page, plan: Plan) -> None:
    told = page.say("one change, for {finding}, under the same load").format(finding=line(plan.finding))
    page.labelled(page.say("next experiment"), [told], 0, COLUMN)
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
    reasons: dict[str, list[str]] = {}
    for item in unknown:
        if item.reason:
            reasons.setdefault(line(item.reason), []).append(line(item.rule or item.symptom))
    ordered = asked(unknown, page.say)
    shown = ordered if page.options.verbose else ordered[:_UNKNOWN_SHOWN]

    def names(rules: list[str]) -> str:
        most = len(rules) if page.options.verbose else 3
        told, rest = ", ".join(map(line, rules[:most])), len(rules) - most
        return page.say("{names} and {count} more").format(names=told, count=rest) if rest > 0 else told

    texts = [one.told(line(one.needs), names, page.say) for one in shown]
    if len(ordered) > len(shown):
        others = plural(len(ordered) - len(shown), "other input", say=page.say)
        texts.append(page.say("{inputs} would decide the rest (-v)").format(inputs=others))
    if page.options.verbose:
        texts += [page.say.pair(reason, ", ".join(dict.fromkeys(rules))) for reason, rules in reasons.items()]
    if texts:
        page.labelled(page.say("not observed"), texts, 0, COLUMN)


def _unrecognised(page: Page, residue: list[Unrecognised]) -> None:
    everything = page.options.verbose or page.options.unrecognised
    shown = residue if everything else residue[:_UNRECOGNISED_SHOWN]
    total = sum(item.count for item in residue)
    kinds, counted = plural(len(residue), "kind", say=page.say), plural(total, "line", say=page.say)
    told = page.say("{kinds} of warning or error that no rule knows, {lines}").format(kinds=kinds, lines=counted)
    more = "" if len(shown) == len(residue) else page.say("; all of them: --unrecognised")
    page.labelled(page.say("not recognised"), [told + more], 0, COLUMN)
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
    spans: list[tuple[str, str]] = [(layout.pad(page.say("checklist"), COLUMN), "label")]
    used = COLUMN
    for check in checks:
        style = "FAIL" if check.state == "fail" else check.state
        state = page.say(style)
        text = f"{line(check.id)} "
        if used + len(text) + layout.cells(state) > page.width:
            page.add(*spans)
            spans, used = [(" " * COLUMN, "")], COLUMN
        spans += [(text, ""), (state, "dim" if style in ("unknown", "n/a") else style), ("   ", "")]
        used += len(text) + layout.cells(state) + 3
    page.add(*spans)
    for check in checks:
        if check.state == "fail" or (page.options.verbose and check.state != "n/a"):
            name, reason = f"{line(check.id)} {line(check.title)}", line(check.reason)
            page.labelled("", [page.say.pair(name, reason) if reason else name], 0, COLUMN)
    if not page.options.verbose:
        groups: dict[str, list[str]] = {}
        for check in checks:
            if check.state == "unknown" and check.reason:
                groups.setdefault(line(check.reason), []).append(f"{line(check.id)} {line(check.title)}")
        unknown = page.say("unknown")
        listed = [(page.say(", ").join(names), reason) for reason, names in groups.items()]
        texts = [page.say.pair(unknown, page.say.pair(names, reason)) for names, reason in listed]
        page.labelled("", texts[:2], 0, COLUMN, "dim")


def problems(page: Page, report: Report) -> None:
    """Name the inputs that could not be read, or not well."""
    groups: dict[str, list[str]] = {}
    for source in report.inputs:
        for problem in source.problems:
            groups.setdefault(line(problem), []).append(line(source.name))
    every = page.options.verbose
    shown = list(groups.items())[: None if every else _PROBLEMS_SHOWN]
    texts = []
    for problem, names in shown:
        # One sentence for many files that share it: a folder of metrics pages is no list of faults.
        if len(names) == 2:
            told = page.say("{one} and {other}").format(one=names[0], other=names[1])
        elif every or len(names) < 2:
            told = ", ".join(names)
        else:
            told = page.say("{names} and {count} more").format(names=names[0], count=len(names) - 1)
        texts.append(page.say.pair(told, problem))
    if len(groups) > len(shown):
        texts.append(page.say("{count} more (-v)").format(count=len(groups) - len(shown)))
    page.labelled(page.say("not readable"), texts, 0, COLUMN, "warning")
