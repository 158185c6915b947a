"""vLLM's own formatter, 0.3.3 to 0.33: ``(NAME pid=N) LEVEL MM-DD HH:MM:SS [file.py:LINE] message``.

The Rust front end prints the same layout. The process name in front is optional; ``vllm_prefix`` reads the free text of
``VLLM_LOGGING_PREFIX`` and ``json_lines`` the JSON form. ``stats`` is re-exported from ``vllm_stats``.
"""

from __future__ import annotations

import re

from diagnoser.formats import process, uvicorn
from diagnoser.formats.base import Head
from diagnoser.formats.vllm_stats import is_stats, stats
from diagnoser.patterns import lazily
from diagnoser.values import replace

__all__ = ["NAME", "ORDER", "SAMPLES", "head", "kind_of", "parse", "request_complete", "stats"]

NAME = "vllm"
ORDER = 10

# Up to 0.7.3 the file has a closing bracket only; DEBUG lines carry a shortened path from 0.10.2 on.
_HEAD = lazily(
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL|TRACE) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[?([^\s\]\[:]+:\d+)\] ?(.*)",
    re.DOTALL,
)
_FIRST = frozenset("DIWECT")
_REQUEST = lazily(
    r"(?:Received|Added) request |(?:Generated|Streaming) response |Request \S+ details: |"
    r"Request .{0,80}?\bprompt(?:_token_ids)?[=:] ?"
)
_REQUEST_FIRST = frozenset("RAGS")
# How far from its end a request line prints its last fields; before them a line break is part of the user's text.
_TAIL = 600
# Front-end lines of the Rust server may carry their tracing span: ``request{id=7}: message``.
_SPAN = lazily(r"(?:[\w.-]+\{[^{}]*\}:? ?)+: ?|(?:[\w.-]+\{[^{}]*\}: )+")


def kind_of(text: str) -> str:
    """Tell what a message without its prefix is: "stats", "request", "access" or "message"."""
    if is_stats(text):
        return "stats"
    if text[:1] in _REQUEST_FIRST and _REQUEST.match(text):
        return "request"
    if ' - "' in text and uvicorn.is_access(text):
        return "access"
    return "message"


def request_complete(text: str) -> bool:
    """Whether a request line has reached its printed end, so that what follows is not the user's text."""
    if text.startswith("Added request "):
        return True
    tail = text[-_TAIL:]
    if text[-1:] == "." and ("lora_request: " in tail or "prompt_adapter_request: " in tail):
        return True
    return "finish_reason: " in tail[-60:] or (text[-1:] in "].e" and "token_ids: " in tail)


def parse(text: str, start: int = 0) -> Head | None:
    """Parse the formatter's layout at ``start`` (no process name, nothing in front)."""
    found = _HEAD.match(text, start)
    if found is None:
        return None
    level, month, day, hour, minute, second, where, message = found.groups()
    if "{" in message and ".rs:" in where:
        span = _SPAN.match(message)
        if span is not None:
            message = message[span.end() :]
    return Head(
        NAME, kind_of(message), message, level, "", (), where,
        None, int(month), int(day), int(hour), int(minute), float(second),
    )  # fmt: skip


def head(text: str) -> Head | None:
    """Parse a vLLM line, or a uvicorn line behind a vLLM process name."""
    if text[:1] in _FIRST:
        return parse(text)
    if text[:1] != "(":
        return None
    end = process.length(text)
    if end == 0:
        return None
    found = parse(text, end) or uvicorn.head(text[end:])
    if found is None:
        return None
    who = process.writer(text[:end])
    return replace(found, process=who.name, ranks=who.ranks)


_AT = {"year": None, "month": 3, "day": 5, "hour": 12, "minute": 34, "second": 56.0}

SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "INFO 03-05 12:34:56 metrics.py:455] Avg prompt throughput: 10.0 tokens/s, Running: 1 reqs",
        {**_AT, "kind": "stats", "level": "INFO", "where": "metrics.py:455", "process": ""},
    ),
    (
        "INFO 03-05 12:34:56 [loggers.py:111] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs",
        {**_AT, "kind": "stats", "where": "loggers.py:111"},
    ),
    (
        "(EngineCore pid=214) INFO 02-01 08:00:01 [core.py:96] Initializing a V1 LLM engine",
        {"process": "EngineCore", "ranks": (), "kind": "message", "text": "Initializing a V1 LLM engine"},
    ),
    (
        "(VllmWorkerProcess pid=71) WARNING 07-05 10:00:00 custom_all_reduce.py:118] Custom allreduce is disabled",
        {"process": "VllmWorkerProcess", "level": "WARNING", "text": "Custom allreduce is disabled"},
    ),
    (
        "(VllmWorker rank=1 pid=72) INFO 04-02 10:00:00 [gpu_model_runner.py:1276] Model loading took 1 GiB",
        {"process": "VllmWorker", "ranks": (("tp", "1"),)},
    ),
    (
        "(VllmWorker PP0_TP1 pid=72) INFO 04-02 10:00:00 [x.py:1] m",
        {"process": "VllmWorker", "ranks": (("pp", "0"), ("tp", "1"))},
    ),
    ("(EngineCore_0 pid=60) INFO 08-20 10:00:00 [core.py:200] init engine", {"ranks": (("dp", "0"),)}),
    (
        "(EngineCore_DP3 pid=60) INFO 08-20 10:00:00 [core.py:200] m",
        {"process": "EngineCore_DP3", "ranks": (("dp", "3"),)},
    ),
    (
        "(Worker_DP1_PP0_TP2_EP6 pid=71) INFO 10-02 10:00:00 [cuda.py:300] Using FLASHINFER_MLA backend.",
        {"process": "Worker_DP1_PP0_TP2_EP6", "ranks": (("dp", "1"), ("ep", "6"), ("pp", "0"), ("tp", "2"))},
    ),
    ("(ApiServer_1 pid=50) INFO 10-02 10:00:00 [x.py:1] m", {"process": "ApiServer_1", "ranks": (("api", "1"),)}),
    ("(APIServer_DPRank_2 pid=9) INFO 10-02 10:00:00 [x.py:1] m", {"ranks": (("dp", "2"),)}),
    ("(VllmWorker-0 pid=9) INFO 10-02 10:00:00 [x.py:1] m", {"process": "VllmWorker-0", "ranks": (("tp", "0"),)}),
    (
        "(EngineCore_DP0 pid=272) (RayWorkerWrapper pid=437, ip=10.0.0.7) ERROR 10-02 10:00:00 [base.py:601] Error",
        {"process": "RayWorkerWrapper", "ranks": (("dp", "0"),), "level": "ERROR", "text": "Error"},
    ),
    (
        '(APIServer pid=1) INFO:     10.1.2.3:53012 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        {"dialect": "uvicorn", "kind": "access", "process": "APIServer", "hour": None},
    ),
    (
        "DEBUG 11-02 10:00:00 [model_executor/.../quantization/fp8.py:77] m",
        {"level": "DEBUG", "where": "model_executor/.../quantization/fp8.py:77"},
    ),
    (
        "(Frontend pid=8) WARNING 02-01 08:00:01 [server.rs:88] http{method=POST}: slow client waited=3s",
        {"where": "server.rs:88", "text": "slow client waited=3s", "process": "Frontend"},
    ),
    (
        "INFO 07-12 10:00:00 [logger.py:39] Received request cmpl-1: prompt: 'ERROR 07-12 10:00:00 [core.py:1] boom', "
        "params: None, prompt_token_ids: None, lora_request: None.",
        {"kind": "request", "level": "INFO", "where": "logger.py:39"},
    ),
    ("INFO 07-12 10:00:00 [async_llm.py:310] Added request cmpl-1.", {"kind": "request"}),
    ("INFO 07-12 10:00:00 [async_llm.py:411] Request cmpl-1 aborted.", {"kind": "message"}),
    ("INFO 05-19 10:08:06 [utils.py:306] ", {"text": "", "kind": "message"}),
    ("INFO 05-19 10:08:06 [utils.py:306]  ▄▄ ▄█ █  version 0.21.0", {"text": " ▄▄ ▄█ █  version 0.21.0"}),
]
