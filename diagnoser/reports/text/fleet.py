"""Many servers on one page: their kinds, who shows what since when, and who stands apart."""

from __future__ import annotations

from diagnoser.contracts.findings import Report
from diagnoser.contracts.fleetrows import Affected, Fleet
from diagnoser.reports import fleetwords as words
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.text.page import Page

COLUMN = 8


def write(page: Page, report: Report) -> None:
    """Write what is told of all servers together."""
    fleet = report.fleet
    if fleet is None:
        return
    page.labelled(page.say("fleet"), [words.heading(report, page.say)], 0, COLUMN)
    _kinds(page, fleet)
    if fleet.findings:
        page.gap()
        _findings(page, fleet)
    if fleet.apart:
        page.gap()
        every = words.apart(fleet, page.say)
        said = every if page.options.verbose else every[: words.APART]
        page.labelled(page.say("apart"), said, 0, COLUMN)
        _more(page, len(every) - len(said))
    page.gap()


def _kinds(page: Page, fleet: Fleet) -> None:
    shown = fleet.kinds if page.options.verbose else fleet.kinds[: words.KINDS]
    width = max(len(f"{one.servers:,}") for one in shown)
    for one in shown:
        for i, piece in enumerate(
            layout.wrap(words.kind(one, page.say).replace(" · ", page.dot), page.width - width - 4)
        ):
            page.add((f"  {one.servers:>{width},}  " if i == 0 else " " * (width + 4), "label"), (piece, "dim"))
    _more(page, len(fleet.kinds) - len(shown))


def _findings(page: Page, fleet: Fleet) -> None:
    """Write a line for each finding: how bad, how many, since when, which first."""
    shown = fleet.findings if page.options.verbose else fleet.findings[: words.FINDINGS]
    shares = [words.share(one, page.say) for one in shown]
    ids = max(layout.cells(line(one.id)) for one in shown)
    width = max(map(layout.cells, shares))
    for one, told in zip(shown, shares, strict=True):
        lead = layout.pad(page.say(one.severity).upper(), 8) + "  "
        room = page.width - layout.cells(lead) - ids - width - 4
        where = "  ".join(filter(None, (words.since(one, page.say), words.first(one, page.say))))
        name = (layout.pad(line(one.id), ids), _style(one))
        page.add(
            (lead, one.severity),
            name,
            (f"  {' ' * (width - layout.cells(told))}{told}  ", ""),
            (layout.cut(where, max(room, 12), page.mark), "dim"),
        )
    _more(page, len(fleet.findings) - len(shown))


def _style(one: Affected) -> str:
    return "title" if one.role == "root" else "dim"


def _more(page: Page, hidden: int) -> None:
    if hidden > 0:
        more = page.say("{count} more (-v)").format(count=f"{hidden:,}")
        page.add((f"{' ' * COLUMN}{page.mark} {more}", "dim"))
