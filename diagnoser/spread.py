"""How a quantity spreads over requests: raw values, a histogram, or the few percentiles that somebody kept."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from diagnoser.values import dataclass, field

INF = math.inf

#: Who tells distributions, in the order in which they are believed: the server's own histograms, then its clients.
MEDIA = ("metrics", "bench")


@dataclass(slots=True)
class Spread:
    """A distribution over requests, tokens or operations, in the unit of its series.

    Exactly one of ``values`` (sorted), ``buckets`` (upper bound, number at or below it and above the bound before) and
    ``given`` (share -> value, as a benchmark states them) is filled. ``total`` is NaN where the sum is not known.
    ``source``, ``line`` and ``text`` are its proof; ``places`` are the lines of its parts where it has several: those
    of "sum", "count" and of each bucket, by its upper bound.
    """

    medium: str
    count: float
    total: float
    source: str
    line: int
    text: str
    values: Sequence[float] = ()
    buckets: Sequence[tuple[float, float]] = ()
    given: Mapping[float, float] = field(default_factory=dict)
    places: Mapping[str | float, tuple[int, str]] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """The mean, None where the sum is unknown or nothing was counted."""
        return self.total / self.count if self.count and self.total == self.total else None

    def quantile(self, share: float) -> float | None:
        """Return the value that ``share`` of all do not exceed; None where nobody kept it.

        Raw values: nearest rank. Buckets: placed inside one as if its values lay evenly, as Prometheus does; a quantile
        in the last, open bucket is its lower bound, which is the most that is certain. Never more than the sum of all
        allows: in a wide first bucket that says more than its bounds. None where the open bucket is the only one.
        """
        if self.values:
            return self.values[max(math.ceil(share * len(self.values) * (1 - 1e-9)) - 1, 0)]
        if self.given:
            return self.given.get(share)
        if not self._bounded():
            return None
        wanted = share * math.fsum(number for _, number in self.buckets)
        reached = lower = 0.0
        for upper, number in self.buckets:
            if number and reached + number >= wanted:
                even = lower if upper == INF else lower + (upper - lower) * max(wanted - reached, 0.0) / number
                return max(min(even, self._most(share)), lower)
            reached, lower = reached + number, upper if upper != INF else lower
        return None

    def _bounded(self) -> bool:
        """Whether any bucket has an upper bound: without one the histogram says how many, and nothing of how much."""
        return any(upper != INF for upper, _ in self.buckets)

    def _most(self, share: float) -> float:
        """Return what a quantile cannot exceed: more, and those above it would alone pass the total."""
        mean = self.mean
        return INF if mean is None or share >= 1 else mean / (1 - share)

    def bound(self, value: float) -> float | None:
        """Return the upper bound of the bucket that holds a value, None where there are no buckets."""
        return next((upper for upper, _ in self.buckets if value <= upper), None)

    def above(self, level: float) -> float | None:
        """Return the share that exceeds ``level``.

        None where only percentiles are known and none of them tells, and for a level within the open bucket when
        something lies there: it may be on either side.
        """
        if self.values:
            return 1 - bisect_right(self.values, level) / len(self.values)
        if self.given:
            return next((1 - share for share, value in sorted(self.given.items()) if value == level), None)
        everything = math.fsum(number for _, number in self.buckets)
        if not self._bounded():
            return None
        below = lower = 0.0
        for upper, number in self.buckets:
            if level < upper:
                if upper == INF and number and level > lower:
                    return None
                inside = number * (level - lower) / (upper - lower) if upper != INF and level > lower else 0.0
                return 1 - (below + inside) / everything if everything else None
            below, lower = below + number, upper
        return 0.0 if everything else None


def of_values(values: Iterable[float], medium: str, source: str, line: int, text: str) -> Spread | None:
    """Make a spread of raw values; None when there are none."""
    ordered = sorted(value for value in values if value == value and abs(value) != INF)
    return Spread(medium, len(ordered), math.fsum(ordered), source, line, text, values=ordered) if ordered else None


def merged(spreads: Sequence[Spread]) -> Spread | None:
    """Join spreads of several ranks or servers; the fullest one where they cannot be joined, None for none."""
    known = [one for one in spreads if one.count > 0]
    if len(known) < 2:
        return known[0] if known else None
    first = max(known, key=lambda one: one.count)
    if all(one.values for one in known):
        values = sorted(value for one in known for value in one.values)
        return Spread(first.medium, len(values), math.fsum(values), first.source, first.line, first.text, values=values)
    bounds = [upper for upper, _ in first.buckets]
    if not bounds or any([upper for upper, _ in one.buckets] != bounds for one in known):
        return first
    buckets = [(upper, math.fsum(one.buckets[at][1] for one in known)) for at, upper in enumerate(bounds)]
    count, total = math.fsum(one.count for one in known), math.fsum(one.total for one in known)
    return Spread(
        first.medium, count, total, first.source, first.line, first.text, buckets=buckets, places=first.places
    )


def best(spreads: Sequence[Spread]) -> Spread | None:
    """Join the spreads of the medium that is believed first; None for none."""
    media = {one.medium for one in spreads}
    medium = next((one for one in MEDIA if one in media), "")
    return merged([one for one in spreads if one.medium == medium])
