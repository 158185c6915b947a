"""What changes from one look to the next: findings that open, move and close, and none that flutters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diagnoser.contracts.findings import Evidence, Finding
from diagnoser.evidence.standing import Life
from diagnoser.patterns import lazily
from diagnoser.values import dataclass, field

#: A finding closes when it has not held for so long, seconds, and in so many looks: levels cross a threshold both ways.
HOLD, LOOKS = 60.0, 3
#: An impact is told anew when one of its numbers has grown or shrunk by this factor, and not more often than so.
MATERIAL, SELDOM = 1.5, 30.0

_NUMBER = lazily(r"\d+(?:[.,]\d+)*")


@dataclass(slots=True)
class Change:
    """Something that happened to a finding. ``event``: "opened", "updated" or "closed".

    ``time`` is the log's own at that moment, ``since`` that of the first proof. ``servers`` are the streams that show
    it. ``was`` has the former values of what changed. ``reason`` says why it closed: "cleared", "restarted" (another
    life of the server began) or "gone" (the server is not heard any more).
    """

    event: str
    finding: Finding
    time: str | None
    since: str | None
    servers: list[str]
    first: Evidence | None
    was: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(slots=True)
class _Open:
    finding: Finding
    since: str | None
    servers: list[str]
    lives: frozenset[Life]
    first: Evidence | None
    told: float
    impact: str
    held: float = 0.0
    missed: int = 0


class Tracker:
    """Remembers what is open. Feed it the findings of every look, in order of rank."""

    def __init__(self, hold: float = HOLD) -> None:
        self._hold = hold
        self._open: dict[str, _Open] = {}

    def open(self) -> list[Change]:
        """Return what is open, in order of rank."""
        return [Change("open", one.finding, None, one.since, one.servers, one.first) for one in self._open.values()]

    def look(
        self,
        findings: Sequence[Finding],
        lives: Mapping[int, Life | None],
        servers: Mapping[int, str],
        here: Iterable[Life],
        time: str | None,
        now: float,
    ) -> list[Change]:
        """Compare with the look before. ``lives`` and ``servers`` name the runs of the findings, ``here`` all lives."""
        alive = set(here)
        streams = {stream for stream, _ in alive}
        changes: list[Change] = []
        found = {finding.id: finding for finding in findings}
        for name, one in list(self._open.items()):
            finding = found.get(name)
            again = frozenset(life for run in finding.runs if (life := lives.get(run))) if finding else frozenset()
            over = bool(one.lives) and one.lives.isdisjoint(alive)
            if over and not again & one.lives:
                reason = "restarted" if any(stream in streams for stream, _ in one.lives) else "gone"
            elif finding is not None:
                one.missed, one.held = 0, now
                continue
            else:
                one.missed += 1
                if now - one.held < self._hold or one.missed < LOOKS:
                    continue
                reason = "cleared"
            del self._open[name]
            changes.append(Change("closed", one.finding, time, one.since, one.servers, one.first, reason=reason))
        for finding in findings:
            where = sorted({servers.get(run, "") for run in finding.runs})
            own = frozenset(life for run in finding.runs if (life := lives.get(run)))
            known = self._open.get(finding.id)
            if known is None:
                first = finding.evidence[0] if finding.evidence else None
                since = min((one.time for one in finding.evidence if one.time), default=time)
                self._open[finding.id] = _Open(finding, since, where, own, first, now, finding.impact, now)
                changes.append(Change("opened", finding, time, since, where, first))
            elif was := _moved(known, finding, where, now):
                known.told, known.impact = now, finding.impact
                changes.append(Change("updated", finding, time, known.since, where, known.first, was))
            if known is not None:
                known.finding, known.servers, known.lives = finding, where, own
        ranked = {finding.id: at for at, finding in enumerate(findings)}
        self._open = dict(sorted(self._open.items(), key=lambda item: ranked.get(item[0], len(ranked))))
        return changes


def _moved(known: _Open, finding: Finding, servers: list[str], now: float) -> dict[str, Any]:
    """Return the former values of what has changed enough to be told."""
    before = known.finding
    was = {
        name: getattr(before, name)
        for name in ("severity", "confidence", "role", "explained_by")
        if getattr(before, name) != getattr(finding, name)
    }
    if known.servers != servers:
        was["servers"] = known.servers
    if now - known.told >= SELDOM and _material(known.impact, finding.impact):
        was["impact"] = known.impact
    return was


def _material(before: str, after: str) -> bool:
    """Whether an impact says something else, or the same with numbers that are far from the former ones."""
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", after):
        return True
    pairs = zip(_numbers(before), _numbers(after), strict=True)
    return any(max(one, two) > MATERIAL * min(one, two) for one, two in pairs)


def _numbers(text: str) -> list[float]:
    return [float(one.replace(",", "")) if one.count(".") < 2 else 0.0 for one in _NUMBER.findall(text)]
