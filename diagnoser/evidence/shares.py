"""Rows for the tables of runs that come and go."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.evidence.samples import LEAST_ROWS, MOST_ROWS, ROWS, Budget
from diagnoser.model import Run


class Shares(Budget):
    """A budget that takes back what tables had that are gone."""

    def __len__(self) -> int:
        return len(self._tables)

    def keep(self, runs: Sequence[Run]) -> None:
        """Forget the tables of other runs; the others may grow into their room."""
        mine = {id(table) for run in runs for table in run.tables.values()}
        self._tables = [table for table in self._tables if id(table) in mine]
        while self._limit < MOST_ROWS and len(self._tables) * self._limit * 2 <= ROWS:
            self._limit *= 2
        while self._limit > LEAST_ROWS and len(self._tables) * self._limit > ROWS:
            self._limit //= 2
        for table in self._tables:
            table.limit = self._limit
