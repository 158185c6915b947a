"""Ray's own lines, and the folding mark it puts behind lines of its actors."""

from __future__ import annotations

import re

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "ray"
ORDER = 35

# "2025-01-02 03:04:05,678\tINFO worker.py:1821 -- Connecting to existing Ray cluster"
_PYTHON = lazily(
    r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\s+(DEBUG|INFO|SUCC|WARNING|ERROR|CRITICAL) (\S+:\d+) -- (.*)",
    re.DOTALL,
)
# "[2025-01-02 03:04:05,678 E 123 456] (raylet) node_manager.cc:3064: 1 Workers killed due to memory pressure"
_CPP = lazily(
    r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3}) ([DIWEFC]) \d+ \d+\] (?:\(([\w. -]+)\) )?(\S+:\d+): ?(.*)",
    re.DOTALL,
)
_DAEMON = lazily(r"\((raylet|gcs_server|autoscaler|dashboard)(?: \+[\w]+)?(?:, ip=[\w.:]+)?\) (.*)", re.DOTALL)
_LEVELS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "C": "CRITICAL", "SUCC": "INFO"}
_REPEATED = lazily(r" ?\[repeated \d+x across cluster\](?: \(Ray deduplicates logs by default\..*)?$", re.DOTALL)
_TROUBLE = lazily(r"kill|OOM|memory|died|crash|fail|error|unable|cannot", re.IGNORECASE)


def unfold(text: str) -> str:
    """Drop "[repeated 3x across cluster]" and the help text behind its first use."""
    return _REPEATED.sub("", text) if " across cluster]" in text else text


def head(text: str) -> Head | None:
    """Parse a line of Ray itself."""
    first = text[:1]
    if first == "(":
        daemon = _DAEMON.match(text)
        if daemon is None:
            return None
        inner = head(daemon.group(2))
        if inner is not None:
            inner.process = daemon.group(1)
            return inner
        message = unfold(daemon.group(2))
        return Head(NAME, "message", message, "WARNING" if _TROUBLE.search(message) else "INFO", daemon.group(1))
    if first == "[":
        found = _CPP.match(text)
        if found is None:
            return None
        year, month, day, hour, minute, second, part, level, process, where, message = found.groups()
    elif first.isdigit():
        found = _PYTHON.match(text)
        if found is None:
            return None
        year, month, day, hour, minute, second, part, level, where, message = found.groups()
        process = ""
    else:
        return None
    return Head(
        NAME, "message", unfold(message), _LEVELS.get(level, level), process or "", (), where,
        int(year), int(month), int(day), int(hour), int(minute), float(f"{second}.{part}"),
    )  # fmt: skip


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "2025-01-02 03:04:05,678\tINFO worker.py:1821 -- Connecting to existing Ray cluster at address: 10.0.0.1:6379",
        {"year": 2025, "level": "INFO", "where": "worker.py:1821", "second": 5.678},
    ),
    (
        "[2025-01-02 03:04:05,678 E 123 456] (raylet) node_manager.cc:3064: 1 Workers (tasks / actors) killed",
        {"level": "ERROR", "process": "raylet", "text": "1 Workers (tasks / actors) killed"},
    ),
    (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
        {"process": "raylet", "level": "WARNING"},
    ),
    (
        "(raylet, ip=10.0.0.2) [2025-01-02 03:04:05,678 E 1 2] (raylet) a.cc:1: died [repeated 3x across cluster]",
        {"text": "died", "process": "raylet"},
    ),
    ("(autoscaler +1m2s) Tip: use `ray status` to view detailed cluster status.", {"process": "autoscaler"}),
]
