"""Percentiles of a run's latencies with bounds, for the report: how far the samples pin each of them down."""

from __future__ import annotations

from math import sqrt

from diagnoser.contracts.figurerows import SpreadRow
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.model import Run
from diagnoser.tables.spread import INF, Spread, best, of_requests

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

#: Requests of one moment share the queue and the batch: ten of them are taken for one independent request.
ALIKE = 10

#: Two-sided 99 %: several percentiles are looked at together.
_WIDTH = 2.576

#: Fewer requests above a percentile than this (before ``ALIKE``), and it is the luck of a few.
_TAIL = 5


#: The distributions that a report shows, in this order: where the time to the first token goes, then what follows.
SHOWN = (
    "latency.ttft",
    "latency.queue",
    "latency.prefill",
    "latency.tpot",
    "latency.itl",
    "latency.e2e",
    "request.prompt_tokens",
    "request.output_tokens",
)


#: What clients see more of than the engine: the way there and back, and whatever serves HTTP in front of it.
OUTSIDE = ("latency.ttft", "latency.e2e")


def spreads(run: Run, vocabulary: Vocabulary) -> dict[str, SpreadRow]:
    """Return the shown distributions of a run: of requests one by one where clients timed them, else of the server.

    A histogram knows a percentile to its bucket, a list of requests knows it: the first is shown beside the second.
    """
    out: dict[str, SpreadRow] = {}
    for name in SHOWN:
        every, series = run.spreads.get(name, ()), vocabulary.series.get(name)
        spread = best(every)
        if spread is None or series is None:
            continue
        timed = of_requests(every)
        out[name] = _row(timed or spread, series)
        if timed is not None and spread.medium == "metrics":
            out[name].served = _row(spread, series)
            out[name].outside = _outside(timed, spread) if name in OUTSIDE else None
        if name in OUTSIDE and spread.medium == "metrics":
            (out[name].served or out[name]).front = _front(run, spread)
    return out


def _front(run: Run, served: Spread) -> float | None:
    """Return by how much the mean request is longer at the HTTP server than in its engine.

    None unless both, and the distribution at hand, tell of equally many requests: refused ones reach no engine, and of
    those that were given up the engine counts no end. Both are timed in one process, so less than nothing is no answer.
    """
    whole, ended = best(run.spreads.get("latency.http", ())), best(run.spreads.get("latency.e2e", ()))
    if whole is None or ended is None or not whole.count == ended.count == served.count:
        return None
    longer = _outside(whole, ended)
    return longer if longer is not None and longer >= 0 else None


def _row(spread: Spread, series: Series) -> SpreadRow:
    found = {label: _bounded(spread, share) for label, share in PERCENTILES.items()}
    known = {label: values for label, values in found.items() if values[0] is not None}
    row = SpreadRow(series.name, series.title, series.unit, spread.medium, int(spread.count), spread.mean, known)
    for label, share in PERCENTILES.items():
        limits = spread.within(share) if spread.buckets else None
        if limits is not None:
            row.bounds[label] = [limits[0], None if limits[1] == INF else limits[1]]
    return row


def _outside(timed: Spread, served: Spread) -> float | None:
    """Return by how much the mean is longer at the clients; None unless both tell of equally many requests."""
    if timed.count != served.count or timed.mean is None or served.mean is None:
        return None
    return timed.mean - served.mean


def _bounded(spread: Spread, share: float) -> list[float | None]:
    """[value, low, high]: bounds by the ranks that a percentile of so many requests may fall on.

    Of a histogram the bounds are widened to those of their buckets: where a value lies inside a bucket nobody knows.
    """
    value = spread.quantile(share)
    if value is None or spread.given or spread.count * (1 - share) < _TAIL:
        return [value, None, None]
    margin = _WIDTH * sqrt(share * (1 - share) * ALIKE / spread.count)
    if share - margin <= 0 or share + margin >= 1:
        return [value, None, None]
    if spread.values:
        return [value, spread.quantile(share - margin), spread.quantile(share + margin)]
    low, high = _bucket(spread, share - margin)[0], _bucket(spread, share + margin)[1]
    return [value, low, None if high == INF else high]


def _bucket(spread: Spread, share: float) -> tuple[float, float]:
    wanted, reached, lower = share * sum(number for _, number in spread.buckets), 0.0, 0.0
    for upper, number in spread.buckets:
        reached += number
        if number and reached >= wanted:
            return lower, upper
        lower = upper
    return lower, INF
