"""PyTorch, c10d, NCCL and Gloo: glog-style lines and ``host:pid:tid [0] NCCL INFO`` lines."""

from __future__ import annotations

import re

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "torch"
ORDER = 40

_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "V": "DEBUG", "D": "DEBUG", "C": "CRITICAL"}
# "[rank3]:[E301 12:40:01.123456789 ProcessGroupNCCL.cpp:632] text"; c10 does not pad the month.
_C10 = lazily(
    r"(?:\[rank(\d+)\]: ?)?\[([IWEFVD])(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))? ([\w./+-]+:\d+)\] ?(.*)",
    re.DOTALL,
)
# "W1129 16:21:14.128000 8013 torch/x.py:53] text": PyTorch's Python side. The same shape with a C++ file is Mooncake's.
_GLOG = lazily(
    r"(?:\[rank(\d+)\]: ?)?([IWEFVC])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?\s+\d+ ([\w./<>+-]+\.py:\d+)\] ?(.*)",
    re.DOTALL,
)
# Newer NCCL puts a time in front: "[2026-03-01 12:34:56] host:1:2 [0] file.cc:12 NCCL WARN text".
_NCCL = lazily(
    r"(?:\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)?\] )?"
    r"[\w.-]+:\d+:\d+ \[(\d+)\] (?:(\S+:\d+) )?(?:NCCL|RCCL|NCCL/\w+) (INFO|WARN|ERROR|TRACE|ABORT|VERSION) ?(.*)",
    re.DOTALL,
)
_GLOO = lazily(r"\[(?:Gloo|c10d|NCCL)\] ")


def _fraction(second: str, part: str | None) -> float:
    return float(f"{second}.{part}") if part else float(second)


def _glog(found: re.Match[str]) -> Head:
    rank, level, month, day, hour, minute, second, part, where, text = found.groups()
    ranks = (("rank", rank),) if rank is not None else ()
    return Head(
        NAME, "message", text, _LEVELS[level], "", ranks, where,
        None, int(month), int(day), int(hour), int(minute), _fraction(second, part),
    )  # fmt: skip


def head(text: str) -> Head | None:
    """Parse a line of the C++ side of PyTorch or of a communication library."""
    first = text[:1]
    if first == "[":
        found = _C10.match(text) or (_GLOG.match(text) if text.startswith("[rank") else None)
        if found is not None:
            return _glog(found)
        if _GLOO.match(text):
            return Head(NAME, "message", text, "INFO")
    elif first in _LEVELS and text[1:5].isdigit():
        found = _GLOG.match(text)
        if found is not None:
            return _glog(found)
    if "CCL " in text[:160]:
        found = _NCCL.match(text)
        if found is not None:
            return _nccl(found)
    return None


def _nccl(found: re.Match[str]) -> Head:
    year, month, day, hour, minute, second, device, where, word, text = found.groups()
    level = {"WARN": "WARNING", "ABORT": "CRITICAL", "VERSION": "INFO", "TRACE": "DEBUG"}.get(word, word)
    result = Head(NAME, "message", f"NCCL {word} {text}", level, "", (("gpu", device),), where or "")
    if year is not None:
        result.year, result.month, result.day = int(year), int(month), int(day)
        result.hour, result.minute, result.second = int(hour), int(minute), float(second)
    return result


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "[rank3]:[E301 12:40:01.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation",
        {
            "level": "ERROR",
            "month": 3,
            "day": 1,
            "hour": 12,
            "ranks": (("rank", "3"),),
            "text": "[Rank 3] Watchdog caught collective operation",
            "where": "ProcessGroupNCCL.cpp:632",
        },
    ),
    ("[W1129 16:20:09.16 utils.cpp:68] Warning: NUMA binding", {"level": "WARNING", "month": 11, "day": 29}),
    (
        "W1129 16:21:14.128000 8013 torch/_library/triton.py:53] Triton not available, find_triton_kernels = []",
        {"level": "WARNING", "where": "torch/_library/triton.py:53", "second": 14.128},
    ),
    (
        "node1:4242:4300 [0] NCCL INFO Channel 00/08 : 0 1",
        {"level": "INFO", "text": "NCCL INFO Channel 00/08 : 0 1", "ranks": (("gpu", "0"),)},
    ),
    (
        "node1:4242:4300 [5] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9637892 bytes",
        {"level": "WARNING", "where": "misc/shmutils.cc:72"},
    ),
    ("[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1", {"level": "INFO"}),
]
