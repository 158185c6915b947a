"""The loop that all simulated engines share: time goes on step by step, and what each step did is written down."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from random import Random

from simulated.load import Clients, Load, Request


@dataclass(frozen=True)
class Server:
    """One server as it was started, and how fast its machine is. ``stall`` is (when, how long) nothing moves."""

    engine: str
    version: str
    running: int = 256
    budget: int = 2048  # tokens a step (vLLM), tokens a chunk (SGLang)
    tokens: int = 524_288  # KV cache
    block: int = 128
    context: int = 8192
    cached: bool = True
    base: float = 0.012  # a step costs at least this, and more for each prompt token, running request and token of KV
    per_prompt: float = 1 / 2500
    per_running: float = 0.0004
    per_kv: float = 0.0
    limit_set: bool = True
    stall: tuple[float, float] | None = None
    dies: float | None = None
    open_ended: bool = False  # SGLang: outputs may end before their limit, so that only a share of it is reserved
    run: float = 90.0


@dataclass(frozen=True)
class Step:
    """What one step did, and what was there after it."""

    time: float
    took: float
    prompt: int  # prompt tokens computed
    tokens: int  # tokens generated
    running: int
    waiting: int
    used: float  # share of the KV cache that running requests hold
    held: int  # tokens of KV that they hold
    joined: int = 0
    found: int = 0
    prompts: int = 0  # prompt tokens of requests whose prompt was complete, found ones too
    ratio: float = 0.7
    before: int = 0  # running before the step


@dataclass
class Record:
    """All that happened."""

    server: Server
    loads: tuple[Load, ...]
    requests: list[Request] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    evictions: list[tuple[float, int, int, float, float]] = field(default_factory=list)
    gaps: list[tuple[float, float, int]] = field(default_factory=list)  # (when, since the token before, how many)


class Machine:
    """One engine: a queue, what runs, and KV blocks with a cache of shared prefixes."""

    def __init__(self, server: Server, loads: tuple[Load, ...], seed: int) -> None:
        self.server = server
        self.clients = Clients(loads, Random(seed))
        self.record = Record(server, loads)
        self.waiting: deque[Request] = deque()
        self.runs: list[Request] = []
        self.total = server.tokens // server.block
        self.private = 0
        self.groups: dict[int, list[int]] = {}  # group: blocks, users, blocks allotted when it was last used
        self.allotted = 0
        self.now = 0.0
        self.ratio = 0.7

    # KV blocks

    def pinned(self) -> int:
        return sum(blocks for blocks, users, _ in self.groups.values() if users)

    def free(self) -> int:
        return self.total - self.private - self.pinned()

    def lookup(self, request: Request) -> int:
        """Return how many tokens of the prompt are in the cache. A prefix that nobody used for a whole pool is gone."""
        held = self.groups.get(request.group)
        if held is None or not self.server.cached:
            return 0
        blocks, users, last = held
        if not users and self.allotted - last > self.total - self.private - blocks:
            del self.groups[request.group]
            return 0
        return min(blocks * self.server.block, (request.prompt - 1) // self.server.block * self.server.block)

    def grow(self, request: Request, tokens: int) -> bool:
        """Give a request the blocks for so many tokens, unless there are not enough."""
        size = self.server.block
        shared = self.groups[request.group][0] * size if request.pinned else 0
        need = -(-max(tokens - shared, 0) // size) - request.blocks
        if need > 0:
            if need > self.free():
                return False
            request.blocks += need
            self.private += need
            self.allotted += need
        return True

    def pin(self, request: Request, found: int) -> None:
        if found:
            request.pinned = True
            self.groups[request.group][1] += 1

    def admit(self, request: Request, cached: int, tokens: int) -> bool:
        """Let the first of the queue in with its first tokens behind the cached ones, unless its blocks are missing."""
        self.pin(request, cached)
        if not self.grow(request, cached + tokens):
            self.release(request)
            return False
        self.waiting.popleft()
        self.runs.append(request)
        request.computed = cached
        if request.admitted is None:
            request.cached = cached
        return True

    def share(self, request: Request) -> None:
        """A complete prompt leaves the part that it shares in the cache."""
        blocks = min(request.shared, request.prompt - 1) // self.server.block
        if self.server.cached and request.group >= 0 and blocks and request.group not in self.groups:
            blocks = min(blocks, request.blocks)
            self.groups[request.group] = [blocks, 1, self.allotted]
            request.blocks -= blocks
            self.private -= blocks
            request.pinned = True

    def release(self, request: Request) -> None:
        self.private -= request.blocks
        request.blocks = 0
        if request.pinned:
            held = self.groups[request.group]
            held[1] -= 1
            held[2] = self.allotted
            request.pinned = False

    # the loop

    def simulate(self) -> Record:
        end = self.server.run
        while self.now < end:
            if self.server.dies is not None and self.now >= self.server.dies:
                break
            self.arrive()
            if not self.waiting and not self.runs:
                if not self.clients.coming:
                    break
                self.now = max(self.now, self.clients.coming[0].arrival)
                continue
            self.step()
        self.record.requests += [one for one in self.clients.due(self.now) if one not in self.record.requests]
        return self.record

    def arrive(self) -> None:
        for request in self.clients.due(self.now):
            self.record.requests.append(request)
            if request.prompt + request.output > self.server.context:
                request.refused = True
                request.ended = request.arrival
                self.clients.answered(request, self.now)
            else:
                self.waiting.append(request)
        for queue in (self.waiting, self.runs):
            for request in [one for one in queue if self.now - one.arrival > one.patience]:
                queue.remove(request)
                self.release(request)
                request.left = self.now
                self.clients.answered(request, self.now)

    def plan(self) -> tuple[list[tuple[Request, int]], int]:
        """Return which request computes how many tokens in the next step, and how many prompt tokens were found."""
        raise NotImplementedError

    def step(self) -> None:
        server, before = self.server, len(self.runs)
        work, found = self.plan()
        computed = sum(tokens for one, tokens in work if not one.produced or tokens > 1)
        held = sum(one.computed for one in self.runs)
        took = server.base + computed * server.per_prompt + len(work) * server.per_running + held * server.per_kv
        if server.stall and self.now <= server.stall[0] < self.now + took + 0.5:
            took += server.stall[1]
        self.now += took
        made = joined = prompts = 0
        gaps: Counter[float] = Counter()
        for request, tokens in work:
            request.computed += tokens
            if request.admitted is None:
                request.admitted = self.now - took
                joined += 1
            if request.computed < request.length:
                continue
            if request.produced == 0:
                prompts += request.prompt
                self.share(request)
            request.produced += 1
            made += 1
            if request.first is None:
                request.first = self.now
            elif request.last is not None:
                gaps[self.now - request.last] += 1
            request.last = self.now
            if request.produced >= request.output:
                request.ended = self.now
                self.runs.remove(request)
                self.release(request)
                self.clients.answered(request, self.now)
        self.record.gaps += [(self.now, gap, many) for gap, many in gaps.items()]
        self.arrive()  # a step is counted with what came while it ran
        held = sum(one.computed for one in self.runs)
        used = (self.private + self.pinned()) / self.total
        self.record.steps.append(
            Step(self.now, took, computed, made, len(self.runs), len(self.waiting), used, held, joined, found, prompts,
                 self.ratio, before)
        )  # fmt: skip
