"""GuideLLM's JSON report: every benchmark of a sweep in one document (0.2 to 0.6; the name of a key moved in 0.4).

Its "time per output token" counts the first token too; its "inter-token latency" is what others call TPOT: the time
after the first token over the tokens that follow, one value a request. So that one is read as TPOT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._results import MOST_REQUESTS, Latency, Result, column, documents, excerpt, number, search
from diagnoser.traces.base import Wanted

NAME = "guidellm"
ORDER = 32
KINDS = ("json",)
SAMPLES = [
    (
        '{"metadata": {"version": 1}, "args": {"target": "http://localhost:8000"}, "benchmarks": [{"config":'
        ' {"strategy": {"type_": "concurrent", "streams": 4}, "backend": {"model": "m"}}, "start_time": 1790000000.0,'
        ' "duration": 30.0, "metrics": {"request_totals": {"successful": 60, "incomplete": 0, "errored": 1, "total":'
        ' 61}, "requests_per_second": {"successful": {"mean": 2.0}}, "output_tokens_per_second": {"successful":'
        ' {"mean": 400.0}}, "time_to_first_token_ms": {"successful": {"mean": 90.0, "median": 80.0, "count": 60,'
        ' "percentiles": {"p90": 120.0, "p95": 150.0, "p99": 300.0}}}}}]}\n',
        3,
    ),
]

#: Metric -> divisor to seconds; requests carry values of the same names.
_LATENCIES = {"time_to_first_token_ms": 1000.0, "inter_token_latency_ms": 1000.0, "request_latency": 1.0}
_COLUMNS = {"ttft": "time_to_first_token_ms", "tpot": "inter_token_latency_ms", "e2e": "request_latency"}
_RATES = ("requests_per_second", "output_tokens_per_second", "tokens_per_second", "request_concurrency")
_COUNTS = ("prompt_token_count", "output_token_count")
_SHOWN = (
    "max_concurrency", "rate", "successful", "errored", "requests_per_second", "output_tokens_per_second",
    "time_to_first_token median", "time_to_first_token p99", "inter_token_latency median", "inter_token_latency p99",
    "request_latency p99",
)  # fmt: skip


def recognise(head: str) -> bool:
    """Whether it is a report with benchmarks in GuideLLM's words."""
    return '"benchmarks"' in head and any(f'"{word}"' in head for word in ("guidellm_version", "strategy", "run_stats"))


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield every benchmark of the report."""
    for one in documents(source):
        if isinstance(one, Problem):
            yield one
            continue
        line, report = one
        benchmarks = report.get("benchmarks") if isinstance(report, dict) else None
        if not isinstance(benchmarks, list):
            yield Problem(source.name, line, Sentence("no report of GuideLLM: it has no list of benchmarks"))
            continue
        for data in benchmarks[:1000]:
            if isinstance(data, dict) and isinstance(data.get("metrics"), dict):
                yield from _result(data, report, Origin(source.name, line)).observations()
            else:
                yield Problem(source.name, line, Sentence("a benchmark without metrics"))


def _result(data: Mapping[str, Any], report: Mapping[str, Any], origin: Origin) -> Result:
    metrics = data["metrics"]
    config = data.get("config") or data.get("args") or {}
    strategy = config.get("strategy") if isinstance(config, dict) else None
    strategy = strategy if isinstance(strategy, dict) else {}
    values: dict[str, float] = {}
    streams = next((found for key in ("streams", "max_concurrency") if (found := number(strategy.get(key)))), None)
    kind = str(strategy.get("type_") or "")
    if kind == "synchronous":
        streams = 1.0
    # "throughput" and the rates of a sweep run with as many streams as there may be: that is no load asked for.
    if streams is not None and kind in ("concurrent", "synchronous", ""):
        values["max_concurrency"] = streams
    if (rate := number(strategy.get("rate"))) is not None and kind not in ("concurrent", "synchronous", "throughput"):
        values["rate"] = rate
    totals = metrics.get("request_totals") or data.get("request_totals") or {}
    if not totals and isinstance(data.get("run_stats"), dict):
        totals = data["run_stats"].get("requests_made") or {}
    for name in ("successful", "errored"):
        if isinstance(totals, dict) and (count := number(totals.get(name))) is not None:
            values[name] = count
    duration = number(data.get("duration"))
    if duration is not None:
        values["duration"] = duration
    for name in (*_RATES, *_COUNTS):
        if (mean := number(_successful(metrics, name).get("mean"))) is not None:
            values[name] = mean
    model = search([config, report.get("args"), data.get("worker")], ("model", "backend_model"))
    start = number(data.get("start_time"))
    result = Result(NAME, origin, None if start is None else start + (duration or 0.0), "", values, duration=duration)
    result.failed = int(values.get("errored", 0))
    if isinstance(model, str):
        result.model = result.claims["model"] = model
    for name, divisor in _LATENCIES.items():
        _latency(result, name.removesuffix("_ms"), _successful(metrics, name), divisor)
    _requests(result, data.get("requests"))
    result.text = excerpt(values, _SHOWN)
    return result


def _successful(metrics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    metric = metrics.get(name)
    found = metric.get("successful") if isinstance(metric, dict) else None
    return found if isinstance(found, dict) else {}


def _latency(result: Result, name: str, told: Mapping[str, Any], divisor: float) -> None:
    latency = Latency(number(told.get("count")) or result.values.get("successful", 0.0))
    if (mean := number(told.get("mean"))) is not None:
        latency.mean = result.values[f"{name} mean"] = mean / divisor
    inner = told.get("percentiles")
    percentiles = inner if isinstance(inner, dict) else {}
    shares = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    for key, share in {"median": 0.5, **shares}.items():
        if (value := number(told.get(key, percentiles.get(key)))) is not None:
            latency.quantiles[share] = value / divisor
            result.values[f"{name} {'median' if share == 0.5 else key}"] = value / divisor
    result.latencies[name] = latency


def _requests(result: Result, requests: Any) -> None:
    done = requests.get("successful") if isinstance(requests, dict) else None
    rows = [one for one in done[:MOST_REQUESTS] if isinstance(one, dict)] if isinstance(done, list) else []
    # A report may keep a sample of its requests only: then it is no base for requests per second.
    if not rows or len(rows) < result.values.get("successful", 0.0):
        return
    columns = {}
    for kind, key in _COLUMNS.items():
        found = [number(row.get(key)) for row in rows]
        columns[kind] = column(None if one is None else one / _LATENCIES[key] for one in found)
        known = [one / _LATENCIES[key] for one in found if one is not None]
        if known:
            result.latencies[key.removesuffix("_ms")].values = known
    result.requests = columns
