"""Statistics lines to table rows: printed labels become series of the vocabulary."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from diagnoser.formats.base import StatsLine
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import NAN, Record, Run, Table

#: Longest excerpt of a statistics line kept for evidence.
TEXT = 400

_COMBINE: dict[str, Callable[[float, float], float]] = {"max": max, "min": min, "sum": operator.add}


class Sampler:
    """Turns the statistics lines of one engine into rows."""

    def __init__(self, vocabulary: Vocabulary, engine: str) -> None:
        self._map = vocabulary.label_map(engine)
        self._kinds = {name: series.kind for name, series in vocabulary.series.items()}
        self._combine = {name: _COMBINE[one.combine] for name, one in vocabulary.series.items() if one.combine}

    def values(self, stats: StatsLine) -> dict[str, float]:
        """Map series to numbers; of several labels that feed one series the first counts, or ``combine`` decides."""
        row: dict[str, float] = {}
        for label, number in stats.values.items():
            for name in self._map(label):
                if name not in row:
                    row[name] = number
                elif name in self._combine:
                    row[name] = self._combine[name](row[name], number)
        return row

    def add(self, run: Run, record: Record, stats: StatsLine) -> Mapping[str, float]:
        """Append one row to the run's table of that group and give it back."""
        row = self.values(stats)
        if row:
            table = run.tables.get(stats.group)
            if table is None:
                table = run.tables[stats.group] = Table(stats.group, self._kinds)
            table.append(NAN if record.time is None else record.time, record.origin, record.text[:TEXT], row)
        return row
