"""One log to its portion of the evidence: what it alone tells, whatever other inputs there are beside it.

Portions of different logs are made by themselves, in any order and on any machine, and go together in the order of the
inputs: nothing in one depends on what is in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from diagnoser.contracts.findings import Input
from diagnoser.envelopes import Peeler
from diagnoser.evidence import Collector
from diagnoser.evidence.collect import MOST_STREAMS
from diagnoser.evidence.drift import Known
from diagnoser.evidence.facts import Compute, Dump
from diagnoser.evidence.pods import Dest, plain_dest
from diagnoser.evidence.taken import Taken
from diagnoser.formats import stats_readers, vllm
from diagnoser.formats.base import StatsLine
from diagnoser.formats.pyrepr import find_dump
from diagnoser.formats.skipping import SkippingReader
from diagnoser.gap import Gap
from diagnoser.judging.loading import Knowledge
from diagnoser.knowledge.stats_labels import known_labels
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import Sentence
from diagnoser.model import Line, Problem, Record
from diagnoser.options import Options
from diagnoser.rules.evaluating.fields import evaluate_fields
from diagnoser.skimming.cutter import Cutter
from diagnoser.sources import Source
from diagnoser.values import dataclass

if TYPE_CHECKING:
    from diagnoser.skimming.ahead import Others

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


@dataclass(slots=True, frozen=True)
class Kit:
    """What every log is read with. ``matcher`` finds events in records; ``engine`` is what the caller said, "" nothing.

    ``dest`` gives the name that an engine's dumps have for a flag, ``known`` the labels that some version of an engine
    prints on its statistics lines. ``inputs`` are the logs of a diagnosis: they share the rows that are kept.
    """

    vocabulary: Vocabulary
    matcher: Any
    compute: Compute
    engine: str = ""
    dest: Dest = plain_dest
    known: Known = lambda _: frozenset()
    inputs: int = 1

    def collector(self) -> Collector:
        """Return a collector of nothing yet."""
        return Collector(
            self.vocabulary, self.matcher, Readers(), self.compute, self.engine, self.dest, self.known, self.inputs
        )


def kit(knowledge: Knowledge, options: Options) -> Kit:
    """Return what the logs of one diagnosis are read with."""
    catalog = knowledge.catalog
    known = partial(known_labels, catalog)
    return Kit(knowledge.vocabulary, knowledge.matcher, evaluate_fields, options.engine or "", catalog.dest, known)


@dataclass(slots=True)
class Portion:
    """What one log gave: evidence and how well it could be read. Pickled, it goes from worker to worker."""

    taken: Taken
    input: Input


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


def read_log(source: Source, kit: Kit, window: Window | None = None, others: Others | None = None) -> Portion:
    """Read one log to its end; ``others`` look ahead in it where it is long."""
    collector = kit.collector()
    overdue, before = kit.matcher.overdue, dict(kit.matcher.overdue)
    overdue.clear()
    peeler = Peeler()
    cutter = None
    if window is None:
        # Lines before and after a window are told apart one by one.
        serving = partial(collector.serving, source.name)
        about = (SkippingReader(), peeler, serving, collector.meaning, source.size())
        cutter = Cutter(*about) if others is None else _with(others, source)(*about)
    for record in records(source, peeler, cutter):
        if isinstance(record, Gap):
            collector.pass_by(record, source.name)
        elif window is None or window.holds(record.time):
            collector.add(record, source.name)
        elif window.precedes(record.time):
            collector.add(record, source.name, before=True)
    source.problems.extend(peeler.problems)
    source.problems.extend(told_of_collector(collector, source.name))
    made = input_of(source, envelope(peeler))
    # What ran out of time is told where the log was read, which may be another machine.
    overdue.settle(made)
    overdue.update(before)
    return Portion(collector.taken(), made)


def _with(others: Others, source: Source) -> Callable[..., Cutter]:
    """Return what makes a cutter of a log in which others look ahead."""
    from diagnoser.skimming.ahead import AheadCutter  # few runs have others

    paths = {part.name: str(part.path) for part in source.parts if part.size() is not None and not part.compressed}
    return partial(AheadCutter, others, paths)


def told_of_collector(collector: Collector, name: str) -> list[Problem]:
    """Say what of a log was more than is kept."""
    found = []
    if collector.passed_over:
        text = Sentence(
            "{passed_over} records of more than {most_streams} writers were passed over",
            passed_over=collector.passed_over,
            most_streams=MOST_STREAMS,
        )
        found.append(Problem(name, None, text))
    if collector.forgotten:
        text = Sentence(
            "of more than {most_runs} server lifetimes {forgotten} in the middle were passed over",
            most_runs=collector.most_runs,
            forgotten=collector.forgotten,
        )
        found.append(Problem(name, None, text))
    return found


def envelope(peeler: Peeler) -> str:
    """Name what most lines were wrapped in."""
    return ", ".join(name for name, count in peeler.seen.most_common(3) if count * 50 >= peeler.seen.total())


def input_of(source: Source, envelope: str) -> Input:
    """Say how well an input could be read."""
    return Input(source.name, source.kind, envelope, source.lines, source.bytes, told(source.problems))


def told(problems: Iterable[Problem]) -> list[str]:
    """Write problems as the report shows them."""
    return [in_line(p.line, p.text) if p.line else p.text for p in problems]


def in_line(line: int, text: str) -> Sentence:
    """Say of what line something is."""
    return Sentence("line {line}: {text}", line=str(line), text=text)
