"""Events of a run in stretches of time, so that what left the window can be dropped without looking at each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from diagnoser.model import Event, EventLog

#: Stretches kept at most: of more (a dead server that still prints) neighbours are joined.
MOST = 64
#: What is said so long after the first line, while the server starts, belongs to its launch, seconds.
LAUNCH = 3600.0

Logs = dict[str, EventLog]


class Bygone:
    """What a run said up to now, but for the present stretch."""

    def __init__(self, started: float | None = None) -> None:
        self.started = started
        #: The log time up to which events were taken.
        self.latest: float | None = None
        #: Whether anything was dropped.
        self.shortened = False
        self._launch: Logs = {}
        self._stretches: list[tuple[float, Logs]] = []

    def __len__(self) -> int:
        """Events that are kept whole."""
        return sum(len(log.kept) for logs in self._all() for log in logs.values())

    @property
    def times(self) -> int:
        """Times that are kept."""
        return sum(len(log.times) for logs in self._all() for log in logs.values())

    def take(self, logs: Logs, until: float) -> None:
        """Take what was said up to a time."""
        self.latest = until
        if logs:
            self._stretches.append((until, logs))
        if len(self._stretches) > MOST:
            pairs = zip(self._stretches[::2], self._stretches[1::2], strict=False)
            odd = self._stretches[-1:] if len(self._stretches) % 2 else []
            self._stretches = [(later, joined([one, two])) for (_, one), (later, two) in pairs] + odd

    def forget(self, before: float) -> None:
        """Drop stretches that ended before a time, but for what the launch said."""
        while self._stretches and self._stretches[0][0] < before:
            _, logs = self._stretches.pop(0)
            said = {name: kept for name, log in logs.items() if (kept := self._of_launch(log)) is not None}
            if said:
                self._launch = joined([self._launch, said])

    def names(self) -> set[str]:
        """Return the events of which anything is kept."""
        return {name for logs in self._all() for name in logs}

    def joined(self, present: Logs) -> Logs:
        """Return everything that is kept, in copies."""
        return joined([*self._all(), present])

    def _all(self) -> list[Logs]:
        return [self._launch, *(logs for _, logs in self._stretches)]

    def _of_launch(self, log: EventLog) -> EventLog | None:
        """Return the part of a log that the launch said, None when that is nothing."""
        if "startup" not in log.phases:
            return None
        own = EventLog(log.name)
        for event in log.kept:
            if event.phase == "startup" and self._early(event):
                own.add(event)
        return own if own.count else None

    def _early(self, event: Event) -> bool:
        return event.time is None or self.started is None or event.time - self.started <= LAUNCH


def joined(parts: Iterable[Logs]) -> Logs:
    """Return the logs of several stretches, in order, as one; nothing is shared but the events."""
    out: Logs = {}
    for logs in parts:
        for name, log in logs.items():
            own = out.get(name)
            if own is None:
                own = out[name] = EventLog(name)
            _add(own, log)
    return out


def _add(own: EventLog, more: EventLog) -> None:
    own.count += more.count
    own.first = own.first or more.first
    own.last = more.last or own.last
    own.kept += more.kept[: EventLog.KEEP - len(own.kept)]
    own.times = array("d", (own.times + more.times)[-EventLog.TIMES :])
    if len(own.ranks) < EventLog.RANKS:
        own.ranks |= more.ranks
    for phase, count in more.phases.items():
        own.phases[phase] = own.phases.get(phase, 0) + count
