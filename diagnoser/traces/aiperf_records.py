"""AIPerf's ``profile_export.jsonl``: a record for each request, of the warm-up too, which is left out.

Source: AIPerf docs, "Working with Profile Export Files". Every metric of a record names its unit; times are nanoseconds
since the epoch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._requests import UNITS, result_of
from diagnoser.traces._results import MOST_REQUESTS, number
from diagnoser.traces.base import Wanted

NAME = "aiperf-records"
ORDER = 32
KINDS = ("json",)
SAMPLES = [
    (
        '{"metadata": {"request_start_ns": 1790000000000000000, "benchmark_phase": "warmup"},'
        ' "metrics": {}, "error": null}\n'
        '{"metadata": {"request_start_ns": 1790000001000000000, "benchmark_phase": "profiling"}, "metrics":'
        ' {"time_to_first_token": {"value": 250.5, "unit": "ms"}, "request_latency": {"value": 900.0, "unit": "ms"},'
        ' "output_sequence_length": {"value": 20, "unit": "tokens"}}, "error": null}\n'
        '{"metadata": {"request_start_ns": 1790000002000000000, "benchmark_phase": "profiling"}, "metrics": {},'
        ' "error": {"code": 500, "type": "Internal Server Error", "message": "Internal Server Error"}}\n',
        5,
    ),
]

#: What a request's row tells -> AIPerf's metric.
_METRICS = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "e2e": "request_latency",
    "prompt": "input_sequence_length",
    "output": "output_sequence_length",
}
_TIMES = ("ttft", "tpot", "e2e")


def recognise(head: str) -> bool:
    """By the keys that every record has."""
    return '"request_start_ns"' in head and '"benchmark_phase"' in head and '"metrics"' in head


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one result for all requests, and its throughput over time."""
    rows: list[dict[str, str]] = []
    faults = 0
    for part, line, raw in source.raw_lines():
        if not raw.strip():
            continue
        record = _parsed(raw)
        if not isinstance(record, dict) or not isinstance(record.get("metadata"), dict):
            faults += 1
            if faults <= 3:
                yield Problem(
                    part, line, Sentence("no record of a request: expected an object with metadata and metrics")
                )
            continue
        if record["metadata"].get("benchmark_phase") == "warmup":
            continue
        if len(rows) >= MOST_REQUESTS:
            yield Problem(
                part,
                line,
                Sentence("more than {most} requests; the rest was not read", most=MOST_REQUESTS),
            )
            break
        rows.append(_row(record))
    if faults > 3:
        yield Problem(source.name, None, Sentence("{count} more lines are no records", count=faults - 3))
    if not rows:
        return
    units = dict.fromkeys((*_TIMES, "start"), "s")
    told = {kind: name for kind, name in _METRICS.items() if any(kind in row for row in rows)}
    result, slices = result_of(source.name, rows, units, told)
    yield from result.observations()
    yield from slices


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _row(record: Mapping[str, Any]) -> dict[str, str]:
    """Return a request as a table would hold it, its times in seconds."""
    row: dict[str, str] = {}
    metrics = record.get("metrics")
    for kind, name in _METRICS.items():
        metric = metrics.get(name) if isinstance(metrics, dict) else None
        value = number(metric.get("value")) if isinstance(metric, dict) else None
        if value is None or not isinstance(metric, dict):
            continue
        scale = UNITS.get(str(metric.get("unit", "ms"))) if kind in _TIMES else 1.0
        if scale is not None:
            row[kind] = repr(value * scale)
    started = record["metadata"].get("request_start_ns")
    if isinstance(started, int) and not isinstance(started, bool) and 0 < started < 1 << 63:
        row["start"] = repr(started / 1e9)
    cancelled = record["metadata"].get("was_cancelled") is True
    row["status"] = "error" if record.get("error") or cancelled else "ok"
    return row
