"""The KV transfer libraries under disaggregated serving: Mooncake (glog, no year) and NIXL."""

from __future__ import annotations

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "transfer"
ORDER = 60

_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
# Only C++ files: torch's Python loggers print the same shape and have a dialect of their own.
_GLOG = lazily(
    r"([IWEF])(?:(\d{4}))?(\d\d)(\d\d) (\d\d):(\d\d):(\d\d\.\d+) +(\d+) "
    r"([\w./+-]+\.(?:cpp|cc|cxx|cu|h|hpp):\d+)\] ?"
)
_NIXL = lazily(
    r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d+))? NIXL (TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL) +"
    r"(?:([\w./-]+\.\w+:\d+) )?"
)


def head(text: str) -> Head | None:
    """Parse the first line of a record; None when no transfer library wrote it."""
    if text[:1] in _LEVELS:
        return _glog(text)
    if text[:2] == "20" and " NIXL " in text[:40]:
        return _nixl(text)
    return None


def _glog(text: str) -> Head | None:
    match = _GLOG.match(text)
    if match is None:
        return None
    level, year, month, day, hour, minute, second, _thread, where = match.groups()
    return Head(
        NAME,
        "message",
        text[match.end() :],
        level=_LEVELS[level],
        process="mooncake",
        where=where,
    ).at(year, month, day, hour, minute, second)


def _nixl(text: str) -> Head | None:
    match = _NIXL.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, level, where = match.groups()
    return Head(
        NAME,
        "message",
        text[match.end() :],
        level="WARNING" if level == "WARN" else level,
        process="nixl",
        where=where or "",
    ).at(year, month, day, hour, minute, f"{second}.{fraction or 0}")


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "I0301 12:34:56.789012  4242 transfer_engine.cpp:120] Auto-discovering topology...",
        {
            "level": "INFO",
            "where": "transfer_engine.cpp:120",
            "year": None,
            "month": 3,
            "day": 1,
            "hour": 12,
            "minute": 34,
            "second": 56.789012,
            "text": "Auto-discovering topology...",
        },
    ),
    (
        "E0605 10:48:27.885119 10137 rdma_context.cpp:203] Failed to register memory 0x7b375b400000: Bad address [14]",
        {"level": "ERROR", "text": "Failed to register memory 0x7b375b400000: Bad address [14]"},
    ),
    (
        "2026-03-01 12:34:56 NIXL INFO    _api.py:363 Backend UCX was instantiated",
        {"level": "INFO", "year": 2026, "where": "_api.py:363", "text": "Backend UCX was instantiated"},
    ),
    (
        "2026-03-01 12:34:56 NIXL INFO Initialized NIXL agent: 5f1c",
        {"level": "INFO", "process": "nixl", "text": "Initialized NIXL agent: 5f1c"},
    ),
]
