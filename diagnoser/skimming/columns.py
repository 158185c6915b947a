"""A block of lines as arrays: which line has which known shape, and the numbers in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from diagnoser.skimming.layouts import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_DIGITS = b"0123456789"
_ZERO, _NEWLINE = 48, 10

#: Digits of one number: no server prints a larger one, and as many are exact in a float.
MOST_DIGITS = 15

#: Year, month and day that the clock of a stream stands at; a year of 0 was not printed.
Date = tuple[int, int, int]


class Block:
    """Whole lines. ``shape`` holds for each line the number of its layout, -1 where none fits it exactly."""

    def __init__(self, data: bytes, index: Mapping[bytes, int], layouts: Sequence[Layout], date: Date) -> None:
        import numpy as np  # a short log does without

        self._np = np
        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.ends: Ints = np.flatnonzero(self.bytes == _NEWLINE)
        self.starts: Ints = np.empty_like(self.ends)
        self.starts[0] = 0
        self.starts[1:] = self.ends[:-1] + 1
        self.count = len(self.ends)
        self.layouts = layouts
        #: The lines without their digits: for a shape they are all the same.
        self.skeletons = data.translate(None, _DIGITS).split(b"\n")
        del self.skeletons[-1]
        self.shape: Ints = np.fromiter(map(index.get, self.skeletons, repeat(-1)), np.int64, self.count)
        self._find_runs()
        for number in range(len(layouts)):
            self._check(number, date)

    def _find_runs(self) -> None:
        """Find where digits begin and end in the lines that may have a shape."""
        np = self._np
        some = self.shape >= 0
        if some.all():
            data, self._base = self.bytes, self.starts
        else:
            # Only those lines, one behind the other.
            sizes = (self.ends - self.starts + 1)[some]
            data = self.bytes[np.repeat(some, self.ends - self.starts + 1)]
            self._base = np.zeros(self.count, np.int64)
            self._base[some] = np.cumsum(sizes) - sizes
        self._compact = data
        digit = (data - np.uint8(_ZERO)) < 10
        # A line ends with a line break and no shape begins with a digit, so that borders come in pairs.
        borders = np.flatnonzero(digit[1:] != digit[:-1]) + 1
        self._from, self._to = borders[::2], borders[1::2]
        self._first = np.searchsorted(self._from, self._base)

    def _check(self, number: int, date: Date) -> None:
        """Take lines out of a shape that it does not fit exactly: other runs of digits, another day."""
        np = self._np
        layout = self.layouts[number]
        lines = np.flatnonzero(self.shape == number)
        if not len(lines):
            return
        runs = len(layout.offsets)
        first = self._first[lines]
        # Lines of a shape hold equally many runs; the next line's first run tells.
        after = np.append(self._first, len(self._from))
        following = np.flatnonzero(self.shape >= 0)
        place = np.searchsorted(following, lines, side="right")
        nexts = np.append(following, self.count)[place]
        fits = after[nexts] - first == runs
        first = np.where(fits, first, 0)
        if not len(self._from) or not fits.any():
            self.shape[lines] = -1
            return
        first = np.minimum(first, max(0, len(self._from) - runs))
        # One matrix for all runs: numpy's calls cost more than what they do.
        every = first[:, None] + np.arange(runs)
        start, end = self._from[every], self._to[every]
        size = end - start
        gone = np.cumsum(size, axis=1) - size
        fits &= (start - gone == self._base[lines][:, None] + np.array(layout.offsets)).all(axis=1)
        least, most = np.ones(runs, np.int64), np.full(runs, MOST_DIGITS)
        for run, digits in layout.still:
            least[run] = most[run] = len(digits)
        for run in layout.clock:
            least[run] = most[run] = 2
        fits &= ((size >= least) & (size <= most)).all(axis=1)
        dated = zip(layout.date, date[-len(layout.date) :], strict=False) if layout.date else ()
        for run, wanted in (*((run, int(digits[-18:])) for run, digits in layout.still), *dated):
            fits &= self._number(start[:, run], end[:, run], size[:, run]) == wanted
        self.shape[lines[~fits]] = -1

    def _number(self, start: Ints, end: Ints, size: Ints) -> Ints:
        """Return digits as numbers, the last eighteen of them where there are more."""
        np = self._np
        value: Ints = np.zeros(len(start), np.int64)
        least, most = int(size.min()), min(int(size.max()), 18)
        scale = 1
        for place in range(most):
            digit = self._compact[end - 1 - place].astype(np.int64) - _ZERO
            value += digit * scale if place < least else np.where(size > place, digit, 0) * scale
            scale *= 10
        return value

    def run(self, lines: Ints, run: int) -> tuple[Ints, Ints]:
        """Return a run of digits of lines of one shape, and how many digits it has."""
        at = self._first[lines] + run
        start, end = self._from[at], self._to[at]
        size = end - start
        return self._number(start, end, size), size

    def clock(self, lines: Ints, layout: Layout) -> Ints:
        """Return the seconds since midnight that lines print."""
        hour, minute, second = (self.run(lines, run)[0] for run in layout.clock)
        return hour * 3600 + minute * 60 + second

    def values(self, lines: Ints, layout: Layout) -> dict[str, Floats]:
        """Return label to numbers of statistics lines of one shape, exactly as ``float`` reads them."""
        np = self._np
        found: dict[str, Any] = {}
        for value in layout.values:
            if value.whole < 0:
                found[value.label] = np.full(len(lines), value.constant)
                continue
            number = self.run(lines, value.whole)[0].astype(np.float64)
            if value.fraction >= 0:
                behind, size = self.run(lines, value.fraction)
                scale = 10.0 ** size.astype(np.float64)
                # One division of two exact numbers: what ``float`` makes of the digits.
                number = (number * scale + behind) / scale
            found[value.label] = number if value.divisor == 1.0 else number / value.divisor
        return found
