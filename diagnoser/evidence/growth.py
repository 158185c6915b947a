"""Numbers of metrics pages by reference: levels, what counters grew by, shares, and histograms between scrapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diagnoser.evidence.scrapes import Labels, Scrapes
from diagnoser.knowledge.metricref import COUNTERS, MetricRef, Term, key
from diagnoser.knowledge.vocabulary import Series
from diagnoser.observations import Exposed
from diagnoser.tables.spread import Spread
from diagnoser.tables.table import NAN, Group

#: A number and the sample line that tells most of it.
Found = tuple[float, Exposed | None]


class View:
    """Numbers of one server's pages, by reference and rank."""

    def __init__(self, scrapes: Scrapes, groups: Mapping[Labels, Group]) -> None:
        self.scrapes = scrapes
        self.groups = groups

    def number(self, at: int, ref: MetricRef, group: Group, series: Series) -> Found | None:
        """Return what a series is on page ``at``; None where the page, or the one before it, does not tell."""
        page = self.scrapes.pages[at]
        if ref.bits:
            return self._flag(at, ref, group)
        combine = max if series.unit == "ratio" and series.kind == "gauge" and not ref.over else _added
        if ref.over:
            grow = all(_counts(term, page.counters) for term in (*ref.terms, *ref.over))
            above, below = self._sum(at, ref.terms, group, grow, _added), self._sum(at, ref.over, group, grow, _added)
            return (above[0] / below[0], above[1] or below[1]) if above and below and below[0] else None
        found = self._sum(at, ref.terms, group, ref.form == "rate" or series.kind == "count", combine)
        if found is None or not ref.form:
            return found
        if ref.form != "rate":
            return found if found[0] > 0 or (found[0] == 0 and ref.form == "valid") else None
        before = self.scrapes.pages[at - 1].time
        passed = page.time - before if page.time is not None and before is not None else 0.0
        return (found[0] / passed, found[1]) if passed > 0 else None

    def _flag(self, at: int, ref: MetricRef, group: Group) -> Found | None:
        """Return whether a mask has one of the wanted bits set."""
        samples = self.scrapes.value(at, key(ref.terms[0].name)) or {}
        here = [one for labels, one in samples.items() if self.groups.get(labels, ()) == group]
        taken = [
            (float(bool(int(one.value) & ref.bits)), one)
            for one in here
            if ref.terms[0].takes(one.labels) and 0 <= one.value < 1 << 63
        ]
        return max(taken, key=lambda pair: pair[0], default=None)

    def mean(self, at: int, ref: MetricRef, group: Group) -> Found | None:
        """Return the mean of a histogram between page ``at`` and the one before."""
        sums = self._sum(at, _suffixed(ref.terms, "_sum"), group, True, _added)
        counts = self._sum(at, _suffixed(ref.terms, "_count"), group, True, _added)
        return (sums[0] / counts[0], counts[1]) if sums and counts and counts[0] > 0 else None

    def _sum(self, at: int, terms: Sequence[Term], group: Group, grow: bool, combine: Any) -> Found | None:
        found = [one for term in terms if (one := self._term(at, term, group, grow, combine)) is not None]
        if not found:
            return None
        return combine(value for value, _ in found), next((sample for _, sample in found if sample), None)

    def _term(self, at: int, term: Term, group: Group, grow: bool, combine: Any) -> Found | None:
        name = key(term.name)
        if grow:
            grown = self.scrapes.grown(at, name)
            samples = None if grown is None else grown
        else:
            plain = self.scrapes.value(at, name)
            samples = None if plain is None else {labels: (one.value, one) for labels, one in plain.items()}
        if samples is None:
            return None
        here = [pair for labels, pair in samples.items() if self.groups.get(labels, ()) == group]
        taken = [pair for pair in here if term.takes(pair[1].labels)]
        if not taken:
            # A label set that nobody counted yet is zero where its metric is there.
            return (0.0, None) if here and term.where else None
        telling = max(taken, key=lambda pair: pair[0])
        return combine(value for value, _ in taken), telling[1]


def _added(values: Iterable[float]) -> float:
    return math.fsum(values)


def _counts(term: Term, declared: frozenset[str]) -> bool:
    return term.name.endswith(COUNTERS) or key(term.name) in declared


def _suffixed(terms: Sequence[Term], suffix: str) -> list[Term]:
    return [term._replace(name=term.name + suffix) for term in terms]


def histogram(view: View, refs: Sequence[MetricRef], group: Group, medium: str) -> Spread | None:
    """Add up what a histogram grew by from page to page."""
    for ref in refs:
        for term in ref.terms:
            spread = _histogram(view, term, group, medium, ref.scale)
            if spread is not None:
                return spread
    return None


def _histogram(view: View, term: Term, group: Group, medium: str, scale: float) -> Spread | None:
    scrapes = view.scrapes
    grown: dict[float, float] = {}
    parts: dict[str, float] = {}
    places: dict[str | float, tuple[int, str]] = {}
    source = ""
    for at in range(1, len(scrapes.pages)):
        for part in ("bucket", "sum", "count"):
            for labels, (number, sample) in (scrapes.grown(at, key(f"{term.name}_{part}")) or {}).items():
                if view.groups.get(labels, ()) != group or not term.takes(sample.labels):
                    continue
                if part != "bucket":
                    parts[part] = parts.get(part, 0.0) + number
                    places[part] = (sample.line, sample.text)
                    source = scrapes.pages[at].source
                elif (bound := _bound(sample.labels.get("le", ""))) is not None:
                    grown[bound] = grown.get(bound, 0.0) + number
                    places[bound if bound == math.inf else bound * scale] = (sample.line, sample.text)
    count, total = parts.get("count", 0.0), parts.get("sum", NAN)
    if count < 1:
        return None
    grown.setdefault(math.inf, count)
    buckets, below = [], 0.0
    for bound in sorted(grown):
        # Buckets are cumulative; one that lost a scrape may lie below its neighbour.
        buckets.append((bound * scale if bound != math.inf else bound, max(grown[bound] - below, 0.0)))
        below = max(below, grown[bound])
    line, text = places["count"]
    return Spread(medium, count, total * scale, source, line, text, buckets=buckets, places=places)


def _bound(text: str) -> float | None:
    try:
        bound = float(text)
    except ValueError:
        return None
    return bound if bound == bound else None
