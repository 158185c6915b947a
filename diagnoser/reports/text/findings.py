"""The findings in rank order: a root cause with its proof and fix, its consequences under it."""

from __future__ import annotations

from diagnoser.contracts.findings import Evidence, Finding, Report
from diagnoser.language import Say
from diagnoser.reports import fleetwords, layout
from diagnoser.reports.excerpt import Words, excerpt, stems
from diagnoser.reports.safe import line, lines
from diagnoser.reports.summary import looked, recognised
from diagnoser.reports.text import remedies
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import clock, day, short_window

#: Where the body of a finding begins, and its hanging column.
INDENT = 3
COLUMN = 13
_EVIDENCE_SHOWN = 3
_SOURCE_WIDTH = 28


def write(page: Page, report: Report) -> None:
    """Every finding, or the sentence that says how hard was looked."""
    if not report.findings:
        _nothing(page, report)
        return
    known = {finding.id for finding in report.findings}
    tops = [finding for finding in report.findings if finding.explained_by not in known - {finding.id}]
    told = tops if report.fleet is None or page.options.verbose else tops[: fleetwords.TOLD]
    for place, finding in enumerate(told, 1):
        page.gap()
        _finding(page, report, place, finding)
    if len(told) < len(tops):
        page.gap()
        names = ", ".join(line(finding.id) for finding in tops[len(told) :])
        page.labelled(
            page.say("also"), [page.say("{names}: -v tells them in full").format(names=names)], 0, COLUMN, "dim"
        )
    if report.healthy:
        page.gap()
        _nothing(page, report)
    page.gap()


def _nothing(page: Page, report: Report) -> None:
    if not recognised(report):
        told = page.say("Nothing here is the log or another trace of an inference server, so nothing was judged.")
        page.prose(told, 0, "label")
        return
    if report.healthy is None:
        page.prose(page.say("Too little can be seen here to call this server healthy."), 0, "label")
    page.prose(looked(report, page.say), 0, "ok" if report.healthy else "")


def _finding(page: Page, report: Report, place: int, finding: Finding) -> None:
    lead = f"{place:<{INDENT}}"
    severity = page.say(finding.severity).upper()
    used = len(lead) + layout.cells(severity) + 2
    name = line(finding.id)
    pieces = layout.wrap(line(finding.title), page.width - used)
    spans = [(lead, "label"), (severity, finding.severity), ("  ", ""), (pieces[0], "title")]
    # The id stands at the right edge where it fits, else on the line below.
    fill = page.width - used - layout.cells(pieces[0]) - layout.cells(name)
    inline = len(pieces) == 1 and fill >= 3
    if inline:
        spans += [(" " * fill, ""), (name, "dim")]
    page.add(*spans)
    for piece in pieces[1:]:
        page.add(" " * used, (piece, "title"))
    items = [] if inline else [name]
    items += [
        page.say("root cause") if finding.role == "root" else page.say("consequence"),
        page.say(finding.confidence),
        short_window(line(finding.window)),
    ]
    if len(report.runs) > 1:
        items.append(_runs(report, finding, page.say))
    for piece in layout.flow([item for item in items if item], page.width - INDENT, page.dot):
        page.add(" " * INDENT, (piece, "dim"))
    for text in [*lines(finding.meaning), *lines(finding.impact)]:
        if text:
            page.prose(text, INDENT)
    _evidence(page, finding)
    _consequences(page, report, finding)
    remedies.write(page, finding.remedies)
    if finding.verify:
        page.labelled(page.say("verify"), lines(finding.verify), INDENT, COLUMN)
    page.labelled(page.say("more"), [f"diagnose explain {name}"], INDENT, COLUMN, "dim")


def _runs(report: Report, finding: Finding, say: Say) -> str:
    places = [str(i) for i, run in enumerate(report.runs, 1) if run.id in finding.runs]
    if report.fleet is not None:
        return next((fleetwords.servers(one, say) for one in report.fleet.findings if one.id == finding.id), "")
    if len(places) > 6:
        return say("in {count} of {runs} runs").format(count=len(places), runs=len(report.runs))
    return say("run {number}").format(number=", ".join(places)) if places else ""


def _evidence(page: Page, finding: Finding, indent: int = INDENT + 2, most: int = _EVIDENCE_SHOWN) -> None:
    shown = finding.evidence if page.options.verbose else finding.evidence[:most]
    if not shown:
        return
    words = _words(page, finding)
    several_days = len({day(item.time) for item in shown}) > 1
    places = [_place(page, item) for item in shown]
    times = [f"{day(item.time)} {clock(item.time)}".strip() if several_days else clock(item.time) for item in shown]
    place_width, time_width = max(map(layout.cells, places)), max(map(len, times))
    column = indent + place_width + 2 + (time_width + 2 if time_width else 0)
    # Less than half a line left for the proof: it gets a line of its own.
    below = page.width - column < 36
    for item, place, time in zip(shown, places, times, strict=True):
        lead = (
            " " * indent
            + layout.pad(place, place_width)
            + "  "
            + (layout.pad(time, time_width) + "  " if time_width else "")
        )
        if below:
            page.add((lead, "dim"))
            page.add(" " * (indent + 2), (excerpt(item.text, words, page.width - indent - 2, page.mark), "proof"))
        else:
            page.add((lead, "dim"), (excerpt(item.text, words, page.width - column, page.mark), "proof"))
    hidden = len(finding.evidence) - len(shown)
    if hidden:
        page.add((" " * indent + f"{page.mark} {page.say('{count} more (-v)').format(count=hidden)}", "dim"))


def _words(page: Page, finding: Finding) -> Words:
    """Return what makes a line of a log a proof. Logs are English, whatever language the title is in."""
    return stems(page.say.english(finding.title), finding.id, finding.impact)


def _place(page: Page, item: Evidence) -> str:
    """Return ``server.log:812``; of a long path the end, which tells files apart."""
    where = f":{item.line}" if item.line else ""
    return layout.cut_left(page.source(item.source), _SOURCE_WIDTH - len(where), page.mark) + where


def _consequences(page: Page, report: Report, root: Finding) -> None:
    """List what follows from a root, compact; consequences of consequences are indented once more."""
    below = [(depth, finding) for depth, finding in _tree(report, root, 0, {root.id})]
    named = {finding.id for _, finding in below}
    first = True
    for depth, finding in below:
        lead = layout.pad(" " * INDENT + (page.say("explains") if first else ""), COLUMN) + "  " * depth
        text = f"{line(finding.id)}{page.dot}{page.say(finding.severity)}{page.dot}{line(finding.title)}"
        used = layout.cells(lead)
        for i, piece in enumerate(layout.wrap(text, page.width - used - 2)):
            page.add((lead if i == 0 else " " * (used + 2), "label"), piece)
        for item in finding.evidence[:1]:
            where = f"{_place(page, item)}  {clock(item.time)}".rstrip() + "  "
            room = page.width - COLUMN - 2 - 2 * depth - layout.cells(where)
            if room >= 24:
                proof = excerpt(item.text, _words(page, finding), room, page.mark)
                page.add(" " * (COLUMN + 2 + 2 * depth), (where, "dim"), (proof, "dim"))
        first = False
    rest = [line(name) for name in root.explains if name not in named and name != root.id]
    if rest and first:
        page.labelled(page.say("explains"), [", ".join(rest)], INDENT, COLUMN, "dim")


def _tree(report: Report, root: Finding, depth: int, seen: set[str]) -> list[tuple[int, Finding]]:
    out: list[tuple[int, Finding]] = []
    for finding in report.findings:
        if finding.explained_by == root.id and finding.id not in seen:
            seen.add(finding.id)
            out.append((depth, finding))
            out += _tree(report, finding, depth + 1, seen)
    return out
