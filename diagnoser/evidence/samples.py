"""Statistics lines to table rows: printed labels become series of the vocabulary."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from diagnoser.evidence import drift
from diagnoser.formats.base import StatsLine
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Gap, Record, Rows, Run
from diagnoser.table import NAN, Group, Origin, Part, Table

#: Longest excerpt of a statistics line kept for evidence.
TEXT = 400

#: Rows of all tables of a diagnosis together, and of one table at most and at least: many replicas mean coarser ones.
#: Each input has its share of them, at least so many, so that what is kept of one does not depend on the others.
ROWS = 160_000
LEAST_SHARE = 512
MOST_ROWS = 8192
LEAST_ROWS = 64
#: More tables than any fleet in one log has; a log that invents ranks gets no further ones.
MOST_TABLES = 2048

#: Sets of labels that are remembered; engines print a handful of them, a hostile log any number.
_MOST_LAYOUTS = 256

_COMBINE: dict[str, Callable[[float, float], float]] = {"max": max, "min": min, "sum": operator.add}


class Budget:
    """Shares a fixed number of rows among all tables of an input, one of so many ``inputs``."""

    def __init__(self, inputs: int = 1) -> None:
        self._tables: list[Table] = []
        self._rows = max(ROWS // max(1, inputs), LEAST_SHARE)
        self._limit = MOST_ROWS
        while self._limit > self._rows:
            self._limit //= 2

    def table(self, group: Group, kinds: Mapping[str, str], medium: str = "log") -> Table | None:
        """Make a table; None when there are too many. Those that exist shrink as their number doubles."""
        if len(self._tables) >= MOST_TABLES:
            return None
        made = Table(group, kinds, self._limit, medium)
        self._tables.append(made)
        if len(self._tables) * self._limit > self._rows and self._limit > LEAST_ROWS:
            self._limit //= 2
            for table in self._tables:
                table.limit = self._limit
        return made


class _Layout(NamedTuple):
    """What the labels of a line feed. ``first``: series and label; ``more``: what is combined into them, in order."""

    first: list[tuple[str, str]]
    more: list[tuple[str, str, Callable[[float, float], float]]]


class Sampler:
    """Turns the statistics lines of one engine into rows."""

    def __init__(
        self, vocabulary: Vocabulary, engine: str, budget: Budget, known: drift.Known = lambda _: frozenset()
    ) -> None:
        self._budget = budget
        self._engine, self._known = engine, known
        self._map = vocabulary.label_map(engine)
        self._kinds = {name: series.kind for name, series in vocabulary.series.items()}
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        #: Labels of a line to those among them that nobody knows; empty for every log of a version that was read.
        self._strange: dict[tuple[str, ...], list[str]] = {}
        self._fresh = False
        self._combine = {name: _COMBINE[one.combine] for name, one in vocabulary.series.items() if one.combine}

    def values(self, stats: StatsLine) -> dict[str, float]:
        """Map series to numbers; of several labels that feed one series the first counts, or ``combine`` decides."""
        labels = tuple(stats.values)
        layout = self._layouts.get(labels)
        if layout is None:
            self._fresh = True
            layout = self._layout(labels)
            if len(self._layouts) < _MOST_LAYOUTS:
                self._layouts[labels] = layout
        row = {name: stats.values[label] for name, label in layout.first}
        for name, label, combine in layout.more:
            row[name] = combine(row[name], stats.values[label])
        return row

    def _layout(self, labels: tuple[str, ...]) -> _Layout:
        first: dict[str, str] = {}
        more = []
        for label in labels:
            for name in self._map(label):
                if name not in first:
                    first[name] = label
                elif name in self._combine:
                    more.append((name, label, self._combine[name]))
        return _Layout(list(first.items()), more)

    def extend(self, run: Run, gap: Gap, rows: Rows) -> list[Part]:
        """Append the statistics lines of a gap; give back the series of each part of them."""
        parts: list[Part] = []
        for places, values in sorted(rows.parts, key=lambda part: part[0][0]):
            layout = self._layout(tuple(values))
            part = {name: values[label] for name, label in layout.first}
            for name, label, combine in layout.more:
                part[name] = array("d", map(combine, part[name], values[label]))
            for label in self._strange.get(tuple(values), ()):
                first = places[0]
                origin = Origin(gap.source, gap.line + rows.at[first])
                drift.note(run, label, Record(origin, rows.text(first), "stats"), len(places))
                if label in values and label in run.drift:
                    part[label] = values[label]
            parts.append((places, part))
        # What no series is made of is no sample.
        told = [part for part in parts if part[1]]
        table = self._table(run, rows.group) if told else None
        if table is not None:
            kept: Sequence[int] = range(len(rows.at))
            filled = told
            if len(told) < len(parts):
                kept = sorted(chain.from_iterable(places for places, _ in told))
                place = {row: number for number, row in enumerate(kept)}
                filled = [([place[row] for row in places], part) for places, part in told]
            text = rows.text
            table.extend(
                array("d", [rows.time[row] for row in kept]),
                array("q", [gap.line + rows.at[row] for row in kept]),
                gap.source,
                lambda row: text(kept[row])[:TEXT],
                filled,
            )
        return parts

    def _table(self, run: Run, group: Group) -> Table | None:
        table = run.tables.get(("log", group))
        if table is None:
            table = self._budget.table(group, self._kinds)
            if table is not None:
                run.tables["log", group] = table
        return table

    def add(self, run: Run, record: Record, stats: StatsLine) -> Mapping[str, float]:
        """Append one row to the run's table of that group and give it back."""
        row = self.values(stats)
        if self._fresh or self._strange:
            row = self._drift(run, record, stats, row)
        if row:
            table = self._table(run, stats.group)
            if table is not None:
                table.append(NAN if record.time is None else record.time, record.origin, record.text[:TEXT], row)
        return row

    def _drift(self, run: Run, record: Record, stats: StatsLine, row: dict[str, float]) -> dict[str, float]:
        """Keep fields that no version read prints under their own labels; the row with them."""
        labels = tuple(stats.values)
        if self._fresh:
            # Looked for once for each set of labels: lines that are known cost nothing.
            self._fresh = False
            unmapped = drift.unknown_fields(stats, record.text, self._map, frozenset())
            strange = [label for label in unmapped if label not in self._known(self._engine)] if unmapped else []
            if strange and len(self._strange) < _MOST_LAYOUTS:
                self._strange[labels] = strange
        for label in self._strange.get(labels, ()):
            drift.note(run, label, record)
            if label in stats.values and label in run.drift:
                row[label] = stats.values[label]
        return row
