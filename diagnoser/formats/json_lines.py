"""JSON logging: vLLM's own (0.31.0+) and home-made ``dictConfig`` files with the usual key names."""

from __future__ import annotations

import json

from diagnoser.formats import sglang, vllm
from diagnoser.formats.base import Head
from diagnoser.formats.loggers import speaker
from diagnoser.formats.process import writer
from diagnoser.patterns import lazily

NAME = "json"
ORDER = 15

_LEVEL = ("levelname", "level", "severity", "lvl")
_MESSAGE = ("message", "msg")
_TIME = ("asctime", "timestamp", "time", "ts", "@timestamp")
_TRACE = ("exc_info", "exc_text", "exception", "stack_info")
_PROCESS = ("vllm_process_name", "processName")
_STAMP = lazily(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SHORT = lazily(r"(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR"}
_LONGEST = 1 << 20


def _text(found: dict[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = found.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _kind(dialect: str, message: str) -> str:
    return sglang.classify(message).kind if dialect == "sglang" else vllm.kind_of(message)


def _time(head: Head, found: dict[str, object]) -> None:
    printed = _text(found, _TIME)
    full = _STAMP.match(printed)
    if full is not None:
        head.year, head.month, head.day = int(full.group(1)), int(full.group(2)), int(full.group(3))
        head.hour, head.minute = int(full.group(4)), int(full.group(5))
        head.second = float(f"{full.group(6)}.{full.group(7) or 0}")
        return
    short = _SHORT.match(printed)
    if short is not None:
        head.month, head.day, head.hour, head.minute = (int(part) for part in short.groups()[:4])
        head.second = float(short.group(5))


def head(text: str) -> Head | None:
    """Parse one JSON object per line; None unless it has a message and a level or a time."""
    if text[:1] != "{" or text[-1:] != "}" or len(text) > _LONGEST:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    message, level = _text(found, _MESSAGE), _text(found, _LEVEL).upper()
    logger = _text(found, ("name", "logger", "logger_name"))
    if not message or not (level or _text(found, _TIME)):
        return None
    # A formatter that puts an engine's whole line into the message: the inner line knows more.
    result = sglang.head(message) if message[:1] == "[" else vllm.head(message)
    if result is None:
        dialect = speaker(logger, message) or NAME
        result = Head(dialect, _kind(dialect, message), message, _LEVELS.get(level, level))
        who = _text(found, _PROCESS)
        if who and who != "MainProcess":
            named = writer(f"({who} pid=0) ")
            result.process, result.ranks = named.name, named.ranks
        source, number = _text(found, ("filename", "file", "pathname")), found.get("lineno", found.get("line"))
        result.where = f"{source.rpartition('/')[2]}:{number}" if source else logger
        _time(result, found)
    trace = _text(found, _TRACE)
    if trace and result.kind == "message":
        result.text = f"{result.text}\n{trace.rstrip()}"
    return result


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        '{"asctime": "2026-02-01 08:00:01,123", "levelname": "INFO", "name": "vllm.v1.metrics.loggers", "processName": '
        '"MainProcess", "process": 1, "message": "Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 0 reqs"}',
        {"dialect": "vllm", "kind": "stats", "level": "INFO", "year": 2026, "second": 1.123, "process": ""},
    ),
    (
        '{"time": "2026-02-01T08:00:01Z", "severity": "warn", "msg": "low memory"}',
        {"level": "WARNING", "text": "low memory", "hour": 8, "kind": "message"},
    ),
    (
        '{"asctime": "02-01 08:00:01", "levelname": "ERROR", "name": "vllm.v1.engine.core", "message": "EngineCore '
        'encountered a fatal error.", "exc_info": "Traceback (most recent call last):\\nValueError: x", '
        '"vllm_process_name": "EngineCore_DP1"}',
        {
            "process": "EngineCore_DP1",
            "ranks": (("dp", "1"),),
            "year": None,
            "month": 2,
            "text": "EngineCore encountered a fatal error.\nTraceback (most recent call last):\nValueError: x",
        },
    ),
    (
        '{"timestamp": "2026-02-01T08:00:01Z", "level": "INFO", "message": "Decode batch. #running-req: 3, #token: 9"}',
        {"dialect": "sglang", "kind": "stats", "hour": 8},
    ),
    (
        '{"time": "2026-02-01T08:00:01Z", "level": "INFO", "message": "[12:34:56 TP0] Decode batch. #token: 9"}',
        {"dialect": "sglang", "kind": "stats", "ranks": (("tp", "0"),)},
    ),
    (
        '{"time": "2026-02-01T08:00:01Z", "level": "INFO", "name": "gateway", "msg": "Decode batch. #running-req: 3"}',
        {"dialect": "json", "kind": "message"},
    ),
    (
        '{"asctime": "2026-02-01 08:00:01,123", "levelname": "INFO", "name": "uvicorn.access", "message": '
        '"10.0.0.1:5 - \\"GET /health HTTP/1.1\\" 200"}',
        {"dialect": "uvicorn", "kind": "access"},
    ),
]
