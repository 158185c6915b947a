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

        Raw values: nearest rank. Buckets: placed inside one as if its values lay evenly, as Prometheus does, but not
        beyond what ``within`` allows; in the last, open bucket its lower bound, which is the most that is certain.
        None where the open bucket is the only one.
        """
        if self.values:
            return self.values[max(math.ceil(share * len(self.values) * (1 - 1e-9)) - 1, 0)]
        if self.given:
            return self.given.get(share)
        limits = self.within(share)
        if limits is None:
            return None
        wanted = share * math.fsum(number for _, number in self.buckets)
        reached, lower, upper, number = self._holding(wanted)
        even = lower if upper == INF else lower + (upper - lower) * max(wanted - reached, 0.0) / number
        return max(min(even, limits[1]), limits[0])

    def within(self, share: float) -> tuple[float, float] | None:
        """Return what a quantile of buckets is not below and not above; None without buckets that have bounds.

        The ends of its bucket, drawn in by the sum of all: were it higher, those from it on would alone pass the sum,
        and were it lower, the others could not reach it.
        """
        if not self._bounded() or not any(number for _, number in self.buckets):
            return None
        wanted = share * math.fsum(number for _, number in self.buckets)
        reached, lower, upper, number = self._holding(wanted)
        place = min(max(math.ceil(wanted * (1 - 1e-9)) - reached, 1.0), number)
        least, most = self._sums()
        up_to, onward = place, number - place + 1
        high = (self.total - least + onward * lower) / onward if onward >= 1 else INF
        low = (self.total - most + up_to * upper) / up_to if most < INF and up_to >= 1 else lower
        # Sums and buckets that were scraped a moment apart may contradict each other.
        if self.total != self.total or not lower <= high or not low <= upper:
            return lower, upper
        return max(low, lower), min(high, upper)

    def _holding(self, wanted: float) -> tuple[float, float, float, float]:
        """Return the bucket that holds a rank: how many lie below it, its bounds, how many it holds."""
        reached = lower = 0.0
        for upper, number in self.buckets:
            if number and reached + number >= wanted:
                return reached, lower, upper, number
            reached, lower = reached + number, upper if upper != INF else lower
        upper, number = next((upper, number) for upper, number in reversed(self.buckets) if number)
        return reached - number, max((one for one, _ in self.buckets if one < upper), default=0.0), upper, number

    def _sums(self) -> tuple[float, float]:
        """Return the least and the most that all values can add up to, by their buckets."""
        least = most = lower = 0.0
        for upper, number in self.buckets:
            least += number * lower
            most += number * upper if number else 0.0
            lower = upper
        return least, most

    def _bounded(self) -> bool:
        """Whether any bucket has an upper bound: without one the histogram says how many, and nothing of how much."""
        return any(upper != INF for upper, _ in self.buckets)

    def bound(self, value: float) -> float | None:
        """Return the upper bound of the bucket that holds a value, None where there are no buckets."""
        return next((upper for upper, _ in self.buckets if value <= upper), None)

    def above_within(self, level: float) -> tuple[float, float] | None:
        """Return the least and the most that the share above ``level`` can be, by the bucket that holds the level."""
        everything = math.fsum(number for _, number in self.buckets)
        if not self._bounded() or not everything:
            return None
        beyond = math.fsum(number for upper, number in self.buckets if upper > level)
        holding = self.bound(level)
        inside = next((number for upper, number in self.buckets if upper == holding and upper != level), 0.0)
        return (beyond - inside) / everything, beyond / everything

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


def of_requests(spreads: Sequence[Spread]) -> Spread | None:
    """Join what clients timed request by request; None where nobody did."""
    return merged([one for one in spreads if one.medium == "bench" and one.values])


def best(spreads: Sequence[Spread]) -> Spread | None:
    """Join the spreads of the medium that is believed first; None for none."""
    media = {one.medium for one in spreads}
    medium = next((one for one in MEDIA if one in media), "")
    return merged([one for one in spreads if one.medium == medium])
