"""The kernel's own words: ``dmesg``, ``dmesg -T``, journald's ``kernel: ``; NVRM Xid, OOM killer, AMD GPU resets."""

from __future__ import annotations

import re

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "kernel"
ORDER = 45

# Seconds since boot are no wall-clock time: the record takes the envelope's or its neighbour's.
_BOOT = lazily(r"(?:<\d+>)?\[ *\d+\.\d{6}\] (.*)", re.DOTALL)
_DATED = lazily(
    r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d{1,2}) "
    r"(\d\d):(\d\d):(\d\d) (\d{4})\] (.*)",
    re.DOTALL,
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_KNOWN = lazily(
    r"NVRM: |nvidia-\w+: |nvidia-nvlink: |oom-kill:|oom_reaper: |Out of memory: Kill|Memory cgroup out of memory: |"
    r"[\w:./ -]{1,40} invoked oom-killer: |Tasks? state \(memory values in pages\)|\[ *\d+\] +\d+ +\d+ +\d+ +\d+|"
    r"\[ *pid *\] +uid|Tasks in \S+ are going to be killed|memory: usage \d+kB, limit|amdgpu \d{4}:|"
    r"pcieport \S+: AER|AER: |mce: |EDAC \w+|DMAR: |(?:[\w-]+ [0-9a-f]{4}:[0-9a-f:.]+: )?AMD-Vi: |mlx5_core \S+: |"
    r"Memory cgroup stats for |"
    r"INFO: task \S+ blocked for more than|watchdog: BUG: |BUG: "
)
_TROUBLE = lazily(
    r"NVRM: Xid|[Oo]ut of memory|oom-kill|invoked oom|Kill|error|fail|fault|blocked for more than|reset|BUG|fallen off"
)


def head(text: str) -> Head | None:
    """Parse a kernel message."""
    rest, journal = text, False
    if text.startswith("kernel: "):
        rest, journal = text[8:], True
    if rest[:1] in "[<":
        boot = _BOOT.match(rest)
        if boot is not None:
            return _message(boot.group(1))
        dated = _DATED.match(rest)
        if dated is not None:
            month, day, hour, minute, second, year, message = dated.groups()
            result = _message(message)
            result.year, result.month, result.day = int(year), _MONTHS.index(month) // 3 + 1, int(day)
            result.hour, result.minute, result.second = int(hour), int(minute), float(second)
            return result
    if journal or _KNOWN.match(rest):
        return _message(rest)
    return None


def _message(text: str) -> Head:
    # The kernel prints its level only in raw form; what it says decides.
    return Head(NAME, "message", text, "ERROR" if _TROUBLE.search(text) else "INFO", "kernel")


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "[  812.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        {"level": "ERROR", "hour": None, "process": "kernel"},
    ),
    (
        "[Tue Mar  4 10:00:00 2025] Out of memory: Killed process 123 (python3) total-vm:1kB",
        {"year": 2025, "month": 3, "day": 4, "text": "Out of memory: Killed process 123 (python3) total-vm:1kB"},
    ),
    (
        "kernel: NVRM: Xid (PCI:0000:9b:00): 48, pid=1, name=x",
        {"text": "NVRM: Xid (PCI:0000:9b:00): 48, pid=1, name=x"},
    ),
    ("kernel: [  16036]  1000 16036   767355   551226   550611        0  5222400    65005             0 cicc", {}),
    ("cicc invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0", {"level": "ERROR"}),
    (
        "Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:1kB, anon-rss:1kB",
        {"level": "ERROR"},
    ),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python3,pid=1", {"level": "ERROR"}),
]
