"""Key figures over time: one line each, the shape first, then the numbers to judge it by."""

from __future__ import annotations

from diagnoser.contracts.figurerows import FigureRow
from diagnoser.contracts.findings import Report, RunReport
from diagnoser.language import Say
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
    cells = [_numbers(row, run, page.say) for row in rows]
    widths = [max((layout.cells(cell[i]) for cell in cells), default=0) for i in range(3)]
    median_word, extremes = page.say("median"), [_extreme(row, page.say) for row in rows]
    extreme_width = max(layout.cells(page.say("max")), layout.cells(page.say("best")))
    numbers_width = layout.cells(median_word) + extreme_width + 8 + sum(widths)
    spark_width = max((len(row.points) for row in rows), default=0)
    slices = _slices(run)
    spark_width = max(8, min(spark_width, page.width - title_width - 2 - numbers_width - 1))
    for row, extreme, (median, most, note) in zip(rows, extremes, cells, strict=True):
        top = 1.0 if row.unit == "ratio" else row.max
        spark = layout.pad(
            sparkline(resample(row.points, min(spark_width, slices)), top, page.options.unicode), spark_width
        )
        lead = f"{layout.pad(_title(row), title_width)}  "
        numbers = layout.cut(
            f"   {median_word} {layout.pad_left(median, widths[0])}"
            f"   {layout.pad(extreme, extreme_width)} {layout.pad_left(most, widths[1])}{note}",
            page.width - layout.cells(lead) - spark_width,
            page.mark,
        )
        page.add(lead, (spark, "bar"), numbers)
    if profiled := profile(run, page.say):
        label = page.say("profile:")
        page.labelled(label, [profiled], 0, layout.cells(label) + label.endswith(":"))
    if flat:
        label = page.say("zero throughout:")
        page.labelled(
            label,
            [page.say(", ").join(_title(row) for row in flat)],
            0,
            layout.cells(label) + label.endswith(":"),
            "dim",
        )
    page.gap()


def _slices(run: RunReport) -> int:
    """Return how many slices of time this run can fill: one narrower than the pause between lines is no hole."""
    seconds = elapsed(run.started, run.ended)
    if not seconds or not run.stats_interval:
        return _MOST
    return max(8, min(_MOST, int(seconds / run.stats_interval / 1.5)))


def _title(row: FigureRow) -> str:
    return layout.cut(line(row.title or row.name), 24) + (" tok/s" if row.unit == "tokens/s" else "")


def _extreme(row: FigureRow, say: Say) -> str:
    return say("best") if row.unit == "tokens/s" else say("max")


def _numbers(row: FigureRow, run: RunReport, say: Say) -> tuple[str, str, str]:
    limit = run.facts.get(_LIMITS.get(row.name, ""))
    note = ""
    if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0:
        told = say("limit {limit}").format(limit=quantity(limit, row.unit))
        note = f" {say('= limit')}" if row.max == limit else f"   {told}"
    if row.name == "cache.hit_rate" and row.min < row.max:
        note = "   " + say("min {value}").format(value=quantity(row.min, row.unit))
    return quantity(row.median, row.unit, say), quantity(row.max, row.unit, say), note
