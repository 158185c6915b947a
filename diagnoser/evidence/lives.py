"""Which life of a server a sentence about its pod speaks of: by the pod's name and by time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from diagnoser.evidence.telemetry import in_clock
from diagnoser.model import Record, Run
from diagnoser.patterns import lazily

#: What happened so long before a run's first line (scheduling, pulling, mounting) or after its last is of that run.
BEFORE, AFTER = 3600.0, 600.0
#: Clocks of one node that tell one moment, seconds.
SAME = 5.0

RAN = lazily(r"terminated: reason (\S+), exit code (-?\d+)(?:, ran (\d+) s)?")


def ended(text: str) -> str:
    """Return how a run ended by its container's exit code, "" where the sentence tells none or an orderly end.

    143 is SIGTERM: what a server that was told to stop leaves behind.
    """
    hit = RAN.search(text)
    if hit is None or hit[2] in ("0", "143"):
        return ""
    return "killed" if hit[2] == "137" else "crash"


def names(run: Run, pod: str) -> bool:
    """Whether a run's log is that of the pod: its stream says so, or its file is called so."""
    if pod in run.stream.split("/"):
        return True
    word = lazily(rf"(?<![\w-]){re.escape(pod)}(?![\w-])")
    return "/" not in run.stream and any(word.search(Path(source).name) for source in run.sources)


def about(record: Record, runs: Sequence[Run]) -> Run | None:
    """Return the run that a sentence is about: by time where both tell it, else the latest."""
    if not runs:
        return None
    if record.time is None or any(run.started is None or run.time_known not in ("full", "yearless") for run in runs):
        return runs[-1]
    if record.where == "end":
        hit = RAN.search(record.text)
        ran = float(hit[3]) if hit is not None and hit[3] else 0.0
        lived = [run for run in runs if _lived(run, record.time, ran)]
        return max(lived, key=lambda run: run.started or 0.0, default=None)
    near = [(_distance(run, record.time), at) for at, run in enumerate(runs)]
    distance, at = min(near)
    return runs[at] if distance < float("inf") else None


def _lived(run: Run, at: float, ran: float) -> bool:
    """Whether a run is the life of a container that ended at that moment after so many seconds."""
    start, end, time = run.started or 0.0, run.ended or 0.0, in_clock(run, at)
    return start < time and end >= time - (ran + SAME if ran else AFTER)


def _distance(run: Run, moment: float) -> float:
    start, end, time = run.started or 0.0, run.ended or 0.0, in_clock(run, moment)
    if time < start:
        return start - time if start - time <= BEFORE else float("inf")
    return max(0.0, time - end) if time - end <= AFTER else float("inf")
