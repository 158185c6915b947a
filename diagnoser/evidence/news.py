"""What came since the last look at a log that goes on: whether it is worth another one, and who was heard."""

from __future__ import annotations

from collections.abc import Mapping, Set

from diagnoser.evidence.lifetime import Lifetime
from diagnoser.values import dataclass, field

#: So many occurrences of an event may decide a rule that fewer did not.
TELLING = (1, 2, 3, 5, 10)


@dataclass(slots=True)
class _Mark:
    """What a writer had said when it was last listened to."""

    life: Lifetime
    seq: int = -1
    heard: float = 0.0
    rows: int = 0
    #: Occurrences of each event in the present stretch of the log, and in all that is kept.
    here: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class News:
    """What is known to have come.

    ``urgent``: something was said for the first time, or so often that it may count; ``told``: something that rules
    ask for; ``stale``: anything.
    """

    def __init__(self) -> None:
        self.stale = self.told = self.urgent = False
        self._marks: dict[str, _Mark] = {}

    def seen(self) -> None:
        """Begin anew: somebody looks."""
        self.stale = self.told = self.urgent = False

    def heard(self, key: str, never: float) -> float:
        """Return when a writer was heard last."""
        mark = self._marks.get(key)
        return never if mark is None else mark.heard

    def forget(self, key: str) -> None:
        """Drop a writer."""
        self._marks.pop(key, None)

    def heed(self, lives: Mapping[str, Lifetime], now: float) -> None:
        """Listen to all writers by what their runs hold."""
        for key, life in lives.items():
            mark = self._marks.get(key)
            if mark is None or mark.life is not life:
                mark = self._marks[key] = _Mark(life)
                self.urgent = True
            elif mark.seq == life.seq:
                continue
            self.stale = True
            mark.seq, mark.heard = life.seq, now
            rows = sum(map(len, life.run.tables.values()))
            self.told = self.told or rows != mark.rows
            self.urgent = self.urgent or mark.rows == 0 < rows
            mark.rows = rows
            for name, log in life.run.events.items():
                if (more := log.count - mark.here.get(name, 0)) > 0:
                    before = mark.counts.get(name, 0)
                    mark.here[name], mark.counts[name] = log.count, before + more
                    self.told = True
                    self.urgent = self.urgent or any(before < few <= before + more for few in TELLING)

    def rolled(self, life: Lifetime, names: Set[str]) -> None:
        """Take note that a new stretch began for a life; of events with other ``names`` nothing is kept any more."""
        for mark in self._marks.values():
            if mark.life is life:
                mark.here.clear()
                mark.counts = {name: count for name, count in mark.counts.items() if name in names}
