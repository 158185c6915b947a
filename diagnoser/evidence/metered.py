"""Metrics pages to samples: names of every generation become series, counters become growth, histograms spreads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from math import isfinite

from diagnoser.evidence.growth import View, histogram
from diagnoser.evidence.possible import Possible
from diagnoser.evidence.scrapes import Labels, Scrapes
from diagnoser.knowledge.metricref import MetricRef, key, parse_ref
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.model import Drift, Fact
from diagnoser.tables.spread import Spread
from diagnoser.tables.table import NAN, Group, Origin, Table
from diagnoser.values import dataclass, field

#: Labels that tell ranks of one server apart, and what a log calls them. A card cut into slices (MIG) is told once for
#: each of them, its heat, power and clock too: nothing of that adds up.
RANKS = {
    "engine": "engine",
    "engine_index": "engine",
    "dp_rank": "dp",
    "gpu": "gpu",
    "GPU": "gpu",
    "GPU_I_ID": "slice",
}

#: No figure that is made of a page's numbers is larger.
MOST = 1e19

#: Longest text of a fact, characters.
TEXT = 400

#: Suffixes of the sample lines of one histogram.
PARTS = ("_bucket", "_sum", "_count")


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
    names: frozenset[str] = frozenset()
    odd: dict[str, Drift] = field(default_factory=dict)


class Meter:
    """Reads the metrics that the vocabulary names; one for a whole diagnosis."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._kinds = {name: series.kind for name, series in vocabulary.series.items()}
        self._possible = Possible(vocabulary)
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
        # vLLM V0 shows no counter before it counts: a first page may hold nothing but how the cache is laid out.
        told = {writer: frozenset(_fact_names(self._facts.get(writer, ()))) for writer in own}
        writers = [writer for writer, names in own.items() if names - shared]
        return [self._writer(_speaking(scrapes, (own[writer] | told[writer]) - shared), writer) for writer in writers]

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
            names=frozenset(name for page in pages for name in page.samples) & self._names[writer],
        )
        medium = "gpu" if writer == "dcgm" else "metrics"
        groups = _groups(scrapes, self._names[writer])
        view = View(scrapes, groups)
        for group in dict.fromkeys(groups.values()):
            for at in range(len(pages)):
                self._row(out, view, at, group, medium)
        for series, refs in self._series[writer]:
            if series.kind == "spread":
                for group in dict.fromkeys(groups.values()):
                    spread = histogram(view, refs, group, medium)
                    if spread is not None:
                        out.spreads.setdefault(series.name, []).append(spread)
        for name, kind, refs in self._facts.get(writer, ()):
            fact = _fact(view, name, kind, refs)
            if fact is not None:
                out.facts[name] = fact
        return out

    def _row(self, out: Metered, view: View, at: int, group: Group, medium: str) -> None:
        values: dict[str, float] = {}
        places: dict[str, tuple[int, str]] = {}
        for series, refs in self._series[out.writer]:
            for ref in refs:
                found = view.mean(at, ref, group) if series.kind == "spread" else view.number(at, ref, group, series)
                if found is not None and abs(found[0]) <= MOST:  # next to nothing under a share makes it endless
                    value = found[0] * ref.scale
                    line, text = (found[1].line, found[1].text) if found[1] is not None else (1, "")
                    # What two counters make over a while may be: requests begin in one and end in another.
                    if not (ref.over or ref.form or self._possible.holds(series.name, value)):
                        origin = Origin(view.scrapes.pages[at].source, line)
                        self._possible.note(out.odd, series.name, value, origin, text)
                        break
                    values[series.name] = value
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


def _speaking(scrapes: Scrapes, names: Set[str]) -> Scrapes:
    """Leave out pages that say nothing of a writer: those of another process in the same file."""
    pages = [page for page in scrapes.pages if not names.isdisjoint(page.samples)]
    return scrapes if len(pages) == len(scrapes.pages) else Scrapes(scrapes.name, pages)


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
    ordered = sorted(names)  # equal inputs give equal reports
    for at in range(len(scrapes.pages)):
        for name in ordered:
            for labels in scrapes.value(at, name) or ():
                if labels not in found:
                    found[labels] = tuple(sorted((RANKS[one], text) for one, text in labels if one in RANKS))
    if len({group for group in found.values() if group}) < 2:
        return dict.fromkeys(found, ())
    return found


def _fact(view: View, name: str, kind: str, refs: Sequence[MetricRef]) -> Fact | None:
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
            number = float(text)
            return number if isfinite(number) else None
    except (ValueError, OverflowError):
        return None
    return text in ("True", "true", "1", "1.0") if kind == "bool" else text[:TEXT]
