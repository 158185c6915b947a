"""A figure cut into stretches of time under load: what two runs are compared by, since neighbouring lines are alike."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress, pairwise
from math import fsum
from operator import and_, eq, le
from typing import NamedTuple

from diagnoser.tables.table import Table

#: A stretch of fewer lines than this says nothing that a line does not.
LINES = 2


class Blocks(NamedTuple):
    """``loaded`` samples and the means of their stretches, in order."""

    loaded: int
    means: list[float]


def of(tables: Sequence[tuple[Table, Sequence[bool]]], name: str, kind: str, most: int) -> Blocks:
    """Cut the loaded rows of a series into at most ``most`` stretches of equal length; ranks are averaged in each.

    A count is given per minute. Its field is left out of lines where nothing happened, so that a line without it
    counts as 0 in a table that has it elsewhere. Stretches without a loaded row are left out.
    """
    times: list[float] = []
    values: list[float] = []
    longest = 0
    for table, busy in tables:
        column = table.columns.get(name)
        scale = _per_minute(table) if kind == "count" else 1.0
        if column is None or scale is None:
            continue
        if kind == "count":
            kept = list(busy)
            values += [(value if value == value else 0.0) * scale for value in compress(column, kept)]
        else:
            kept = list(map(and_, map(eq, column, column), busy))  # NaN equals nothing
            values += compress(column, kept)
        times += compress(table.time, kept)
        longest = max(longest, sum(kept))
    number = min(most, longest // LINES)
    return Blocks(len(values), _means(times, values, number) if number >= 1 else [])


def _means(times: list[float], values: list[float], number: int) -> list[float]:
    if not all(map(le, times, times[1:])):  # out of order, or with rows without a time
        pairs = sorted((time, value) for time, value in zip(times, values, strict=True) if time == time)
        times = [time for time, _ in pairs]
        if times and times[0] < times[-1]:
            values = [value for _, value in pairs]

    def place(at: int) -> int:
        """Return the stretch of a row."""
        if times and times[0] < times[-1]:
            return min(number - 1, int((times[at] - times[0]) / (times[-1] - times[0]) * number))
        return at * number // len(values)  # no clock: in the order of the lines

    every = range(len(values))
    cuts = [bisect_left(every, wanted, key=place) for wanted in range(number)]
    stretches = (values[start:stop] for start, stop in pairwise([*cuts, len(values)]))
    return [fsum(stretch) / len(stretch) for stretch in stretches if stretch]


def _per_minute(table: Table) -> float | None:
    gaps = sorted(later - earlier for earlier, later in pairwise(table.time) if later > earlier)
    return 60 / gaps[len(gaps) // 2] if gaps else None
