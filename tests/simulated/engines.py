"""How vLLM (V0 and V1) and SGLang choose what the next step computes, and whom they evict when the KV cache is full."""

from __future__ import annotations

from simulated.load import Load, Request
from simulated.server import Machine, Record, Server


class VllmV1(Machine):
    """Running requests first, then waiting ones, all within one token budget; prompts in chunks."""

    def plan(self) -> tuple[list[tuple[Request, int]], int]:
        budget, found, evicted = self.server.budget, 0, False
        work: list[tuple[Request, int]] = []
        for request in list(self.runs):
            if budget <= 0 or request not in self.runs:
                break
            tokens = min(budget, request.length - request.computed)
            while not self.grow(request, request.computed + tokens):
                evicted = True
                if self.evict() is request:
                    break
            else:
                work.append((request, tokens))
                budget -= tokens
        while not evicted and self.waiting and budget > 0 and len(self.runs) < self.server.running:
            request = self.waiting[0]
            cached = self.lookup(request)
            tokens = min(budget, request.length - cached)
            if not self.admit(request, cached, tokens):
                break
            if request.admitted is None:
                found += cached
            work.append((request, tokens))
            budget -= tokens
        return work, found

    def evict(self) -> Request:
        """The request that came last gives up all that it has and is computed again."""
        victim = self.runs.pop()
        self.release(victim)
        victim.computed = 0
        victim.evicted += 1
        self.waiting.appendleft(victim)
        self.record.evictions.append((self.now, 1, victim.number, 0.0, 0.0))
        return victim


class VllmV0(VllmV1):
    """Prompts whole, in steps of their own and before any decoding; one block in a hundred is kept free."""

    def plan(self) -> tuple[list[tuple[Request, int]], int]:
        budget = max(self.server.budget, self.server.context)
        work: list[tuple[Request, int]] = []
        while self.waiting and len(self.runs) < self.server.running:
            request = self.waiting[0]
            need = -(-request.length // self.server.block)
            if request.length > budget or self.free() - need < 0.01 * self.total:
                break
            self.grow(request, request.length)
            self.runs.append(self.waiting.popleft())
            work.append((request, request.length))
            budget -= request.length
        if work:
            return work, 0
        for request in list(self.runs):
            if request not in self.runs:
                break
            while not self.grow(request, request.computed + 1):
                if self.evict() is request:
                    break
            else:
                work.append((request, 1))
        return work, 0


class Sglang(Machine):
    """Prompts first, if they and the outputs that may follow fit; decoding that runs out of room retracts requests."""

    chunk: Request | None = None

    def plan(self) -> tuple[list[tuple[Request, int]], int]:
        work, found = self.prefill()
        return (work, found) if work else (self.decode(), 0)

    def ahead(self, request: Request) -> float:
        left = min(request.output - request.produced, 4096)
        return left * self.ratio if self.server.open_ended else left

    def prefill(self) -> tuple[list[tuple[Request, int]], int]:
        room = self.free() - sum(self.ahead(one) for one in self.runs)
        budget, found = self.server.budget, 0
        work: list[tuple[Request, int]] = []
        if self.chunk is not None and self.chunk in self.runs:
            tokens = min(budget, self.chunk.length - self.chunk.computed)
            if not self.grow(self.chunk, self.chunk.computed + tokens):
                return [], 0
            work.append((self.chunk, tokens))
            budget -= tokens
            if self.chunk.computed + tokens >= self.chunk.length:
                self.chunk = None
        while self.waiting and budget > 0 and len(self.runs) < self.server.running:
            request = self.waiting[0]
            cached = self.lookup(request)
            left = request.length - cached
            room -= left + min(request.output - request.produced, 4096)
            if room < 0:
                break
            tokens = min(budget, left)
            if not self.admit(request, cached, tokens):
                break
            found += cached
            work.append((request, tokens))
            budget -= tokens
            if tokens < left:
                self.chunk = request
        return work, found

    def decode(self) -> list[tuple[Request, int]]:
        if self.free() < len(self.runs):
            self.retract()
        self.ratio = max(0.098, self.ratio - (0.7 - 0.098) / 600)
        for request in self.runs:
            self.grow(request, request.computed + 1)
        return [(request, 1) for request in self.runs]

    def retract(self) -> None:
        """Those that have produced least go back to the queue until twenty more tokens fit for each that stays."""
        before, count, gained = self.ratio, 0, 0
        self.runs.sort(key=lambda one: (one.produced, -one.prompt), reverse=True)
        while len(self.runs) > 1 and self.free() < 20 * len(self.runs):
            victim = self.runs.pop()
            gained += victim.blocks
            self.release(victim)
            victim.computed = 0
            victim.evicted += 1
            count += 1
            self.waiting.append(victim)
        made = sum(one.produced for one in self.runs) + 20 * len(self.runs)
        self.ratio = min(1.0, made / max(1, sum(one.output for one in self.runs)))
        self.record.evictions.append((self.now, count, gained, before, self.ratio))


def simulate(server: Server, loads: tuple[Load, ...], seed: int = 1) -> Record:
    machine = Sglang if server.engine == "sglang" else VllmV0 if server.version == "0.8.5" else VllmV1
    return machine(server, loads, seed).simulate()
