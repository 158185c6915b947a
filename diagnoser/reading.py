"""Inputs to runs: the left half of the flow in one loop, bounded in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from diagnoser.envelopes import Peeler
from diagnoser.evidence import Collector
from diagnoser.evidence.collect import MOST_RUNS, MOST_STREAMS
from diagnoser.evidence.drift import Known
from diagnoser.evidence.facts import Compute, Dump
from diagnoser.evidence.pods import Dest, plain_dest
from diagnoser.findings import Input
from diagnoser.formats import stats_readers, vllm
from diagnoser.formats.base import StatsLine
from diagnoser.formats.pyrepr import find_dump
from diagnoser.formats.skipping import SkippingReader
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Gap, Line, Problem, Record, Run
from diagnoser.observations import Gathered, Measure, Observation, Page
from diagnoser.skimming.cutter import Cutter
from diagnoser.sources import Source
from diagnoser.traces import reader_of
from diagnoser.values import dataclass

#: Standard input that must be read twice (a relative time filter) is kept in memory up to this size, then on disk.
SPOOL = 32 << 20

#: Lines at the start of an input that are looked at before they are read, and their size.
AHEAD = 256
AHEAD_CHARACTERS = 4 << 20

_DUMP_MARKS = ("args", "config: ", "Starting router on")
_DUMP_DIALECTS = frozenset({"vllm", "sglang", "router", "dynamo", ""})


class Readers:
    """What the evidence room asks of the formats room."""

    def __init__(self) -> None:
        self._stats = stats_readers()

    def stats(self, record: Record) -> StatsLine | None:
        """Take a statistics line apart; a logger that prints the engine's message as it is reads like vLLM."""
        return self._stats.get(record.dialect, vllm.stats)(record.text, record.ranks)

    def dump(self, record: Record) -> Dump | None:
        """Parse an argument or configuration dump, None where the record holds none."""
        if record.dialect not in _DUMP_DIALECTS or not any(mark in record.text for mark in _DUMP_MARKS):
            return None
        return find_dump(record.text)

    def engine(self, record: Record) -> str:
        """Return the engine that the record's dialect gives away, "" for dialects that both share."""
        if record.dialect in ("vllm", "sglang"):
            return record.dialect
        if record.dialect == "router":
            return "vllm-router" if "vllm_router" in record.where else "sglang-router"
        return ""


@dataclass(slots=True, frozen=True)
class Window:
    """A time filter in the log's own clock: seconds since the epoch, either end open."""

    since: float | None = None
    until: float | None = None

    def precedes(self, time: float | None) -> bool:
        """Whether a record of that time lies before the window."""
        return time is not None and self.since is not None and time < self.since

    def holds(self, time: float | None) -> bool:
        """Whether a record of that time is inside; records without a time always are."""
        if time is None:
            return True
        return (self.since is None or time >= self.since) and (self.until is None or time <= self.until)


def read(
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    matcher: Any,
    compute: Compute,
    engine: str = "",
    window: Window | None = None,
    dest: Dest = plain_dest,
    gathered: Sequence[Gathered] = (),
    known: Known = lambda _: frozenset(),
) -> tuple[list[Run], list[Input]]:
    """Read every source to its end and return the runs and what could be read of each input.

    ``dest`` gives the name that an engine's dumps have for a flag, ``known`` the labels that some version of an engine
    prints on its statistics lines.
    """
    collector = Collector(vocabulary, matcher, Readers(), compute, engine, dest=dest, known=known)
    matcher.overdue.clear()
    inputs = [(_read_log if one.kind == "log" else _read_trace)(one, collector, window) for one in sources]
    inputs += [_take(one, collector, window) for one in gathered]
    runs = collector.finish()
    heard = {name for run in runs for name in run.sources} | collector.hosts.sources
    for one in inputs:
        # Where nobody spoke at all the report says so itself.
        if heard and one.kind == "log" and one.lines and one.name not in heard and not one.problems:
            one.problems.append("no line of it is an inference server's: left out")
    matcher.overdue.tell(inputs)
    return runs, inputs


def last_time(source: Source) -> float | None:
    """Return the latest time that a source tells, for filters relative to the log's end. Reads it to the end."""
    if source.kind == "log":
        return max(
            (
                one.time
                for one in records(source, Peeler())
                if isinstance(one, Record) and one.time is not None and one.time_known
            ),
            default=None,
        )
    reader = reader_of(source)
    told = (getattr(one, "time", None) for one in reader.read(source, lambda _: True)) if reader else ()
    return max((time for time in told if time is not None), default=None)


def records(source: Source, peeler: Peeler, cutter: Cutter | None = None) -> Iterable[Record | Gap]:
    """Lines of a source as records, in the order in which each is complete; with a ``cutter`` there may be gaps."""
    reader = SkippingReader() if cutter is None else cutter.reader
    lines = peeler.lines(source.raw_lines() if cutter is None else cutter.cut_all(source.line_blocks()))
    ahead: list[Line] = []
    room = AHEAD_CHARACTERS
    while len(ahead) < AHEAD and room > 0 and (line := next(lines, None)):
        ahead.append(line)
        room -= len(line.text)
    reader.foresee(ahead)
    for line in chain(ahead, lines):
        yield from reader.skip(*line) if line.__class__ is tuple else reader.feed(line)
    yield from reader.flush()


def spool(stdin: BinaryIO) -> BinaryIO:
    """Copy standard input to a temporary file, so that it can be read twice; the caller closes it."""
    import tempfile  # few runs need it

    copy = tempfile.SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115 - lives as long as the source reads it
    while block := stdin.read(1 << 20):
        copy.write(block)
    copy.seek(0)
    return copy  # type: ignore[return-value]


def _read_log(source: Source, collector: Collector, window: Window | None) -> Input:
    peeler = Peeler()
    cutter = None
    if window is None:
        # Lines before and after a window are told apart one by one.
        cutter = Cutter(
            SkippingReader(), peeler, partial(collector.serving, source.name), collector.meaning, source.size()
        )
    for record in records(source, peeler, cutter):
        if isinstance(record, Gap):
            collector.pass_by(record, source.name)
        elif window is None or window.holds(record.time):
            collector.add(record, source.name)
        elif window.precedes(record.time):
            collector.add(record, source.name, before=True)
    source.problems.extend(peeler.problems)
    if collector.passed_over:
        text = f"{collector.passed_over:,} records of more than {MOST_STREAMS} writers were passed over"
        source.problems.append(Problem(source.name, None, text))
        collector.passed_over = 0
    if collector.forgotten:
        text = f"of more than {MOST_RUNS:,} server lifetimes {collector.forgotten:,} in the middle were passed over"
        source.problems.append(Problem(source.name, None, text))
        collector.forgotten = 0
    return _input(source, envelope(peeler))


def envelope(peeler: Peeler) -> str:
    """Name what most lines were wrapped in."""
    return ", ".join(name for name, count in peeler.seen.most_common(3) if count * 50 >= peeler.seen.total())


def read_trace(source: Source, collector: Collector) -> Input:
    """Read what is no log to its end, for a collector that goes on."""
    return _read_trace(source, collector, None)


def _read_trace(source: Source, collector: Collector, window: Window | None) -> Input:
    reader = reader_of(source)
    if reader is None:
        if source.state == "ok":
            text = f"looks like {source.kind}, but is none of the kinds that are read"
            source.problems.append(Problem(source.name, None, text))
        return _input(source, "")
    scrapes = _Scrapes()
    untimed = False
    for one in reader.read(source, collector.beside.wanted):
        untimed = untimed or (isinstance(one, Page | Measure) and one.time is None)
        if isinstance(one, Problem):
            source.problems.append(one)
        elif window is None or window.holds(getattr(one, "time", None)):
            collector.observe(one, source.name)
            scrapes.count(one)
    if window is not None and untimed:
        source.problems.append(Problem(source.name, None, "tells no time: --since and --until left nothing of it out"))
    source.kind = reader.NAME
    return scrapes.told(_input(source, ""))


def _take(one: Gathered, collector: Collector, window: Window | None) -> Input:
    scrapes = _Scrapes()
    for page in one.pages:
        if window is None or window.holds(page.time):
            collector.observe(page, one.name)
            scrapes.count(page)
    return scrapes.told(Input(one.name, one.kind, "", one.lines, one.bytes, _told(one.problems)))


class _Scrapes:
    """How many metrics pages an input has of each server, and from when to when."""

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._times: list[float] = []

    def count(self, one: Observation) -> None:
        if isinstance(one, Page):
            self._pages[one.server] += 1
            self._times += [] if one.time is None else [one.time]

    def told(self, read: Input) -> Input:
        """Put the figures into what is told of the input."""
        read.scrapes = max(self._pages.values(), default=0)
        if self._times and read.scrapes > 1:
            read.seconds = max(self._times) - min(self._times)
        return read


def _input(source: Source, envelope: str) -> Input:
    return Input(source.name, source.kind, envelope, source.lines, source.bytes, _told(source.problems))


def _told(problems: Iterable[Problem]) -> list[str]:
    return [f"line {p.line}: {p.text}" if p.line else p.text for p in problems]
