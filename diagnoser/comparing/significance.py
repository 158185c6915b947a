"""Whether two levels differ by more than they fluctuate: ranks of stretches of time, discounted for memory.

Neighbouring stretches of one run are alike, so that their number overstates what is known. The variance of the rank sum
is raised by the autocorrelation that each side shows (docs/compare.md has the reasons and the assumptions).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, fsum, sqrt
from typing import NamedTuple

#: Independent stretches that a side must be worth; below it a rank test can show nothing at this level.
LEAST = 5.0

#: With more autocorrelation from one stretch to the next than this the side drifts, and has no level to compare.
DRIFT = 0.5

#: Autocorrelations around an estimated mean come out too small, by 1/n and more the longer the memory.
_BIAS = 2.0


class Shown(NamedTuple):
    """``p`` is two-sided, None where too little is known; ``worth`` are the independent stretches of each side."""

    p: float | None
    worth: tuple[float, float]
    drifts: bool = False


def compare(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Shown:
    """Compare the stretches of two sides; each side is one series of stretches or several (one a run)."""
    before, after = ([settled(series) for series in side] for side in (before, after))
    correlations = [_autocorrelations(side) for side in (before, after)]
    # Two runs of one server remember about as long; the longer of two rough estimates is the safer one.
    tau = max(1 + 2 * fsum(one) for one in correlations)
    flat = [[value for series in side for value in series] for side in (before, after)]
    worth = (len(flat[0]) / tau, len(flat[1]) / tau)
    drifts = any(one[:1] and one[0] > DRIFT for one in correlations)
    if drifts or min(worth) < LEAST:
        return Shown(None, worth, drifts)
    return Shown(_ranks(flat[0], flat[1], worth), worth)


def settled(series: Sequence[float]) -> Sequence[float]:
    """Leave out the ramp at the start: the cut, in the first quarter, behind which the mean is known best.

    The marginal standard error rule of simulation output analysis (White 1997).
    """
    if len(series) < 2 * LEAST:
        return series
    best, cut = float("inf"), 0
    for start in range(len(series) // 4 + 1):
        rest = series[start:]
        mean = fsum(rest) / len(rest)
        error = fsum((value - mean) ** 2 for value in rest) / len(rest) ** 2
        # By rounding alone a later cut of a level series may look better.
        if error < best * (1 - 1e-9):
            best, cut = error, start
    return series[cut:]


def _autocorrelations(side: Sequence[Sequence[float]]) -> list[float]:
    """Return those of lag 1, 2, ... up to the first that is not positive, over all series of a side."""
    series = [values for values in side if len(values) > 1]
    number = sum(map(len, series))
    centred = [[value - fsum(values) / len(values) for value in values] for values in series]
    variance = fsum(value * value for values in centred for value in values)
    found: list[float] = []
    if number < 2 or variance <= 0:
        return found
    for lag in range(1, max(map(len, series)) // 2 + 1):
        products = fsum(values[i] * values[i + lag] for values in centred for i in range(len(values) - lag))
        correlation = products / variance + _BIAS / number
        if correlation <= 0:
            break
        found.append(correlation)
    return found


def _ranks(before: Sequence[float], after: Sequence[float], worth: tuple[float, float]) -> float:
    """Mann-Whitney's U with ties and continuity, its spread widened to the independent stretches of both sides."""
    n, m = len(before), len(after)
    u = sum((new > old) + (new == old) / 2 for new in after for old in before)
    counts: dict[float, int] = {}
    for value in (*before, *after):
        counts[value] = counts.get(value, 0) + 1
    ties = sum(count**3 - count for count in counts.values()) / ((n + m) * (n + m - 1))
    variance = n * m / 12 * (n + m + 1 - ties)
    # Var(U)/(nm)^2 is about (1/n + 1/m)/12: with fewer independent stretches on either side it grows alike.
    variance *= (1 / worth[0] + 1 / worth[1]) / (1 / n + 1 / m)
    if variance <= 0:
        return 1.0
    return erfc(max(0.0, abs(u - n * m / 2) - 0.5) / sqrt(variance) / sqrt(2))
