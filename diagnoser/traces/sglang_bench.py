"""Results of ``python -m sglang.bench_serving --output-file``: one JSON object a line, one line a run.

Keys by version: the script of 0.1.26 to 0.5.23. Latencies are milliseconds, the lists of ``--output-details`` seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._results import Result, excerpt, number
from diagnoser.traces._serving import detail, latencies, plain, results
from diagnoser.traces.base import Wanted

NAME = "sglang-bench"
ORDER = 31
KINDS = ("json",)
SAMPLES = [
    (
        '{"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": 8,'
        ' "duration": 9.5, "completed": 40, "total_input_tokens": 4000, "total_output_tokens": 2000,'
        ' "total_output_tokens_retokenized": 1999, "request_throughput": 4.2, "output_throughput": 210.0,'
        ' "mean_ttft_ms": 80.0, "median_ttft_ms": 70.0, "p99_ttft_ms": 150.0, "concurrency": 7.6}\n',
        3,
    ),
]

_LATENCIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e_latency": "e2e"}
_PLAIN = (
    "max_concurrency", "concurrency", "request_rate", "duration", "completed", "total_input_tokens",
    "total_output_tokens", "request_throughput", "output_throughput", "total_throughput", "max_concurrent_requests",
    "accept_length",
)  # fmt: skip
_SHOWN = (
    "backend", "max_concurrency", "request_rate", "completed", "request_throughput", "output_throughput", "concurrency",
    "median_ttft_ms", "p99_ttft_ms", "median_tpot_ms", "p99_tpot_ms", "median_e2e_latency_ms", "p99_e2e_latency_ms",
)  # fmt: skip
#: Back ends of the script that only one engine answers.
_ENGINES = {"sglang": "sglang", "sglang-native": "sglang", "sglang-oai": "sglang", "sglang-oai-chat": "sglang"}


def recognise(head: str) -> bool:
    """Whether it has the number that only this benchmark counts."""
    return '"request_throughput"' in head and '"total_output_tokens_retokenized"' in head


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield every result of the file."""
    yield from results(source, result)


def result(data: Mapping[str, Any], origin: Origin) -> Result:
    """Return one saved result as a row of numbers, spreads and claims."""
    values = plain(data, _PLAIN)
    backend = str(data.get("backend") or "")
    info = data.get("server_info")
    server = info if isinstance(info, dict) else {}
    made = Result(NAME, origin, None, excerpt(data, _SHOWN), values, backend=backend, duration=values.get("duration"))
    if isinstance(server.get("model_path"), str):
        made.model = made.claims["model_path"] = server["model_path"]
    tp = number(server.get("tp_size"))
    if tp is not None and tp == int(tp):
        values["tp_size"] = tp
        made.claims["tp_size"] = int(tp)
    if backend in _ENGINES:
        made.claims["backend"] = _ENGINES[backend]
    latencies(made, data, _LATENCIES)
    detail(made, data, _LATENCIES)
    return made
