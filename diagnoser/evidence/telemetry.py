"""Rows of GPU tables: kept in bounded tables while they are read, dealt to runs by time at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from diagnoser.model import Run
from diagnoser.observations import Measure
from diagnoser.tables.table import NAN, Group, Origin, Places, Table

#: Rows of one card, and cards.
ROWS = 8192
MOST_CARDS = 1024

#: Memory in use is another's before the server begins.
USED, BEFORE = "gpu.memory_used", "gpu.memory_before"

#: Half a year, seconds: a time that lies so far before a run without a year is of the next one.
_HALF_A_YEAR = 183 * 86400.0


class Telemetry:
    """Takes measurements of GPUs; a capture of days with one row a second needs no more memory than one of hours."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._tables: dict[tuple[str, str, Group], Table] = {}

    def take(self, one: Measure, values: Mapping[str, float], places: Places | None) -> None:
        """Take one row; ``values`` maps series to numbers."""
        key = (one.medium, one.writer, one.group)
        if key not in self._tables:
            if len(self._tables) >= MOST_CARDS:
                return
            self._tables[key] = Table(one.group, self._kinds, ROWS, one.medium)
        self._tables[key].append(NAN if one.time is None else one.time, one.origin, one.text, values, places)

    @property
    def first(self) -> Origin | None:
        """Where the first row was read; None when there is none."""
        table = next(iter(self._tables.values()), None)
        return None if table is None else Origin(table.source[0], table.line[0])

    def deal(self, runs: Sequence[Run], around: float) -> None:
        """Give each row to the run that lasted at its time, else to the last one, in the clock of that run."""
        for (medium, writer, group), table in self._tables.items():
            times = table.time
            rows = list(range(len(table)))
            if all(time == time for time in times):
                rows.sort(key=times.__getitem__)
            taken: dict[int, Table] = {}
            for row in rows:
                run = _of(runs, times[row], around)
                own = taken.get(id(run))
                if own is None:
                    own = taken[id(run)] = _table(run, medium, writer, group, self._kinds)
                values = {name: column[row] for name, column in table.columns.items() if column[row] == column[row]}
                own_time = in_clock(run, times[row])
                if USED in values and _before(run, own_time, runs):
                    values[BEFORE] = values.pop(USED)
                place = Origin(table.source[row], table.line[row])
                own.append(own_time, place, table.text_of(row), values, table.places[row])
                own.weight[-1] = table.weight[row]
                if place.source not in run.parts:
                    run.sources.append(place.source)
                    run.parts[place.source] = len(run.parts)


def in_clock(run: Run, time: float) -> float:
    """Return a time in the clock of a run: one without a year has a nominal one; others are left as they are."""
    if run.time_known != "yearless" or run.started is None or time != time:
        return time
    moved = _in_year(time, _year(run.started))
    return moved if not moved < run.started - _HALF_A_YEAR else _in_year(time, _year(run.started) + 1)


def _year(time: float) -> int:
    try:
        return datetime.fromtimestamp(time, UTC).year
    except (ValueError, OverflowError, OSError):
        return 0


@lru_cache(maxsize=64)
def _in_year(time: float, year: int) -> float:
    """Return the same day and time in another year; NaN where it has none (29 February), or beyond the calendar."""
    try:
        return datetime.fromtimestamp(time, UTC).replace(year=year).timestamp()
    except (ValueError, OverflowError, OSError):
        return NAN


def _of(runs: Sequence[Run], time: float, around: float) -> Run:
    """Return the run of a moment. Two clocks without a zone are taken for one when they overlap."""
    for run in reversed(runs):
        if run.time_known in ("full", "yearless") and run.started is not None and run.ended is not None:
            own = in_clock(run, time)
            if run.started - around <= own <= run.ended + around:
                return run
    return runs[-1]


def _before(run: Run, time: float, runs: Sequence[Run]) -> bool:
    """Whether a moment lies before a run that was seen to begin, and in no other run."""
    if not run.complete_start or run.started is None or run.time_known not in ("full", "yearless"):
        return False
    others = [one for one in runs if one is not run and one.started is not None and one.ended is not None]
    return time < run.started and not any((one.started or 0) <= time <= (one.ended or 0) for one in others)


def _table(run: Run, medium: str, writer: str, group: Group, kinds: Mapping[str, str]) -> Table:
    """Return a new table of a run; two tools that watch one card have one each."""
    name = group if (medium, group) not in run.tables else (*group, ("by", writer))
    table = run.tables[medium, name] = Table(name, kinds, ROWS, medium)
    return table
