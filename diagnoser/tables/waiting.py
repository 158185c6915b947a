"""Rows of a long log that wait to be folded together: as arrays, which takes a fraction of the time of single rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from diagnoser.tables.fold import NAN, Text, dense, folded
from diagnoser.values import dataclass

#: Lines that become one at once, of those that one row stands for: always the same, however a log is cut to be read.
FOLD = 64


@dataclass(slots=True, frozen=True)
class Origin:
    """Where a piece of evidence was read: input name and 1-based physical line."""

    source: str
    line: int


#: Where the number of one cell stands, for sources that write a line for each: line number and text.
Places = Mapping[str, tuple[int, str]]
#: A row by itself: time, origin, text, numbers by series, places.
Row = tuple[float, Origin, Text, Mapping[str, float], Places | None]


class Batch:
    """Rows in order, arrays of numpy. ``texts`` gives what gives the lines of some of them, by place or as a slice.

    ``source`` is the input of all of them, or a list of one for each; ``matrix`` has the numbers of each of ``names``.
    """

    def __init__(
        self, times: Any, lines: Any, source: str | list[str], texts: Callable[[Any], Sequence[Text]],
        names: list[str], matrix: Any, places: list[Places | None] | None = None,
    ) -> None:  # fmt: skip
        self.times, self.lines = times, lines
        self.source = source
        self.texts = texts
        self.names, self.matrix = names, matrix
        self._places = places

    def __len__(self) -> int:
        return len(self.times)

    @property
    def columns(self) -> dict[str, Any]:
        """Series name to numbers."""
        return dict(zip(self.names, self.matrix, strict=True))

    def sources(self) -> list[str]:
        """Return the input of each row."""
        return [self.source] * len(self) if isinstance(self.source, str) else self.source

    @property
    def places(self) -> list[Places | None]:
        """Where the cells of each row stand, None where its line holds them all."""
        return [None] * len(self) if self._places is None else self._places

    def part(self, some: slice, matrix: Any = None) -> Batch:
        """Return some rows, with these numbers or their own."""
        whole, texts = range(len(self))[some], self.texts
        made = self.matrix[:, some] if matrix is None else matrix
        places = None if self._places is None else self._places[some]
        source = self.source if isinstance(self.source, str) else self.source[some]
        times, lines = self.times[some], self.lines[some]
        return Batch(times, lines, source, lambda rows: texts(_within(whole, rows)), self.names, made, places)

    def kept(self, at: int) -> Batch:
        """Return the rows from one on, too few for a row of theirs: of their lines only the first will be asked for.

        What they were read from need not stay for them.
        """
        made = self.part(slice(at, None), self.matrix[:, at:].copy())
        made.times, made.lines = made.times.copy(), made.lines.copy()
        made.texts = _taker([*made.texts(slice(0, 1)), *[""] * (len(made) - 1)])
        return made

    def folded(self, at: int, stop: int, size: int, kinds: Mapping[str, str]) -> Batch:
        """Make one row of so many each, of more than ``FOLD`` in two steps."""
        made = self.matrix[:, at:stop]
        for step in (min(size, FOLD), size // min(size, FOLD)):
            if step > 1:
                groups = made.reshape(len(self.names), -1, step)
                made = folded(groups, [kinds.get(name, "gauge") for name in self.names])
        return self.part(slice(at, stop, size), made)

    def rows(self) -> list[Row]:
        """Return each row by itself."""
        told = [dict(zip(self.names, one, strict=True)) for one in self.matrix.T.tolist()]
        every = zip(
            self.times.tolist(), self.sources(), self.lines.tolist(), self.texts(slice(None)), told, self.places,
            strict=True,
        )  # fmt: skip
        return [(time, Origin(source, line), text, row, places) for time, source, line, text, row, places in every]


def batch_of(rows: Sequence[Row]) -> Batch:
    """Return single rows as a batch."""
    import numpy as np  # a short log does without

    times, origins, texts, values, places = zip(*rows, strict=True)
    names = list(dict.fromkeys(chain.from_iterable(values)))
    matrix = np.array([[row.get(name, NAN) for row in values] for name in names]).reshape(len(names), -1)
    lines = np.array([origin.line for origin in origins], np.int64)
    sources = [origin.source for origin in origins]
    return Batch(np.array(times), lines, sources, _taker(texts), names, matrix, list(places) if any(places) else None)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return batches as one."""
    import numpy as np  # a short log does without

    if len(batches) == 1:
        return batches[0]
    if not batches:
        return Batch(np.zeros(0), np.zeros(0, np.int64), "", lambda _: (), [], np.zeros((0, 0)))
    starts = np.cumsum([0, *map(len, batches)])
    parts = [
        (np.arange(start, start + len(one)), one.columns) for start, one in zip(starts, batches, strict=False)
    ]  # fmt: skip

    def texts(some: Any) -> list[Text]:
        wanted = np.arange(starts[-1])[some]
        owners = starts.searchsorted(wanted, "right") - 1
        found: list[Text] = []
        for number, one in enumerate(batches):
            mine = wanted[owners == number]
            found += one.texts(mine - starts[number]) if len(mine) else ()
        return found

    same = {one.source if isinstance(one.source, str) else "" for one in batches}
    source = next(iter(same)) if len(same) == 1 else ""
    return Batch(
        np.concatenate([one.times for one in batches]),
        np.concatenate([one.lines for one in batches]),
        source or [name for one in batches for name in one.sources()],
        texts,
        *dense(parts, int(starts[-1])),
        [place for one in batches for place in one.places],
    )


def _within(whole: range, rows: Any) -> Any:
    """Return some rows of a part as those of the whole."""
    if not isinstance(rows, slice):
        return rows * whole.step + whole.start
    some = whole[rows]
    return slice(some.start, some.stop, some.step)


def _taker(texts: Sequence[Text]) -> Callable[[Any], Sequence[Text]]:
    """Return what gives some of these lines."""
    return lambda some: texts[some] if isinstance(some, slice) else [texts[row] for row in some]
