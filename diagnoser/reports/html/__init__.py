"""The report as one page for a browser: everything is inside, nothing is fetched, nothing runs but its own script.

Everything in it is bounded, so that a page stays below 1.5 MB whatever the inputs are; 84 kB of that are the charts'
library, script, style and licence. Templates are Jinja's, escaped by default; the charts are uPlot's, whose release
lies in ``uplot/`` as it was published.
"""

from __future__ import annotations

from diagnoser.contracts.findings import Report
from diagnoser.reports.base import RenderOptions

NAME = "html"
DESCRIPTION = "one self-contained page with charts, for a browser, a phone or paper"
#: The page also shows what happened over time, and the lines around the evidence.
STORY = True


def render(report: Report, options: RenderOptions) -> str:
    """Return the page. Log text is text everywhere: masked, made visible and escaped on its way in."""
    from diagnoser.reports.html import page  # listing the formats needs no templates

    return page.render(report, options)
