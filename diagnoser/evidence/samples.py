"""Statistics lines to table rows: printed labels become series of the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnoser.formats.base import StatsLine
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import NAN, Record, Run, Table

#: Longest excerpt of a statistics line kept for evidence.
TEXT = 400


@dataclass(slots=True)
class Sampler:
    """Turns the statistics lines of one engine into rows. One per engine and run of the tool."""

    vocabulary: Vocabulary
    engine: str
    _labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _patterns: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    _combine: dict[str, str] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        exact: dict[str, list[str]] = {}
        for name, series in self.vocabulary.series.items():
            self._kinds[name] = series.kind
            if series.combine:
                self._combine[name] = series.combine
            for label in series.log.get(self.engine, ()):
                if "{any}" in label:
                    shape = re.escape(label).replace(re.escape("{any}"), r"\S+")
                    self._patterns.append((re.compile(shape), name))
                else:
                    exact.setdefault(label, []).append(name)
        self._labels = {label: tuple(names) for label, names in exact.items()}

    def names(self, label: str) -> tuple[str, ...]:
        """Series fed by a printed label; an unknown label is remembered as feeding none."""
        known = self._labels.get(label)
        if known is None:
            known = tuple(name for pattern, name in self._patterns if pattern.fullmatch(label))
            self._labels[label] = known
        return known

    def values(self, stats: StatsLine) -> dict[str, float]:
        """Series name to number; where several labels feed one series its ``combine`` decides (max, else the first)."""
        row: dict[str, float] = {}
        for label, number in stats.values.items():
            for name in self.names(label):
                if name not in row:
                    row[name] = number
                elif self._combine.get(name) == "max":
                    row[name] = max(row[name], number)
        return row

    def add(self, run: Run, record: Record, stats: StatsLine) -> Mapping[str, float]:
        """Append one row to the run's table of that group and give it back."""
        row = self.values(stats)
        if not row:
            return row
        table = run.tables.get(stats.group)
        if table is None:
            table = run.tables[stats.group] = Table(stats.group, self._kinds)
        time = NAN if record.time is None else record.time
        table.append(time, record.origin, record.text[:TEXT], row)
        return row
