"""The lines of one shape among those of a block, and the numbers in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from diagnoser.skimming.digits import Digits
from diagnoser.skimming.layouts import Layout, Request
from diagnoser.table import Group


class Found:
    """The lines of one shape in a block, in order, and the numbers in them."""

    def __init__(self, layout: Layout | Request, lines: Any, digits: Digits | None = None, firsts: Any = None) -> None:
        self.shape = layout.shape
        self.group: Group = layout.group if isinstance(layout, Layout) else ()
        self.lines = lines
        self._values = layout.values if isinstance(layout, Layout) else ()
        self._digits = digits
        self._firsts = firsts

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
        digits, firsts = self._digits, self._firsts
        assert digits is not None
        if fraction < 0:
            return digits.read(firsts + whole).astype(np.float64)
        return digits.decimals(firsts + whole, firsts + fraction)
