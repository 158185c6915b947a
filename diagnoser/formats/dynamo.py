"""Engines embedded in Dynamo: its launcher prints ``<UTC time>  LEVEL module.function: text`` around their messages.

The text is the engine's own, without the engine's prefix; a batch line among them is read by that engine's dialect.
"""

from __future__ import annotations

from diagnoser.formats import _tracing
from diagnoser.formats.base import Head, StatsLine
from diagnoser.formats.sglang_stats import is_stats
from diagnoser.formats.sglang_stats import stats as sglang_stats
from diagnoser.formats.vllm_stats import stats as vllm_stats
from diagnoser.tables.table import Group

NAME = "dynamo"
ORDER = 45  # after the routers, whose lines have the same shape


def head(text: str) -> Head | None:
    """Parse the first line of a record; None when Dynamo's launcher did not write it."""
    if text[10:11] != "T":
        return None
    traced = _tracing.parse(text, NAME, "")
    if traced is None:
        return None
    found = traced.head
    if is_stats(found.text) or "throughput: " in found.text[:60]:
        found.kind = "stats"
    elif found.text.startswith(("Receive: obj=", "Finish: obj=")):
        found.kind = "request"
    return found


def stats(text: str, ranks: Group = ()) -> StatsLine | None:
    """Read the statistics line of whichever engine runs inside."""
    if is_stats(text):
        return sglang_stats(text, ranks)
    return vllm_stats(text)


_T = {"year": 2026, "month": 3, "day": 1, "hour": 12, "minute": 34, "second": 56.789012, "level": "INFO"}
SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "2026-03-01T12:34:56.789012Z  INFO memory_pool._finalize_allocation_log: KV Cache is allocated. "
        "#tokens: 360072, KV size: 23.57 GB",
        {
            **_T,
            "kind": "message",
            "where": "memory_pool._finalize_allocation_log",
            "text": "KV Cache is allocated. #tokens: 360072, KV size: 23.57 GB",
        },
    ),
    (
        "2026-03-01T12:34:56.789012Z  INFO scheduler_metrics_mixin.log_decode_stats: Decode batch, #running-req: 1, "
        "#token: 5, token usage: 0.00, cuda graph: True, gen throughput (token/s): 3.10, #queue-req: 0",
        {**_T, "kind": "stats"},
    ),
    (
        "2026-03-01T12:34:56.789012Z ERROR dynamo_runtime::pipeline::network: stream ended before generation completed",
        {**_T, "level": "ERROR", "where": "dynamo_runtime::pipeline::network"},
    ),
]
