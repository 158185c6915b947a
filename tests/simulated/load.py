"""What clients ask of a simulated server: who comes when, with which prompt, for how many tokens, how patient."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from random import Random


@dataclass(eq=False)
class Request:
    """One request: what was asked, and what became of it."""

    number: int
    arrival: float
    prompt: int
    output: int
    group: int = -1  # requests of one group begin with the same ``shared`` tokens
    shared: int = 0
    patience: float = inf
    load: int = 0
    computed: int = 0  # tokens that have KV
    produced: int = 0
    cached: int = 0  # prompt tokens that were found at the first admission
    evicted: int = 0
    blocks: int = 0
    pinned: bool = False  # holds the shared blocks of its group
    admitted: float | None = None
    first: float | None = None
    last: float | None = None
    ended: float | None = None
    left: float | None = None  # when its client gave up
    refused: bool = False

    @property
    def length(self) -> int:
        return self.prompt + self.produced


@dataclass(frozen=True)
class Load:
    """Requests of one kind: ``rate`` a second (Poisson), or ``clients`` that send again when answered."""

    rate: float = 0.0
    clients: int = 0
    start: float = 5.0
    lasts: float = 60.0
    most: int = 100_000
    prompt: tuple[int, int] = (60, 200)
    output: tuple[int, int] = (16, 48)
    groups: int = 0
    shared: int = 0
    patience: tuple[float, float] | None = None


class Clients:
    """Deals out the requests of some loads in the order of time."""

    def __init__(self, loads: tuple[Load, ...], random: Random) -> None:
        self._loads, self._random = loads, random
        self._sent = [0] * len(loads)
        self.coming: list[Request] = []
        for place, load in enumerate(loads):
            at = load.start
            for _ in range(load.clients):
                self._send(place, at + random.uniform(0, 0.05))
            while load.rate and at < load.start + load.lasts:
                at += random.expovariate(load.rate)
                if at < load.start + load.lasts:
                    self._send(place, at)

    def _send(self, place: int, at: float) -> None:
        load, random = self._loads[place], self._random
        if self._sent[place] >= load.most:
            return
        self._sent[place] += 1
        group = random.randrange(load.groups) + 1000 * place if load.groups else -1
        prompt = random.randint(*load.prompt) + (load.shared if load.groups else 0)
        patience = random.uniform(*load.patience) if load.patience else inf
        request = Request(
            sum(self._sent), at, prompt, random.randint(*load.output), group, load.shared, patience, place
        )
        self.coming.append(request)
        self.coming.sort(key=lambda one: one.arrival)

    def due(self, now: float) -> list[Request]:
        """Take out what has arrived by now."""
        count = next((place for place, one in enumerate(self.coming) if one.arrival > now), len(self.coming))
        taken, self.coming = self.coming[:count], self.coming[count:]
        return taken

    def answered(self, request: Request, now: float) -> None:
        """A client of a closed loop that has its answer, or has given up, sends the next request."""
        load = self._loads[request.load]
        if load.clients and now < load.start + load.lasts:
            self._send(request.load, now + self._random.uniform(0.001, 0.02))
