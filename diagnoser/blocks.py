"""A figure cut into stretches of time under load: what two runs are compared by, since neighbouring lines are alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
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
    rows: list[tuple[float, float]] = []
    longest = 0
    for table, busy in tables:
        column = table.columns.get(name)
        scale = _per_minute(table) if kind == "count" else 1.0
        if column is None or scale is None:
            continue
        missing = 0.0 if kind == "count" else float("nan")
        values = [value if value == value else missing for value in column]
        found = [
            (time, value * scale)
            for time, value, loaded in zip(table.time, values, busy, strict=True)
            if loaded and value == value
        ]
        rows += found
        longest = max(longest, len(found))
    number = min(most, longest // LINES)
    if number < 1:
        return Blocks(len(rows), [])
    return Blocks(len(rows), _means(rows, number))


def _means(rows: list[tuple[float, float]], number: int) -> list[float]:
    timed = [row for row in rows if row[0] == row[0]]
    start, end = (min(timed)[0], max(timed)[0]) if timed else (0.0, 0.0)
    stretches: list[list[float]] = [[] for _ in range(number)]
    if end > start:
        for time, value in timed:
            stretches[min(number - 1, int((time - start) / (end - start) * number))].append(value)
    else:  # no clock: in the order of the lines
        for at, (_, value) in enumerate(rows):
            stretches[at * number // len(rows)].append(value)
    return [fsum(values) / len(values) for values in stretches if values]


def _per_minute(table: Table) -> float | None:
    gaps = sorted(later - earlier for earlier, later in pairwise(table.time) if later > earlier)
    return 60 / gaps[len(gaps) // 2] if gaps else None
