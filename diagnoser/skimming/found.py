"""The lines of one shape among those of a block, and the numbers in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from diagnoser.skimming.forks import Told
from diagnoser.skimming.layouts import Layout, Request
from diagnoser.skimming.trials import Value
from diagnoser.skimming.words import MOST_DIGITS
from diagnoser.tables.table import Group

_POWERS = 10.0 ** np.arange(MOST_DIGITS + 1)


class Found:
    """The lines of one shape in a block, in order, and the numbers in them."""

    def __init__(self, layout: Layout | Request, lines: Any, told: Told) -> None:
        self.shape = layout.shape
        self.group: Group = layout.group if isinstance(layout, Layout) else ()
        self.lines = lines
        self._values = layout.values if isinstance(layout, Layout) else ()
        self._told = told

    def between(self, at: int, stop: int) -> tuple[int, int]:
        """Return the first and behind the last of its lines that lie between two lines of the block."""
        first, behind = self.lines.searchsorted((at, stop))
        return int(first), int(behind)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Label to numbers, one of each line, exactly as ``float`` reads them."""
        made: dict[tuple[int, int], Any] = {}
        found: dict[str, Any] = {}
        for value in self._values:
            if value.whole < 0:
                found[value.label] = np.full(len(self.lines), value.constant)
                continue
            place = value.whole, value.fraction
            if place not in made:
                made[place] = self._read(*place)
            found[value.label] = made[place] / value.divisor if value.divisor != 1.0 else made[place]
        return found

    def _read(self, whole: int, fraction: int) -> Any:
        values, _ = self._told[whole]
        if fraction < 0:
            return values.astype(np.float64)
        parts, sizes = self._told[fraction]
        power = _POWERS[sizes]
        return (values * power + parts) / power


def readable(value: Value, told: Told) -> Any:
    """Tell in which lines a number has no more digits than a float holds, None for all."""
    if value.fraction < 0:
        return None
    digits = told[value.whole][1] + told[value.fraction][1]
    return None if int(digits.max(initial=0)) <= MOST_DIGITS else digits <= MOST_DIGITS


def fraction_of(number: int, told: Told) -> Any:
    """Return what stands behind a point, just as ``float`` reads it."""
    values, sizes = told[number]
    return values / _POWERS[sizes]
