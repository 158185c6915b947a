"""Key figures over time: one line each, the shape first, then the numbers to judge it by."""

from __future__ import annotations

from diagnoser.figurerows import FigureRow
from diagnoser.findings import Report, RunReport
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.sparkline import resample, sparkline
from diagnoser.reports.summary import profile
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import elapsed, quantity

#: The fact that caps a figure: a line that runs along its limit is the finding.
_LIMITS = {"requests.running": "limits.running", "requests.waiting": "limits.queued"}
_MOST = 200
#: Never worth a "zero throughout": an idle server is worth a line.
_ALWAYS = frozenset({"requests.running", "requests.waiting", "kv.usage", "gen.tps"})


def write(page: Page, report: Report, run: RunReport | None) -> None:
    """Figures of the run that the head is about."""
    if run is None or not run.figures:
        return
    rows = [row for name, row in run.figures.items() if not name.startswith("profile.")]
    flat = [] if page.options.verbose else [row for row in rows if row.max == 0 and row.name not in _ALWAYS]
    rows = [row for row in rows if row not in flat]
    title_width = max((layout.cells(_title(row)) for row in rows), default=0)
    cells = [_numbers(row, run) for row in rows]
    widths = [max((layout.cells(cell[i]) for cell in cells), default=0) for i in range(3)]
    numbers_width = len("   median    max  ") + sum(widths)
    spark_width = max((len(row.points) for row in rows), default=0)
    slices = _slices(run)
    spark_width = max(8, min(spark_width, page.width - title_width - 2 - numbers_width - 1))
    for row, (median, most, note) in zip(rows, cells, strict=True):
        top = 1.0 if row.unit == "ratio" else row.max
        spark = layout.pad(
            sparkline(resample(row.points, min(spark_width, slices)), top, page.options.unicode), spark_width
        )
        lead = f"{layout.pad(_title(row), title_width)}  "
        numbers = layout.cut(
            f"   median {median:>{widths[0]}}   {_extreme(row)} {most:>{widths[1]}}{note}",
            page.width - layout.cells(lead) - spark_width,
            page.mark,
        )
        page.add(lead, (spark, "bar"), numbers)
    if profiled := profile(run):
        page.labelled("profile:", [profiled], 0, 9)
    if flat:
        page.labelled("zero throughout:", [", ".join(_title(row) for row in flat)], 0, 17, "dim")
    page.gap()


def _slices(run: RunReport) -> int:
    """Return how many slices of time this run can fill: one narrower than the pause between lines is no hole."""
    seconds = elapsed(run.started, run.ended)
    if not seconds or not run.stats_interval:
        return _MOST
    return max(8, min(_MOST, int(seconds / run.stats_interval / 1.5)))


def _title(row: FigureRow) -> str:
    return layout.cut(line(row.title or row.name), 24) + (" tok/s" if row.unit == "tokens/s" else "")


def _extreme(row: FigureRow) -> str:
    return "best" if row.unit == "tokens/s" else "max "


def _numbers(row: FigureRow, run: RunReport) -> tuple[str, str, str]:
    limit = run.facts.get(_LIMITS.get(row.name, ""))
    note = ""
    if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0:
        note = " = limit" if row.max == limit else f"   limit {quantity(limit, row.unit)}"
    if row.name == "cache.hit_rate" and row.min < row.max:
        note = f"   min {quantity(row.min, row.unit)}"
    return quantity(row.median, row.unit), quantity(row.max, row.unit), note
