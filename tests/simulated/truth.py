"""What was the matter with a simulated server, said from what it counted itself; None where that is open."""

from __future__ import annotations

from dataclasses import dataclass

from simulated.load import Request
from simulated.server import Record


@dataclass(frozen=True)
class Truth:
    """Figures of the loaded time. Shares are of time, waits in seconds over requests that were admitted."""

    requests: int
    queued: float  # share of the time in which somebody waits
    queue: float  # mean wait
    ttft: float
    at_limit: float  # share of the queued time in which the limit on running requests is reached
    full: float  # share of the time with 95 % of the KV cache in use
    used: float  # the 90th percentile of its use
    evicted: int
    left: int
    refused: int
    found: float  # share of the prompt tokens found in the cache
    throughput: float
    longest: float  # seconds of the longest time in which somebody always waits
    stalled: float  # seconds of the longest step

    @property
    def waits(self) -> bool:
        return self.queued >= 0.4 and self.queue >= 1.0 and self.queue >= 0.5 * self.ttft


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def waits(requests: list[Request]) -> list[float]:
    return [one.admitted - one.arrival for one in requests if one.admitted is not None]


def firsts(requests: list[Request]) -> list[float]:
    return [one.first - one.arrival for one in requests if one.first is not None]


def measure(record: Record) -> Truth:
    steps, requests = record.steps, record.requests
    busy = sum(step.took for step in steps)
    queued = [step for step in steps if step.waiting]
    waited = sum(step.took for step in queued)
    full = sum(step.took for step in steps if step.used >= 0.95)
    at_limit = sum(step.took for step in queued if step.running >= 0.97 * record.server.running)
    longest = stretch = 0.0
    for step in steps:
        stretch = stretch + step.took if step.waiting else 0.0
        longest = max(longest, stretch)
    used, left = 0.0, busy * 0.1
    for step in sorted(steps, key=lambda one: one.used, reverse=True):
        left -= step.took
        if left <= 0:
            used = step.used
            break
    admitted = [one for one in requests if one.admitted is not None]
    return Truth(
        requests=len(requests),
        queued=waited / busy,
        queue=mean(waits(requests)),
        ttft=mean(firsts(requests)),
        at_limit=at_limit / waited if waited else 0.0,
        full=full / busy,
        used=used,
        evicted=sum(count for _, count, _, _, _ in record.evictions),
        left=sum(one.left is not None for one in requests),
        refused=sum(one.refused for one in requests),
        found=sum(one.cached for one in admitted) / max(1, sum(one.prompt for one in admitted)),
        throughput=sum(step.tokens for step in steps) / busy,
        longest=longest,
        stalled=max(step.took for step in steps),
    )


CAP, QUEUE, FULL, THRASH = (
    "scheduling.concurrency_cap", "scheduling.queue_saturation", "memory.kv_cache_exhausted", "memory.preemption_thrash"
)  # fmt: skip
PREFILL, ESTIMATE, LINE = "compute.prefill_bound", "scheduling.retract_estimate", "scheduling.head_of_line"


def causes(record: Record, truth: Truth) -> tuple[str, ...] | None:
    """Return the causes of which the first finding must be one, () for a healthy server, None between the two."""
    server = record.server
    if server.stall is not None:
        return ("platform.watchdog_hang",) if truth.stalled >= 40 else None
    if truth.refused >= 0.2 * truth.requests and truth.refused >= 5:
        return ("ingress.bad_requests",)
    if truth.left >= 0.3 * truth.requests and truth.left >= 10:
        return ("ingress.client_aborts",) if truth.queue < 0.3 else None
    if truth.left:
        return None
    evicts = truth.evicted >= (0.1 if server.engine == "sglang" else 0.2) * truth.requests and truth.evicted >= 10
    if evicts and truth.full >= (0.05 if server.engine == "sglang" else 0.2):  # a retraction makes room at once
        return (FULL, THRASH)
    if truth.waits:
        if truth.longest < 20:
            return None  # it drains soon
        if truth.evicted < 5 and truth.full >= 0.5 and truth.at_limit < 0.2:
            return (FULL, QUEUE, ESTIMATE)
        if truth.used < 0.8 and not truth.evicted:
            if truth.at_limit >= 0.8:
                return (CAP, QUEUE)
            if server.engine == "sglang" and truth.at_limit < 0.2 and truth.queued >= 0.7:
                return (ESTIMATE, QUEUE, PREFILL, LINE, FULL)
            if truth.at_limit < 0.2 and truth.queued >= 0.7:
                return (QUEUE, PREFILL, LINE)
        return None
    if not server.cached and server.version != "0.8.5" and truth.queued < 0.05:
        heavy = sum(one.prompt for one in record.requests) >= 20 * sum(one.produced for one in record.requests)
        return ("cache.disabled",) if heavy else None
    if truth.queued < 0.1 and truth.queue < 0.1 and truth.used < 0.8 and not truth.evicted:
        return ()
    if truth.longest < 8 and truth.queued < 0.2 and truth.queue < 0.5 and truth.used < 0.8 and not truth.evicted:
        return ()  # a short burst that was worked off
    return None


def untold(record: Record, truth: Truth, wanted: tuple[str, ...], inputs: str) -> bool:
    """Whether nothing in these inputs tells of the trouble, so that to say nothing is right."""
    server = record.server
    if wanted == ("ingress.client_aborts",):  # these versions print nothing when a client leaves, and V0 counts none
        return inputs == "log" and server.version != "0.9.2"
    if wanted == ("platform.watchdog_hang",) and inputs == "log":
        # V0 is as silent when idle, and so is SGLang where nobody asks for its health.
        return server.version in ("0.8.5", "0.5.4", "0.5.23")
    if inputs == "log" and server.engine == "vllm" and server.version != "0.8.5":  # V1 prints no eviction
        return THRASH in wanted and truth.queued < 0.4
    return wanted == ("ingress.bad_requests",) and inputs == "metrics" and server.version == "0.5.4"
