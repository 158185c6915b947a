"""The report for a person at a terminal: the root cause first, with its proof and its fix."""

from __future__ import annotations

from diagnoser.contracts.findings import Report
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.text import brief, closing, compared, figures, findings, head, objectives, spreads
from diagnoser.reports.text.page import Page

NAME = "text"
DESCRIPTION = "for a person at a terminal (default)"
REDACT = False


def render(report: Report, options: RenderOptions) -> str:
    """Plain text of at most ``options.width`` cells, with colours only when asked for."""
    page = Page(options, [source.name for source in report.inputs])
    if options.brief:
        brief.write(page, report)
        return page.text()
    shown = head.write(page, report)
    # One page for a whole fleet: what is one server's alone is told of it alone, or with -v.
    alone = report.fleet is None
    if alone or options.verbose:
        figures.write(page, report, shown)
        spreads.write(page, shown)
        objectives.write(page, report, shown)
    if alone:
        compared.stand_out(page, report.odd)
    findings.write(page, report)
    if report.baseline is not None:
        compared.section(page, report.baseline)
    if alone or options.verbose:
        closing.write(page, report)
    else:
        closing.problems(page, report)
        told = page.say("figures, checklist and what was not observed: -v, or one server's log alone")
        page.add((told, "dim"))
    return page.text()
