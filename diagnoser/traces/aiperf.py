"""Results of NVIDIA AIPerf and of GenAI-Perf before it: the JSON summary and the CSV summary.

Source: AIPerf docs, "profile_export_aiperf.json Schema" and "Metrics Reference". A metric names its unit. What it calls
inter-token latency is the time after the first token over the tokens that follow, one value a request: TPOT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._cells import split
from diagnoser.traces._moments import moment
from diagnoser.traces._results import TEXT, Latency, Result, documents, excerpt, number, search
from diagnoser.traces.base import Wanted

NAME = "aiperf"
ORDER = 33
KINDS = ("json", "csv")
SAMPLES = [
    (
        '{"schema_version": "1.5", "request_latency": {"unit": "ms", "avg": 2620.7, "p50": 2568.7, "p99": 3371.2,'
        ' "count": 20}, "request_throughput": {"unit": "requests/sec", "avg": 1.45}, "request_count": {"unit":'
        ' "requests", "avg": 20.0}, "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency":'
        " 4}}}\n",
        3,
    ),
    (
        "Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\r\n"
        "Time To First Token (ms),8.00,7.00,9.00,8.98,8.90,8.80,8.50,8.00,7.50,7.20,7.10,7.02\r\n"
        "\r\nMetric,Value\r\nOutput Token Throughput (tokens/sec),456.00\r\nRequest Throughput (per sec),123.00\r\n"
        "Request Count (count),300.00\r\n",
        2,
    ),
]

_LATENCIES = ("time_to_first_token", "inter_token_latency", "inter_chunk_latency", "request_latency")
_PLAIN = (
    "request_throughput", "output_token_throughput", "total_token_throughput", "request_count", "error_request_count",
    "goodput", "benchmark_duration", "input_sequence_length", "output_sequence_length",
)  # fmt: skip
_QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_NAME = re.compile(r"(.+?)(?:\(([^()]*)\))?\Z")
_SHOWN = (
    "concurrency", "request_rate", "request_count", "request_throughput", "output_token_throughput",
    "time_to_first_token p50", "time_to_first_token p99", "inter_token_latency p50", "inter_token_latency p99",
    "request_latency p99",
)  # fmt: skip


def recognise(head: str) -> bool:
    """Whether it is the table that begins with Metric,avg or a summary with metrics that name their unit."""
    if head.startswith("Metric,avg"):
        return True
    return '"request_throughput"' in head and '"request_latency"' in head and '"unit"' in head and '"avg"' in head


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield the result of a summary."""
    if source.kind == "csv":
        yield from _table(source)
        return
    for one in documents(source):
        if isinstance(one, Problem):
            yield one
            continue
        line, data = one
        if isinstance(data, dict):
            yield from _summary(data, Origin(source.name, line)).observations()
        else:
            yield Problem(source.name, line, Sentence("no summary of AIPerf: expected an object of metrics"))


def _summary(data: Mapping[str, Any], origin: Origin) -> Result:
    blocks = {name: block for name, block in data.items() if isinstance(block, dict) and "unit" in block}
    # Older exports put the metrics under a key of their own.
    records = data.get("records")
    if isinstance(records, dict):
        blocks |= {name: block for name, block in records.items() if isinstance(block, dict) and "unit" in block}
    ended = data.get("end_time")
    result = Result(NAME, origin, moment(ended) if isinstance(ended, str) else None, "")
    _take(result, blocks)
    config = {"run": data.get("run_info"), "input": data.get("input_config")}
    for key in ("concurrency", "request_rate"):
        given = search(config, (key, f"phases.profiling.{key}"))
        if (found := number(given)) is not None:
            result.values[key] = found
    model = search(config, ("model_names", "models", "model"))
    model = model[0] if isinstance(model, list) and model else model
    model = model.get("name") if isinstance(model, dict) else model
    if isinstance(model, str):
        result.model = result.claims["model"] = model
    result.text = excerpt(result.values, _SHOWN)
    return result


def _table(source: Source) -> Iterator[Observation]:
    blocks: dict[str, dict[str, Any]] = {}
    header: list[str] = []
    for _, _, raw in source.raw_lines():
        text = raw.decode("utf-8", "replace").strip()
        cells = split(text)
        if not cells:
            continue
        if cells[0] == "Metric":
            header = ["avg" if cell == "Value" else cell for cell in cells[1:]]
            continue
        found = _NAME.match(cells[0].strip()[:200])
        if found is None or not header or len(blocks) >= 500:
            continue
        # The table counts requests without a unit, and writes thousands with commas.
        numbers = [number(cell.replace(",", "")) for cell in cells[1:]]
        told = {key: value for key, value in zip(header, numbers, strict=False) if value is not None}
        blocks[found[1].strip().lower().replace(" ", "_")] = {"unit": found[2] or "", **told}
    result = Result(NAME, Origin(source.name, 1), None, "")
    _take(result, blocks)
    result.text = excerpt(result.values, _SHOWN)[:TEXT]
    yield from result.observations()


def _take(result: Result, blocks: Mapping[str, Mapping[str, Any]]) -> None:
    for name in _PLAIN:
        block = blocks.get(name, {})
        if (value := number(block.get("avg"))) is not None:
            result.values[name] = value * (_SECONDS.get(str(block.get("unit")), 1.0) if "duration" in name else 1.0)
    result.duration = result.values.get("benchmark_duration")
    result.failed = int(result.values.get("error_request_count", 0))
    for name in _LATENCIES:
        block = blocks.get(name, {})
        scale = _SECONDS.get(str(block.get("unit", "")))
        if scale is None:
            continue
        latency = Latency(number(block.get("count")) or result.values.get("request_count", 0.0))
        if (mean := number(block.get("avg"))) is not None:
            latency.mean = result.values[f"{name} avg"] = mean * scale
        for key, share in _QUANTILES.items():
            if (value := number(block.get(key))) is not None:
                latency.quantiles[share] = result.values[f"{name} {key}"] = value * scale
        result.latencies[name] = latency
