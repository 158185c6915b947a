"""Rows of samples with their weights: which rows count as loaded, how long each one lasts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress, pairwise
from operator import eq, or_

from diagnoser.model import Run
from diagnoser.rules.evaluating.alongside import at_work
from diagnoser.tables.table import Table

#: Series whose sum says whether a server has work.
LOAD = ("requests.running", "requests.waiting", "requests.swapped", "requests.deferred", "prefill.new_seqs")

#: Series of what was done since the row before: a server that did something had work, whatever its end found running.
DONE = ("gen.tps", "gen.tokens", "prompt.tokens", "prompt.tps")

#: The shortest and the longest a row may last, seconds; the longest grows with the usual beat of the lines.
SHORTEST = 0.05
LONGEST = 30.0
LONGEST_BEATS = 3
#: A longer silence than this many seconds, or beats, interrupts what was going on.
SILENCE = 90.0
SILENCE_BEATS = 6


class Rows:
    """One table as the aggregates see it. Masks are bytes of 0 and 1, one per row; None stands for all rows."""

    def __init__(self, table: Table) -> None:
        self.table = table
        #: Tables of the server itself, for one that does not know whether the server had work.
        self.served: Sequence[Rows] = ()
        self._present: dict[str, bytes | None] = {}
        self._columns: dict[tuple[str, bytes], array[float]] = {}
        self._indexes: dict[bytes, array[int]] = {}
        self._selected: dict[tuple[frozenset[str], bool], bytes | None] = {}

    def has(self, names: Iterable[str]) -> bool:
        """Whether every one of the series has a column."""
        return all(name in self.table.columns for name in names)

    @cached_property
    def timed(self) -> bool:
        """Whether any row has a time."""
        return any(time == time for time in self.table.time)

    @cached_property
    def beat(self) -> float:
        """Median seconds between rows of different times; 0 when there are no two."""
        gaps = self._gaps
        if not gaps:
            return 0.0
        ordered, middle = sorted(gaps), len(gaps) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    @cached_property
    def steady(self) -> bool:
        """Whether lines come at a beat (a timer prints them), so that silence means trouble and not idleness."""
        gaps = sorted(self._gaps)
        return len(gaps) >= 5 and gaps[len(gaps) * 9 // 10] <= 2 * self.beat

    @cached_property
    def silence(self) -> float:
        """Seconds without a line after which a stretch is interrupted."""
        return max(SILENCE, SILENCE_BEATS * self.beat)

    @property
    def _gaps(self) -> list[float]:
        times = [time for time in self.table.time if time == time]
        return [later - earlier for earlier, later in pairwise(times) if later > earlier]

    @cached_property
    def weights(self) -> array[float]:
        """Seconds that each row stands for; lines that it stands for where the table has no times.

        The time to the next row, between SHORTEST and max(LONGEST, three beats); rows of one time share it. The last
        row, and rows without a time, last one beat; so does a row that only begins requests while none runs or waits,
        for a silence after it (a warm-up request before the first traffic) says nothing of work.
        """
        table = self.table
        if not self.timed:
            return table.weight
        cap = max(LONGEST, LONGEST_BEATS * self.beat)
        usual = min(self.beat, cap) or 1.0
        out = array("d", [usual]) * len(table)
        times, start = table.time, 0
        for end in range(1, len(times) + 1):
            if end < len(times) and times[end] == times[start]:
                continue
            gap = times[end] - times[start] if end < len(times) else usual
            if gap == gap:
                share = max(min(gap, cap) / (end - start), SHORTEST)
                for i in range(start, end):
                    out[i] = share
            start = end
        for i in self._lone_starts:
            out[i] = min(out[i], usual)
        return out

    @property
    def _lone_starts(self) -> list[int]:
        """Rows that begin requests while none runs or waits."""
        begun = self.table.columns.get(LOAD[-1])
        if begun is None:
            return []
        others = [self.table.columns[name] for name in LOAD[:-1] if name in self.table.columns]
        return [i for i, new in enumerate(begun) if new > 0 and not any(column[i] > 0 for column in others)]

    @cached_property
    def loaded(self) -> bytes | None:
        """Rows with work: running, waiting, swapped or deferred requests, some that begin, or tokens since the last.

        A row that prints none of these goes with the last row that did; before the first one it counts as loaded. A
        table of GPU figures goes by the server's own tables.
        """
        columns = [self.table.columns[name] for name in LOAD if name in self.table.columns]
        if not columns:
            return at_work(self, self.served) if self.served else None
        done = [self.table.columns[name] for name in DONE if name in self.table.columns]
        out, state = bytearray(), True
        for i, row in enumerate(zip(*columns, strict=True)):
            known = False
            busy = False
            for value in row:
                if value == value:
                    known = True
                    busy = busy or value > 0
            if known:
                state = busy
            out.append(state or any(column[i] > 0 for column in done))
        return None if all(out) else bytes(out)

    def present(self, name: str) -> bytes | None:
        """Rows that have a value of the series."""
        if name not in self._present:
            column = self.table.columns[name]
            mask = bytes(map(eq, column, column))
            self._present[name] = None if 0 not in mask else mask
        return self._present[name]

    @cached_property
    def worked(self) -> bytes | None:
        """Rows of a metrics page at whose moment, or at that of the page before, there was work.

        What was counted between two pages happened under load if either end saw some, also where the server is idle
        again at the second.
        """
        loaded = self.loaded
        return None if loaded is None else bytes(map(or_, loaded, loaded[:1] + loaded[:-1]))

    def _counted(self, names: frozenset[str]) -> bool:
        """Whether all of the series are growth between two metrics pages."""
        kinds = self.table.kinds
        return self.table.medium == "metrics" and bool(names) and all(kinds.get(name) == "count" for name in names)

    def select(self, names: frozenset[str], overall: bool) -> bytes | None:
        """Rows that have every one of the series and, unless ``overall``, are loaded."""
        key = (names, overall)
        if key not in self._selected:
            masks = [self.present(name) for name in names]
            if not overall:
                masks.append(self.worked if self._counted(names) else self.loaded)
            self._selected[key] = intersect(masks)
        return self._selected[key]

    def column(self, name: str, mask: bytes | None) -> array[float]:
        """Values of a series in the selected rows."""
        column = self.table.columns[name]
        if mask is None:
            return column
        key = (name, mask)
        if key not in self._columns:
            self._columns[key] = array("d", compress(column, mask))
        return self._columns[key]

    def indexes(self, mask: bytes | None) -> range | array[int]:
        """Row numbers of the selected rows."""
        everything = range(len(self.table))
        if mask is None:
            return everything
        if mask not in self._indexes:
            self._indexes[mask] = array("q", compress(everything, mask))
        return self._indexes[mask]

    def pick(self, values: array[float], mask: bytes | None) -> list[float] | array[float]:
        """Values of a column of the table's own (times, weights) in the selected rows."""
        return values if mask is None else list(compress(values, mask))


def intersect(masks: Iterable[bytes | None]) -> bytes | None:
    """Return the rows that are in every mask. Whole-mask integer arithmetic: it costs next to nothing."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    bits = int.from_bytes(given[0], "little")
    for mask in given[1:]:
        bits &= int.from_bytes(mask, "little")
    return bits.to_bytes(len(given[0]), "little")


def order(rows: Iterable[Rows]) -> Iterator[Rows]:
    """Yield tables by their rank, so that results do not depend on the order in which ranks first spoke."""
    yield from sorted(rows, key=lambda one: one.table.group)


def rows_of(run: Run) -> tuple[list[Rows], list[Rows]]:
    """Return all tables of a run, and those that the server itself told: its statistics lines, else its metrics."""
    every = list(order(Rows(table) for table in run.tables.values() if len(table)))
    told = {rows.table.medium for rows in every}
    speaks = next((medium for medium in ("log", "metrics") if medium in told), "")
    served = [rows for rows in every if rows.table.medium == speaks]
    if run.time_known in ("full", "yearless"):
        for rows in every:
            if rows.table.medium == "gpu":
                rows.served = served
    return every, served
