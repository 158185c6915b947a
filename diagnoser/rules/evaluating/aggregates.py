"""Aggregates over the rows of all ranks. Means, shares and percentiles are weighted by the time a row stands for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import mul

from diagnoser.language import phrase
from diagnoser.model import Run
from diagnoser.rules.evaluating import windows
from diagnoser.rules.evaluating.measures import Distribution, corr, mean, slope, values_of
from diagnoser.rules.evaluating.parts import Part, compile_aggregate, gather, preferred
from diagnoser.rules.evaluating.rows import Rows, rows_of
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, Value, unknown
from diagnoser.rules.evaluating.vector import Undecided
from diagnoser.rules.functions import PERCENTILE
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk

#: What would decide a stretch or a window in a log without times.
TIMES = phrase("times in the log")

#: Values that are kept in order for the next percentile of the same expression.
MOST_KEPT = 200_000


class Samples:
    """The samples of one run and every aggregate asked of them, computed once."""

    def __init__(
        self,
        run: Run,
        scalar: Callable[[Node], Answer],
        missing: Callable[[frozenset[str]], str],
        loaded: Callable[[], Answer],
    ) -> None:
        self._run = run
        self._scalar = scalar
        self._missing = missing
        self._loaded = loaded
        self.rows, self.served = rows_of(run)
        self._distributions: dict[tuple[object, ...], Distribution] = {}
        self._kept = 0
        self._answers: dict[Node, Answer] = {}

    def answer(self, node: Node) -> Answer:
        """Return the value of an ``aggregate`` or ``ranked`` node."""
        known = self._answers.get(node)
        if known is None:
            known = self._ranked(node) if node.op == "ranked" else self._aggregate(node, self.rows)
            self._answers[node] = known
        return known

    def parts(self, node: Node, tables: Iterable[Rows] | None = None) -> list[Part]:
        """Return the rows and values behind an ``aggregate`` node. Raises Undecided when there are none."""
        pieces = compile_aggregate(node, self._scalar)
        return gather(pieces, self.rows if tables is None else tables, self._missing)

    def _ranked(self, node: Node) -> Answer:
        best = self._best_rank(node)
        return self._aggregate(node.args[1], self.rows) if best is None else best[0]

    def _best_rank(self, node: Node) -> tuple[Answer, Rows] | None:
        """Return the rank whose own value is the highest or lowest, the first of equals."""
        which, inner = node.args
        tables = preferred(self.rows, compile_aggregate(inner, self._scalar).series)
        if len(self.rows) == 1:
            answers = [(self.answer(inner), rows) for rows in tables]
        else:
            answers = [(self._aggregate(inner, [rows]), rows) for rows in tables]
        known = [pair for pair in answers if pair[0].known]
        return (max if which == "most" else min)(known, key=lambda pair: float(pair[0].value), default=None)

    def ranking(self, node: Node) -> list[Part]:
        """Return the rows behind a ``ranked`` node: those of the rank that it speaks of. Raises Undecided."""
        best = self._best_rank(node)
        return self.parts(node.args[1], self.rows if best is None else [best[1]])

    def _aggregate(self, node: Node, tables: Iterable[Rows]) -> Answer:
        name, _, _, _, overall, length = node.args
        try:
            parts = self.parts(node, tables)
        except Undecided as signal:
            return _of_nothing(name, signal.answer)
        if name in ("longest", "sustained"):
            return _stretch(windows.longest(parts), length)
        if name == "gap":
            silence = windows.gap(parts, self._run.ended, overall, node.args[3] is not None)
            return _timed(None if silence is None else silence.seconds)
        if name in ("best", "worst"):
            return _timed(windows.extreme_mean(parts, length, max if name == "best" else min))
        if name == "rate":
            return self._rate(node, parts)
        if name == "sum":
            return Answer(math.fsum(_sums(node, parts)))
        if name == "delta":
            return Answer(_delta(node, parts))
        percent = PERCENTILE.match(name)
        if percent:
            return Answer(self._distribution(node, parts).percentile(int(percent[1]) / 100))
        value = _PLAIN[name](parts)
        return unknown(phrase("more samples")) if value is UNKNOWN else Answer(value)

    def _distribution(self, node: Node, parts: Sequence[Part]) -> Distribution:
        """Put the values in order, once for all percentiles of an expression."""
        key = (node.args[1:5], tuple(part.rows.table.group for part in parts))
        known = self._distributions.get(key)
        if known is None:
            known = Distribution(parts)
            if self._kept + len(known) <= MOST_KEPT:
                self._kept += len(known)
                self._distributions[key] = known
        return known

    def _rate(self, node: Node, parts: list[Part]) -> Answer:
        """Events of the interval (or growth of a total) per second of loaded time."""
        loaded = self._loaded()
        if not loaded.known or not loaded.value:
            return unknown(*(loaded.needs or {TIMES}))
        grown = _delta(node, parts) if "total" in _kinds(node, parts) else math.fsum(_sums(node, parts))
        return Answer(grown / loaded.value)


def _of_nothing(name: str, answer: Answer) -> Answer:
    """Return what an aggregate is over no rows: idle samples have a count, a sum and no stretch."""
    if any(need.startswith("samples ") for need in answer.needs):
        if name in ("samples", "sum", "longest", "rate"):
            return Answer(0)
        if name == "sustained":
            return Answer(False)
    return answer


def _timed(value: float | None) -> Answer:
    return unknown(TIMES) if value is None else Answer(value)


def _stretch(best: windows.Stretch | None, length: float | None) -> Answer:
    """Return the length of the longest stretch, or whether it reaches ``length``."""
    if best is None:
        return Answer(0.0 if length is None else False)
    if best.seconds is None:
        return unknown(TIMES) if length is None else Answer(best.lines >= windows.LINES_IN_A_ROW)
    return Answer(best.seconds if length is None else best.seconds >= length)


def _end_of(parts: Sequence[Part], last: bool) -> float:
    """Return the first or last value by time; by rank where times are equal or missing."""
    at = -1 if last else 0
    timed = [(part.times[at], part.values[at]) for part in parts]
    known = [pair for pair in timed if pair[0] == pair[0]] or timed[:1]
    choose = max if last else min
    _, value = choose(known, key=lambda pair: pair[0])
    return float(value)


def _kinds(node: Node, parts: Iterable[Part]) -> set[str]:
    names = {part.args[0] for part in walk(node.args[1]) if part.op == "series"}
    return {part.rows.table.kinds.get(name, "gauge") for part in parts for name in names}


def _sums(node: Node, parts: list[Part]) -> Iterable[float]:
    """Values to add up: counts as they are (coarsened rows hold sums), levels once for each line they stand for."""
    if "count" in _kinds(node, parts):
        yield from values_of(parts)
    else:
        for part in parts:
            yield from map(mul, part.values, part.lines)


def _delta(node: Node, parts: list[Part]) -> float:
    """Last minus first: added up over ranks for totals, averaged over ranks for levels."""
    deltas = [part.values[-1] - part.values[0] for part in parts]
    return math.fsum(deltas) if "total" in _kinds(node, parts) else math.fsum(deltas) / len(deltas)


_PLAIN: dict[str, Callable[[Sequence[Part]], Value]] = {
    "mean": mean,
    "share": mean,
    "min": lambda parts: min(values_of(parts)),
    "max": lambda parts: max(values_of(parts)),
    "first": lambda parts: _end_of(parts, last=False),
    "last": lambda parts: _end_of(parts, last=True),
    "samples": lambda parts: math.fsum(line for part in parts for line in part.lines),
    "groups": len,
    "slope": slope,
    "corr": corr,
}
