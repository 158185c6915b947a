"""Results of ``vllm bench serve --save-result`` and of benchmark_serving.py before it: one object, or several appended.

Keys by version: docs of vLLM, "Benchmark CLI", and the sources of 0.3.3 to 0.33.0. Latencies are milliseconds, the
lists of ``--save-detailed`` seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._moments import moment
from diagnoser.traces._results import Result, excerpt, number
from diagnoser.traces._serving import detail, latencies, plain, results
from diagnoser.traces.base import Wanted

NAME = "vllm-bench"
ORDER = 30
KINDS = ("json",)
SAMPLES = [
    (
        '{"date": "20261129-100000", "backend": "vllm", "model_id": "m", "tokenizer_id": "m", "num_prompts": 4,'
        ' "request_rate": "inf", "max_concurrency": 2, "duration": 10.0, "completed": 4, "total_input_tokens": 400,'
        ' "total_output_tokens": 80, "request_throughput": 0.4, "output_throughput": 8.0,'
        ' "total_token_throughput": 48.0, "mean_ttft_ms": 100.0, "median_ttft_ms": 90.0, "p99_ttft_ms": 200.0}\n',
        3,
    ),
    (
        '{"date": "20261129-100000", "model_id": "m", "num_prompts": 2, "duration": 4.0, "completed": 2,'
        ' "request_throughput": 0.5, "total_output_tokens": 5, "input_lens": [9, 9], "output_lens": [3, 2],'
        ' "ttfts": [0.5, 1.0], "itls": [[0.1, 0.2], [0.3]], "errors": ["", ""]}\n'
        '{"date": "20261129-100100", "model_id": "m", "num_prompts": 2, "duration": 4.0, "completed": 2,'
        ' "request_throughput": 0.5}\n',
        9,
    ),
]

_LATENCIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e"}
_PLAIN = (
    "max_concurrency", "request_rate", "duration", "completed", "failed", "num_prompts", "total_input_tokens",
    "total_output_tokens", "request_throughput", "output_throughput", "total_token_throughput", "request_goodput",
    "max_concurrent_requests", "spec_decode_acceptance_length",
)  # fmt: skip
_SHOWN = (
    "max_concurrency", "request_rate", "completed", "failed", "request_throughput", "output_throughput",
    "median_ttft_ms", "p99_ttft_ms", "median_tpot_ms", "p99_tpot_ms", "median_e2el_ms", "p99_e2el_ms",
)  # fmt: skip
#: How people name the tensor parallel size in ``--metadata``; the keys of both engines.
_TP = ("tensor_parallel_size", "tp_size", "tp")


def recognise(head: str) -> bool:
    """Whether it names the model as this benchmark does, and has its numbers."""
    return '"num_prompts"' in head and '"model_id"' in head and '"request_throughput"' in head


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield every result of the file."""
    yield from results(source, result)


def result(data: Mapping[str, Any], origin: Origin) -> Result:
    """Return one saved result as a row of numbers, spreads and claims."""
    values = plain(data, _PLAIN)
    stray = number(data.get("request_goodput:"))  # 0.6.4 to 0.9.1 wrote the colon into the key
    if stray is not None:
        values["request_goodput"] = stray
    if "failed" not in values and {"completed", "num_prompts"} <= values.keys():
        values["failed"] = max(values["num_prompts"] - values["completed"], 0.0)
    tp = next((found for key in _TP if (found := number(data.get(key))) is not None), None)
    if tp is not None:
        values["tensor_parallel_size"] = tp
    date = data.get("date")
    made = Result(
        NAME,
        origin,
        moment(date) if isinstance(date, str) else None,
        excerpt(data, _SHOWN),
        values,
        model=str(data.get("model_id") or ""),
        duration=values.get("duration"),
        failed=int(values.get("failed", 0)),
    )
    if made.model:
        made.claims["model_id"] = made.model
    if tp is not None and tp == int(tp):
        made.claims["tensor_parallel_size"] = int(tp)
    latencies(made, data, _LATENCIES)
    detail(made, data, _LATENCIES)
    return made
