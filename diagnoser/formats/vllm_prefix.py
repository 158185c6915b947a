"""vLLM lines behind free text: ``VLLM_LOGGING_PREFIX``, or an outer prefix that no envelope knows."""

from __future__ import annotations

from diagnoser.formats import process, vllm
from diagnoser.formats.base import Head
from diagnoser.patterns import lazily
from diagnoser.values import replace

# Asked late: every other dialect has a better claim. Named after the writer, so that records read as vLLM's.
NAME = "vllm-prefix"
ORDER = 80

# Quotes before the level word mean that somebody quotes a log line.
_FREE = lazily(
    r"[^'\"`\n]{1,60}?(?=(?:\([A-Za-z][^()]{0,60}\) )*"
    r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]+\.(?:py|rs):\d+\])"
)


def head(text: str) -> Head | None:
    """Parse a vLLM line that starts with up to 60 characters of free text."""
    # Cheap refusal: the bracket behind file and line must come early.
    if "] " not in text[:200] and not text.endswith("]"):
        return None
    free = _FREE.match(text)
    if free is None:
        return None
    end = process.length(text[free.end() :]) + free.end()
    found = vllm.parse(text, end)
    if found is None or end == free.end():
        return found
    who = process.writer(text[free.end() : end])
    return replace(found, process=who.name, ranks=who.ranks)


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "[prod-eu1] INFO 06-11 08:00:01 [loggers.py:111] Engine 000: Avg prompt throughput: 1.0 tokens/s",
        {"dialect": "vllm", "kind": "stats", "hour": 8, "level": "INFO"},
    ),
    (
        "blue (EngineCore pid=9) ERROR 02-01 08:00:01 [core.py:96] EngineCore encountered a fatal error.",
        {"dialect": "vllm", "process": "EngineCore", "text": "EngineCore encountered a fatal error."},
    ),
]
