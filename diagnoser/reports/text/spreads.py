"""Latencies and lengths as distributions: one line each, with how many requests they are made of."""

from __future__ import annotations

from diagnoser.figurerows import SpreadRow
from diagnoser.findings import RunReport
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import plural, quantity

_HEADS = ("mean", "p50", "p90", "p99")
#: Who told a distribution, for people.
_TELLERS = {"metrics": "metrics", "bench": "clients"}
#: What a distribution counts, where it is not requests.
_COUNTED = {"latency.itl": "token"}


def write(page: Page, run: RunReport | None) -> None:
    """Write the table of distributions of the run that the head is about."""
    if run is None or not run.spreads:
        return
    rows = list(run.spreads.values())
    cells = [[layout.cut(line(row.title), 24), *_numbers(row), _made_of(row)] for row in rows]
    widths = [max(layout.cells(one[i]) for one in [["", *_HEADS], *cells]) for i in range(5)]
    head = " " * widths[0] + "".join(f"  {name:>{width}}" for name, width in zip(_HEADS, widths[1:], strict=True))
    page.add((head, "dim"))
    for title, *numbers, note in cells:
        told = "".join(f"  {text:>{width}}" for text, width in zip(numbers, widths[1:], strict=True))
        text = f"{layout.pad(title, widths[0])}{told}"
        page.add(text, (layout.cut(f"  {note}", page.width - layout.cells(text), page.mark), "dim"))
    page.gap()


def _numbers(row: SpreadRow) -> list[str]:
    known = [row.mean, *(row.percentiles.get(name, [None])[0] for name in _HEADS[1:])]
    return ["-" if value is None else quantity(value, row.unit) for value in known]


def _made_of(row: SpreadRow) -> str:
    return f"{plural(row.count, _COUNTED.get(row.name, 'request'))}, {_TELLERS.get(row.medium, row.medium)}"
