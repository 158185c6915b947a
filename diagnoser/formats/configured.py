"""Engines whose operator chose another form of Python's logging: a logging configuration, loguru, ``basicConfig``.

What stands before a message may be any of its fields in any order: time, level, process, logger, file and line,
ranks. Who speaks is told by the logger's name, by ranks, or by a statistics line; else the line is Python's.
"""

from __future__ import annotations

import re

from diagnoser.formats import sglang, uvicorn, vllm
from diagnoser.formats.base import Head
from diagnoser.formats.loggers import FAMILIES, NAMELESS, speaker
from diagnoser.patterns import lazily

NAME = "configured"
ORDER = 85  # others with a time in front are read by their own dialects; Python's knows fewer fields

# What parts a field from the next one, or from the message. No blank is taken twice.
_END = r"(?:\s*+[-|:]\s++|\s++|:(?=\S)|-(?=[\[A-Z])|\Z)"
_FIELD = lazily(
    r"(?P<time>\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)?"
    rf"(?P<ranked>(?: [A-Z][A-Z_]*\d+)*)\]?){_END}"
    rf"|(?P<level>\[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\]?){_END}"
    r"|(?P<place>\[?(?P<ranks>(?: ?[A-Z][A-Z_]*\d+)*) ?([\w./<>-]{1,120}\.py:\d+)(?::[\w.<>]{1,80}(?:\(\))?)?\]?)"
    rf"{_END}"
    rf"|(?P<logger>\[?([A-Za-z_]\w{{0,60}}(?:\.\w{{1,60}}){{0,12}})(?P<inside>(?::[\w<>]{{1,80}})?:\d+)?\]?){_END}"
    r"|(?P<process>\[?\d{1,10}\]?)(?:\s*+[-|:]\s++|\s++)"
    r"(?=[\[(]|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b|[\w./-]{1,120}\.py:\d|[\w.]{1,120}\s[-|]\s)"
)
_RANK = lazily(r"([A-Z][A-Z_]*?)(\d+)")
# How a line of these forms can begin: with a time or with a level.
_FIRST = frozenset("[0123456789DIWEC")
_BEGIN = lazily(r"\[?(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b)")
#: Who Python's logging names a process or a thread.
_THREADS = ("MainProcess", "MainThread")
_MOST_FIELDS = 8
_KINDS = ("time", "level", "place", "logger", "process")


def head(text: str) -> Head | None:
    """Parse the first line of a record; None when nothing tells that an engine or its host wrote it."""
    if text[:1] not in _FIRST or _BEGIN.match(text) is None:
        return None
    found, at = _fields(text)
    if "level" not in found or len(found) < 2:
        return None
    message = text[at:]
    inner = _inner(message)
    if inner is not None:
        return inner
    logger = found["logger"]["logger"].strip("[]").partition(":")[0] if "logger" in found else ""
    engine = speaker(logger, message, bool(_labels(found)))
    if not engine and not ("place" in found or "process" in found):
        return None
    return _filled(_read(engine, message), found, logger)


def _fields(text: str) -> tuple[dict[str, re.Match[str]], int]:
    """Return the fields in front, each at most once, and where the message begins."""
    found: dict[str, re.Match[str]] = {}
    at = 0
    for _ in range(_MOST_FIELDS):
        field = _FIELD.match(text, at)
        if field is None:
            break
        kind = next(name for name in _KINDS if field[name] is not None)
        thread = kind == "logger" and field["logger"].strip("[]") in _THREADS
        if kind in found or (kind == "logger" and not thread and not _is_logger(field, "level" in found)):
            break
        if not thread:
            found[kind] = field
        at = field.end()
    return found, at


def _is_logger(field: re.Match[str], levelled: bool) -> bool:
    """Whether a name is a logger's and not the first word of the message."""
    printed = field["logger"]
    family, dot, _ = printed.strip("[]").partition(".")
    if dot and family in FAMILIES:
        return True
    parted = printed[0] == "[" or bool(field["inside"]) or bool(field.string[field.end("logger") : field.end()].strip())
    return parted and (not levelled or bool(dot) or family in NAMELESS | FAMILIES or bool(field["inside"]))


def _inner(message: str) -> Head | None:
    """Read a message that brings its engine's own head along, which knows more."""
    if message[:1] == "[":
        return sglang.head(message)
    return vllm.head(message) if message[:1] in ("D", "I", "W", "E", "C", "(") else None


def _read(engine: str, message: str) -> Head:
    if engine == "sglang":
        return sglang.classify(message)
    if engine == "vllm":
        return Head("vllm", vllm.kind_of(message), message)
    if engine == "uvicorn":
        return Head("uvicorn", "access" if uvicorn.is_access(message) else "message", message)
    return Head("python", "message", message)


def _labels(found: dict[str, re.Match[str]]) -> str:
    """Return the ranks that stand beside the time or the place, "" for none."""
    told = [found[kind][name] for kind, name in (("time", "ranked"), ("place", "ranks")) if kind in found]
    return " ".join(told).strip()


def _filled(made: Head, found: dict[str, re.Match[str]], logger: str) -> Head:
    made.level = made.level or found["level"]["level"].strip("[]")
    place = found.get("place")
    # Behind vLLM's own head with file and line each line of a message repeats it; here none does.
    if made.dialect != "vllm" and not made.where:
        made.where = place["place"].strip("[] ").rpartition(" ")[2] if place else logger
    time = found.get("time")
    if time is not None:
        year, month, day, hour, minute, second = time.groups()[1:7]
        made.at(year, month, day, hour, minute, second.replace(",", "."))
    if labels := _labels(found):
        made.ranks = tuple(sorted({(label.lower(), number) for label, number in _RANK.findall(labels)}))
    return made


_T = {"year": 2026, "month": 3, "day": 18, "hour": 11, "minute": 22, "second": 5.874, "level": "INFO"}
_BATCH = "Decode batch, #running-req: 2, #token: 5, gen throughput (token/s): 242.08, #queue-req: 0"
_STATS = {"dialect": "sglang", "kind": "stats", "text": _BATCH}
_VLLM = "Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 0 reqs"
SAMPLES: list[tuple[str, dict[str, object]]] = [
    (f"2026-03-18 11:22:05.874 INFO 120984 [scheduler_metrics_mixin.py:415] {_BATCH}", {**_T, **_STATS}),
    (
        "2026-03-18 11:22:05.874 ERROR 120984 [ TP0 scheduler.py:3190] Scheduler hit an exception: Traceback (most",
        {**_T, "level": "ERROR", "dialect": "sglang", "ranks": (("tp", "0"),), "where": "scheduler.py:3190",
         "text": "Scheduler hit an exception: Traceback (most"},
    ),
    (
        f"[2026-03-18 11:22:05,874 DP1 TP0]-INFO-[scheduler.py:222:log_decode_stats()] {_BATCH}",
        {**_T, **_STATS, "ranks": (("dp", "1"), ("tp", "0")), "where": "scheduler.py:222:log_decode_stats()"},
    ),
    (
        f"2026-03-18 11:22:05.874 | INFO     | sglang.srt.managers.scheduler:log_decode_stats:222 - {_BATCH}",
        {**_T, **_STATS, "where": "sglang.srt.managers.scheduler"},
    ),
    (f"2026-03-18 11:22:05,874 - sglang.srt.managers.scheduler - INFO - {_BATCH}", {**_T, **_STATS}),
    (f"2026-03-18 11:22:05.874 INFO {_BATCH}", {**_T, **_STATS}),
    (f"INFO:sglang.srt.managers.scheduler:{_BATCH}", {**_STATS, "level": "INFO", "hour": None}),
    (f"INFO:root:{_BATCH}", {**_STATS, "level": "INFO"}),
    (
        "2026-03-18T11:22:05.874Z INFO MainProcess sglang.srt.server_args: Finish: obj=GenerateReqInput(text='a')",
        {**_T, "dialect": "sglang", "kind": "request"},
    ),
    (f"2026-03-18 11:22:05,874 - vllm.v1.metrics.loggers - INFO - {_VLLM}",
     {**_T, "dialect": "vllm", "kind": "stats", "text": _VLLM}),
    (f"INFO:vllm.v1.metrics.loggers:{_VLLM}", {"dialect": "vllm", "kind": "stats", "text": _VLLM}),
    (
        "2026-03-18 11:22:05,874 ERROR 7 [core.py:96] EngineCore encountered a fatal error.",
        {**_T, "level": "ERROR", "dialect": "python", "where": "core.py:96",
         "text": "EngineCore encountered a fatal error."},
    ),
    (
        'INFO:uvicorn.access:10.0.0.5:51234 - "POST /v1/completions HTTP/1.1" 200',
        {"dialect": "uvicorn", "kind": "access", "level": "INFO"},
    ),
    (
        "2026-03-18 11:22:05,874 - gateway - INFO - [12:34:56 TP0] Load weight begin.",
        {"dialect": "sglang", "text": "Load weight begin.", "ranks": (("tp", "0"),)},
    ),
]  # fmt: skip
