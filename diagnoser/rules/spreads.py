"""Distributions in expressions: percentiles, means and shares over requests, from whatever told most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from diagnoser.rules.functions import PERCENTILE
from diagnoser.rules.logic import number
from diagnoser.rules.model import Node
from diagnoser.rules.value import UNKNOWN, Answer, Proof, unknown
from diagnoser.spread import Spread, merged
from diagnoser.table import MEDIA

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
        self._scalar = scalar
        self._missing = missing
        self._joined: dict[str, Spread | None] = {}

    def joined(self, name: str) -> Spread | None:
        """Return the distribution of a series over all ranks, None when nothing told it."""
        if name not in self._joined:
            found = self._spreads.get(name, ())
            media = {one.medium for one in found}
            medium = next((one for one in MEDIA if one in media), "")
            self._joined[name] = merged([one for one in found if one.medium == medium])
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

    def prove(self, node: Node) -> list[Proof]:
        """Return the line that counts what the spread is made of."""
        spread = self.joined(node.args[1].args[0])
        return [Proof("sample", spread.source, spread.line, None, spread.text)] if spread else []


def _known(value: float | None) -> Answer:
    return unknown("the requests themselves") if value is None else Answer(value)
