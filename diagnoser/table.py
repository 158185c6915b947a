"""Samples in columns: one table for each medium and rank, and the places that evidence was read at."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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


class Table:
    """Samples of one medium and group (rank, engine) in columns; halves its resolution past ``limit`` rows.

    A row is one statistics line, scrape or measurement. Missing fields are NaN. ``weight`` counts the lines a row
    stands for after coarsening; ``text`` keeps the line for evidence, ``places`` the line of each cell where a source
    writes a line for each. Memory is bounded by ``limit`` whatever the log's length.
    """

    __slots__ = ("columns", "group", "kinds", "limit", "line", "medium", "places", "source", "text", "time", "weight")

    def __init__(self, group: Group, kinds: Mapping[str, str], limit: int = 8192, medium: str = "log") -> None:
        self.group = group
        self.kinds = kinds
        self.limit = limit
        self.medium = medium
        self.time: array[float] = array("d")
        self.weight: array[float] = array("d")
        self.line: array[int] = array("q")
        self.source: list[str] = []
        self.text: list[str] = []
        self.places: list[Places | None] = []
        self.columns: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self.time)

    def append(
        self, time: float, origin: Origin, text: str, values: Mapping[str, float], places: Places | None = None
    ) -> None:
        """Add one row; ``time`` may be NaN. ``values`` maps series name to number in the series' unit."""
        rows = len(self.time)
        for name in values:
            if name not in self.columns:
                self.columns[name] = array("d", [NAN]) * rows
        for name, column in self.columns.items():
            column.append(values.get(name, NAN))
        self.time.append(time)
        self.weight.append(1.0)
        self.line.append(origin.line)
        self.source.append(origin.source)
        self.text.append(text)
        self.places.append(places)
        while len(self.time) >= self.limit:
            self._coarsen()

    def _coarsen(self) -> None:
        pairs = len(self.time) // 2 * 2
        for name, column in self.columns.items():
            self.columns[name] = array("d", _merge(column, pairs, self.kinds.get(name, "gauge")))
        self.weight = array("d", [self.weight[i] + self.weight[i + 1] for i in range(0, pairs, 2)])
        self.time = self.time[0:pairs:2]
        self.line = self.line[0:pairs:2]
        self.source = self.source[0:pairs:2]
        self.text = self.text[0:pairs:2]
        self.places = self.places[0:pairs:2]


NAN = float("nan")


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
