"""One server lifetime as it unfolds: phases, restarts, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from diagnoser.model import Record, Run

#: A second start marker this soon after the first, with nothing in between, is a second process of one launch.
SAME_LAUNCH = 5.0
SAME_LAUNCH_RECORDS = 30

#: A start marker this early in a stream means that the log begins with the run.
EARLY_RECORDS = 60

_SERVED = ("requests.running", "gen.tps", "prompt.tps")


@dataclass(slots=True)
class Lifetime:
    """State machine of one run. ``phase`` is startup, serving or stopping; ``seq`` numbers the run's records."""

    run: Run
    number: int
    phase: str = "startup"
    seq: int = 0
    started_seq: int = -1
    started_time: float | None = None
    last_activity: int = -1
    last_fatal: int = -1
    last_stop: int = -1
    killed: bool = False
    troubled: bool = False
    _starts: set[str] = field(default_factory=set)

    def restarts(self, record: Record, starts: Set[str]) -> bool:
        """Whether the start markers in ``record`` begin a new run rather than belong to this one's launch."""
        if self.started_seq < 0:
            # The log began in the middle of an earlier run: a launch after it has served or failed is a new one.
            return self.seq > 0 and (self.last_activity >= 0 or self.troubled or self.last_stop >= 0)
        if self.phase != "startup" or self.troubled or self.last_stop >= 0:
            return True
        if not starts & self._starts:
            return False
        close = self.seq - self.started_seq <= SAME_LAUNCH_RECORDS
        if record.time is not None and self.started_time is not None:
            close = close and abs(record.time - self.started_time) <= SAME_LAUNCH
        return not close

    def see(self, record: Record) -> None:
        """Count a record and widen the run's window."""
        run = self.run
        self.seq += 1
        run.records += 1
        run.lines += max(1, record.last_line - record.origin.line + 1)
        if run.first is None:
            run.first = record.origin
        run.last = record.origin
        if record.time is not None and record.time_known:
            run.started = record.time if run.started is None else min(run.started, record.time)
            run.ended = record.time if run.ended is None else max(run.ended, record.time)
            run.time_known = run.time_known or record.time_known
        if record.kind == "traceback":
            self.troubled = True
            self.last_fatal = self.seq if self.phase == "startup" else self.last_fatal
        if record.kind == "access" and '" 200' in record.text and "POST " in record.text:
            self._active(record)

    def see_sample(self, record: Record, row: Mapping[str, float]) -> None:
        """Take a statistics line: work going on means that the server serves."""
        if any(row.get(name, 0.0) > 0 for name in _SERVED):
            self._active(record)
        elif self.phase == "startup":
            self._serving(record)

    def see_event(self, record: Record, role: str, name: str) -> None:
        """Let an event's role move the run along."""
        if role == "start":
            self._starts.add(name)
            if self.started_seq < 0:
                self.started_seq, self.started_time = self.seq, record.time
        elif role == "ready":
            self._serving(record)
        elif role == "stop":
            self.last_stop = self.seq
            if self.run.stopping is None:
                self.run.stopping = record.time
            if self.last_fatal < self.last_activity or self.last_fatal < 0:
                self.phase = "stopping"
        elif role in ("fatal", "root"):
            self.troubled = True
            if role == "fatal" and self.phase != "stopping":
                self.last_fatal = self.seq
                self.killed = self.killed or name.startswith("killed")

    def close(self) -> None:
        """Decide how the run ended and whether its beginning was seen."""
        run = self.run
        run.complete_start = 0 <= self.started_seq <= EARLY_RECORDS
        served = run.ready is not None or self.last_activity >= 0
        if self.last_fatal >= 0 and self.last_fatal >= self.last_activity - 3:
            run.end = "killed" if self.killed else "crash"
        elif self.last_stop >= 0 and self.last_stop > self.last_activity - 50:
            run.end = "clean"
        else:
            run.end = "running" if served else "cut"

    def _active(self, record: Record) -> None:
        self.last_activity = self.seq
        if self.phase == "startup":
            self._serving(record)

    def _serving(self, record: Record) -> None:
        if self.phase == "startup":
            self.phase = "serving"
            self.run.ready = record.time if self.run.ready is None else self.run.ready
