"""Samples in columns: one table for each medium and rank, and the places that evidence was read at."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import chain

from diagnoser.values import dataclass

NAN = float("nan")

#: A rank or replica: sorted (label, value) pairs such as ``(("dp", "0"),)`` or ``(("engine", "003"),)``.
Group = tuple[tuple[str, str], ...]


@dataclass(slots=True, frozen=True)
class Origin:
    """Where a piece of evidence was read: input name and 1-based physical line."""

    source: str
    line: int


#: Where samples come from, in the order in which they are believed where several tell the same series.
MEDIA = ("log", "metrics", "gpu", "bench", "profile")

#: Where the number of one cell stands, for sources that write a line for each: line number and text.
Places = Mapping[str, tuple[int, str]]

#: Rows that wait to be written into the columns together, which takes a fraction of the time of writing each.
_BATCH = 256


class Table:
    """Samples of one medium and group (rank, engine) in columns; halves its resolution past ``limit`` rows.

    A row is one statistics line, scrape or measurement. Missing fields are NaN. ``weight`` counts the lines a row
    stands for after coarsening; ``text`` keeps the line for evidence, ``places`` the line of each cell where a source
    writes a line for each. Memory is bounded by ``limit`` whatever the log's length.
    """

    __slots__ = (
        "_columns", "_line", "_new", "_places", "_source", "_text", "_time", "_weight",
        "group", "kinds", "limit", "medium",
    )  # fmt: skip

    def __init__(self, group: Group, kinds: Mapping[str, str], limit: int = 8192, medium: str = "log") -> None:
        self.group = group
        self.kinds = kinds
        self.limit = limit
        self.medium = medium
        self._new: list[tuple[float, Origin, str, Mapping[str, float], Places | None]] = []
        self._time: array[float] = array("d")
        self._weight: array[float] = array("d")
        self._line: array[int] = array("q")
        self._source: list[str] = []
        self._text: list[str] = []
        self._places: list[Places | None] = []
        self._columns: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self._time) + len(self._new)

    def append(
        self, time: float, origin: Origin, text: str, values: Mapping[str, float], places: Places | None = None
    ) -> None:
        """Add one row; ``time`` may be NaN. ``values`` maps series name to number in the series' unit, and is kept."""
        new = self._new
        new.append((time, origin, text, values, places))
        if len(new) >= _BATCH or len(new) + len(self._time) >= self.limit:
            self._write()
            while len(self._time) >= self.limit:
                self._coarsen()

    @property
    def time(self) -> array[float]:
        """Seconds since the epoch in the log's own clock, NaN where unknown."""
        return self._written()._time

    @time.setter
    def time(self, times: array[float]) -> None:
        """Move the rows to another clock."""
        self._written()._time = times

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
    def places(self) -> list[Places | None]:
        """Where the cells of each row stand, None where its line holds them all."""
        return self._written()._places

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
        times, origins, texts, values, places = zip(*new, strict=True)
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
        self._places += places

    def forget(self, before: float) -> None:
        """Drop the rows at the front that are older than ``before``; rows without a time go with their neighbours."""
        times = self.time
        first = next((at for at, time in enumerate(times) if time >= before), len(times) if times else 0)
        if not first or all(time != time for time in times[:first]):
            return
        self._columns = {name: column[first:] for name, column in self._columns.items()}
        self._time, self._weight, self._line = times[first:], self._weight[first:], self._line[first:]
        del self._source[:first], self._text[:first], self._places[:first]

    def _coarsen(self) -> None:
        pairs = len(self._time) // 2 * 2
        for name, column in self._columns.items():
            self._columns[name] = array("d", _merge(column, pairs, self.kinds.get(name, "gauge")))
        self._weight = array("d", [self._weight[i] + self._weight[i + 1] for i in range(0, pairs, 2)])
        self._time = self._time[0:pairs:2]
        self._line = self._line[0:pairs:2]
        self._source = self._source[0:pairs:2]
        self._text = self._text[0:pairs:2]
        self._places = self._places[0:pairs:2]


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
