"""Figures of a run as curves over time: bounded, with holes where nothing was printed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import NamedTuple

from diagnoser.contracts.story import Chart, Curve
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import phrase
from diagnoser.model import Run
from diagnoser.tables.table import Group, Table

#: Points of a curve: more than a phone has columns for, fewer than a page can carry.
POINTS = 200
#: Ranks that get a curve each; of more the lowest, the middle and the highest are drawn.
RANKS = 8
#: A pause this many times as long as usual is a hole.
HOLE = 4

#: Name, title, series. Of several ranks each series becomes a chart of its own.
CHARTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("requests", phrase("Requests"), ("requests.running", "requests.waiting", "requests.deferred", "requests.swapped")),
    ("kv", phrase("KV cache use"), ("kv.usage",)),
    ("preemptions", phrase("Preemptions"), ("preemptions",)),
    ("generation", phrase("Generation"), ("gen.tps",)),
    ("prompt", phrase("Prompt processing"), ("prompt.tps",)),
    ("cache", phrase("Prefix hit rate"), ("cache.hit_rate",)),
    ("latency", phrase("Latency, mean"), ("ttft.mean", "queue.mean", "e2e.mean")),
    ("itl", phrase("Time between tokens, mean"), ("itl.mean",)),
    ("speculation", phrase("Tokens accepted a step"), ("spec.accept_length",)),
    ("gpu", phrase("GPU use"), ("gpu.util", "gpu.sm_active", "gpu.tensor_active", "gpu.dram_active")),
    ("gpu-memory", phrase("GPU memory in use"), ("gpu.memory_used",)),
    ("gpu-power", phrase("GPU power"), ("gpu.power",)),
    ("gpu-temperature", phrase("GPU temperature"), ("gpu.temperature",)),
    ("gpu-clock", phrase("GPU clock"), ("gpu.sm_clock",)),
)
#: A limit this many times above everything would press the curves to the floor.
FAR = 3
#: The fact that caps a series.
_LIMITS = {"requests.running": "limits.running"}

Point = tuple[float, float]


class _Drawn(NamedTuple):
    """One series of one rank: times that are known or numbers of rows, and its values."""

    series: str
    group: Group
    points: list[Point]
    timed: bool


def charts(run: Run, vocabulary: Vocabulary) -> list[Chart]:
    """Return the charts of a run: those with at least two moments to tell."""
    out: list[Chart] = []
    for name, title, wanted in CHARTS:
        drawn = [one for series in wanted if series in vocabulary.series for one in _series(run, series)]
        # Zero throughout is no picture beside others.
        told = {wanted[0]} | {one.series for one in drawn if any(value for _, value in one.points)}
        drawn = [one for one in drawn if one.series in told]
        several = len({one.group for one in drawn}) > 1
        for series in wanted if several else ("",):
            part = [one for one in drawn if not series or one.series == series]
            made = _chart(run, vocabulary, f"{name}-{series}" if series else name, title, part, several)
            if made is not None and series and len(told) > 1:
                made.part = vocabulary.series[series].title
            if made is not None:
                out.append(made)
    return out


def _series(run: Run, name: str) -> list[_Drawn]:
    """Return the series of each rank, from the medium that tells most of it."""
    found = [(table, column) for table in run.tables.values() if (column := table.columns.get(name)) is not None]
    rows: dict[str, int] = {}
    for table, column in found:
        if table.medium not in ("bench", "profile"):
            rows[table.medium] = rows.get(table.medium, 0) + len(column)
    medium = max(rows, key=rows.__getitem__, default="")
    return [_drawn(name, table, column) for table, column in found if table.medium == medium]


def _drawn(name: str, table: Table, column: Sequence[float]) -> _Drawn:
    filled = table.kinds.get(name) == "count"  # a count is left out of lines where nothing happened
    rows = [
        (time, value if value == value else 0.0)
        for time, value in zip(table.time, column, strict=True)
        if filled or value == value
    ]
    known = [row for row in rows if row[0] == row[0]]
    if len(known) * 2 >= len(rows):
        return _Drawn(name, table.group, sorted(known), True)
    return _Drawn(name, table.group, [(float(at), value) for at, (_, value) in enumerate(rows)], False)


def _chart(run: Run, vocabulary: Vocabulary, name: str, title: str, drawn: list[_Drawn], several: bool) -> Chart | None:
    drawn = [one for one in drawn if one.points and one.timed == drawn[0].timed]
    if not drawn:
        return None
    series = vocabulary.series[drawn[0].series]
    every = [time for one in drawn for time, _ in one.points]
    start, end = min(every), max(every)
    if end <= start:
        return None
    counted = series.kind == "count"
    if counted and not any(value for one in drawn for _, value in one.points):
        return None  # nothing happened: the table of figures says so
    times = _grid(drawn, start, end)
    medium = next(table.medium for table in run.tables.values() if drawn[0].series in table.columns)
    curves = [
        Curve(_rank(one) if several else vocabulary.series[one.series].title, _along(one.points, times, counted))
        for one in drawn
    ]
    if len(curves) > RANKS:
        curves = _outline(curves)
    limit = run.facts.get(_LIMITS.get(drawn[0].series, ""))
    number = float(limit.value) if limit is not None and isinstance(limit.value, int | float) else None
    if number is not None and number > FAR * max(value for one in drawn for _, value in one.points):
        number = None
    kind = "bars" if counted else "line"
    chart = Chart(name, title, series.unit, medium, kind, drawn[0].timed, times, curves, number)
    return _with_holes(chart)


def _rank(one: _Drawn) -> str:
    return " ".join(f"{label} {value}" for label, value in one.group) or "rank"


def _grid(drawn: list[_Drawn], start: float, end: float) -> list[float]:
    """Return the times of a chart: those of the samples where they are few and common, else equal steps."""
    distinct = sorted({time for one in drawn for time, _ in one.points})
    longest = max(len(one.points) for one in drawn)
    if len(distinct) <= min(POINTS, longest):
        return distinct
    count = max(2, min(POINTS, longest))
    return [start + (end - start) * at / (count - 1) for at in range(count)]


def _along(points: list[Point], times: list[float], counted: bool) -> list[float | None]:
    """Put points on the times: the mean of those nearest to each, the sum of what is counted."""
    kept: list[list[float]] = [[] for _ in times]
    at = 0
    for time, value in points:
        while at + 1 < len(times) and times[at + 1] - time <= time - times[at]:
            at += 1
        kept[at].append(value)
    if counted:
        return [_short(fsum(values)) if values else 0.0 for values in kept]
    return _bridged([_short(fsum(values) / len(values)) if values else None for values in kept])


def _bridged(values: list[float | None]) -> list[float | None]:
    """Fill steps that fell between two samples, as the line through them would; longer pauses stay open."""
    known = [at for at, value in enumerate(values) if value is not None]
    out = list(values)
    for left, right in pairwise(known):
        low, high = values[left], values[right]
        if 1 < right - left <= HOLE and low is not None and high is not None:
            for at in range(left + 1, right):
                out[at] = _short(low + (high - low) * (at - left) / (right - left))
    return out


def _with_holes(chart: Chart) -> Chart:
    """Break the curves where a pause is far longer than usual: nothing printed is not a straight line."""
    steps = sorted(later - earlier for earlier, later in pairwise(chart.times))
    usual = steps[len(steps) // 2]
    if chart.kind == "line" and len(steps) >= HOLE:
        for at in range(len(chart.times) - 1, 0, -1):
            if chart.times[at] - chart.times[at - 1] > HOLE * usual:
                chart.times.insert(at, chart.times[at - 1] + usual)
                for curve in chart.curves:
                    curve.values.insert(at, None)
    return chart


def _outline(curves: list[Curve]) -> list[Curve]:
    """Draw many ranks as their lowest, middle and highest value."""
    columns = [sorted(v for v in column if v is not None) for column in zip(*(c.values for c in curves), strict=True)]
    lowest: list[float | None] = [column[0] if column else None for column in columns]
    middle: list[float | None] = [column[len(column) // 2] if column else None for column in columns]
    highest: list[float | None] = [column[-1] if column else None for column in columns]
    return [
        Curve(phrase("highest rank"), highest),
        Curve(phrase("median rank"), middle),
        Curve(phrase("lowest rank"), lowest),
    ]


def _short(value: float) -> float:
    """Four digits are more than a picture can show."""
    return float(f"{value:.4g}")
