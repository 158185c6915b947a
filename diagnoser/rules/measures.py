"""Statistics of weighted values: mean, percentile, trend, correlation. Rows weigh by the time they stand for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul, ne

from diagnoser.rules.parts import Part
from diagnoser.rules.value import UNKNOWN, Value

#: A trend or correlation needs this many rows.
FEWEST = 3


def percentile(parts: Sequence[Part], share: float) -> float:
    """Return the weighted nearest-rank percentile: the least value that ``share`` of the time does not exceed.

    With equal weights this is ``sorted(values)[ceil(share * n) - 1]``.
    """
    if _even(parts):
        ordered = sorted(values_of(parts))
        return ordered[math.ceil(share * len(ordered) * (1 - 1e-9)) - 1]
    weight: dict[float, float] = {}
    for part in parts:
        for value, seconds in zip(part.values, part.weights, strict=True):
            weight[value] = weight.get(value, 0.0) + seconds
    # A hair less, so that rounding in the sum never asks for the next value.
    wanted = math.fsum(weight.values()) * share * (1 - 1e-9)
    reached = 0.0
    value = math.nan
    for value in sorted(weight):
        reached += weight[value]
        if reached >= wanted:
            break
    return value


def _even(parts: Sequence[Part]) -> bool:
    """Whether all rows weigh the same, as they do where a timer prints them."""
    lightest, heaviest = math.inf, 0.0
    for part in parts:
        if part.weights:
            lightest, heaviest = min(lightest, min(part.weights)), max(heaviest, max(part.weights))
    return lightest == heaviest


def values_of(parts: Iterable[Part]) -> Iterable[float]:
    """Yield the values of all parts."""
    return (value for part in parts for value in part.values)


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
        weights = part.weights
        if any(map(ne, part.times, part.times)):
            weights = [weight if time == time else 0.0 for time, weight in zip(part.times, weights, strict=True)]
            if not any(weights):
                continue
        times = [time if time == time else 0.0 for time in part.times]
        rows += len(weights)
        times, values = _centred(times, weights), _centred(part.values, weights)
        above += _moment(weights, times, values)
        below += _moment(weights, times, times)
    return above / below * 60 if rows >= FEWEST and below > 0 else UNKNOWN


def corr(parts: Sequence[Part]) -> Value:
    """Correlation of two expressions over all rows, weighted by time; UNKNOWN when one of them never changes."""
    weights = [weight for part in parts for weight in part.weights]
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
