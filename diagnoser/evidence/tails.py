"""Whether the requests that are late are the long ones: lengths of the slowest twentieth against those of all."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.model import Fact, Run

#: The part of requests that are the tail, and the fewest of them that tell anything.
SLOWEST = 0.05
FEWEST = 5


def tail_facts(run: Run) -> list[Fact]:
    """Return ``tail.prompt_ratio`` (by the first token) and ``tail.output_ratio`` (by the whole request).

    Of the largest set of requests that was read one by one; empty where it tells no lengths.
    """
    largest = max(run.requests, key=len, default=None)
    if largest is None:
        return []
    found = []
    for name, length, latency in (("tail.prompt_ratio", "prompt", "ttft"), ("tail.output_ratio", "output", "e2e")):
        ratio = _ratio(largest.columns.get(length, ()), largest.columns.get(latency, ()))
        if ratio is not None:
            found.append(Fact(name, ratio, largest.origin, largest.text, "observed"))
    return found


def _ratio(lengths: Sequence[float], latencies: Sequence[float]) -> float | None:
    pairs = [(late, size) for size, late in zip(lengths, latencies, strict=False) if size == size and late == late]
    tail = int(len(pairs) * SLOWEST)
    if tail < FEWEST:
        return None
    slowest = _median([size for _, size in sorted(pairs)[-tail:]])
    usual = _median([size for _, size in pairs])
    return slowest / usual if usual > 0 else None


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
