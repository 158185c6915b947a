"""The Rust routers in front of engines: SGLang's router and model gateway, vllm-router.

Shapes: ``tracing`` lines (colours stripped before), ``[Router (Rust)] <time> - LEVEL - message`` of the first
releases, and ``[Router (Python)] ...`` of the launcher beside them.
"""

from __future__ import annotations

from diagnoser.formats import _tracing
from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "router"
ORDER = 40
PROCESS = "router"

_CRATES = ("smg", "sgl_model_gateway", "sglang_router_rs", "sglang_router", "vllm_router_rs", "vllm_router")
_NAMED = lazily(
    r"\[Router \((?:Rust|Python)\)\] (\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) - ([A-Z]+) - "
    r"(.*?)(?: - (\w+\.py:\d+))?$"
)


def head(text: str) -> Head | None:
    """Parse the first line of a record; None when no router wrote it."""
    if text.startswith("[Router ("):
        return _named(text)
    if not text[:1].isdigit():
        return None
    traced = _tracing.parse(text, NAME, PROCESS)
    if traced is None or traced.target.partition("::")[0] not in _CRATES:
        return None
    return traced.head


def _named(text: str) -> Head | None:
    match = _NAMED.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, level, message, where = match.groups()
    return Head(
        NAME,
        "message",
        message,
        level="WARNING" if level == "WARN" else level,
        process=PROCESS,
        where=where or "",
    ).at(year, month, day, hour, minute, second)


_T = {"year": 2026, "month": 11, "day": 29, "hour": 18, "minute": 10, "process": PROCESS, "kind": "message"}
SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "2026-11-29 18:10:44 ERROR http_request{method=POST uri=/v1/chat/completions version=HTTP/1.1 "
        'request_id="chatcmpl-a" status_code=503 latency=63}: smg::response: /src/middleware.rs:169: '
        "request failed with server error",
        {
            **_T,
            "second": 44.0,
            "level": "ERROR",
            "where": "smg::response /src/middleware.rs:169",
            "text": "http_request{method=POST uri=/v1/chat/completions version=HTTP/1.1 "
            'request_id="chatcmpl-a" status_code=503 latency=63}: request failed with server error',
        },
    ),
    (
        '2026-11-29 18:10:44  INFO http_request{method=GET uri=/v1/models?x={a} version=HTTP/1.1 request_id="}: b: "}: '
        "smg::response: src/middleware.rs:169: finished processing request",
        {**_T, "level": "INFO", "where": "smg::response src/middleware.rs:169"},
    ),
    (
        "2026-11-29 18:10:07  WARN smg::core::circuit_breaker: src/core/circuit_breaker.rs:232: Circuit breaker state "
        "transition: closed -> open worker=http://10.70.1.5:30001",
        {
            **_T,
            "second": 7.0,
            "level": "WARNING",
            "text": "Circuit breaker state transition: closed -> open worker=http://10.70.1.5:30001",
        },
    ),
    (
        "2026-11-29T18:10:44.123456Z  INFO sglang_router_rs::server: Starting server on 0.0.0.0:30000",
        {**_T, "second": 44.123456, "where": "sglang_router_rs::server", "text": "Starting server on 0.0.0.0:30000"},
    ),
    (
        "2026-11-29 18:10:44  INFO vllm_router_rs::server: src/server.rs:1129: Single router mode (enable_igw=false)",
        {**_T, "level": "INFO", "text": "Single router mode (enable_igw=false)"},
    ),
    (
        "[Router (Rust)] 2026-11-29 18:10:44 - WARN - Worker http://10.0.0.1:30000 health check failed",
        {**_T, "level": "WARNING", "text": "Worker http://10.0.0.1:30000 health check failed"},
    ),
    (
        "[Router (Python)] 2026-11-29 18:10:44 - INFO - Starting server on port 30000 - launch_server.py:149",
        {**_T, "level": "INFO", "text": "Starting server on port 30000", "where": "launch_server.py:149"},
    ),
]
