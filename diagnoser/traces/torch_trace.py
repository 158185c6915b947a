"""Traces of the PyTorch profiler, which both engines write on ``/start_profile``: Chrome's trace format, JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, TypeGuard

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._profile import Profile
from diagnoser.traces.base import Wanted

NAME = "torch-trace"
ORDER = 45
KINDS = ("json",)
SAMPLES = [
    (
        '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": [\n'
        '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7, '
        '"ts": 100.0, "dur": 24.0, "args": {"device": 0}},\n'
        '{"ph": "X", "cat": "kernel", "name": "nvjet_tst_64x8", "pid": 0, "tid": 7, "ts": 130.0, "dur": 6.0},\n'
        '{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 9, "tid": 9, "ts": 90.0, "dur": 5.0}]}',
        2,
    ),
    ('[{"ph": "X", "cat": "kernel", "name": "nvjet_tst_64x8", "pid": 0, "tid": 7, "ts": 130.0, "dur": 6.0}]', 1),
]

_EVENTS = re.compile(r'"traceEvents"\s*:')
_BARE = re.compile(r'\s*\[\s*\{[^{}]{0,2000}"ph"\s*:')
_DEVICE = re.compile(r'"deviceProperties"\s*:\s*\[\s*\{[^{}]{0,400}?"name"\s*:\s*"([\w ./()-]{1,100})"')

#: Bytes that may pass without an event: a longer one is no event of a profiler, and costs time by its square.
SILENCE = 4 << 20
#: Brackets within brackets since the last event.
DEPTH = 2000
_BRACKETS = re.compile(rb"[][{}]")
#: Times in the file are microseconds.
TICK = 1e-6

#: Categories by meaning, lower case, as PyTorch 1.8 to 2.12 write them.
KERNEL = "kernel"
COPY = frozenset({"gpu_memcpy", "gpu_memset", "memcpy", "memset"})
CALL = frozenset({"cuda_runtime", "cuda_driver", "runtime"})
STEP = "gpu_user_annotation"
STACK = "python_function"


def recognise(head: str) -> bool:
    """By ``traceEvents``, which stands before the first event, or by an event in a bare list."""
    return _EVENTS.search(head) is not None or _BARE.match(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one ``Measure``; of a file that is cut or damaged, what was read before counts."""
    # The library is loaded for traces only.
    import ijson  # type: ignore[import-untyped]

    stream = _Stream(source)
    profile = Profile()
    path = "item" if source.head().lstrip().startswith("[") else "traceEvents.item"
    if (device := _DEVICE.search(source.head())) is not None:
        profile.gpu = device[1]
    events = 0
    stopped = ""
    try:
        for event in ijson.items(stream, path, use_float=True):
            stream.silent = stream.depth = 0
            if isinstance(event, dict):
                events += _take(profile, event)
    except (ijson.JSONError, UnicodeDecodeError, RecursionError, MemoryError, _SilentError) as error:
        stopped = Sentence(
            "is no whole JSON: {error}; the {events} events before it count", error=_words(error), events=events
        )
    told = list(profile.observations(NAME, Origin(source.name, 0)))
    yield from told
    if stopped:
        yield Problem(source.name, None, stopped)
    elif not told:
        yield Problem(source.name, None, Sentence("a trace without GPU kernels: profile with the activity CUDA"))


class _SilentError(Exception):
    """Megabytes without one event."""


class _Stream:
    """The content of an input as the library asks for it."""

    def __init__(self, source: Source) -> None:
        self.silent = self.depth = 0
        self._blocks = source.blocks()
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """Give the next bytes, ``size`` at most; none at the end."""
        if not self._rest:
            self._rest = next(self._blocks, b"")
        given, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        self.silent += len(given)
        if self.silent > SILENCE:
            raise _SilentError(f"no event in {SILENCE >> 20} MiB")
        self._nest(given)
        return given

    def _nest(self, given: bytes) -> None:
        """Refuse deep nesting, which costs the library its depth at every step. Brackets in texts count, too."""
        opens = given.count(b"[") + given.count(b"{")
        highest = self.depth + opens
        if highest > DEPTH:
            highest = max(
                accumulate((1 if char in b"[{" else -1 for char in _BRACKETS.findall(given)), initial=self.depth)
            )
        if highest > DEPTH:
            raise _SilentError(f"nested deeper than {DEPTH}")
        self.depth = max(0, self.depth + opens - given.count(b"]") - given.count(b"}"))


def _take(profile: Profile, event: dict[str, Any]) -> int:
    """Take one event; 1 for those that took time."""
    category, name, length = event.get("cat"), event.get("name"), event.get("dur")
    if event.get("ph") != "X" or not isinstance(category, str) or not isinstance(name, str) or not _number(length):
        return 0
    category = category.lower()
    time = length * TICK
    start = event.get("ts")
    if category == KERNEL or category in COPY:
        if category == KERNEL:
            profile.kernel(name, time, time)
        else:
            profile.copy(time)
        if _number(start):
            profile.work.add(_device(event), start * TICK, (start + length) * TICK)
    elif category in CALL:
        profile.calls.add(name, time)
    elif category == STACK:
        profile.stacks = True
    elif category == STEP:
        profile.steps.add(name, time)
    return 1


def _device(event: dict[str, Any]) -> int:
    args = event.get("args")
    device = args.get("device") if isinstance(args, dict) else None
    device = event.get("pid") if device is None else device
    return device if isinstance(device, int) and 0 <= device < 1 << 31 else 0


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e18 < value < 1e18


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
