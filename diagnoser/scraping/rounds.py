"""Scrapes that go on: round after round, each answer handed over at once, and an endpoint that fails is asked again."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.observations import Gathered, Page
from diagnoser.scraping.address import Address
from diagnoser.scraping.watch import Get, _Clock, _round, _Watched
from diagnoser.scraping.world import World
from diagnoser.traces import prometheus
from diagnoser.traces.base import Wanted
from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Round:
    """What one endpoint gave in one round. ``failure`` says why there is nothing, "" where there is."""

    name: str
    kind: str
    pages: list[Page]
    lines: int
    bytes: int
    failure: str
    problems: list[str] = field(default_factory=list)


class Rounds:
    """Asks endpoints whenever it is told to. ``limit`` is the longest that one answer may take, seconds."""

    def __init__(self, addresses: Sequence[Address], get: Get, limit: float, wanted: Wanted, world: World) -> None:
        servers = [one.server for one in addresses]
        self._watched = [
            _Watched(one, one.server if servers.count(one.server) == 1 else one.name, Gathered("", prometheus.NAME))
            for one in addresses
        ]
        self._get, self._limit, self._wanted, self._world = get, limit, wanted, world

    def take(self) -> list[Round]:
        """Ask all endpoints once; takes as long as the slowest of them, ``limit`` at most."""
        for one in self._watched:
            one.given = Gathered(one.address.name, prometheus.NAME)
            one.failures.clear()
            one.late = one.samples = 0
        # The clock of the day each time: over days it is set, and logs go with it.
        _round(self._watched, self._get, self._limit, self._wanted, self._world, _Clock(self._world))
        return [
            Round(
                one.given.name,
                one.given.kind,
                one.given.pages,
                one.given.lines,
                one.given.bytes,
                next(iter(one.failures), ""),
                [problem.text for problem in one.given.problems],
            )
            for one in self._watched
        ]
