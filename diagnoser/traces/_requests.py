"""Requests one by one, whoever listed them: from rows of cells to one result and its throughput over time."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from diagnoser.language import Sentence
from diagnoser.observations import Measure
from diagnoser.patterns import lazily
from diagnoser.tables.table import Origin
from diagnoser.traces._moments import moment
from diagnoser.traces._results import MEDIUM, TEXT, Latency, Result, column, number

#: What the rows are called in series.yaml, whichever table they come from.
WRITER = "requests-csv"
TIMES = ("ttft", "tpot", "itl", "e2e", "queue")
UNITS = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "millis": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "microseconds": 1e-6, "ns": 1e-9,
}  # fmt: skip
_GOOD = frozenset(
    {"ok", "success", "succeeded", "successful", "true", "done", "completed", "complete", "finished", "1"}
)
#: No request takes this long, seconds: a column of larger numbers counts milliseconds.
_CANNOT_BE_SECONDS = 1800.0
#: How load generators call a request that its own client gave up; one that the end of the test cut off is none.
_GIVEN_UP = lazily(r"abort|disconnect|client[ _-]?(?:closed|cancel|time|gone)|(?<!\d)499(?!\d)", re.IGNORECASE)
#: A refusal of the request itself (4xx), and not of the moment: 408 and 429 are about load.
_REFUSED = lazily(r"(?<!\d)4(?:0[0-79]|[13]\d|2[0-8])(?!\d)")
#: Requests, and seconds over which they were sent, below which nothing tells at what rate they came.
_FEWEST_SENT, _SENT_OVER = 40, 10.0
#: Growth of what is in flight, from a quarter of the requests to the last, that only senders who wait for nobody make.
_OUTRUN = 2.0
#: Slices of the measurement for throughput over time.
_SLICES = 24
#: 2001: a start below is relative, not a moment.
_EPOCH = 1e9


def _scale(rows: Sequence[Mapping[str, str]], units: Mapping[str, str]) -> dict[str, float]:
    """Return what turns each latency into seconds. Columns without a unit share one: the largest of them tells."""
    bare = [kind for kind in TIMES if kind in units and not units[kind]]
    known = [found for row in rows for kind in bare if (found := number(row.get(kind))) is not None]
    usual = 1e-3 if known and max(known) > _CANNOT_BE_SECONDS else 1.0
    return {kind: UNITS.get(units[kind], usual) for kind in TIMES if kind in units}


def taken(rows: Sequence[Mapping[str, str]], units: Mapping[str, str]) -> str:
    """Say what columns without a unit were taken for."""
    bare = next(kind for kind in TIMES if kind in units and not units[kind])
    return Sentence("taken for milliseconds") if _scale(rows, units)[bare] < 1 else Sentence("taken for seconds")


def _good(row: Mapping[str, str]) -> bool:
    """Whether a request succeeded, by the first column that tells."""
    if status := row.get("status", "").lower():
        return status in _GOOD or (status.isdecimal() and status.startswith("2") and len(status) == 3)
    if http := row.get("http", ""):
        return http.startswith("2")
    return not row.get("error")


def result_of(
    source: str, rows: Sequence[Mapping[str, str]], units: Mapping[str, str], told: Mapping[str, str]
) -> tuple[Result, list[Measure]]:
    """Return the result that the rows make together, and its throughput over time.

    A row maps what is told ("ttft", "e2e", "output", "status", …) to the cell; ``units`` map the same to the unit, ""
    where none is known; ``told`` to the name that the table itself uses.
    """
    scale = _scale(rows, units)
    good = [row for row in rows if _good(row)]

    def seconds(row: Mapping[str, str], kind: str) -> float | None:
        found = number(row.get(kind)) if kind in scale else None
        return None if found is None else found * scale[kind]

    def per_token(row: Mapping[str, str]) -> float | None:
        given = next((one for kind in ("tpot", "itl") if (one := seconds(row, kind)) is not None), None)
        first, whole, tokens = seconds(row, "ttft"), seconds(row, "e2e"), number(row.get("output"))
        if given is not None or first is None or whole is None or tokens is None or tokens < 2:
            return given
        return max(whole - first, 0.0) / (tokens - 1)

    columns: dict[str, list[float | None]] = {kind: [seconds(row, kind) for row in good] for kind in ("ttft", "e2e")}
    columns["tpot"] = [per_token(row) for row in good]
    queue = [seconds(row, "queue") for row in good]
    values: dict[str, float] = {"requests": len(rows), "completed": len(good), "failed": len(rows) - len(good)}
    ends = [
        (start, start + (seconds(row, "e2e") or 0.0), row) for row in rows if (start := _moment(row, units)) is not None
    ]
    duration = max(end for _, end, _ in ends) - min(start for start, _, _ in ends) if len(ends) > 1 else 0.0
    for kind in ("prompt", "output"):
        counts = [found for row in good if (found := number(row.get(kind))) is not None]
        if counts:
            values[f"{kind} tokens"] = math.fsum(counts)
    if duration > 0:
        values["duration"] = duration
        values["requests per second"] = len(good) / duration
        if "output tokens" in values:
            values["output tokens per second"] = values["output tokens"] / duration
            values["tokens per second"] = (values["output tokens"] + values.get("prompt tokens", 0.0)) / duration
        flying = [one for one in columns["e2e"] if one is not None]
        if flying:
            values["in flight"] = math.fsum(flying) / duration
    if (asked := _asked(ends)) is not None:
        values["request rate"] = asked
    values["given up"] = sum(1 for row in rows if not _good(row) and _why(_GIVEN_UP, row))
    values["refused"] = sum(1 for row in rows if not _good(row) and _why(_REFUSED, row))
    understood = ", ".join(f"{name} = {kind}" for kind, name in told.items())
    text = f"{len(rows)} requests, {len(rows) - len(good)} failed; columns: {understood}"[:TEXT]
    result = Result(WRITER, Origin(source, 1), None, text, values, duration=duration or None)
    result.failed = len(rows) - len(good)
    for kind, cells in {**columns, "queue": queue}.items():
        known = [one for one in cells if one is not None]
        if known:
            result.latencies[kind] = Latency(len(known), math.fsum(known) / len(known), values=known)
            values[f"{kind} mean"] = result.latencies[kind].mean
            for percent in (50, 90, 95, 99):
                at = max(math.ceil(percent / 100 * len(known) * (1 - 1e-9)) - 1, 0)
                values[f"{kind} p{percent}"] = sorted(known)[at]
    columns |= {kind: [number(row.get(kind)) for row in good] for kind in ("prompt", "output")}
    columns["start"] = [_moment(row, units) for row in good]
    result.requests = {kind: column(cells) for kind, cells in columns.items() if any(one is not None for one in cells)}
    return result, _over_time(result, ends, duration)


def _why(words: re.Pattern[str], row: Mapping[str, str]) -> bool:
    """Whether the status of a request that failed says so; the text of an error may quote anything."""
    return any(words.search(row.get(kind, "")[:64]) is not None for kind in ("status", "http"))


def _asked(ends: Sequence[tuple[float, float, Mapping[str, str]]]) -> float | None:
    """Return the rate at which requests came, where none waited for another: what is in flight grows."""
    begun = sorted(start for start, _, _ in ends)
    if len(begun) < _FEWEST_SENT or (span := begun[-1] - begun[0]) < _SENT_OVER:
        return None
    over = sorted(end for _, end, _ in ends)
    early = len(begun) // 4
    flying = [at + 1 - bisect_right(over, begun[at]) for at in (early, len(begun) - 1)]
    return (len(begun) - 1) / span if flying[1] >= _OUTRUN * max(flying[0], 1) else None


def _moment(row: Mapping[str, str], units: Mapping[str, str]) -> float | None:
    text = row.get("start", "")
    found = number(text)
    if found is None:
        return moment(text) if text else None
    return found * UNITS.get(units.get("start", ""), 1e-3 if found > 1e11 else 1.0)


def _over_time(result: Result, ends: list[tuple[float, float, Mapping[str, str]]], duration: float) -> list[Measure]:
    """Return rows of throughput by slice of the measurement, counted where requests ended."""
    if len(ends) < 2 * _SLICES or duration <= 0 or "output tokens" not in result.values:
        return []
    begin, width = min(start for start, _, _ in ends), duration / _SLICES
    tokens = [0.0] * _SLICES
    for _, end, row in ends:
        if _good(row):
            tokens[min(int((end - begin) / width), _SLICES - 1)] += number(row.get("output")) or 0.0
    slices = []
    for at, count in enumerate(tokens):
        time = begin + at * width if begin > _EPOCH else None
        label = f"{result.text}; slice {at + 1} of {_SLICES}"[:TEXT]
        told = {"finished tokens per second": count / width}
        slices.append(Measure(WRITER, MEDIUM, result.origin, time, label, told))
    return slices
