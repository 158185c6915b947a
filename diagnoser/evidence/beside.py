"""Evidence beside logs: which run each metrics page, table, benchmark or profile speaks of, and what it tells of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from diagnoser.evidence.metered import Meter, Metered
from diagnoser.evidence.possible import Possible
from diagnoser.evidence.scrapes import by_server
from diagnoser.evidence.telemetry import Telemetry, in_clock
from diagnoser.evidence.whose import AROUND, elsewhere, run_at, spoken_of
from diagnoser.knowledge.labels import LabelMap
from diagnoser.knowledge.vocabulary import ENGINES, Vocabulary
from diagnoser.model import Drift, Fact, Run
from diagnoser.observations import Claim, Measure, Page, Requests, Scatter
from diagnoser.tables.table import NAN, Origin, Places, Table

#: The claim that tells which engine answered.
ENGINE = "backend"

#: What benchmark results may have been taken at several values of.
VARIED = ("parallel.tp", "model.name")

#: Longest text that is a fact or its proof, characters.
TEXT = 400

#: Rows of one measured table.
ROWS = 8192


class Beside:
    """Collects what was read beside logs and deals it out to runs at the end."""

    def __init__(self, vocabulary: Vocabulary, engine: str) -> None:
        self._vocabulary = vocabulary
        self._engine = engine
        self._kinds = {name: series.kind for name, series in vocabulary.series.items()}
        self._possible = Possible(vocabulary)
        self._labels: dict[str, LabelMap] = {}
        self._meter: Meter | None = None
        self._pages: list[Page] = []
        self._measured: list[Measure | Scatter | Claim | Requests] = []
        self._telemetry = Telemetry(self._kinds)
        self._odd: dict[str, Drift] = {}

    def any(self) -> bool:
        """Whether anything was read beside logs."""
        return bool(self._pages or self._measured or self._telemetry.first)

    def wanted(self, name: str) -> bool:
        """Whether any series or fact is made of the metric of this name."""
        return self._read_meter().wanted(name)

    def take(self, one: Page | Measure | Scatter | Claim | Requests) -> None:
        """Take one observation; it is dealt out by ``attach``."""
        if isinstance(one, Page):
            self._pages.append(one)
        elif isinstance(one, Measure) and one.medium == "gpu":
            values, places = self._values(one)
            values = self._possible.row(values, one.origin, one.text, self._odd)
            if values:
                self._telemetry.take(one, values, places)
        else:
            self._measured.append(one)

    def attach(self, runs: list[Run]) -> None:
        """Give every run what speaks of it; servers that wrote no log become runs of their own."""
        metered = [one for scrapes in by_server(self._pages) for one in self._read_meter().read(scrapes)]
        logged = list(runs)
        servers = Counter(one.writer for one in metered)
        # Engines first: what exporters of GPU figures tell goes to the runs that engines made.
        own = {run.stream for run in runs}
        for one in sorted(metered, key=lambda one: one.writer not in ENGINES):
            if elsewhere(one, metered, own):
                continue
            run = spoken_of(one, logged if one.writer in ENGINES else runs, servers[one.writer] == 1)
            if run is None:
                run = _new_run(one.writer if one.writer in ENGINES else self._engine, one.server, one.first)
                run.started, run.ended = one.started, one.ended
                run.time_known = "full" if one.started is not None else ""
                runs.append(run)
            _give(run, one)
        for observed in self._measured:
            origin = observed.origin if not isinstance(observed, Scatter) else _origin(observed)
            if not runs:
                writer = observed.writer if observed.writer in ENGINES else self._engine
                runs.append(_new_run(writer, "", origin))
            self._tell(_during(observed, runs), observed)
        if (first := self._telemetry.first) is not None:
            if not runs:
                runs.append(_new_run(self._engine, "", first))
            self._telemetry.deal(runs, AROUND)
            runs[0].odd |= self._odd

    def forget(self, seconds: float, most: int) -> None:
        """Of each address keep the pages of the latest ``seconds``, two at least and ``most`` at most."""
        kept: list[Page] = []
        for source in dict.fromkeys(page.source for page in self._pages):
            own = [page for page in self._pages if page.source == source]
            newest = max((page.time for page in own if page.time is not None), default=0.0)
            own = [page for page in own[:-2] if page.time is None or page.time >= newest - seconds] + own[-2:]
            while len(own) > most:  # the older half is seen at half the resolution from now on
                own = own[: most // 2 : 2] + own[most // 2 :]
            kept += own
        self._pages = kept

    def _read_meter(self) -> Meter:
        if self._meter is None:
            self._meter = Meter(self._vocabulary)
        return self._meter

    def _tell(self, run: Run, one: Measure | Scatter | Claim | Requests) -> None:
        if isinstance(one, Requests):
            run.requests.append(one)
            return
        if isinstance(one, Claim):
            value = one.value[:TEXT] if isinstance(one.value, str) else one.value
            for name, fact in self._vocabulary.facts.items():
                if one.name not in fact.args.get(one.writer, ()):
                    continue
                if name not in run.facts:
                    run.facts[name] = Fact(name, value, one.origin, one.excerpt[:TEXT], "observed")
                elif name in VARIED and _differs(run.facts[name], one):
                    # Results of several sizes: none of them is what the run is.
                    run.facts[name] = Fact(name, None, one.origin, one.excerpt, "observed")
            if one.name == ENGINE and one.value in ENGINES and not run.engine:
                run.engine = str(one.value)
            return
        labels = self._labels_of(one.writer)
        if isinstance(one, Scatter):
            for name in labels(one.label):
                run.spreads.setdefault(name, []).append(one.spread)
            _note_source(run, one.spread.source)
            return
        values, places = self._values(one)
        values = self._possible.row(values, one.origin, one.text, run.odd)
        if values:
            key = (one.medium, one.group)
            if key not in run.tables:
                run.tables[key] = Table(one.group, self._kinds, ROWS, one.medium)
            time = NAN if one.time is None else in_clock(run, one.time)
            run.tables[key].append(time, one.origin, one.text, values, places)
            _note_source(run, one.origin.source)

    def _values(self, one: Measure) -> tuple[dict[str, float], Places | None]:
        """Return a row's numbers by series, and where each of them stands."""
        labels = self._labels_of(one.writer)
        values: dict[str, float] = {}
        places: dict[str, tuple[int, str]] = {}
        for label, number in one.values.items():
            for name in labels(label):
                if name not in values:
                    values[name] = number
                    if one.places and label in one.places:
                        places[name] = one.places[label]
        return values, places or None

    def _labels_of(self, writer: str) -> LabelMap:
        if writer not in self._labels:
            self._labels[writer] = self._vocabulary.label_map(writer)
        return self._labels[writer]


def _origin(one: Scatter) -> Origin:
    return Origin(one.spread.source, one.spread.line)


def _differs(known: Fact, one: Claim) -> bool:
    """Whether another result claimed something else; what a log told is not put in doubt by a result."""
    return known.excerpt.startswith(f"{one.name}: ") and known.value != one.value


def _new_run(engine: str, stream: str, first: Origin) -> Run:
    """Make the run of a server that wrote no log: when it began nobody saw, and at the end it answered."""
    return Run(id=0, stream=stream, engine=engine, first=first, last=first, complete_start=False, end="running")


def _during(one: Measure | Scatter | Claim | Requests, runs: Sequence[Run]) -> Run:
    time = one.time if isinstance(one, Measure) else None
    return run_at(runs, time, time)


def _give(run: Run, one: Metered) -> None:
    run.engine = run.engine or (one.writer if one.writer in ENGINES else "")
    for group, table in one.tables.items():
        key = (table.medium, group)
        table.time = array("d", (in_clock(run, time) for time in table.time))
        if table.medium == "gpu" and key in run.tables:  # a card of another pod or node
            key = (table.medium, (*group, ("on", one.server)))
        run.tables[key] = table
    for name, spreads in one.spreads.items():
        run.spreads.setdefault(name, []).extend(spreads)
    for name, fact in one.facts.items():
        run.facts.setdefault(name, fact)
    if one.writer == run.engine:
        run.exposed |= one.names
    run.odd |= one.odd
    for source in one.sources:
        _note_source(run, source)


def _note_source(run: Run, source: str) -> None:
    if source not in run.sources:
        run.sources.append(source)
    run.parts.setdefault(source, len(run.parts))
