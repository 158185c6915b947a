"""Key figures of a run over time, for the report's head: median, extremes and a sparkline of each series."""

from __future__ import annotations

from itertools import compress, pairwise
from math import fsum
from operator import and_

from diagnoser.findings import FigureRow
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Run
from diagnoser.table import Table

#: Slices of a sparkline: wide enough to show a wave, narrow enough for 80 columns.
SLICES = 24

#: The figures a report shows, in this order, where the log has them.
SHOWN = (
    "requests.running",
    "requests.waiting",
    "requests.deferred",
    "requests.swapped",
    "kv.usage",
    "gen.tps",
    "prompt.tps",
    "cache.hit_rate",
    "preemptions",
    "spec.accept_length",
)


def figures(run: Run, vocabulary: Vocabulary) -> dict[str, FigureRow]:
    """Return the shown series of a run; medians over loaded rows, extremes over all."""
    out: dict[str, FigureRow] = {}
    every = [(table, _busy(table)) for table in run.tables.values()]
    for name in SHOWN:
        series = vocabulary.series.get(name)
        if series is None:
            continue
        # Where several media tell a figure, the one with most rows shows its course best.
        media: dict[str, int] = {}
        for table, _ in every:
            if name in table.columns:
                media[table.medium] = media.get(table.medium, 0) + len(table)
        chosen = max(media, key=media.__getitem__, default="")
        tables = [pair for pair in every if pair[0].medium == chosen]
        times: list[float] = []
        values: list[float] = []
        loaded: list[float] = []
        for table, busy in tables:
            column = table.columns.get(name)
            if column is not None:
                present = [value == value for value in column]  # a field that its line lacks is NaN
                times += compress(table.time, present)
                values += compress(column, present)
                loaded += compress(column, map(and_, present, busy))
        if values:
            out[name] = FigureRow(
                name,
                series.title,
                series.unit,
                _median(loaded or values),
                max(values),
                min(values),
                len(values),
                _slices(times, values),
            )
    return out


def interval(run: Run) -> float | None:
    """Median seconds between statistics lines of one rank, None where the log has no times."""
    gaps = [later - earlier for table in _lines(run) for earlier, later in pairwise(table.time) if later > earlier]
    return _median(gaps) if gaps else None


def samples(run: Run) -> int:
    """Statistics lines read."""
    return int(sum(sum(table.weight) for table in _lines(run)))


def _lines(run: Run) -> list[Table]:
    return [table for table in run.tables.values() if table.medium == "log"]


def _busy(table: Table) -> list[bool]:
    """Which rows were under load: requests run, or wait, or the table does not tell."""
    running, waiting = table.columns.get("requests.running"), table.columns.get("requests.waiting")
    if running is None:
        return [True] * len(table)
    if waiting is None:
        return [count != 0 for count in running]
    return [count != 0 or queue > 0 for count, queue in zip(running, waiting, strict=True)]


def _slices(times: list[float], values: list[float]) -> list[float | None]:
    timed = [(t, v) for t, v in zip(times, values, strict=True) if t == t]
    start, end = (min(timed)[0], max(timed)[0]) if timed else (0.0, 0.0)
    if end <= start:
        step = max(1, -(-len(values) // SLICES))
        return [_mean(values[i : i + step]) for i in range(0, len(values), step)]
    # A few scrapes are a few columns, not a line with holes.
    slices = min(SLICES, len({t for t, _ in timed}))
    width = (end - start) / slices
    buckets: list[list[float]] = [[] for _ in range(slices)]
    for t, v in timed:
        buckets[min(slices - 1, int((t - start) / width))].append(v)
    return [_mean(bucket) if bucket else None for bucket in buckets]


# The standard library's statistics would do; importing it takes longer than everything that is computed here.
def _median(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values)
