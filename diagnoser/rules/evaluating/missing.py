"""What would decide a series that is missing: who would tell it, what a given input lacks, or why nobody can."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from diagnoser.knowledge.lives import Life
from diagnoser.knowledge.metricref import COUNTERS, key, parse_ref
from diagnoser.knowledge.vocabulary import ENGINES, TITLES, Series, Vocabulary
from diagnoser.language import phrase
from diagnoser.model import Run

STATISTICS = phrase("statistics lines")
METRICS = phrase("a metrics page")
#: All that only a log tells: a run without one needs the log, and not four things that are in it.
WHOLE_LOG = phrase("the engine's log from its start")
#: A server that was started without its metrics has no page to give.
RESTART = "a metrics page of a run with --"
#: What counters and distributions are made of, where there is one page.
SECOND = phrase("a second and later metrics page")
#: What rates are made of, where there are pages.
TIMED = phrase("metrics pages with their times (in their names, or as a comment above each)")
#: What would decide a value of which nothing was counted, and nothing else is missing.
LONGER = phrase("a longer window under load")
#: A router tells nothing of what goes on behind it.
BEHIND = phrase("the logs of the engines behind the router")
#: Who tells series that no log and no engine's metrics have, by the first word of their names.
BESIDE = {
    "gpu": phrase("GPU telemetry (nvidia-smi, dcgm-exporter, rocm-smi)"),
    "bench": phrase("a benchmark result"),
    "profile": phrase("a profile (nsys stats, a PyTorch trace)"),
}
#: The same where there is some already: what it lacks. The first words are those of series and the names of media.
_BESIDE_WITH = {
    "gpu": "GPU telemetry with {what}",
    "bench": "a benchmark result with {what}",
    "profile": "a profile with {what}",
}
#: The fact that says that a server prints no statistics and counts nothing.
_OFF = "stats.disabled"
#: The fact that says whether a server has a metrics page.
_ON = "metrics.enabled"
#: The fact that says that a server prints no statistics lines, having several processes that could.
_SEVERAL = "stats.several_servers"

#: Tells of a metric ("metric") or a field of a statistics line ("field") since when and until when it exists.
Lives = Callable[[str, str], Life | None]


def switched_off(run: Run, vocabulary: Vocabulary) -> str:
    """Name the flag by which the operator switched statistics and metrics off, "" where it is not known."""
    flag = _flag(run, vocabulary, _OFF, True)
    return f"a run without {flag} (it switches statistics and metrics off)" if flag else ""


def shut(run: Run, vocabulary: Vocabulary) -> str:
    """Say that there is no metrics page before the server is started with the flag for it, "" where there may be."""
    flag = _flag(run, vocabulary, _ON, False)
    return f"{RESTART}{flag.removeprefix('--')} (this one was started without)" if flag else ""


def _flag(run: Run, vocabulary: Vocabulary, name: str, value: bool) -> str:
    """Return the flag of a fact that is known to have this value, "" where it is not."""
    fact, spec = run.facts.get(name), vocabulary.facts.get(name)
    names = spec.args.get(run.engine, ()) if spec is not None else ()
    if fact is None or fact.value is not value or not names:
        return ""
    return f"--{names[0].replace('_', '-')}"


class Missing:
    """Names what would have series that one run does not have."""

    def __init__(self, run: Run, vocabulary: Vocabulary, lives: Lives) -> None:
        self._run = run
        self._vocabulary = vocabulary
        self._lives = lives
        self._told: dict[frozenset[str], str] = {}

    def series(self, names: frozenset[str]) -> str:
        """Return the one input that would have all of these, in English (see needs.py)."""
        told = self._told.get(names)
        if told is None:
            told = self._told[names] = self._series(names)
        return told

    def _series(self, names: frozenset[str]) -> str:
        tables = self._run.tables.values()
        absent = [name for name in sorted(names) if not any(name in table.columns for table in tables)]
        for name in absent:
            series = self._vocabulary.series.get(name)
            if series is None or not self._in_log(series):
                return self._elsewhere(name, series)
        if not self._rows():
            # Pages that are there tell the same; several API servers print no statistics lines at all.
            several = (fact := self._run.facts.get(_SEVERAL)) is not None and fact.value is True
            page = self.page(names) if self._pages() or several else ""
            if several and not page:
                others = (self._elsewhere(name, self._vocabulary.series.get(name)) for name in absent)
                page = next((one for one in others if one), "")
            return switched_off(self._run, self._vocabulary) or page or STATISTICS
        if not absent and (page := self.page(names)):
            return page  # all are told, but never on one line
        told = [self._vocabulary.series[name] for name in absent or sorted(names) if name in self._vocabulary.series]
        for series in told if absent else ():
            if (better := self._beyond_the_log(series)) is not None:
                return better
        # There are some: what they lack is the name of this one.
        titles = sorted({series.title for series in told} - {""})
        return f"{STATISTICS} with {' and '.join(titles)}" if titles else STATISTICS

    def page(self, names: frozenset[str]) -> str:
        """Return the metrics page that would have all of these as well as statistics lines, "" where none would."""
        engine = self._run.engine
        series = [one for name in sorted(names) if (one := self._vocabulary.series.get(name)) is not None]
        if not series or any(engine not in one.metric or not self._exported(one) for one in series):
            return ""
        told = [self._page(one) for one in series]
        return (
            next((one for one in told if one.startswith((METRICS, TIMED, "a run"))), "") if self._pages() else told[0]
        )

    def _in_log(self, series: Series) -> bool:
        engine = self._run.engine
        return engine in series.log if engine else bool(series.log)

    def _rows(self) -> bool:
        return any(table.medium == "log" for table in self._run.tables.values()) or (
            not self._run.lines and any(self._run.tables.values())
        )

    def _pages(self) -> int:
        tables = [table for table in self._run.tables.values() if table.medium == "metrics"]
        return int(max((sum(table.weight) for table in tables), default=0))

    def _timed(self) -> bool:
        tables = (one for one in self._run.tables.values() if one.medium == "metrics")
        return any(len({time for time in one.time if time == time}) > 1 for one in tables)

    def _given(self, medium: str) -> bool:
        spreads = (one.medium for found in self._run.spreads.values() for one in found)
        return medium in spreads or any(table.medium == medium for table in self._run.tables.values())

    def _elsewhere(self, name: str, series: Series | None) -> str:
        """Name who tells what no statistics line of this engine has."""
        engine, word = self._run.engine, name.split(".")[0]
        if word in BESIDE:
            with_it = series is not None and self._given(word)
            return _BESIDE_WITH[word].format(what=series.title) if with_it and series is not None else BESIDE[word]
        if series is None or not (engine or series.log) or not (series.log or series.metric):
            return METRICS
        if engine in series.metric:
            return self._page(series)
        if engine.endswith("-router"):
            return BEHIND
        clients = set(series.log) - set(ENGINES)
        if clients or not engine:
            return BESIDE["bench"] if clients else METRICS
        return f"{TITLES.get(engine, engine)} has no figure for {series.title}"

    def _beyond_the_log(self, series: Series) -> str | None:
        """Say where else than in the statistics lines that there are a series is, None where they could have it."""
        engine = self._run.engine
        if engine in series.metric and (self._pages() or self._exported(series)):
            told = self._page(series)
            # What metrics cannot have in this version, statistics lines may.
            return told if told.startswith((METRICS, SECOND, "a longer")) else self._line(series) or None
        return self._line(series) or None

    def _line(self, series: Series) -> str:
        lives = [self._lives("field", label) for label in series.log.get(self._run.engine, ())]
        known = [life for life in lives if life is not None]
        if not known or len(known) < len(lives) or any(life.here is not False for life in known):
            return ""
        return self._later(known, series, "statistics lines of {engine} from {version} on with {what}")

    def _refs(self, series: Series) -> Iterable[list[str]]:
        """Yield the metrics that each reference of a series is made of."""
        for text in series.metric.get(self._run.engine, ()):
            ref = parse_ref(text)
            yield [term.name for term in (*ref.terms, *ref.over)]

    def _exported(self, series: Series) -> bool:
        return any(
            all((life := self._lives("metric", name)) is None or life.here is not False for name in names)
            for names in self._refs(series)
        )

    def _page(self, series: Series) -> str:
        """Name the metrics page that would have a series: where there is one already, by what it lacks."""
        if off := switched_off(self._run, self._vocabulary):
            return off
        pages = self._pages()
        if not self._exported(series):
            lives = [life for names in self._refs(series) for name in names if (life := self._lives("metric", name))]
            return self._later(lives, series, "metrics of {engine} from {version} on with {what}")
        refs = series.metric.get(self._run.engine, ())
        if not pages:
            return shut(self._run, self._vocabulary) or METRICS
        if any(all(map(self._shown, names)) for names in self._refs(series)):
            if pages >= 2 and any(parse_ref(text).form == "rate" for text in refs) and not self._timed():
                return TIMED
            return SECOND if pages < 2 else f"a longer window with something to count for {series.title}"
        return f"{METRICS} with {series.title}"

    def _shown(self, name: str) -> bool:
        return any(key(name + end) in self._run.exposed for end in ("", *COUNTERS))

    def _later(self, lives: Iterable[Life], series: Series, sentence: str) -> str:
        """Name the version from which on a series is told; where it was given up, the last that told it."""
        engine = TITLES.get(self._run.engine, self._run.engine)
        # The newest of the names counts: those that were given up do not come back.
        lasting = [life for life in lives if life.last is None]
        if lasting:
            return sentence.format(what=series.title, engine=engine, version=lasting[-1].first)
        last = max((life.last or "" for life in lives), default="")
        return f"{engine} has no figure for {series.title} after {last}"
