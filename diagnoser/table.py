"""Samples of one rank or replica in columns, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnoser.model import Group, Origin

NAN = float("nan")

#: Rows that wait to be written into the columns together, which takes a fraction of the time of writing each.
_BATCH = 256


class Table:
    """Samples of one group (rank, engine) in columns; halves its resolution when it grows past ``limit`` rows.

    A row is one statistics line. Missing fields are NaN. ``weight`` counts the lines a row stands for after
    coarsening; ``text`` keeps the line for evidence. Memory is bounded by ``limit`` whatever the log's length.
    """

    __slots__ = ("_columns", "_line", "_new", "_source", "_text", "_time", "_weight", "group", "kinds", "limit")

    def __init__(self, group: Group, kinds: Mapping[str, str], limit: int = 8192) -> None:
        self.group = group
        self.kinds = kinds
        self.limit = limit
        self._new: list[tuple[float, Origin, str, Mapping[str, float]]] = []
        self._time: array[float] = array("d")
        self._weight: array[float] = array("d")
        self._line: array[int] = array("q")
        self._source: list[str] = []
        self._text: list[str] = []
        self._columns: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self._time) + len(self._new)

    def append(self, time: float, origin: Origin, text: str, values: Mapping[str, float]) -> None:
        """Add one row; ``time`` may be NaN. ``values`` maps series name to number in the series' unit, and is kept."""
        new = self._new
        new.append((time, origin, text, values))
        if len(new) >= _BATCH or len(new) + len(self._time) >= self.limit:
            self._write()
            while len(self._time) >= self.limit:
                self._coarsen()

    @property
    def time(self) -> array[float]:
        """Seconds since the epoch in the log's own clock, NaN where unknown."""
        return self._written()._time

    @property
    def weight(self) -> array[float]:
        """Statistics lines that each row stands for."""
        return self._written()._weight

    @property
    def line(self) -> array[int]:
        """Physical line of each row, of its first one after coarsening."""
        return self._written()._line

    @property
    def source(self) -> list[str]:
        """Input that each row was read from."""
        return self._written()._source

    @property
    def text(self) -> list[str]:
        """The statistics lines."""
        return self._written()._text

    @property
    def columns(self) -> dict[str, array[float]]:
        """Series name to one number a row."""
        return self._written()._columns

    def _written(self) -> Table:
        if self._new:
            self._write()
        return self

    def _write(self) -> None:
        """Put the rows that wait into the columns."""
        new, self._new = self._new, []
        before, columns = len(self._time), self._columns
        times, origins, texts, values = zip(*new, strict=True)
        for name in dict.fromkeys(chain.from_iterable(values)):
            if name not in columns:
                columns[name] = array("d", [NAN]) * before
        for name, column in columns.items():
            column.extend([row.get(name, NAN) for row in values])
        self._time.extend(times)
        self._weight.extend([1.0] * len(new))
        self._line.extend([origin.line for origin in origins])
        self._source += [origin.source for origin in origins]
        self._text += texts

    def _coarsen(self) -> None:
        pairs = len(self._time) // 2 * 2
        for name, column in self._columns.items():
            self._columns[name] = array("d", _merge(column, pairs, self.kinds.get(name, "gauge")))
        self._weight = array("d", [self._weight[i] + self._weight[i + 1] for i in range(0, pairs, 2)])
        self._time = self._time[0:pairs:2]
        self._line = self._line[0:pairs:2]
        self._source = self._source[0:pairs:2]
        self._text = self._text[0:pairs:2]


def _merge(column: array[float], pairs: int, kind: str) -> Iterator[float]:
    """Merge neighbours: counters of an interval add up, totals keep the later value, gauges average."""
    for i in range(0, pairs, 2):
        left, right = column[i], column[i + 1]
        if left != left or right != right:
            yield right if left != left else left
        elif kind == "count":
            yield left + right
        elif kind == "total":
            yield right
        else:
            yield (left + right) / 2
