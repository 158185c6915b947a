"""What the machine under the servers says (the kernel): kept until the end, then dealt to the runs of its time."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.evidence.asked import Matcher
from diagnoser.evidence.events import add_event, event_of
from diagnoser.evidence.lifetime import Lifetime
from diagnoser.model import Record, Run

#: Dialects of what servers run on, beside Kubernetes (``pods.py``).
DIALECTS = ("kernel",)

#: Messages of hosts that are kept until the end.
MOST_HOST = 10_000

#: How long before a run's first line and after its last the kernel's messages still speak of it, seconds: a process
#: that was killed writes nothing more, and the kernel may report a card's fault minutes later.
KERNEL_BEFORE, KERNEL_AFTER = 60, 600


class Hosts:
    """Messages of hosts. ``heard`` are those that some event knows; ``sources`` all inputs in which a host spoke."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self.heard: list[tuple[str, Record]] = []
        self.sources: set[str] = set()

    def take(self, record: Record, source: str) -> None:
        """Keep a message that an event knows: what none does (drivers, network, disks) is most of what a host says."""
        self.sources.add(source)
        if len(self.heard) < MOST_HOST and self._matcher.match(record, ""):
            self.heard.append((source, record))

    def deal(self, runs: Sequence[Run]) -> None:
        """Give every message to the runs of its time: a host speaks about every server on it."""
        for source, record in self.heard:
            # A host's own file (dmesg, a description of the pod) speaks of all runs, one with servers in it of those.
            for run in [run for run in runs if source in run.sources] or runs:
                if _inside(run, record.time):
                    self._give(run, record)

    def forget(self, window: float) -> None:
        """Drop what is older than the window (seconds), and too old for any run that still goes on."""
        newest = max((record.time for _, record in self.heard if record.time is not None), default=None)
        if newest is not None:
            oldest = newest - max(window, KERNEL_AFTER)
            self.heard = [one for one in self.heard if one[1].time is not None and one[1].time >= oldest]

    def _give(self, run: Run, record: Record) -> None:
        life = Lifetime(run, 0)
        life.phase = "serving" if run.ready is not None else "startup"
        life.seq = run.records
        for spec, _, fields, _, offset in self._matcher.match(record, run.engine):
            add_event(run, event_of(life, record, spec.name, fields, offset))


def _inside(run: Run, time: float | None) -> bool:
    if time is None:
        return True
    return (run.started is None or time >= run.started - KERNEL_BEFORE) and (
        run.ended is None or time <= run.ended + KERNEL_AFTER
    )
