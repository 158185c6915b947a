"""One server lifetime as it unfolds: phases, restarts, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from diagnoser.model import Record, Run
from diagnoser.values import dataclass, field

#: A second start marker this soon after the first, with nothing in between, is a second process of one launch.
SAME_LAUNCH = 5.0
SAME_LAUNCH_RECORDS = 30

#: A start marker this early in a stream means that the log begins with the run.
EARLY_RECORDS = 60

#: What a launch prints before its start marker (imports, platform checks) stands at most so many seconds before it.
PREAMBLE = 120.0

#: Processes that may print before the start marker; workers and engine cores come after it.
_FRONT = frozenset(("", "APIServer", "systemd", "MainProcess"))

#: Event roles that say nothing about which of two lifetimes a record belongs to.
_NEUTRAL = frozenset(("", "notice", "starting"))

#: Roles of frames that only a server that starts has in its stack, or one that serves: they tell nothing of the error.
FRAMES = frozenset(("starting", "serving"))

#: An error and the stop it causes are printed by two processes, in any order but close together.
ADJACENT = 4

#: A death is believed although lines of work follow it, unless there are several and they go on for some time: the
#: last interval is reported late, and streams that were open end with 200.
SURVIVES = 15.0
SURVIVES_LINES = 4


#: A start-up prints something at least this often, seconds; a longer pause before the first sign of work is a hole in
#: the log, and when the server became ready nobody saw.
HOLE = 900.0

#: A stop is believed although so many records follow up to the last sign of work: requests in flight are finished.
DRAINING_RECORDS = 50


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
    fatal_time: float | None = None
    #: Signs of work since the last fatal event: statistics lines, and answered requests for want of them.
    worked: int = 0
    answered: int = 0
    work_time: float | None = None
    #: Time of the record before the latest one of the start-up.
    quiet_since: float | None = None
    first_stop: int = -1
    last_stop: int = -1
    last_root: int = -1
    killed: bool = False
    troubled: bool = False
    #: Whether the engine itself has spoken, and not only something with its prefix.
    sure: bool = False
    #: Records of which it is not yet known whether they are this run's (the collector's, with what matched in them).
    held: list[tuple[Record, Any]] = field(default_factory=list)
    _starts: set[str] = field(default_factory=set)

    @property
    def spent(self) -> bool:
        """Whether the run has served, stopped or met an error, so that a launch from now on is another one."""
        return self.phase != "startup" or self.troubled or self.last_stop >= 0

    def undecided(self, record: Record, matches: Sequence[Any]) -> bool:
        """Whether a record may already be the preamble of the next launch: only a start marker can tell.

        A process prints warnings while it imports its libraries, before it says that it starts. Behind a run that is
        spent such lines are indistinguishable from its own until the marker comes. ``matches`` are the events in it,
        each with its template first.
        """
        return (
            record.kind in ("message", "raw")
            and self.spent
            and not record.ranks
            and record.process in _FRONT
            and all(spec.role in _NEUTRAL for spec, *_ in matches)
        )

    def restarts(self, record: Record, starts: Set[str]) -> bool:
        """Whether the start markers in ``record`` begin a new run rather than belong to this one's launch."""
        if self.started_seq < 0:
            # The log began in the middle of an earlier run: a launch after it has served or failed is a new one.
            return self.seq > 0 and self.spent
        if self.spent:
            return True
        if not starts & self._starts:
            return False
        close = self.seq - self.started_seq <= SAME_LAUNCH_RECORDS
        if record.time is not None and self.started_time is not None:
            close = close and abs(record.time - self.started_time) <= SAME_LAUNCH
        return not close

    def see(self, record: Record) -> None:
        """Count a record and widen the run's window."""
        run, origin, time = self.run, record.origin, record.time
        self.seq += 1
        run.records += 1
        run.lines += record.last_line - origin.line + 1 if record.last_line > origin.line else 1
        if run.last is None or run.last.source != origin.source:
            run.first = run.first or origin
            run.parts.setdefault(origin.source, len(run.parts))
        run.last = origin
        if time is not None and record.time_known:
            if self.phase == "startup":
                self.quiet_since = run.ended
            if run.started is None or time < run.started:
                run.started = time
            if run.ended is None or time > run.ended:
                run.ended = time
            run.time_known = run.time_known or record.time_known
        if record.kind == "traceback":
            self.troubled = True
            if self.phase == "startup" or (self.run.at_work and self.last_activity < 0):
                self._die(record)
        if record.kind == "access" and '" 200' in record.text and "POST " in record.text:
            self.answered += 1
            self._active(record)

    @property
    def settled(self) -> bool:
        """Whether the run serves or has served, so that a gap of ordinary work tells nothing about its start."""
        return self.phase != "startup" and self.run.ready is not None

    def see_sample(self, record: Record, row: Mapping[str, float]) -> None:
        """Take a statistics line: work going on means that the server serves."""
        made = row.get("gen.tps", 0.0) > 0 or row.get("prompt.tps", 0.0) > 0
        if made or row.get("requests.running", 0.0) > 0:
            self.worked += made
            self._active(record)
        elif self.phase == "startup":
            self._serving(record)

    def see_frames(self, matches: Sequence[Any]) -> None:
        """Let the outermost frame of a stack tell that the server served, where the log begins too late to do so."""
        if self.phase != "startup" or self.started_seq >= 0:
            return
        told = [(offset, spec.role) for spec, _, _, _, offset in matches if spec.role in FRAMES]
        if told and min(told)[1] == "serving":
            self.phase = "serving"
            self.run.at_work = True

    def see_event(self, record: Record, role: str, name: str) -> None:
        """Let an event's role move the run along."""
        if role == "start":
            self._starts.add(name)
            if self.started_seq < 0:
                self.started_seq, self.started_time = self.seq, record.time
        elif role == "ready":
            if self.phase == "startup":
                # Tracebacks of optional parts are common while a server starts; it came up all the same.
                self.last_fatal = -1
            self._serving(record)
        elif role == "stop":
            self.last_stop = self.seq
            self.first_stop = self.seq if self.first_stop < 0 else self.first_stop
            if self.run.stopping is None:
                self.run.stopping = record.time
            if self.last_fatal < 0 or self._survived():
                self.phase = "stopping"
        elif role in ("fatal", "root"):
            # A warning in front of the launch is of what this very process imports, and ended no earlier one.
            self.troubled = self.troubled or role == "fatal" or self.started_seq >= 0 or record.level != "WARNING"
            self.last_root = self.seq if self.first_stop < 0 else self.last_root
            if role == "fatal" and (self.phase != "stopping" or self.seq - self.first_stop <= ADJACENT):
                self._die(record)
                self.killed = self.killed or name.startswith("killed")

    def close(self) -> None:
        """Decide how the run ended and whether its beginning was seen."""
        run = self.run
        run.complete_start = 0 <= self.started_seq <= EARLY_RECORDS
        served = run.ready is not None or self.last_activity >= 0
        if self.last_fatal >= 0 and not self._survived():
            run.end = "killed" if self.killed else "crash"
        elif self.last_activity < 0 <= self.last_root and 0 < self.first_stop - self.last_root <= ADJACENT:
            run.end = "crash"  # it never worked, and stopped over an error
        elif self.last_stop >= 0 and self.last_stop > self.last_activity - DRAINING_RECORDS:
            run.end = "clean"
        else:
            run.end = "running" if served else "cut"

    @property
    def unready(self) -> bool:
        """Whether the run, now that it is closed, ended before it was ready and shows no error for it."""
        return self.run.end in ("cut", "clean") and self.run.ready is None and self.last_activity < 0

    def _die(self, record: Record) -> None:
        self.last_fatal, self.fatal_time = self.seq, record.time
        self.worked = self.answered = 0
        self.work_time = None

    def _survived(self) -> bool:
        """Whether the server went on working after the last fatal event."""
        # Where statistics are printed, only they tell: a dead engine's front end may answer 200 with nothing in it.
        signs = self.worked if self.run.tables else self.answered
        if signs < SURVIVES_LINES // 2 or self.work_time is None or self.fatal_time is None:
            return signs >= SURVIVES_LINES
        return self.work_time - self.fatal_time >= SURVIVES

    def _active(self, record: Record) -> None:
        self.last_activity = self.seq
        if record.time is not None:
            self.work_time = record.time
            if self.run.ready is None and self.phase == "serving" and not self._hole(record):
                self.run.ready = record.time  # it was before the first time in the log
        if self.phase == "startup":
            self._serving(record)

    def _hole(self, record: Record) -> bool:
        before = self.quiet_since
        return record.time is not None and before is not None and record.time - before > HOLE

    def _serving(self, record: Record) -> None:
        if self.phase == "startup":
            self.phase = "serving"
            if self.run.ready is None and not self._hole(record):
                self.run.ready = record.time


def older(held: Sequence[Record], start: Record) -> int:
    """Return how many records that were held back are no preamble of a start marker, but the end of what was before."""
    first = 0
    if start.time is not None:
        # A line without a time of its own carries the last one: it belongs with what follows it.
        for at, one in enumerate(held, 1):
            if one.time_known and one.time is not None and one.time < start.time - PREAMBLE:
                first = at
    return first
