"""Cuts a log into lines that must be read and gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from diagnoser.envelopes import Peeler
from diagnoser.formats.skipping import SkippingReader
from diagnoser.formats.wrapping import ANY
from diagnoser.gap import Gap
from diagnoser.skimming.layouts import ASKS
from diagnoser.skimming.learning import learn
from diagnoser.skimming.reads import read
from diagnoser.skimming.shapes import Shapes
from diagnoser.skimming.trials import Asked

if TYPE_CHECKING:
    from diagnoser.skimming.blocks import Block
    from diagnoser.skimming.words import Words

#: Lines at the start of an input that are read in any case: whatever looks ahead has had its look.
HEAD = 500
#: Bytes of a log that is long; of one whose length is not known, those that are read before it is taken for long.
#: Reading the lines of a shorter one takes less time than loading what takes blocks apart.
LONG, MANY = 768 << 10, 512 << 10
#: Lines that are read behind the first whose shape was learnt: others of theirs come up among them.
MORE = 100
#: Bytes of the first block that is taken apart, and of later ones: shapes are met in the first that come.
SMALL, LARGE = 64 << 10, 4 << 20
#: Fewer lines than this are read as quickly as they are skipped.
LEAST = 24
#: Sightings of a shape before it is learnt (and at twice as many, while lines of it do not fit); shapes kept; keys of
#: shapes that are counted.
SIGHTINGS, MOST_LAYOUTS, MOST_KEYS = 4, 64, 4096

#: What a reader tells of a stream's clock (``SkippingReader.now``).
Told = tuple[tuple[int, int, int], float, str, float]
RawLine = tuple[str, int, bytes]
#: A gap, who wrote its lines (with vLLM's formatter or not), and its last printed time.
Skipped = tuple[Gap, frozenset[tuple[str, bool]], float | None]


class Cutter:
    """Follows one log: ``reader`` and ``peeler`` are what its lines are fed to.

    ``serving`` names the engine of a stream's run past its start, ``asked`` says of an engine's records what
    ``learning.learn`` asks. ``size`` is that of the log where it is known.
    """

    def __init__(
        self,
        reader: SkippingReader,
        peeler: Peeler,
        serving: Callable[[str], str],
        asked: Callable[[str], Asked],
        size: int | None = None,
    ) -> None:
        self.reader = reader
        self._peeler = peeler
        self._serving = serving
        self._asked = asked
        self._stream = self._engine = ""
        self._lines_read = self._bytes_read = 0
        self._long = size is not None and size >= LONG
        self._size = SMALL
        self._seen: Counter[bytes] = Counter()
        self._shapes = Shapes()
        self._words: Words | None = None

    def cut_all(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[RawLine | Skipped]:
        """Cut a whole source. Feed each piece to the reader before asking for the next."""
        for source, number, data in self._gathered(blocks):
            yield from self.cut(source, number, data)

    def _gathered(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, bytes]]:
        """Put blocks of one input together, as many as are taken apart at once."""
        held: list[bytes] = []
        name, first, size = "", 0, 0
        for source, number, data in blocks:
            if held and (source != name or size + len(data) > self._size):
                yield name, first, b"".join(held)
                held, size = [], 0
            if not held:
                name, first = source, number
            held.append(data)
            size += len(data)
        if held:
            yield name, first, b"".join(held)

    @property
    def _ready(self) -> bool:
        """Whether it is time to look for shapes: the log is long enough to be worth it."""
        return self._lines_read >= HEAD and (self._long or self._bytes_read >= MANY)

    def cut(self, source: str, number: int, data: bytes, at: int = 0) -> Iterator[RawLine | Skipped]:
        """Cut whole lines of a source from one on that begins there and has this number."""
        while at < len(data):
            if len(self._shapes) and self._ready:
                end = data.find(b"\n", min(at + self._size, len(data)) - 1) + 1
                used, read = yield from self._pieces(source, number, data[at:end], at)
                # What has to be looked at again, since the day or the clock is another, was too much.
                self._size = min(self._size * 2, LARGE) if used >= end - at else max(SMALL, used)
            else:
                used, read = yield from self._lines(source, number, data[at:])
            number += read
            at += used

    def _lines(self, source: str, number: int, data: bytes) -> Generator[RawLine, None, tuple[int, int]]:
        """Read lines until shapes were learnt; return how many bytes and lines those were."""
        used, more = 0, -1
        for done, line in enumerate(data[:-1].split(b"\n")):
            self._lines_read += 1
            self._bytes_read += len(line)
            used += len(line) + 1
            if self._goes_on(number + done, line):
                continue
            yield source, number + done, line
            if self._met(line) and more < 0:
                more = MORE
            elif more > 0:
                more -= 1
            if more == 0:
                return used, done + 1
        return used, done + 1

    def _pieces(
        self, source: str, number: int, data: bytes, base: int
    ) -> Generator[RawLine | Skipped, None, tuple[int, int]]:
        """Cut one block; return how many bytes and lines were used: the rest is to be looked at again.

        It begins ``base`` bytes into what is cut.
        """
        from diagnoser.skimming.blocks import Block, Now  # a short log does without
        from diagnoser.skimming.gaps import gap_of
        from diagnoser.skimming.words import Words

        stream, now = self._stream, self.reader.now(self._stream)
        if self._words is None:
            self._words = Words()
        block = Block(data, self._shapes, Now(*now), self._words, base)
        misfits = iter(block.misfits)
        at = 0
        stop = next(misfits)
        while at < block.count:
            while stop < at:
                stop = next(misfits)
            known = self._known(block, at, stop, now) if stop - at > LEAST else at
            if known - at > LEAST:
                # The last line is read, and the last request: what they leave open is then as if all had been read.
                end = block.last_request(at, known - 1)
                if end > at:
                    yield gap_of(source, number + at, block, at, end, self.reader.last(stream))
                at, few = end, 1
            else:
                # Those that cannot be skipped yet may become so behind the line that is in the way.
                few = max(1, known - at + 1) if stop - at > LEAST else max(1, stop - at)
            for line in block.lines(at, min(at + few, block.count)):
                if not self._goes_on(number + at, line):
                    yield source, number + at, line
                    if at == stop:
                        self._met(line)
                at += 1
                if at < block.count and self.reader.now(stream) != now:
                    return block.until(at), at
        return len(data), block.count

    def _goes_on(self, number: int, line: bytes) -> bool:
        """Hand a line over that only goes on with a message: most of a traceback."""
        # The prefix ends with a bracket and a blank, and what goes on behind it is indented.
        if self._lines_read < HEAD or (b"]  " not in line and b"] \t" not in line):
            return False
        if not self.reader.goes_on(number, line.decode("utf-8", "replace"), self._peeler.bare):
            return False
        self._peeler.seen["bare"] += 1
        return True

    def _known(self, block: Block, at: int, stop: int, now: Told) -> int:
        """Return the line before which some lines of known shapes may be skipped, ``at`` where none may."""
        room = self._room(now, self._shapes.wrapped) if block.shapes is self._shapes else 0
        return stop if room == ANY else block.before(at, stop, room) if room else at

    def _room(self, now: Told, wrapped: bool) -> int:
        """Return how many bytes lines must not reach to be skipped at this moment, 0 where none may be.

        ``now``: what the clock should say; ``wrapped``: whether the lines all have a time of their envelope.
        """
        if self._serving(self._stream) != self._engine or not self._peeler.quiet:
            return 0
        if self.reader.now(self._stream) != now:
            return 0
        asked = self._asked(self._engine)
        # What is open may be closed by these lines, and is told of before them: it must not change what they mean.
        if any(asked.events(one) is None for one in self.reader.waiting()):
            return 0
        return self.reader.room(self._stream, wrapped)

    def _met(self, line: bytes) -> bool:
        """Count the shape of a line that was read; tell whether it was learnt now."""
        if not self._ready:
            return False
        asks = line.find(ASKS, 0, 300)
        key = line[: asks if asks >= 0 else 400].translate(None, b"0123456789")
        self._seen[key] += 1
        count = self._seen[key]
        if count < SIGHTINGS or count & (count - 1):
            if len(self._seen) > MOST_KEYS:
                self._seen.clear()
            return False
        return self._learn(line)

    def _learn(self, line: bytes) -> bool:
        """Learn the shape of a line; tell whether it is new."""
        found = read(line)
        stream = self._stream if found is None else found.line.stream
        engine = self._serving(stream)
        if (engine, stream) != (self._engine, self._stream):
            # What a line means depends on whose it is. New ones: the block at hand goes on with those it was taken
            # apart with, and is skipped no more.
            if engine != self._engine:
                self._seen.clear()
            self._engine, self._stream = engine, stream
            self._shapes = Shapes()
        if found is None or not engine or len(self._shapes) >= MOST_LAYOUTS:
            return False
        layout = learn(line, self._asked(engine))
        return layout is not None and self._shapes.add(layout)
