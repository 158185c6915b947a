"""One load of a sweep of benchmark results, and whether the requests under it meet the objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.tables.table import Origin
from diagnoser.values import dataclass


@dataclass(slots=True)
class Step:
    """One load of a sweep; None for what no result told. Times in seconds, ``tps`` output tokens per second."""

    load: float
    origin: Origin
    text: str
    tps: float | None = None
    in_flight: float | None = None
    rps: float | None = None
    ttft: float | None = None
    ttft99: float | None = None
    tpot: float | None = None
    tpot99: float | None = None
    e2e: float | None = None
    e2e99: float | None = None
    prompt: float | None = None
    output: float | None = None
    tp: float | None = None

    @property
    def p99(self) -> float | None:
        """P99 of whole requests; put together of first token and tokens where the result leaves it out."""
        if self.e2e99 is not None or self.ttft99 is None or self.tpot99 is None or self.output is None:
            return self.e2e99
        return self.ttft99 + max(self.output - 1, 0) * self.tpot99

    def meets(self, limits: Mapping[str, float]) -> bool | None:
        """Whether P99 is within every objective, the median where P99 is not told; None where one is not told at all.

        The time per token stands in for the time between tokens, of which benchmarks keep no P99 of requests.
        """
        told = {
            "ttft": self.ttft99 if self.ttft99 is not None else self.ttft,
            "tpot": self.tpot99 if self.tpot99 is not None else self.tpot,
            "e2e": self.p99 if self.p99 is not None else self.e2e,
        }
        found = [(told.get("tpot" if name == "itl" else name), limit) for name, limit in limits.items()]
        if any(value is not None and value > limit for value, limit in found):
            return False
        return None if not found or any(value is None for value, _ in found) else True


def largest(steps: Sequence[Step], limits: Mapping[str, float]) -> Step | None:
    """Return the step of the largest load that meets the objectives, None where none is known to."""
    return max((step for step in steps if step.meets(limits)), key=lambda step: step.load, default=None)
