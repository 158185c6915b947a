"""When the server had work, for tables that do not know it: what a GPU did while idle must not dilute the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.rows import Rows

#: Rows that must lie within the time of the server's own, or the two clocks have nothing in common.
FEWEST = 3
#: Series that tell a card at work from an idle one, the best first.
BUSY = ("gpu.sm_active", "gpu.util", "gpu.power")
#: Where a card is this much busier while the server says that it is idle, the clocks differ.
CONTRARY = 1.5

Spans = list[tuple[float, float]]


def at_work(rows: Rows, served: Sequence[Rows]) -> bytes | None:
    """Return the rows in whose moments the server had work; None (all of them) when nothing can tell.

    Two clocks without a zone are taken for one if they overlap, unless the cards are busier when the server says that
    it is idle. Rows without a time count.
    """
    timed = [one for one in served if one.timed]
    times = rows.table.time
    if not timed:
        return None
    known = [(one.table.time[i], one.weights[i]) for one in timed for i in range(len(one.table))]
    starts = [start for start, _ in known if start == start]
    first, last = min(starts), max(start + weight for start, weight in known if start == start)
    inside = [first <= time < last for time in times]
    if sum(inside) < FEWEST:
        return None
    spans = _joined(span for one in timed for span in _spans(one))
    out = bytes(time != time or _within(time, spans) for time in times)
    return None if all(out) or _contrary(rows, out, inside) else out


def _spans(rows: Rows) -> Iterable[tuple[float, float]]:
    """Yield when a table of the server says that there was work; a server that hangs under load still has some."""
    loaded, times, weights = rows.loaded, rows.table.time, rows.weights
    for i, start in enumerate(times):
        if start == start and (loaded is None or loaded[i]):
            after = times[i + 1] if i + 1 < len(times) else start
            end = start + weights[i]
            yield start, max(end, after) if rows.steady and after == after else end


def _joined(spans: Iterable[tuple[float, float]]) -> Spans:
    out: Spans = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _within(time: float, spans: Spans) -> bool:
    at = bisect_right(spans, (time, float("inf"))) - 1
    return at >= 0 and spans[at][0] <= time < spans[at][1]


def _contrary(rows: Rows, mask: bytes, inside: Sequence[bool]) -> bool:
    """Whether the card is much busier in the server's idle moments than in its busy ones."""
    for name in BUSY:
        column = rows.table.columns.get(name)
        if column is None:
            continue
        busy = [value for value, on in zip(column, mask, strict=True) if on and value == value]
        idle = [value for value, on, at in zip(column, mask, inside, strict=True) if at and not on and value == value]
        if busy and idle:
            return fsum(idle) / len(idle) > CONTRARY * fsum(busy) / len(busy)
    return False
