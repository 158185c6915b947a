"""Metrics pages to samples: names of every generation become series, counters become growth, histograms spreads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diagnoser.evidence.scrapes import Labels, Scrapes
from diagnoser.knowledge.metricref import COUNTERS, MetricRef, Term, key, parse_ref
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.model import NAN, Fact, Group, Origin, Table
from diagnoser.observations import Exposed
from diagnoser.spread import Spread

#: Labels that tell ranks of one server apart, and what a log calls them.
RANKS = {"engine": "engine", "engine_index": "engine", "dp_rank": "dp", "gpu": "gpu", "GPU": "gpu"}

#: Suffixes of the sample lines of one histogram.
PARTS = ("_bucket", "_sum", "_count")

Found = tuple[float, Exposed | None]


@dataclass(slots=True)
class Metered:
    """What the pages of one server tell of one writer (an engine, a router, an exporter of GPU figures)."""

    writer: str
    server: str
    first: Origin
    started: float | None
    ended: float | None
    tables: dict[Group, Table] = field(default_factory=dict)
    spreads: dict[str, list[Spread]] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    pages: int = 0


class Meter:
    """Reads the metrics that the vocabulary names; one for a whole diagnosis."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._kinds = {name: series.kind for name, series in vocabulary.series.items()}
        self._series: dict[str, list[tuple[Series, list[MetricRef]]]] = {}
        self._facts: dict[str, list[tuple[str, str, list[MetricRef]]]] = {}
        for series in vocabulary.series.values():
            for writer, refs in series.metric.items():
                self._series.setdefault(writer, []).append((series, [parse_ref(ref) for ref in refs]))
        for fact in vocabulary.facts.values():
            for writer, refs in fact.metric.items():
                self._facts.setdefault(writer, []).append((fact.name, fact.type, [parse_ref(ref) for ref in refs]))
        self._names = {writer: frozenset(_names(entries)) for writer, entries in self._series.items()}
        self._wanted = frozenset().union(*self._names.values(), *(_fact_names(one) for one in self._facts.values()))

    def wanted(self, name: str) -> bool:
        """Whether some series or fact is made of this metric."""
        return name in self._wanted

    def read(self, scrapes: Scrapes) -> list[Metered]:
        """Read the pages of one server; one result for each writer that speaks in them."""
        spoken = {name for page in scrapes.pages for name in page.samples}
        own = {writer: names & spoken for writer, names in self._names.items()}
        # Process and HTTP metrics are named by every engine: they tell of an engine only where it speaks itself.
        shared = {name for name in spoken if sum(name in names for names in own.values()) > 1}
        writers = [writer for writer, names in own.items() if names - shared]
        return [self._writer(scrapes, writer) for writer in writers]

    def _writer(self, scrapes: Scrapes, writer: str) -> Metered:
        pages = scrapes.pages
        times = [page.time for page in pages if page.time is not None]
        first = next((one for page in pages for found in page.samples.values() for one in found), None)
        out = Metered(
            writer,
            scrapes.name,
            Origin(pages[0].source, first.line if first else 1),
            min(times, default=None),
            max(times, default=None),
            sources=list(dict.fromkeys(page.source for page in pages)),
            pages=len(pages),
        )
        medium = "gpu" if writer == "dcgm" else "metrics"
        groups = _groups(scrapes, self._names[writer])
        view = _View(scrapes, groups)
        for group in dict.fromkeys(groups.values()):
            for at in range(len(pages)):
                self._row(out, view, at, group, medium)
        for series, refs in self._series[writer]:
            if series.kind == "spread":
                for group in dict.fromkeys(groups.values()):
                    spread = _spread(view, refs, group, medium)
                    if spread is not None:
                        out.spreads.setdefault(series.name, []).append(spread)
        for name, kind, refs in self._facts.get(writer, ()):
            fact = _fact(view, name, kind, refs)
            if fact is not None:
                out.facts[name] = fact
        return out

    def _row(self, out: Metered, view: _View, at: int, group: Group, medium: str) -> None:
        values: dict[str, float] = {}
        places: dict[str, tuple[int, str]] = {}
        for series, refs in self._series[out.writer]:
            for ref in refs:
                found = view.mean(at, ref, group) if series.kind == "spread" else view.number(at, ref, group, series)
                if found is not None:
                    values[series.name] = found[0] * ref.scale
                    if found[1] is not None and found[1].line:
                        places[series.name] = (found[1].line, found[1].text)
                    break
        if values:
            page = view.scrapes.pages[at]
            line, text = next(iter(places.values()), (1, ""))
            table = out.tables.get(group)
            if table is None:
                table = out.tables[group] = Table(group, self._kinds, medium=medium)
            time = NAN if page.time is None else page.time
            table.append(time, Origin(page.source, line), text, values, places)


class _View:
    """Numbers of one server's pages, by reference and rank."""

    def __init__(self, scrapes: Scrapes, groups: Mapping[Labels, Group]) -> None:
        self.scrapes = scrapes
        self.groups = groups

    def number(self, at: int, ref: MetricRef, group: Group, series: Series) -> Found | None:
        """Return what a series is on page ``at``; None where the page, or the one before it, does not tell."""
        page = self.scrapes.pages[at]
        combine = max if series.unit == "ratio" and series.kind == "gauge" and not ref.over else _added
        if ref.over:
            grow = all(_counts(term, page.counters) for term in (*ref.terms, *ref.over))
            above, below = self._sum(at, ref.terms, group, grow, _added), self._sum(at, ref.over, group, grow, _added)
            return (above[0] / below[0], above[1] or below[1]) if above and below and below[0] else None
        found = self._sum(at, ref.terms, group, ref.rate or series.kind == "count", combine)
        if found is None or not ref.rate:
            return found
        before = self.scrapes.pages[at - 1].time
        passed = page.time - before if page.time is not None and before is not None else 0.0
        return (found[0] / passed, found[1]) if passed > 0 else None

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


def _names(entries: Iterable[tuple[Series, list[MetricRef]]]) -> Iterable[str]:
    for series, refs in entries:
        for ref in refs:
            for term in (*ref.terms, *ref.over):
                yield from (key(term.name + part) for part in (PARTS if series.kind == "spread" else ("",)))


def _fact_names(entries: Iterable[tuple[str, str, list[MetricRef]]]) -> frozenset[str]:
    return frozenset(key(term.name) for _, _, refs in entries for ref in refs for term in (*ref.terms, *ref.over))


def _groups(scrapes: Scrapes, names: frozenset[str]) -> dict[Labels, Group]:
    """Map label sets to ranks; with one rank only everything is of that one."""
    found: dict[Labels, Group] = {}
    for at in range(len(scrapes.pages)):
        for name in names:
            for labels in scrapes.value(at, name) or ():
                if labels not in found:
                    found[labels] = tuple(sorted((RANKS[one], text) for one, text in labels if one in RANKS))
    if len({group for group in found.values() if group}) < 2:
        return dict.fromkeys(found, ())
    return found


def _spread(view: _View, refs: Sequence[MetricRef], group: Group, medium: str) -> Spread | None:
    """Add up what a histogram grew by from page to page."""
    for ref in refs:
        for term in ref.terms:
            spread = _histogram(view, term, group, medium, ref.scale)
            if spread is not None:
                return spread
    return None


def _histogram(view: _View, term: Term, group: Group, medium: str, scale: float) -> Spread | None:
    scrapes = view.scrapes
    grown: dict[float, float] = {}
    count = total = 0.0
    proof: tuple[str, Exposed] | None = None
    for at in range(1, len(scrapes.pages)):
        for labels, (number, sample) in (scrapes.grown(at, key(term.name + "_bucket")) or {}).items():
            if view.groups.get(labels, ()) == group and term.takes(sample.labels):
                bound = _bound(sample.labels.get("le", ""))
                if bound is not None:
                    grown[bound] = grown.get(bound, 0.0) + number
        for part in ("_count", "_sum"):
            for labels, (number, sample) in (scrapes.grown(at, key(term.name + part)) or {}).items():
                if view.groups.get(labels, ()) == group and term.takes(sample.labels):
                    if part == "_sum":
                        total += number
                    else:
                        count += number
                        proof = (scrapes.pages[at].source, sample)
    if count <= 0 or proof is None:
        return None
    grown.setdefault(math.inf, count)
    buckets, below = [], 0.0
    for bound in sorted(grown):
        # Buckets are cumulative; one that lost a scrape may lie below its neighbour.
        buckets.append((bound * scale if bound != math.inf else bound, max(grown[bound] - below, 0.0)))
        below = max(below, grown[bound])
    source, sample = proof
    return Spread(medium, count, total * scale, source, sample.line, sample.text, buckets=buckets)


def _bound(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _fact(view: _View, name: str, kind: str, refs: Sequence[MetricRef]) -> Fact | None:
    """Read a fact off the last page that has it."""
    for ref in refs:
        for at in reversed(range(len(view.scrapes.pages))):
            for sample in (view.scrapes.value(at, key(ref.terms[0].name)) or {}).values():
                if not ref.terms[0].takes(sample.labels):
                    continue
                text = sample.labels.get(ref.terms[0].label) if ref.terms[0].label else str(sample.value * ref.scale)
                value = _typed(text, kind)
                if value is not None:
                    return Fact(
                        name, value, Origin(view.scrapes.pages[at].source, sample.line), sample.text, "observed"
                    )
    return None


def _typed(text: str | None, kind: str) -> int | float | bool | str | None:
    if text is None or text in ("", "None", "null"):
        return None
    try:
        if kind == "int":
            return int(float(text))
        if kind == "float":
            return float(text)
    except (ValueError, OverflowError):
        return None
    return text in ("True", "true", "1", "1.0") if kind == "bool" else text
