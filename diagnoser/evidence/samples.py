"""Statistics lines to table rows: printed labels become series of the vocabulary."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from diagnoser.evidence import drift
from diagnoser.evidence.possible import Possible
from diagnoser.formats.base import StatsLine
from diagnoser.gap import Gap, Rows
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Record, Run
from diagnoser.tables.fold import combined, together
from diagnoser.tables.table import LONGEST, NAN, Group, Origin, Part, Table

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
    """What the labels of a line feed. ``first``: series and label; ``more``: what is combined into them, and how."""

    first: list[tuple[str, str]]
    more: list[tuple[str, str, str]]


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
        self._possible = Possible(vocabulary)
        self._combine = {name: one.combine for name, one in vocabulary.series.items() if one.combine}

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
            row[name] = _COMBINE[combine](row[name], stats.values[label])
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
                part[name] = combined(combine, part[name], values[label])
            for name, column in part.items():
                part[name] = self._possible.column(name, column, partial(_line, gap, rows, places), run.odd)
            for label in self._strange.get(tuple(values), ()):
                first = int(places[0])
                origin = Origin(gap.source, gap.line + int(rows.at[first]))
                drift.note(run, label, Record(origin, rows.texts([first])[0](), "stats"), len(places))
                if label in values and label in run.drift:
                    part[label] = values[label]
            parts.append((places, part))
        # What no series is made of is no sample.
        told = [part for part in parts if part[1]]
        table = self._table(run, rows.group) if told else None
        if table is not None:
            if len(told) == len(parts):
                table.extend(rows.time, rows.at + gap.line, gap.source, rows.texts, told)
                return parts
            kept = together([places for places, _ in told])
            filled = [(kept.searchsorted(places), part) for places, part in told]
            lines = rows.at[kept] + gap.line
            table.extend(rows.time[kept], lines, gap.source, lambda some: rows.texts(kept[some]), filled)
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
        row = self._possible.row(row, record.origin, record.text, run.odd)
        if row:
            table = self._table(run, stats.group)
            if table is not None:
                table.append(NAN if record.time is None else record.time, record.origin, record.text[:LONGEST], row)
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


def _line(gap: Gap, rows: Rows, places: Any, row: int) -> tuple[Origin, str]:
    """Return where a row of a part of a gap stands, and its line."""
    at = int(places[row])
    return Origin(gap.source, gap.line + int(rows.at[at])), rows.texts([at])[0]()
