"""One input on its way in: its lines peeled and joined to records, none of which waits for a line that never comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from diagnoser.contracts.findings import Input
from diagnoser.envelopes import OngoingPeeler
from diagnoser.following.cutter import Cutter, Raw
from diagnoser.formats.ongoing import OngoingReader
from diagnoser.gap import Gap
from diagnoser.model import Line, Record
from diagnoser.session.portions import told
from diagnoser.session.reading import AHEAD, envelope
from diagnoser.skimming.cutter import Cutter as Skimmer
from diagnoser.skimming.cutter import Skipped
from diagnoser.skimming.trials import Asked

#: Raw lines that are awaited before the first one is read, for what only later lines tell: the year, the envelope.
FIRST = 2 * AHEAD
#: A record that has not grown for so long is complete; a line without its end is taken as it is, seconds.
IDLE, HALF = 0.8, 1.0
#: Fewer lines that come at once are read as quickly as a block of them is taken apart.
MANY = 100


class Intake:
    """Feeds on the lines of one input; what is complete is given back. Time is what the caller says has passed.

    ``serving`` and ``asked`` are what ``skimming.cutter.Cutter`` asks: where many lines come at once, those of shapes
    that are known are given back as gaps. Take each piece before asking for the next.
    """

    def __init__(self, cutter: Cutter, serving: Callable[[str], str], asked: Callable[[str], Asked]) -> None:
        self.name = cutter.name
        self.cutter = cutter
        self._peeler = OngoingPeeler()
        self._reader = OngoingReader()
        self._skimmer = Skimmer(self._reader, self._peeler, serving, asked)
        self._first: list[Raw] | None = []
        self._since: float | None = None
        self._marks: deque[tuple[float, int]] = deque()

    def take(self, raw: Sequence[Raw], now: float) -> Iterator[Record | Gap]:
        """Take lines; yield the records that are complete."""
        if self._first is None:
            yield from self._feed(self._skimmed(raw) if _many(raw) else self._peeled(raw))
            return
        self._first += raw
        self._since = now if self._since is None and raw else self._since
        if len(self._first) >= FIRST:
            yield from self._begin()

    def idle(self, now: float) -> Iterator[Record | Gap]:
        """Yield what has waited long enough. To be called several times a second."""
        yield from self.take(self.cutter.rest(now, HALF), now)
        if self._first is not None:
            if self._since is not None and now - self._since >= IDLE:
                yield from self._begin()
            return
        count = self._reader.count
        if not self._reader.holding:
            self._marks.clear()
            return
        before = None
        while self._marks and now - self._marks[0][0] >= IDLE:
            before = self._marks.popleft()[1]
        if before is not None:
            yield from self._reader.settle(before)
        self._marks.append((now, count))

    def end(self, now: float) -> Iterator[Record | Gap]:
        """Yield everything that still waits."""
        yield from self.take(self.cutter.rest(now, 0.0), now)
        if self._first is not None:
            yield from self._begin()
        yield from self._feed(self._peeler.flush())
        yield from self._reader.flush()
        self.cutter.finish()

    def told(self) -> Input:
        """Return what could be read of the input so far."""
        problems = [*self.cutter.problems, *self._peeler.problems]
        return Input(self.name, "log", envelope(self._peeler), self.cutter.lines, self.cutter.bytes, told(problems))

    def _begin(self) -> Iterator[Record | Gap]:
        raw, self._first = self._first or [], None
        self._peeler.foresee(raw)
        lines = self._peeled(raw)
        ahead = list(islice(lines, AHEAD))
        self._reader.foresee(ahead)
        yield from self._feed(chain(ahead, lines))

    def _peeled(self, raw: Iterable[Raw]) -> Iterator[Line]:
        feed = self._peeler.feed
        for one in raw:
            yield from feed(*one)

    def _skimmed(self, raw: Sequence[Raw]) -> Iterator[Line | Skipped]:
        """Peel what must be read of lines in a row, with gaps between."""
        feed, seen = self._peeler.feed, self._peeler.seen
        source, number, _ = raw[0]
        for one in self._skimmer.cut(source, number, b"\n".join([*(line for _, _, line in raw), b""])):
            if isinstance(one[0], Gap):
                seen.update(one[0].envelopes)
                yield one
            else:
                yield from feed(*one)

    def _feed(self, lines: Iterable[Line | Skipped]) -> Iterator[Record | Gap]:
        feed, skip = self._reader.feed, self._reader.skip
        for line in lines:
            yield from feed(line) if isinstance(line, Line) else skip(*line)


def _many(raw: Sequence[Raw]) -> bool:
    """Whether lines are worth taking apart by the block; they stand in a row in one file."""
    return len(raw) >= MANY and raw[-1][:2] == (raw[0][0], raw[0][1] + len(raw) - 1)
