"""Distributions in expressions: percentiles, means and shares over requests, from whatever told most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nextafter

from diagnoser.contracts.figurerows import exact
from diagnoser.language import phrase
from diagnoser.rules.evaluating.logic import number
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, Proof, unknown
from diagnoser.rules.functions import PERCENTILE
from diagnoser.rules.model import Node
from diagnoser.tables.spread import INF, Spread, best, of_requests

#: What would decide where a histogram's buckets or a few percentiles do not.
REQUESTS = phrase("the requests one by one (a client's CSV, vllm bench serve --save-detailed)")

#: Functions of a spread besides percentiles and share.
OF_SPREADS = ("mean", "samples", "sum")


class Spreads:
    """The distributions of one run. A server's own histograms count before what clients measured."""

    def __init__(
        self,
        spreads: Mapping[str, Sequence[Spread]],
        scalar: Callable[[Node], Answer],
        missing: Callable[[frozenset[str]], str],
    ) -> None:
        self._spreads = spreads
        self.given = bool(spreads)
        self._scalar = scalar
        self._missing = missing
        self._joined: dict[str, Spread | None] = {}

    def joined(self, name: str) -> Spread | None:
        """Return the distribution of a series over all ranks, None when nothing told it."""
        if name not in self._joined:
            self._joined[name] = best(self._spreads.get(name, ()))
        return self._joined[name]

    def answer(self, node: Node) -> Answer:
        """Return the value of a ``spread`` node: (function, series node, level node or None, comparison)."""
        function, series, level, op = node.args
        name = series.args[0]
        spread = self.joined(name)
        if spread is None:
            return unknown(self._missing(frozenset((name,))))
        if function == "share":
            limit = self._scalar(level)
            against = number(limit.value)
            if against is UNKNOWN:
                return Answer(UNKNOWN, limit.needs)
            above = spread.above(against)
            return _known(above if above is None or op.startswith(">") else 1 - above)
        if function == "samples":
            return Answer(spread.count)
        if function == "sum":
            return _known(spread.total if spread.total == spread.total else None)
        percent = PERCENTILE.match(function)
        return _known(spread.quantile(int(percent[1]) / 100) if percent else spread.mean)

    def limits(self, node: Node) -> tuple[float, float] | None:
        """Return what a percentile lies between where buckets leave it open, so that no one number tells it."""
        within = self.ends(node) if PERCENTILE.match(node.args[0]) else None
        value = self.answer(node).value
        if within is None or value is UNKNOWN or exact(value, *within):
            return None
        return within if within[1] < INF else None

    def ends(self, node: Node) -> tuple[float, float] | None:
        """Return what a percentile or a share is not below and not above, by its buckets; None where there are none.

        Where clients timed the requests too, and what they saw lies within, it is that.
        """
        function, series, level, op = node.args
        name, percent = series.args[0], PERCENTILE.match(function)
        spread, seen = self.joined(name), of_requests(self._spreads.get(name, ()))
        if spread is None or not spread.buckets or not (percent or function == "share"):
            return None
        if percent:
            share = int(percent[1]) / 100
            limits, timed = spread.within(share), seen.quantile(share) if seen is not None else None
            # A bucket holds what is above its lower bound.
            limits = limits and (nextafter(limits[0], INF) if limits[0] else 0.0, limits[1])
        else:
            against = number(self._scalar(level).value)
            limits = None if against is UNKNOWN else spread.above_within(against)
            timed = None if against is UNKNOWN or seen is None else seen.above(against)
            if not op.startswith(">"):
                limits, timed = limits and (1 - limits[1], 1 - limits[0]), None if timed is None else 1 - timed
        return (timed, timed) if limits and timed is not None and limits[0] <= timed <= limits[1] else limits

    def prove(self, node: Node) -> list[Proof]:
        """Return the lines that the value was computed from: sum and count of a mean, the bucket of a percentile."""
        function, series, level, _ = node.args
        spread = self.joined(series.args[0])
        if spread is None:
            return []
        value = self._scalar(level if function == "share" else node).value
        bucket = None if function in OF_SPREADS or value is UNKNOWN else spread.bound(value)
        keys: tuple[str | float, ...] = ("sum", "count") if bucket is None else (bucket, "count")
        lines = [spread.places[key] for key in keys if key in spread.places] or [(spread.line, spread.text)]
        return [Proof("sample", spread.source, line, None, text, medium=spread.medium) for line, text in lines]


def _known(value: float | None) -> Answer:
    return unknown(REQUESTS) if value is None else Answer(value)
