"""Which series a version still tells: by the labels of its statistics lines and the names of its metrics."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.labels import LabelMap
from diagnoser.knowledge.metricref import key, parse_ref
from diagnoser.knowledge.stats_labels import fields
from diagnoser.knowledge.versions import Position, VersionList
from diagnoser.knowledge.vocabulary import Series, Vocabulary


class SeriesStanding:
    """Judges series against one version of one engine."""

    def __init__(
        self, vocabulary: Vocabulary, catalog: Catalog, engine: str, versions: VersionList, place: Position
    ) -> None:
        self._series, self._engine = vocabulary.series, engine
        self._versions, self._place = versions, place
        self._map = vocabulary.label_map(engine)
        self._labels = list(fields(catalog, engine))
        self._metrics = {}
        for row in catalog.rows(engine, "metrics"):
            life = row["first"], row.get("last"), str(row.get("replaced_by") or "")
            for name in {row["name"], *(row.get("series") or ()), *(row.get("exposed") or ())}:
                self._metrics[key(name)] = life

    def can(self, name: str, now: bool) -> bool:
        """Tell whether some version (``now``: this one) tells a series; one that only others tell counts as told."""
        series = self._series.get(name)
        if series is None or not (self._engine in series.log or self._engine in series.metric):
            return True
        told = [*self._by_label(series), *self._by_metric(series)]
        if not told:
            return True  # nothing that was read says anything of it
        return any(alive for alive, _ in told) if now else True

    def why(self, name: str) -> tuple[str, str]:
        """Return (what is gone, what is nearest) of a series that a version does not tell."""
        series = self._series[name]
        names = [*series.log.get(self._engine, ()), *series.metric.get(self._engine, ())]
        nearest = next((near for alive, near in self._by_metric(series) if near), "")
        return f"neither printed nor exposed: {', '.join(names[:3])}", nearest

    def _by_label(self, series: Series) -> Iterator[tuple[bool, str]]:
        own = LabelMap({series.name: series.log.get(self._engine, ())})
        for label, first, last in self._labels:
            if own(label):
                yield self._versions.covers(self._place, first, last), ""

    def _by_metric(self, series: Series) -> Iterator[tuple[bool, str]]:
        for text in series.metric.get(self._engine, ()):
            ref = parse_ref(text)
            for term in ref.terms:
                life = self._metrics.get(key(term.name))
                if life is not None:
                    first, last, heir = life
                    yield self._versions.covers(self._place, first, last), heir

    def unread(self) -> list[str]:
        """Return the labels of this version's lines that feed no series."""
        alive = {label for label, first, last in self._labels if self._versions.covers(self._place, first, last)}
        return sorted(label for label in alive if not self._map(label) and not label.startswith('"'))
