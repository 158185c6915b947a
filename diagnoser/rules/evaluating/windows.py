"""Time in samples: stretches in which a condition holds, silences, and the best and worst window."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import gt, mul, sub

from diagnoser.rules.evaluating.parts import Part
from diagnoser.rules.evaluating.rows import SHORTEST
from diagnoser.values import dataclass

#: Without times, this many lines in a row count as "sustained".
LINES_IN_A_ROW = 3


@dataclass(slots=True, frozen=True)
class Stretch:
    """Rows first..last (positions in the part) in which a condition held.

    ``seconds`` is None without times; then ``lines`` counts the statistics lines.
    """

    part: Part
    first: int
    last: int
    seconds: float | None
    lines: float


def stretches(part: Part) -> Iterator[tuple[int, int, float]]:
    """Yield (first, last, end time) of every stretch of a part, in order; positions in the part.

    A stretch lasts from the first row where the condition holds to the first row where it does not, or which is idle
    and does not count. A silence interrupts it, unless lines come at a steady beat and stop under load: then the
    server hangs in the state it was in. An unfinished stretch ends when its last row does; an interrupted one a beat
    after its last row, so that one line before a pause is no stretch of half a minute.
    """
    truth = bytes(part.values)
    first = truth.find(1)
    if first < 0:
        return
    times = part.times
    breaks = _breaks(part, times)
    cuts = sorted(breaks)
    while first >= 0:
        stop = truth.find(0, first)
        last = (len(truth) if stop < 0 else stop) - 1
        for cut in cuts[bisect_left(cuts, first) : bisect_left(cuts, last)]:
            yield first, cut, breaks[cut]
            first = cut + 1
        yield first, last, breaks[last] if last in breaks else times[stop]
        first = truth.find(1, last + 1)


def _breaks(part: Part, times: Sequence[float]) -> dict[int, float]:
    """Return the positions after which no stretch goes on, with the time at which it ends there."""
    rows, index = part.rows, part.index
    loaded, table, weights = rows.loaded, rows.table.time, rows.weights
    found: dict[int, float] = {}

    def own_end(at: int) -> float:
        return table[index[at]] + weights[index[at]]

    def cut_end(at: int) -> float:
        return min(own_end(at), table[index[at]] + max(rows.beat, SHORTEST))

    for at, gap_after in enumerate(map(sub, times[1:], times)):
        if gap_after > rows.silence and not (rows.steady and (loaded is None or loaded[index[at]])):
            found[at] = cut_end(at)
    final = len(index) - 1
    if loaded is not None:
        # Rows left out by `while` or for lack of a series do not interrupt; idle ones do.
        holes = [at for at, (row, after) in enumerate(pairwise(index)) if after > row + 1]
        for at in (*holes, final):
            idle = loaded.find(0, index[at] + 1, index[at + 1] if at < final else len(loaded))
            if idle >= 0 and loaded[index[at]] and at not in found:
                late = table[idle] - table[index[at]] > rows.silence and not rows.steady
                found[at] = cut_end(at) if late else table[idle]
    found.setdefault(final, own_end(final))
    return found


def longest(parts: Iterable[Part]) -> Stretch | None:
    """Return the longest stretch (in seconds; in lines where the log has no times), the earliest of equals."""
    best: Stretch | None = None
    for part in parts:
        times, lines = part.times, part.lines
        moments = part.rows.table.medium != "log"
        for first, last, end in stretches(part):
            # A scrape tells a moment: what one alone shows may have lasted no longer.
            seconds = 0.0 if moments and first == last and end == end else end - times[first]
            if seconds != seconds:
                count = sum(lines[first : last + 1])
                if best is None or (best.seconds is None and count > best.lines):
                    best = Stretch(part, first, last, None, count)
            elif best is None or best.seconds is None or seconds > best.seconds:
                best = Stretch(part, first, last, seconds, 0.0)
    return best


@dataclass(slots=True, frozen=True)
class Silence:
    """The longest time without a line after the row at position ``at`` of a part."""

    part: Part
    at: int
    seconds: float


def gap(parts: Iterable[Part], ended: float | None, overall: bool, chosen: bool = False) -> Silence | None:
    """Return the longest silence after a loaded row; None without times. ``ended`` is the run's last time.

    Of rows that a condition has ``chosen`` each is followed by the next row of its rank, whatever that one is.
    """
    found: Silence | None = None
    for part in parts:
        loaded = None if overall else part.rows.loaded
        # Lines that stand out of order, as collectors leave them, were no silence.
        order = [at for at, time in enumerate(part.times) if time == time]
        order.sort(key=part.times.__getitem__)
        times = list(map(part.times.__getitem__, order))
        every = sorted(time for time in part.rows.table.time if time == time) if chosen else times
        final = ended if ended is not None else max(every, default=0.0)
        if chosen:
            after = [every[place] if (place := bisect_right(every, time)) < len(every) else final for time in times]
        else:
            after = [*times[1:], final]
        for at, start, end in zip(order, times, after, strict=False):
            seconds = max(end - start, 0.0) if loaded is None or loaded[part.index[at]] else 0.0
            if found is None or seconds > found.seconds:
                found = Silence(part, at, seconds)
    return found


def extreme_mean(parts: Sequence[Part], length: float, choose: Callable[[Iterable[float]], float]) -> float | None:
    """Return the highest or lowest mean in any window of ``length`` seconds that begins at a row; None without times.

    Ranks are pooled, rows weighted by time. Windows that run past the last row, or of which rows cover less than half,
    do not count; where that leaves none, it is the mean over everything.
    """
    times = list(chain.from_iterable(part.times for part in parts))
    rows = [i for i, time in enumerate(times) if time == time]
    if not rows:
        return None
    if len(rows) < len(times) or any(map(gt, times, times[1:])):
        rows.sort(key=times.__getitem__)
    times = list(map(times.__getitem__, rows))
    seconds = list(chain.from_iterable(part.weights for part in parts))
    weights = list(map(seconds.__getitem__, rows))
    values = list(chain.from_iterable(part.values for part in parts))
    area = list(accumulate(map(mul, map(values.__getitem__, rows), weights), initial=0.0))
    cover = list(accumulate(weights, initial=0.0))
    # A little late, so that rounding never drops the last full window.
    finish = times[-1] + weights[-1] + 1e-6
    means: list[float] = []
    end, rows_in_all = 0, len(times)
    for start, time in enumerate(times):
        limit = time + length
        if limit > finish:
            break
        while end < rows_in_all and times[end] < limit:
            end += 1
        covered = cover[end] - cover[start]
        if covered * 2 >= length:
            means.append((area[end] - area[start]) / covered)
    return choose(means) if means else area[-1] / cover[-1]


def most_within(times: Iterable[float], length: float) -> int:
    """Return the most times that lie in one window of ``length`` seconds."""
    ordered = sorted(times)
    start, most = 0, 0
    for end, time in enumerate(ordered):
        while time - ordered[start] > length:
            start += 1
        most = max(most, end - start + 1)
    return most


def near(left: Sequence[float], right: Sequence[float], length: float) -> bool:
    """Say whether some time on the left is at most ``length`` seconds from some time on the right."""
    ordered = sorted(right)
    for time in left:
        at = bisect_left(ordered, time - length)
        if at < len(ordered) and ordered[at] <= time + length:
            return True
    return False
