"""Latencies and lengths as distributions: one line each, with how many requests they are made of."""

from __future__ import annotations

from diagnoser.contracts.findings import RunReport
from diagnoser.language import phrase
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.spreadrows import PERCENTILES, rows
from diagnoser.reports.text.page import Page

_HEADS = (phrase("mean"), *PERCENTILES)


def write(page: Page, run: RunReport | None) -> None:
    """Write the table of distributions of the run that the head is about."""
    if run is None or not run.spreads:
        return
    cells = []
    for row in rows(run, page.say):
        title = f"  {line(row.title)}" if row.below else line(row.title)
        cells.append([layout.cut(title, 24), *row.cells, row.note])
    heads = [page.say(name) for name in _HEADS]
    widths = [max(layout.cells(one[i]) for one in [["", *heads], *cells]) for i in range(5)]
    columns = zip(heads, widths[1:], strict=True)
    head = " " * widths[0] + "".join(f"  {layout.pad_left(name, width)}" for name, width in columns)
    page.add((head, "dim"))
    for title, *numbers, note in cells:
        told = "".join(f"  {layout.pad_left(text, width)}" for text, width in zip(numbers, widths[1:], strict=True))
        text = f"{layout.pad(title, widths[0])}{told}"
        page.add(text, (layout.cut(f"  {note}", page.width - layout.cells(text), page.mark), "dim"))
    page.gap()
