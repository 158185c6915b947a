"""The types that travel between rooms: lines, records, samples, events, facts and runs."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from diagnoser.tables.spread import Spread
from diagnoser.tables.table import Group, Origin, Table
from diagnoser.values import dataclass, field

if TYPE_CHECKING:
    from diagnoser.observations import Requests


@dataclass(slots=True, frozen=True)
class Problem:
    """Something that could not be read; everything else is still judged."""

    source: str
    line: int | None
    text: str


@dataclass(slots=True)
class Line:
    """One line as the server wrote it, after the runtime's envelope was peeled off.

    ``time``: the envelope's own, epoch seconds UTC. ``undated``: the same in the nominal year 2000, of an envelope that
    prints no year. ``stream``: the writer (pod/container, compose service, journald
    unit; "" for a bare log), whose lines form one history. ``number``: the physical line, which its pieces share.
    """

    source: str
    number: int
    text: str
    time: float | None
    stream: str
    envelope: str
    undated: float | None = None


@dataclass(slots=True)
class Record:
    """One logical log record: prefix parsed, continuation lines joined by newlines.

    ``kind`` says what the line is, so that rules look only where the engine itself speaks:
    "message" (an engine logger), "stats" (a periodic statistics line), "request" (quotes user text: never matched),
    "access" (HTTP access line), "traceback" (an uncaught Python traceback, bare), "raw" (anything unprefixed).
    ``time`` is seconds since the epoch in the log's own clock; ``time_known`` tells "full" (year known),
    "yearless" (a nominal leap year was put in), "clock" (only HH:MM:SS) or "" (no time at all).
    """

    origin: Origin
    text: str
    kind: str = "message"
    dialect: str = ""
    level: str = ""
    time: float | None = None
    time_known: str = ""
    process: str = ""
    ranks: Group = ()
    where: str = ""
    stream: str = ""
    last_line: int = 0


@dataclass(slots=True, frozen=True)
class Event:
    """A message that matched an event template. ``fields`` are the typed placeholders of the template.

    ``alone``: it names no cause, and the record says nothing else that a rule looks for, frames and wrappers apart.
    """

    name: str
    origin: Origin
    time: float | None
    text: str
    fields: Mapping[str, Any]
    ranks: Group = ()
    process: str = ""
    phase: str = "startup"
    seq: int = 0
    alone: bool = False


@dataclass(slots=True, frozen=True)
class Fact:
    """What a run is. ``state``: "set" by the operator, "default", or "observed" (printed, unknown which)."""

    name: str
    value: Any
    origin: Origin
    excerpt: str
    state: str = "observed"


@dataclass(slots=True)
class EventLog:
    """All occurrences of one event in one run; keeps the first and last instances, and every time, bounded."""

    name: str
    count: int = 0
    first: Event | None = None
    last: Event | None = None
    kept: list[Event] = field(default_factory=list)
    times: array[float] = field(default_factory=lambda: array("d"))
    ranks: set[Group] = field(default_factory=set)
    phases: dict[str, int] = field(default_factory=dict)

    KEEP = 512
    TIMES = 100_000
    RANKS = 4096

    def add(self, event: Event) -> None:
        """Record one occurrence."""
        self.count += 1
        if self.first is None:
            self.first = event
        self.last = event
        if len(self.kept) < self.KEEP:
            self.kept.append(event)
        if event.time is not None and len(self.times) < self.TIMES:
            self.times.append(event.time)
        if len(self.ranks) < self.RANKS:
            self.ranks.add(event.ranks)
        self.phases[event.phase] = self.phases.get(event.phase, 0) + 1


@dataclass(slots=True)
class Residue:
    """WARNING/ERROR records of one shape that no rule recognised."""

    template: str
    level: str
    count: int
    first: Event
    last: Event


@dataclass(slots=True)
class Drift:
    """Statistics lines with a field that no version prints, or a figure that cannot be; no ``label``: unreadable."""

    label: str
    origin: Origin
    text: str
    count: int = 1


#: More lines than a file has; a float tells neighbouring lines of ten thousand such files apart.
_PART = 1e11


@dataclass(slots=True)
class Run:
    """One server lifetime in one stream: its configuration, timeline and end.

    ``end``: "clean" (orderly stop), "crash" (died of an error the log shows), "killed" (ended from outside),
    "running" (still serving at the last line), "cut" (the log ends during start-up without an error).
    ``complete_start`` is False when the log begins in the middle of this run. ``parts`` are its files in the order of
    reading: line numbers begin anew in each. ``assumed``: what was taken for its own, a sentence and what fills it.
    ``unready_starts``: how many runs of its stream in a row, up to this one, ended before they were ready and showed no
    error for it.
    """

    id: int
    stream: str
    engine: str = ""
    version: str = ""
    first: Origin | None = None
    last: Origin | None = None
    started: float | None = None
    ended: float | None = None
    time_known: str = ""
    ready: float | None = None
    #: Whether frames of an error show that the server served, in a log that begins too late to say so.
    at_work: bool = False
    stopping: float | None = None
    complete_start: bool = True
    end: str = "cut"
    unready_starts: int = 0
    lines: int = 0
    records: int = 0
    tables: dict[tuple[str, Group], Table] = field(default_factory=dict)
    spreads: dict[str, list[Spread]] = field(default_factory=dict)
    events: dict[str, EventLog] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    arguments: dict[str, Fact] = field(default_factory=dict)
    residue: dict[str, Residue] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)
    exposed: frozenset[str] = frozenset()
    requests: list[Requests] = field(default_factory=list)
    assumed: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    drift: dict[str, Drift] = field(default_factory=dict)
    odd: dict[str, Drift] = field(default_factory=dict)

    def says_something(self) -> bool:
        """Whether anything in it was understood: a message, a statistic, a setting."""
        return bool(self.events or self.tables or self.facts or self.arguments)

    def place(self, source: str, line: int) -> float:
        """Return a number that orders lines of this run, whichever of its files they stand in."""
        return self.parts.get(source, 0) * _PART + line
