"""Inputs to runs: the left half of the flow in one loop, bounded in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from diagnoser.contracts.findings import Input
from diagnoser.envelopes import Peeler
from diagnoser.evidence import Collector
from diagnoser.language import Sentence
from diagnoser.model import Problem, Record, Run
from diagnoser.observations import Gathered, Measure, Observation, Page
from diagnoser.session.portions import AHEAD, Kit, Portion, Readers, Window, envelope, input_of, read_log, records, told
from diagnoser.sources import Source
from diagnoser.traces import reader_of
from diagnoser.values import replace

if TYPE_CHECKING:
    from diagnoser.skimming.ahead import Others

__all__ = [
    "AHEAD", "Kit", "Portion", "Readers", "Window", "envelope", "last_time", "read", "read_log", "read_trace", "spool",
]  # fmt: skip

#: Standard input that must be read twice (a relative time filter) is kept in memory up to this size, then on disk.
SPOOL = 32 << 20


def read(
    sources: Sequence[Source],
    kit: Kit,
    window: Window | None = None,
    gathered: Sequence[Gathered] = (),
    portions: Mapping[int, Portion] | None = None,
    others: Others | None = None,
) -> tuple[list[Run], list[Input]]:
    """Read every source to its end and return the runs and what could be read of each input.

    ``portions`` are logs that were read before, by the place of their source; ``others`` look ahead in the rest.
    """
    kit.matcher.overdue.begin()
    kit = replace(kit, inputs=sum(one.kind == "log" for one in sources))
    collector = kit.collector()
    inputs = []
    for at, one in enumerate(sources):
        if one.kind == "log":
            portion = (portions or {}).get(at) or read_log(one, kit, window, others)
            collector.absorb(portion.taken)
            inputs.append(portion.input)
        else:
            inputs.append(_read_trace(one, collector, window))
    inputs += [_take(one, collector, window) for one in gathered]
    runs = collector.finish()
    heard = {name for run in runs for name in run.sources} | collector.hosts.sources
    for told_of in inputs:
        # Where nobody spoke at all the report says so itself.
        if heard and told_of.kind == "log" and told_of.lines and told_of.name not in heard and not told_of.problems:
            told_of.problems.append(Sentence("no line of it is an inference server's: left out"))
    kit.matcher.overdue.tell(inputs)
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


def spool(stdin: BinaryIO) -> BinaryIO:
    """Copy standard input to a temporary file, so that it can be read twice; the caller closes it."""
    import tempfile  # few runs need it

    copy = tempfile.SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115 - lives as long as the source reads it
    while block := stdin.read(1 << 20):
        copy.write(block)
    copy.seek(0)
    return copy  # type: ignore[return-value]


def read_trace(source: Source, collector: Collector) -> Input:
    """Read what is no log to its end, for a collector that goes on."""
    return _read_trace(source, collector, None)


def _read_trace(source: Source, collector: Collector, window: Window | None) -> Input:
    reader = reader_of(source)
    if reader is None:
        if source.state == "ok":
            text = Sentence("looks like {kind}, but is none of the kinds that are read", kind=source.kind)
            source.problems.append(Problem(source.name, None, text))
        return input_of(source, "")
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
        source.problems.append(
            Problem(source.name, None, Sentence("tells no time: --since and --until left nothing of it out"))
        )
    source.kind = reader.NAME
    return scrapes.told(input_of(source, ""))


def _take(one: Gathered, collector: Collector, window: Window | None) -> Input:
    scrapes = _Scrapes()
    for page in one.pages:
        if window is None or window.holds(page.time):
            collector.observe(page, one.name)
            scrapes.count(page)
    return scrapes.told(Input(one.name, one.kind, "", one.lines, one.bytes, told(one.problems)))


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
