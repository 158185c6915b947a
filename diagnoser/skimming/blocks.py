"""A block of lines taken apart: which line has which known shape, when, and the numbers in them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from diagnoser.skimming.layouts import Layout
from diagnoser.skimming.shapes import Shape, Shapes

#: Year, month and day that the clock of a stream stands at.
Date = tuple[int, int, int]

_STRANGE = (b"\x00", b"\r", b"\x1b", b" across cluster]")
# What a time on another day is taken for.
_ANOTHER_DAY = -1


class Seconds(dict[str, int]):
    """Dates and times as printed to seconds since the midnight of one day. Bounded: a day has no more."""

    def __init__(self, date: Date) -> None:
        super().__init__()
        month_day = f"{date[1]:02}-{date[2]:02} "
        self._minutes: dict[str, int] = {}
        self._days = (month_day, f"{date[0]:04}-{month_day}")

    def __missing__(self, stamp: str) -> int:
        minute, second = stamp[:-2], stamp[-2:]
        start = self._minutes.get(minute)
        if start is None:
            hour, colon, rest = minute[-6:-4], minute[-4:-3], minute[-3:]
            if minute[:-6] not in self._days or not hour.isdigit() or colon != ":" or rest[2:] != ":":
                return _ANOTHER_DAY
            if not rest[:2].isdigit():
                return _ANOTHER_DAY
            start = self._minutes[minute] = int(hour) * 3600 + int(rest[:2]) * 60
        if not second.isdigit():
            return _ANOTHER_DAY
        made = self[stamp] = start + int(second)
        return made


class Found:
    """The lines of one shape in a block, in order, and the numbers in them."""

    def __init__(self, shape: Shape, lines: list[int], mark: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
        self.layout: Layout = shape.layout
        self.lines = lines
        self._shape = shape
        self._mark = mark
        self._columns = columns
        self._values: dict[str, array[float]] | None = None

    def between(self, at: int, stop: int) -> tuple[int, int]:
        """Return the first and behind the last of its lines that lie between two lines of the block."""
        lines = self.lines
        if not lines or lines[0] >= stop:
            return 0, 0
        return bisect_left(lines, at), len(lines) if lines[-1] < stop else bisect_left(lines, stop)

    def values(self) -> dict[str, array[float]]:
        """Return label to numbers, one of each line, exactly as ``float`` reads them."""
        if self._values is None:
            made: dict[int, array[float]] = {}
            self._values = {}
            for value in self.layout.values:
                if value.group < 0:
                    self._values[value.label] = array("d", [value.constant]) * len(self.lines)
                    continue
                numbers = made.get(value.group)
                if numbers is None:
                    column = self._columns[self._shape.numbers[value.group]]
                    numbers = made[value.group] = array("d", list(map(float, compress(column, self._mark))))
                if value.divisor != 1.0:
                    numbers = array("d", [number / value.divisor for number in numbers])
                self._values[value.label] = numbers
        return self._values


class Block:
    """Whole lines. ``misfits`` are those of no known shape or another day, behind them the number of lines."""

    def __init__(self, data: bytes, shapes: Shapes, seconds: Seconds) -> None:
        self.data = data
        self._lines: list[bytes] = []
        self.shapes = shapes
        pattern, known, none = shapes.compiled()
        columns: list[Any] = list(zip(*pattern.findall(data.decode("latin-1")), strict=True))
        self.count = count = len(columns[0])
        every = range(count)
        misfits = set(compress(every, columns[none]))
        strange = any(one in data for one in _STRANGE)
        #: Seconds since midnight that a line prints, None where it prints none or is a misfit.
        self.seconds: list[int | None] = [None] * count
        others = self._times(known, columns, seconds)
        misfits |= others
        self.found: list[Found] = []
        for shape in known:
            mark = columns[shape.mark]
            lines = list(compress(every, mark))
            if strange and shape.layout.kind == "request":
                odd = [line for line in lines if self._strange(line, shape.layout)]
                for line in odd:
                    self.seconds[line] = None
                others.update(odd)
                misfits.update(odd)
            if others and not others.isdisjoint(lines):
                mark = ["" if line in others else one for line, one in enumerate(mark)]
                lines = list(compress(every, mark))
            if lines:
                self.found.append(Found(shape, lines, mark, columns))
        self.misfits = [*sorted(misfits), count]
        self.requests = sorted(line for one in self.found if one.layout.kind == "request" for line in one.lines)

    def _times(self, known: Sequence[Shape], columns: Sequence[Sequence[str]], seconds: Seconds) -> set[int]:
        """Fill in the seconds of lines; return those that print another day."""
        told: Callable[[str], int] = seconds.__getitem__
        mine = self.seconds
        others = set()
        for stamp in dict.fromkeys(shape.stamp for shape in known if shape.stamp >= 0):
            column = columns[stamp]
            for line, second in zip(compress(range(self.count), column), map(told, filter(None, column)), strict=True):
                mine[line] = second
            if _ANOTHER_DAY in mine:
                for line, found in enumerate(mine):
                    if found == _ANOTHER_DAY:
                        mine[line] = None
                        others.add(line)
        return others

    def _strange(self, line: int, layout: Layout) -> bool:
        """Whether a user's text in a request has bytes that send the line another way."""
        data = self.lines[line]
        odd = data.count(b"\x1b") != layout.codes or data.count(b"\r") != layout.returns
        return odd or b"\0" in data or _STRANGE[-1] in data

    @property
    def lines(self) -> list[bytes]:
        """The lines themselves, without their line breaks."""
        if not self._lines:
            self._lines = self.data.split(b"\n")
        return self._lines

    def last_request(self, at: int, stop: int) -> int:
        """Return the last request among some lines, ``stop`` where there is none."""
        place = bisect_left(self.requests, stop)
        last = self.requests[place - 1] if place else -1
        return last if last >= at else stop
