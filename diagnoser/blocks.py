"""A figure cut into stretches of time under load: what two runs are compared by, since neighbouring lines are alike."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress, pairwise
from math import fsum
from operator import and_, eq
from typing import NamedTuple

from diagnoser.table import Table

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
    pairs = [(time, value) for time, value in zip(times, values, strict=True) if time == time]
    if pairs and min(times) < max(times):
        pairs.sort()
        start, end = pairs[0][0], pairs[-1][0]
        places = [min(number - 1, int((time - start) / (end - start) * number)) for time, _ in pairs]
        ordered = [value for _, value in pairs]
    else:  # no clock: in the order of the lines
        places = [at * number // len(values) for at in range(len(values))]
        ordered = values
    cuts = [bisect_left(places, place) for place in range(number)]
    stretches = (ordered[start:stop] for start, stop in pairwise([*cuts, len(ordered)]))
    return [fsum(stretch) / len(stretch) for stretch in stretches if stretch]


def _per_minute(table: Table) -> float | None:
    gaps = sorted(later - earlier for earlier, later in pairwise(table.time) if later > earlier)
    return 60 / gaps[len(gaps) // 2] if gaps else None
