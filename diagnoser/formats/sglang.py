"""SGLang's own loggers: ``[<time><ranks>] <message>`` in every form printed from 0.1.26 to 0.5.23.

SGLang prints no level. One is given only where the text spells it out (a uvicorn line behind the bracket, a message
that repeats ``WARNING file.py:12:``). Statistics lines are taken apart by :mod:`diagnoser.formats.sglang_stats`.
"""

from __future__ import annotations

from functools import lru_cache

from diagnoser.formats import uvicorn
from diagnoser.formats.base import Head
from diagnoser.formats.sglang_stats import is_stats, stats
from diagnoser.patterns import lazily
from diagnoser.tables.table import Group

__all__ = ["NAME", "ORDER", "SAMPLES", "head", "stats"]

NAME = "sglang"
ORDER = 20

# The bracket is remembered whole, because consecutive lines share it, and in two pieces, because with fractions of a
# second they do not: the minute, and what follows the seconds (fraction, ranks in any order and number, name of an
# encoder server's process).
_MINUTE = lazily(r"(?:(\d{4})-(\d\d)-(\d\d) )?(\d\d):(\d\d)")
_REST = lazily(r"([.,]\d{1,6})?((?: [A-Z][A-Z_]*\d+)*)(?: (encode_[a-z_]+)(?:\[(\d+)\])?)?")
# A log cut at its start may have lost the bracket and a part of the date.
_CUT = lazily(r"(?:\d{4}-\d\d-\d\d |[\d-]{0,9} ?)(?=\d\d:\d\d:\d\d[^\]]{0,99}\](?: |$))")
# 0.1.26 has no time: a worker names its GPU instead.
_GPU = lazily(r"\[gpu(?:_id)?=(\d+)\] ")
_RANK = lazily(r"([A-Z][A-Z_]*?)(\d+)")
_OWN_LEVEL = lazily(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) ([\w./-]+\.py:\d+): ")
_UVICORN = ("INFO:  ", "WARNING:  ", "ERROR:  ", "DEBUG:  ", "CRITICAL: ", "TRACE:  ")
# Lines that quote what a user sent: with --log-requests, up to 0.4.0 as in=/out=, later Receive/Finish, also as JSON.
_REQUEST = ("Receive: obj=", "Finish: obj=", "Receive OpenAI: obj=", "in={", "out={", "in=", "out=")
_REQUEST_JSON = lazily(r'\{"timestamp": ?"[^"]*", ?"event": ?"request\.')


def head(text: str) -> Head | None:
    """Parse the first line of a record; None when SGLang did not write it."""
    first = text[:1]
    if first == "[":
        return _timed(text, 1) or _without_time(text)
    if first.isdigit() or first == "-":
        cut = _CUT.match(text)
        return _timed(text, 0 if text[4:5] == "-" and text[10:11] == " " else cut.end()) if cut else None
    # Without any prefix: a logging configuration of the operator's own.
    return Head(NAME, "stats", text) if is_stats(text) else None


def _timed(text: str, start: int) -> Head | None:
    """Read ``<time><ranks>] <message>`` from ``start``; None when the shape is another."""
    close = _close(text, start + (19 if text[start + 4 : start + 5] == "-" else 8))
    told = _prefix(text[start:close]) if close >= 0 else None
    if told is None:
        return None
    found = classify(text[close + 2 :])
    found.year, found.month, found.day, found.hour, found.minute, found.second, ranks, process = told
    if ranks:
        found.ranks = ranks
    if process:
        found.process = process
    return found


_Minute = tuple[int | None, int | None, int | None, int, int]


@lru_cache(maxsize=256)  # a pure function; neighbouring lines ask for the same second
def _prefix(text: str) -> tuple[int | None, int | None, int | None, int, int, float, Group, str] | None:
    """Read ``<time><ranks>``: the parts of the time, then ranks and process."""
    end = 19 if text[4:5] == "-" else 8
    second = text[end - 2 : end]
    if not second.isdigit() or text[end - 3] != ":":
        return None
    minute, rest = _minute(text[: end - 3]), _rest(text[end:])
    if minute is None or rest is None:
        return None
    fraction, ranks, process = rest
    return (*minute, int(second) + fraction, ranks, process)


def _close(text: str, start: int) -> int:
    """Find the bracket that ends the prefix; ``encode_dp_worker[2]`` has one inside."""
    close = text.find("]", start, start + 100)
    if text[close + 1 : close + 2] == "]":
        return close + 1
    return close if text[close + 1 : close + 2] in (" ", "") else -1


@lru_cache(maxsize=256)  # a pure function; neighbouring lines ask for the same minute
def _minute(text: str) -> _Minute | None:
    match = _MINUTE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute = match.groups()
    if year is None:
        return None, None, None, int(hour), int(minute)
    return int(year), int(month), int(day), int(hour), int(minute)


@lru_cache(maxsize=1024)  # a pure function of few different strings
def _rest(text: str) -> tuple[float, Group, str] | None:
    """Turn '.123 DP0 ATTN_CP1 TP4' into the fraction, sorted ranks with lower-case labels, and the process."""
    match = _REST.fullmatch(text)
    if match is None:
        return None
    fraction, labels, process, worker = match.groups()
    ranks = [(label.lower(), number) for label, number in _RANK.findall(labels)]
    if worker:
        ranks.append(("worker", worker))
    return float(fraction.replace(",", ".")) if fraction else 0.0, tuple(sorted(ranks)), process or ""


def _without_time(text: str) -> Head | None:
    match = _GPU.match(text)
    if match is None:
        return None
    found = classify(text[match.end() :])
    found.ranks = (("gpu", match.group(1)),)
    return found


def classify(text: str) -> Head:
    """Tell what a message is. The statistics test comes first: nine lines of ten in a busy log are such lines."""
    if is_stats(text):
        return Head(NAME, "stats", text)
    if text.startswith("[gpu"):
        inner = _without_time(text)
        if inner is not None:
            return inner
    if text.startswith(_UVICORN):
        return _uvicorn(text)
    if text.startswith(_REQUEST) or (text.startswith("{") and _REQUEST_JSON.match(text)):
        return Head(NAME, "request", text)
    own = _OWN_LEVEL.match(text)
    if own is not None:
        return Head(NAME, "message", text[own.end() :], level=own.group(1), where=own.group(2))
    return Head(NAME, "message", text)


def _uvicorn(text: str) -> Head:
    """Read the uvicorn line behind the bracket with uvicorn's own dialect; the bracket's time stays."""
    inner = uvicorn.head(text)
    if inner is None:
        return Head(NAME, "message", text)
    inner.dialect = NAME
    return inner


_T = {"year": 2026, "month": 3, "day": 1, "hour": 12, "minute": 34, "second": 56.0}
SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "[gpu_id=0] Decode batch. #running-req: 3, #token: 812, token usage: 0.02, gen throughput (token/s): 150.20, "
        "#queue-req: 0",
        {"kind": "stats", "ranks": (("gpu", "0"),), "hour": None},
    ),
    ("[gpu=3] Init nccl begin.", {"kind": "message", "ranks": (("gpu", "3"),), "text": "Init nccl begin."}),
    (
        "[12:34:56 TP0] Prefill batch(mixed #running-req: 4). #new-seq: 1, #new-token: 9, #cached-token: 3, "
        "cache hit rate: 25.00%, #queue-req: 0",
        {
            "kind": "stats",
            "year": None,
            "month": None,
            "hour": 12,
            "minute": 34,
            "second": 56.0,
            "ranks": (("tp", "0"),),
        },
    ),
    ("[12:34:56 DP1 TP0] Load weight begin.", {"ranks": (("dp", "1"), ("tp", "0")), "text": "Load weight begin."}),
    ("[2026-03-01 12:34:56] The server is fired up and ready to roll!", {**_T, "kind": "message", "level": ""}),
    (
        "[2026-03-01 12:34:56 DP0 PP0 ATTN_CP1 MOE_DP0 TP4 EP4] max_total_num_tokens=1",
        {
            **_T,
            "ranks": (("attn_cp", "1"), ("dp", "0"), ("ep", "4"), ("moe_dp", "0"), ("pp", "0"), ("tp", "4")),
            "text": "max_total_num_tokens=1",
        },
    ),
    (
        "[2026-03-01 12:34:56.123 TP0] Decode batch [126], #running-req: 1, #token: 5, token usage: 0.00, "
        "cpu graph: False, gen throughput (token/s): 3.10, #queue-req: 0, ",
        {**_T, "second": 56.123, "kind": "stats"},
    ),
    ("[2026-03-01 12:34:56 encode_server] ready", {**_T, "process": "encode_server", "text": "ready"}),
    (
        "[2026-03-01 12:34:56 encode_dp_worker[2]] ready",
        {**_T, "process": "encode_dp_worker", "ranks": (("worker", "2"),), "text": "ready"},
    ),
    ("2026-03-01 12:34:56 TP0] Load weight begin.", {**_T, "ranks": (("tp", "0"),), "text": "Load weight begin."}),
    ("-01 12:34:56 TP0] Load weight begin.", {"year": None, "month": None, "hour": 12, "text": "Load weight begin."}),
    (
        '[2026-03-01 12:34:56] INFO:     10.0.0.5:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        {**_T, "kind": "access", "level": "INFO", "dialect": "sglang"},
    ),
    (
        "[2026-03-01 12:34:56] ERROR:    [Errno 98] error while attempting to bind on address",
        {**_T, "kind": "message", "level": "ERROR", "text": "[Errno 98] error while attempting to bind on address"},
    ),
    (
        "[2026-03-01 12:34:56] WARNING server_args.py:1411: Cuda graph is disabled",
        {**_T, "level": "WARNING", "where": "server_args.py:1411", "text": "Cuda graph is disabled"},
    ),
    (
        "[2026-03-01 12:34:56] Finish: obj=GenerateReqInput(rid='a', text='OutOfMemoryError')",
        {**_T, "kind": "request"},
    ),
    (
        '[2026-03-01 12:34:56] {"timestamp": "2026-03-01T12:34:57.001234", "event": "request.finished", "rid": "ab"}',
        {**_T, "kind": "request"},
    ),
]
