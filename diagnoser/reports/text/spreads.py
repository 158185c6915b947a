"""Latencies and lengths as distributions: one line each, with how many requests they are made of."""

from __future__ import annotations

from diagnoser.figurerows import SpreadRow
from diagnoser.findings import RunReport
from diagnoser.language import Say, phrase
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import plural, quantity

_HEADS = (phrase("mean"), "p50", "p90", "p99")
#: Who told a distribution, for people.
_TELLERS = {"metrics": phrase("metrics"), "bench": phrase("clients")}
#: The distribution that counts tokens and not requests.
_TOKENS = "latency.itl"


def write(page: Page, run: RunReport | None) -> None:
    """Write the table of distributions of the run that the head is about."""
    if run is None or not run.spreads:
        return
    rows = list(run.spreads.values())
    cells = [[layout.cut(line(row.title), 24), *_numbers(row), _made_of(row, page.say)] for row in rows]
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


def _numbers(row: SpreadRow) -> list[str]:
    known = [row.mean, *(row.percentiles.get(name, [None])[0] for name in _HEADS[1:])]
    return ["-" if value is None else quantity(value, row.unit) for value in known]


def _made_of(row: SpreadRow, say: Say) -> str:
    counted = plural(row.count, "token", say=say) if row.name == _TOKENS else plural(row.count, "request", say=say)
    teller = say(_TELLERS[row.medium]) if row.medium in _TELLERS else row.medium
    return say("{requests}, {teller}").format(requests=counted, teller=teller)
