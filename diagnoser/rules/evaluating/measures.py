"""Statistics of weighted values: mean, percentile, trend, correlation. Rows weigh by the time they stand for."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import mul, ne

from diagnoser.rules.evaluating.parts import Part
from diagnoser.rules.evaluating.value import UNKNOWN, Value

#: A trend or correlation needs this many rows.
FEWEST = 3


class Distribution:
    """The values of an expression in order, of which any percentile can be read."""

    def __init__(self, parts: Sequence[Part]) -> None:
        weights = [part.weights for part in parts]
        #: Time that stands at each value or below it; empty where all rows weigh the same, as where a timer prints.
        self._reached: list[float] = []
        if _even(weights):
            self._values = sorted(values_of(parts))
            self._total = float(len(self._values))
            return
        values = list(values_of(parts))
        seconds = list(chain.from_iterable(weights))
        order = sorted(range(len(values)), key=values.__getitem__)
        self._values = list(map(values.__getitem__, order))
        self._total = math.fsum(seconds)
        self._reached = list(accumulate(map(seconds.__getitem__, order)))

    def __len__(self) -> int:
        return len(self._values)

    def percentile(self, share: float) -> float:
        """Return the weighted nearest-rank percentile: the least value that ``share`` of the time does not exceed.

        With equal weights this is ``sorted(values)[ceil(share * n) - 1]``.
        """
        # A hair less, so that rounding in the sum never asks for the next value.
        wanted = share * self._total * (1 - 1e-9)
        at = bisect_left(self._reached, wanted) if self._reached else math.ceil(wanted) - 1
        return self._values[min(at, len(self._values) - 1)]


def _even(weights: Iterable[Sequence[float]]) -> bool:
    """Whether all rows weigh the same."""
    lightest, heaviest = math.inf, 0.0
    for each in weights:
        if each:
            lightest, heaviest = min(lightest, min(each)), max(heaviest, max(each))
    return lightest == heaviest


def values_of(parts: Iterable[Part]) -> Iterable[float]:
    """Yield the values of all parts."""
    return chain.from_iterable(part.values for part in parts)


def mean(parts: Sequence[Part]) -> float:
    """Return the mean weighted by time. Of truths: the share of time in which they hold."""
    total = area = 0.0
    for part in parts:
        weights = part.weights
        total += math.fsum(weights)
        area += math.fsum(map(mul, part.values, weights))
    return area / total


def slope(parts: Sequence[Part]) -> Value:
    """Least squares over time within each rank, pooled: change per minute."""
    above = below = 0.0
    rows = 0
    for part in parts:
        if not part.rows.timed:
            continue
        weights, printed = part.weights, part.times
        if any(map(ne, printed, printed)):
            weights = [weight if time == time else 0.0 for time, weight in zip(printed, weights, strict=True)]
            if not any(weights):
                continue
        rows += len(weights)
        times = _centred([time if time == time else 0.0 for time in printed], weights)
        values = _centred(part.values, weights)
        above += _moment(weights, times, values)
        below += _moment(weights, times, times)
    return above / below * 60 if rows >= FEWEST and below > 0 else UNKNOWN


def corr(parts: Sequence[Part]) -> Value:
    """Correlation of two expressions over all rows, weighted by time; UNKNOWN when one of them never changes."""
    weights = list(chain.from_iterable(part.weights for part in parts))
    one = _centred(list(values_of(parts)), weights)
    two = _centred([value for part in parts for value in part.second or ()], weights)
    spread = _moment(weights, one, one) * _moment(weights, two, two)
    if len(weights) < FEWEST or spread <= 0:
        return UNKNOWN
    return max(-1.0, min(1.0, _moment(weights, one, two) / math.sqrt(spread)))


def _centred(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Values minus their weighted mean."""
    middle = sum(map(mul, values, weights)) / sum(weights)
    return [value - middle for value in values]


def _moment(weights: Sequence[float], one: Sequence[float], two: Sequence[float]) -> float:
    """Weighted sum of products."""
    total: float = sum(map(mul, map(mul, one, two), weights))
    return total
