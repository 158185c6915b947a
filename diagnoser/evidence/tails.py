"""Whether the requests that are late are the long ones, or short ones that waited while a long one was computed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from diagnoser.model import Fact, Run

#: The part of requests that are the tail, and the fewest of them that tell anything.
SLOWEST = 0.05
FEWEST = 5
#: A prompt is long from so many times the usual length on, and tokens; a short one is no longer than twice the usual.
LONG, LONG_TOKENS, SHORT = 10, 2000, 2
#: A first token is late from so many times the usual wait on, and seconds.
LATE, LATE_SECONDS = 5, 1.0


def tail_facts(run: Run) -> list[Fact]:
    """Return ``tail.prompt_ratio`` (by the first token) and ``tail.output_ratio`` (by the whole request).

    With them ``tail.late_shorts`` (which part of the short prompts waited long for a first token) and how many of
    those, and of the others, waited while a long prompt did: ``tail.late_behind_long``, ``tail.punctual_behind_long``.
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
    for name, share in _behind(*(largest.columns.get(kind, ()) for kind in ("start", "ttft", "prompt"))).items():
        found.append(Fact(name, share, largest.origin, largest.text, "observed"))
    return found


def _behind(starts: Sequence[float], waits: Sequence[float], prompts: Sequence[float]) -> dict[str, float]:
    """Return the three shares of short prompts; nothing where no prompt is long, or few are."""
    rows = [row for row in zip(starts, waits, prompts, strict=False) if all(value == value for value in row)]
    if not rows:
        return {}
    usual, usual_wait = _median([row[2] for row in rows]), _median([row[1] for row in rows])
    longs = sorted((at, at + wait) for at, wait, size in rows if size >= max(LONG * usual, LONG_TOKENS))
    shorts = [(at, wait) for at, wait, size in rows if size <= SHORT * usual]
    if len(longs) < FEWEST or len(shorts) < FEWEST:
        return {}
    begins = [begin for begin, _ in longs]
    last = [longs[0][1]]  # the latest first token of this one and all before it
    for _, end in longs[1:]:
        last.append(max(last[-1], end))
    late_after = max(LATE * usual_wait, LATE_SECONDS)
    behind: dict[bool, list[bool]] = {True: [], False: []}
    for at, wait in shorts:
        before = bisect_left(begins, at + wait)
        behind[wait >= late_after].append(before > 0 and last[before - 1] > at)
    late, punctual = behind[True], behind[False]
    if len(late) < FEWEST or not punctual:
        return {}
    return {
        "tail.late_shorts": len(late) / len(shorts),
        "tail.late_behind_long": sum(late) / len(late),
        "tail.punctual_behind_long": sum(punctual) / len(punctual),
    }


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
