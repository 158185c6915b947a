"""The loop of `diagnose --follow`: what came is read, what waited is completed, what changed is told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from diagnoser.commands._followworld import Stop, nobody_reads
from diagnoser.contracts.findings import Input
from diagnoser.following import Change, Follower
from diagnoser.following.cutter import Cutter, Raw

if TYPE_CHECKING:
    from diagnoser.commands._live import Standing

#: Seconds between two looks at the inputs, and between two at whether anybody reads the output.
TICK, HEED = 0.2, 1.0
#: After so many lines in one look at the inputs the next is so much later, seconds: the more lines are taken apart
#: together, the less each costs.
BUSY, LONG = 50, 0.4
#: Inputs that were not read to their end for so long are judged all the same, seconds: before that what is old comes
#: in one go, and nobody wants to be woken for it.
OLD = 5.0
_LEVELS = ("info", "warning", "critical")


class Followed(Protocol):
    """A file or a pipe."""

    cutter: Cutter
    caught_up: bool
    behind: bool

    def poll(self, now: float) -> list[Raw]:
        """Return the lines that came since the last time."""

    def close(self) -> None:
        """Let go of it."""


class Face(Protocol):
    """How changes reach the reader."""

    def take(self, changes: Sequence[Change]) -> None:
        """Tell what has changed."""

    def note(self, text: str) -> None:
        """Tell what happened to an input."""

    def draw(self, follower: Follower, now: float) -> None:
        """Show what goes on, where something is shown."""

    def close(self) -> None:
        """Give the terminal back, before the report is printed."""


class Loop:
    """Runs until the inputs end, a signal comes, the time is up, or a finding opens that was waited for.

    ``hit`` says whether it was the last; ``scrapes`` counts the pages of endpoints. ``notes`` are what inputs have to
    say of themselves.
    """

    def __init__(
        self,
        follower: Follower,
        inputs: Sequence[Followed],
        standing: Standing | None,
        notes: list[str],
        stop: Stop,
        exit_on: str | None,
        length: float | None,
    ) -> None:
        self.hit = False
        self.scrapes = 0
        self._follower, self._inputs, self._standing = follower, inputs, standing
        self._notes, self._stop, self._length = notes, stop, length
        self._levels = _LEVELS[_LEVELS.index(exit_on) :] if exit_on else ()
        self._told: dict[str, Input] = {}
        self._failing: dict[str, str] = {}

    def run(self, face: Face) -> None:
        """Follow. Raises BrokenPipeError when nobody reads what is told."""
        began = heeded = time.monotonic()
        caught = False
        while True:
            count = self._follower.lines
            more = self._read()
            self._follower.idle()
            while self._notes:
                face.note(self._notes.pop(0))
            now = time.monotonic()
            caught = caught or now - began > OLD or all(one.caught_up for one in self._inputs)
            over = self._over() or bool(self._stop.signal) or (self._length is not None and now - began >= self._length)
            if over:
                self._follower.end()
            if over or (caught and self._follower.due()):
                self._look(face)
            if over or self.hit:
                return
            if now - heeded > HEED:
                heeded = now
                if nobody_reads():
                    raise BrokenPipeError
            face.draw(self._follower, now)
            if not more:
                time.sleep(TICK if self._follower.lines - count < BUSY else LONG)

    def _over(self) -> bool:
        return self._standing is None and all(getattr(one, "ended", False) for one in self._inputs)

    def _read(self) -> bool:
        """Take what is there; return whether there may be more at once."""
        more = False
        for one in self._inputs:
            raw = one.poll(time.monotonic())
            if raw:
                self._follower.feed(one.cutter.name, raw)
                more = more or one.behind
        if self._standing is not None:
            self._scrape(self._standing)
        return more

    def _scrape(self, standing: Standing) -> None:
        for one in standing.poll():
            told = self._told.setdefault(one.name, Input(one.name, one.kind, "", 0, 0))
            told.lines += one.lines
            told.bytes += one.bytes
            told.scrapes += len(one.pages)
            self.scrapes += len(one.pages)
            before = self._failing.get(one.name, "")
            if one.failure != before:
                self._notes.append(f"{one.name}: {one.failure or 'answers again'}")
            self._failing[one.name] = one.failure
            told.problems = [*one.problems, *([one.failure] if one.failure else [])]
            self._follower.scraped(told, one.pages)

    def _look(self, face: Face) -> None:
        if not self._follower.lines and not self.scrapes:
            return
        changes = self._follower.look()
        face.take(changes)
        self.hit = any(one.event != "closed" and one.finding.severity in self._levels for one in changes)
