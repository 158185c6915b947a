"""Key figures of a run over time, for the report's head: median, extremes and a sparkline of each series."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from diagnoser.findings import FigureRow
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Run, Table

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
    for name in SHOWN:
        series = vocabulary.series.get(name)
        if series is None:
            continue
        points = [(t, v, busy) for table in run.tables.values() for t, v, busy in _points(table, name)]
        if not points:
            continue
        loaded = [v for _, v, busy in points if busy] or [v for _, v, _ in points]
        values = [v for _, v, _ in points]
        out[name] = FigureRow(
            name,
            series.title,
            series.unit,
            statistics.median(loaded),
            max(values),
            min(values),
            len(values),
            _slices(points, run),
        )
    return out


def interval(run: Run) -> float | None:
    """Median seconds between statistics lines of one rank, None where the log has no times."""
    gaps = [
        later - earlier
        for table in run.tables.values()
        for earlier, later in zip(table.time, table.time[1:], strict=False)
        if later > earlier
    ]
    return statistics.median(gaps) if gaps else None


def samples(run: Run) -> int:
    """Statistics lines read."""
    return int(sum(sum(table.weight) for table in run.tables.values()))


def _points(table: Table, name: str) -> Iterable[tuple[float, float, bool]]:
    column = table.columns.get(name)
    if column is None:
        return
    running, waiting = table.columns.get("requests.running"), table.columns.get("requests.waiting")
    for i, value in enumerate(column):
        if value == value:
            busy = (running is None or running[i] != 0) or (waiting is not None and waiting[i] > 0)
            yield table.time[i], value, busy


def _slices(points: list[tuple[float, float, bool]], run: Run) -> list[float | None]:
    timed = [(t, v) for t, v, _ in points if t == t]
    if len(timed) < 2 or timed[-1][0] <= timed[0][0]:
        values = [v for _, v, _ in points]
        step = max(1, -(-len(values) // SLICES))
        return [statistics.fmean(values[i : i + step]) for i in range(0, len(values), step)]
    start, end = min(t for t, _ in timed), max(t for t, _ in timed)
    width = (end - start) / SLICES
    buckets: list[list[float]] = [[] for _ in range(SLICES)]
    for t, v in timed:
        buckets[min(SLICES - 1, int((t - start) / width))].append(v)
    return [statistics.fmean(bucket) if bucket else None for bucket in buckets]
