"""Cuts a log into lines that must be read and gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator

from diagnoser.formats.skipping import SkippingReader
from diagnoser.formats.wrapping import ANY
from diagnoser.model import Gap
from diagnoser.skimming.blocks import Block, Seconds
from diagnoser.skimming.gaps import gap_of
from diagnoser.skimming.layouts import learn
from diagnoser.skimming.shapes import Shapes
from diagnoser.skimming.trials import Asked

#: Lines at the start of an input that are read in any case: whatever looks ahead has had its look.
HEAD = 500
#: Bytes of a first block that tell that a log is long; lines that do where it comes in smaller pieces. Before that,
#: reading every line takes less time than learning its shape.
LONG, MANY = 256 << 10, 4000
#: Lines that are read behind the first whose shape was learnt: others of theirs come up among them.
MORE = 100
#: Bytes of the first block that is taken apart, and of later ones: shapes are met in the first that come.
SMALL, LARGE = 64 << 10, 512 << 10
#: Fewer lines than this are read as quickly as they are skipped.
LEAST = 24
#: Sightings of a shape before it is learnt (and at twice as many, while lines of it do not fit); shapes kept; keys of
#: shapes that are counted.
SIGHTINGS, MOST_LAYOUTS, MOST_KEYS = 4, 64, 4096

RawLine = tuple[str, int, bytes]
#: A gap, who wrote its lines (with vLLM's formatter or not), and its last printed time.
Skipped = tuple[Gap, frozenset[tuple[str, bool]], float | None]


class Cutter:
    """Follows one log: ``reader`` is what its lines are fed to, ``serving`` names the engine of a run past its start.

    ``asked`` says of an engine's records what ``layouts.learn`` asks.
    """

    def __init__(
        self,
        reader: SkippingReader,
        serving: Callable[[], str],
        asked: Callable[[str], Asked],
    ) -> None:
        self.reader = reader
        self._serving = serving
        self._asked = asked
        self._engine = ""
        self._read = 0
        self._long = False
        self._size = SMALL
        self._seen: Counter[bytes] = Counter()
        self._shapes = Shapes()
        self._seconds = Seconds((0, 0, 0))
        self._date = (0, 0, 0)

    def cut_all(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[RawLine | Skipped]:
        """Cut a whole source. Feed each piece to the reader before asking for the next."""
        for source, number, data in blocks:
            self._long = self._long or len(data) >= LONG
            yield from self.cut(source, number, data)

    @property
    def _ready(self) -> bool:
        """Whether it is time to look for shapes: the log is long enough to be worth it."""
        return self._read >= (HEAD if self._long else MANY)

    def cut(self, source: str, number: int, data: bytes) -> Iterator[RawLine | Skipped]:
        """Cut whole lines of a source, the first of which has this number."""
        while data:
            if len(self._shapes) and self._ready:
                end = data.find(b"\n", min(self._size, len(data)) - 1) + 1
                used, read = yield from self._pieces(source, number, data[:end])
                self._size = min(self._size * 2, LARGE)
            else:
                used, read = yield from self._lines(source, number, data)
            number += read
            data = data[used:]

    def _lines(self, source: str, number: int, data: bytes) -> Generator[RawLine, None, tuple[int, int]]:
        """Read lines until shapes were learnt; return how many bytes and lines those were."""
        used, more = 0, -1
        for done, line in enumerate(data[:-1].split(b"\n")):
            yield source, number + done, line
            self._read += 1
            used += len(line) + 1
            if self._met(line) and more < 0:
                more = MORE
            elif more > 0:
                more -= 1
            if more == 0:
                return used, done + 1
        return used, done + 1

    def _pieces(self, source: str, number: int, data: bytes) -> Generator[RawLine | Skipped, None, tuple[int, int]]:
        """Cut one block; return how many bytes and lines were used: the rest is to be looked at again."""
        date = self.reader.date()
        if date != self._date:
            self._date, self._seconds = date, Seconds(date)
        block = Block(data, self._shapes, self._seconds)
        misfits = iter(block.misfits)
        at = 0
        stop = next(misfits)
        while at < block.count:
            while stop < at:
                stop = next(misfits)
            known = self._known(block, at, stop) if stop - at > LEAST else at
            if known - at > LEAST:
                # The last line is read, and the last request: what they leave open is then as if all had been read.
                end = block.last_request(at, known - 1)
                if end > at:
                    yield gap_of(source, number + at, block, at, end, self.reader)
                at, few = end, 1
            else:
                # One that cannot be skipped yet may become so with the next line.
                few = 1 if stop - at > LEAST else max(1, stop - at)
            for line in block.lines[at : at + few]:
                yield source, number + at, line
                if at == stop:
                    self._met(line)
                at += 1
                if self.reader.date() != date and at < block.count:
                    return sum(map(len, block.lines[:at])) + at, at
        return len(data), block.count

    def _known(self, block: Block, at: int, stop: int) -> int:
        """Return the line before which some lines of known shapes may be skipped, ``at`` where none may."""
        if self._serving() != self._engine or block.shapes is not self._shapes or self.reader.date() != self._date:
            return at
        asked = self._asked(self._engine)
        # What is open may be closed by these lines, and is told of before them: it must not change what they mean.
        if any(asked.events(one) is None for one in self.reader.waiting()):
            return at
        room = self.reader.room()
        if room == ANY:
            return stop
        lines = block.lines
        return next((line for line in range(at, stop) if len(lines[line]) >= room), stop)

    def _met(self, line: bytes) -> bool:
        """Count the shape of a line that was read; tell whether it was learnt now."""
        if not self._ready:
            return False
        if (engine := self._serving()) != self._engine:
            # What a line means depends on whose it is.
            self._engine = engine
            # New ones: the block at hand goes on with those it was taken apart with, and is skipped no more.
            self._seen.clear()
            self._shapes = Shapes()
        if not engine:
            return False
        key = line.translate(None, b"0123456789") if len(line) < 400 else line[:60].translate(None, b"0123456789")
        self._seen[key] += 1
        count = self._seen[key]
        if count < SIGHTINGS or count & (count - 1):
            if len(self._seen) > MOST_KEYS:
                self._seen.clear()
            return False
        if len(self._shapes) >= MOST_LAYOUTS:
            return False
        found = learn(line, self._asked(self._engine))
        return found is not None and self._shapes.add(found)
