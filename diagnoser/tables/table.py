"""Samples in columns: one table for each medium and rank, and the places that evidence was read at."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from diagnoser.tables.fold import LONGEST, NAN, Part, Text, Texts, dense, in_pairs, merged, widen
from diagnoser.tables.waiting import FOLD, Batch, Origin, Places, Row, batch_of, joined

__all__ = ["LONGEST", "MEDIA", "NAN", "Group", "Origin", "Part", "Places", "Table"]

#: A rank or replica: sorted (label, value) pairs such as ``(("dp", "0"),)`` or ``(("engine", "003"),)``.
Group = tuple[tuple[str, str], ...]


#: Where samples come from, in the order in which they are believed where several tell the same series.
MEDIA = ("log", "metrics", "gpu", "bench", "profile")

#: Rows that are written into the columns together, which takes a fraction of the time; batches folded together.
_BATCH, _MOST_WAITING = 256, 8


class Table:
    """Samples of one medium and group (rank, engine) in columns; halves its resolution past ``limit`` rows.

    A row is one statistics line, scrape or measurement, of a long log as many in a row as any other row stands for.
    Missing fields are NaN. ``weight`` counts the lines a row stands for; ``text`` keeps the first of them for evidence,
    ``places`` the line of each cell where a source writes a line for each. ``limit`` bounds memory.
    """

    __slots__ = (
        "_columns", "_folded", "_line", "_new", "_places", "_source", "_stride", "_text", "_time", "_waiting",
        "_weight", "group", "kinds", "limit", "medium",
    )  # fmt: skip

    def __init__(self, group: Group, kinds: Mapping[str, str], limit: int = 8192, medium: str = "log") -> None:
        self.group = group
        self.kinds = kinds
        self.limit = limit
        self.medium = medium
        # Rows still to be written or folded; folded ones that do not yet stand for as many lines as a row does.
        self._new: list[Row] = []
        self._waiting: list[Batch] = []
        self._folded: list[Row] = []
        self._stride = 1
        self._time: array[float] = array("d")
        self._weight: array[float] = array("d")
        self._line: array[int] = array("q")
        self._source: list[str] = []
        self._text: list[Text] = []
        self._places: list[Places | None] = []
        self._columns: dict[str, array[float]] = {}

    def __len__(self) -> int:
        more = len(self._new) if self._stride == 1 else bool(self._new or self._waiting or self._folded)
        return len(self._time) + more

    def __getstate__(self) -> object:
        """Return what goes to another process: nothing waits there."""
        self._written()
        return object.__getstate__(self)

    def append(
        self, time: float, origin: Origin, text: Text, values: Mapping[str, float], places: Places | None = None
    ) -> None:
        """Add one row; ``time`` may be NaN. ``values`` maps series name to number in the series' unit, and is kept."""
        new = self._new
        new.append((time, origin, text, values, places))
        if self._stride > 1:
            if len(new) >= _BATCH:
                self._queue()
        elif len(new) >= _BATCH or len(new) + len(self._time) >= self.limit:
            self._write(new, 1.0)
            self._new = []
            self._limit()

    def extend(self, times: Any, lines: Any, source: str, texts: Texts, parts: Sequence[Part]) -> None:
        """Add many rows, arrays of numpy; the result is that of ``append`` for one row after the other."""
        names, matrix = dense(parts, len(times))
        if self._stride == 1 and len(self) + len(times) < self.limit:
            widen(self._written()._columns, len(self._time), len(times), dict(zip(names, matrix, strict=True)))
            self._add(times, lines, [source] * len(times), texts(slice(None)), [None] * len(times))
            return
        self._queue()
        batch = Batch(times, lines, source, texts, names, matrix)
        # Those that wait are completed with the first rows, so that the others can be folded where they are.
        missing = -(sum(map(len, self._waiting)) + len(self._folded) * FOLD) % self._stride
        if missing < len(batch):
            if missing:
                self._wait(batch.part(slice(0, missing)))
            self._settle()
            self._waiting.append(batch.part(slice(missing, None)))
            self._settle()
        else:
            self._wait(batch.kept(0))

    def _queue(self) -> None:
        """Let single rows wait with the others."""
        new, self._new = self._new, []
        if new:
            self._wait(batch_of(new))

    def _wait(self, batch: Batch) -> None:
        self._waiting.append(batch)
        if len(self._waiting) >= _MOST_WAITING:
            self._settle()

    def _settle(self) -> None:
        """Fold the rows that wait as far as they go: always the same ones together."""
        batch = joined(self._waiting)
        at, count = 0, len(batch)
        while at < count:
            size, left = min(self._stride, FOLD), count - at
            if left < size:
                break
            if size == self._stride or (not self._folded and left >= self._stride):
                rows = max(1, min(left // self._stride, self.limit - len(self._time)))
                stop = at + rows * self._stride
                made = batch.folded(at, stop, self._stride, self.kinds)
                widen(self._columns, len(self._time), rows, made.columns)
                self._add(made.times, made.lines, made.sources(), made.texts(slice(None)), made.places)
                self._limit()
            else:
                stop = at + size * min(left // size, self._stride // size - len(self._folded))
                self._folded += batch.folded(at, stop, size, self.kinds).rows()
                if len(self._folded) * size >= self._stride:
                    self._write([merged(self._folded, self.kinds)], float(self._stride))
                    self._folded = []
                    self._limit()
            at = stop
        self._waiting = [batch.kept(at)] if at < count else []

    def _add(
        self, times: Any, lines: Any, sources: list[str], texts: Iterable[Text], places: Iterable[Places | None]
    ) -> None:
        """Add what is not in columns of rows that each stand for equally many lines."""
        count = len(times)
        self._time.frombytes(times.tobytes())
        self._weight.extend([float(self._stride)] * count)
        self._line.frombytes(lines.tobytes())
        self._source += sources
        self._text += texts
        self._places += places

    def _limit(self) -> None:
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
        return [self.text_of(row) for row in range(len(self._written()._text))]

    def text_of(self, row: int) -> str:
        """Return the statistics line of one row."""
        text = self._written()._text[row]
        if not isinstance(text, str):
            text = self._text[row] = text()[:LONGEST]
        return text

    @property
    def places(self) -> list[Places | None]:
        """Where the cells of each row stand, None where its line holds them all."""
        return self._written()._places

    @property
    def columns(self) -> dict[str, array[float]]:
        """Series name to one number a row."""
        return self._written()._columns

    def _written(self) -> Table:
        if self._stride == 1:
            if self._new:
                self._write(self._new, 1.0)
                self._new.clear()
        elif self._new or self._waiting or self._folded:
            self._queue()
            self._settle()
            # The end of the log: a last row stands for fewer lines than the others.
            rest = [row for batch in self._waiting for row in batch.rows()]
            if rest or self._folded:
                lines = len(rest) + len(self._folded) * FOLD
                self._write([merged([*self._folded, *rest], self.kinds)], float(lines))
            self._waiting, self._folded = [], []
        return self

    def _write(self, new: list[Row], weight: float) -> None:
        """Put rows into the columns."""
        before, columns = len(self._time), self._columns
        times, origins, texts, values, places = zip(*new, strict=True)
        for name in dict.fromkeys(chain.from_iterable(values)):
            if name not in columns:
                columns[name] = array("d", [NAN]) * before
        for name, column in columns.items():
            column.extend([row.get(name, NAN) for row in values])
        self._time.extend(times)
        self._weight.extend([weight] * len(new))
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
        self._stride *= 2
        pairs = len(self._time) // 2 * 2
        for name, column in self._columns.items():
            self._columns[name] = in_pairs(column, self.kinds.get(name, "gauge"))
        self._weight = array("d", [self._weight[i] + self._weight[i + 1] for i in range(0, pairs, 2)])
        firsts = slice(0, pairs, 2)
        self._time, self._line, self._source = self._time[firsts], self._line[firsts], self._source[firsts]
        self._text, self._places = self._text[firsts], self._places[firsts]
