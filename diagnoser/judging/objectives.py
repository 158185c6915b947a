"""Service level objectives against what was measured: the share that meets each, and goodput, which meets all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from diagnoser.contracts.figurerows import Objective
from diagnoser.language import phrase
from diagnoser.model import Fact, Run
from diagnoser.observations import Requests
from diagnoser.tables.spread import Spread, best, merged

#: Objective -> what it is called, and the series that it is asked of.
NAMES = {
    "ttft": (phrase("time to first token"), "latency.ttft"),
    "tpot": (phrase("time per output token"), "latency.tpot"),
    "itl": (phrase("time between tokens"), "latency.itl"),
    "e2e": (phrase("whole request"), "latency.e2e"),
}
#: Results of requests one by one whose goodput is told.
MOST_SETS = 12


def objectives(run: Run) -> list[Objective]:
    """Return how each objective of the run (facts ``slo.*``) is met; none where none is set or nothing was measured."""
    limits = {name: float(fact.value) for name in NAMES if (fact := run.facts.get(f"slo.{name}")) is not None}
    found = [one for name, limit in limits.items() if (one := _single(run, name, limit)) is not None]
    return [*found, *(_goodput(requests, limits) for requests in _countable(run.requests, limits)[:MOST_SETS])]


def goodput_facts(run: Run) -> list[Fact]:
    """Return facts ``goodput.*`` of the result with the most requests per second that meet every objective."""
    good = [one for one in objectives(run) if one.name == "goodput"]
    if not good:
        return []
    best = max(good, key=lambda one: (one.rate or 0.0, one.share or 0.0))
    requests = next(one for one in run.requests if one.origin.source == best.source and one.origin.line == best.line)
    told = {"goodput.share": best.share, "goodput.rps": best.rate, "goodput.requests": float(best.samples)}
    return [Fact(name, value, requests.origin, requests.text) for name, value in told.items() if value is not None]


def _single(run: Run, name: str, limit: float) -> Objective | None:
    title, series = NAMES[name]
    spread = _joined(run.spreads.get(series, ()))
    if spread is None:
        return None
    above = spread.above(limit)
    share = None if above is None else 1 - above
    bounds = [share, share] if share is not None and not spread.buckets else _bounds(spread, limit)
    return Objective(
        name, title, limit, share, int(spread.count), None, spread.medium, spread.source, spread.line, bounds
    )


def _joined(spreads: Iterable[Spread]) -> Spread | None:
    """Join what told most exactly: requests one by one, then the server's histograms, then a few percentiles."""
    every = list(spreads)
    return merged([one for one in every if one.values]) or best(every)


def _bounds(spread: Spread, limit: float) -> list[float]:
    """Return the least and the most share that a few percentiles, or the bucket around it, leave for a level."""
    everything = fsum(number for _, number in spread.buckets)
    below = 0.0
    for upper, number in spread.buckets if everything else ():
        most = below + number
        if limit <= upper:
            return [(most if limit == upper else below) / everything, most / everything]
        below = most
    met = [share for share, value in spread.given.items() if value <= limit]
    missed = [share for share, value in spread.given.items() if value > limit]
    return [max(met, default=0.0), min(missed, default=1.0)]


def _countable(sets: Sequence[Requests], limits: dict[str, float]) -> list[Requests]:
    """Return the results that tell every objective of each request; the mean gap stands in for "itl"."""
    return [one for one in sets if limits and all(_column(one, name) is not None for name in limits)]


def _column(requests: Requests, name: str) -> Sequence[float] | None:
    return requests.columns.get(name, requests.columns.get("tpot") if name == "itl" else None)


def _goodput(requests: Requests, limits: dict[str, float]) -> Objective:
    columns = [(_column(requests, name) or (), limit, name) for name, limit in limits.items()]
    meeting = 0
    for at in range(len(requests)):
        # A request of one token has no time per token to miss; without a first token it has missed that.
        values = [(column[at], limit, name) for column, limit, name in columns]
        if all(value <= limit or (value != value and name in ("tpot", "itl")) for value, limit, name in values):
            meeting += 1
    every = len(requests) + requests.failed
    rate = meeting / requests.duration if requests.duration else None
    share = meeting / every if every else None
    source, line = requests.origin.source, requests.origin.line
    title, bounds = phrase("requests that meet all"), [share or 0.0, share if share is not None else 1.0]
    return Objective("goodput", title, None, share, every, rate, requests.medium, source, line, bounds, requests.failed)
