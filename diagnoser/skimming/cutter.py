"""Cuts a log into lines that must be read and gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain

from diagnoser.formats.skipping import SkippingReader
from diagnoser.formats.wrapping import ANY
from diagnoser.model import Gap
from diagnoser.skimming.columns import Block
from diagnoser.skimming.gaps import Lines, gap_of
from diagnoser.skimming.layouts import Layout, RequestLayout, learn
from diagnoser.skimming.trials import Asked

#: Lines at the start of an input that are read in any case: whatever looks ahead has had its look.
HEAD = 500
#: Bytes of a full block.
FULL = 900 << 10
#: Full blocks at the start of a log that tell that it is long; lines that do where it comes in smaller pieces. Before
#: that, reading every line takes less time than loading what this needs.
LONG, MANY = 3, 20_000
#: Fewer lines than this are read as quickly as they are skipped.
LEAST = 24
#: Sightings of a shape before it is learnt; shapes kept; keys of shapes that are counted.
SIGHTINGS, MOST_LAYOUTS, MOST_KEYS = 4, 64, 4096
#: Bytes left in a block for which it is worth to look again, once a shape was learnt or a day began.
AGAIN = 64 << 10

_STRANGE = (b"\x00", b"\r", b"\x1b", b" across cluster]")

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
        self._seen: Counter[bytes] = Counter()
        self._index: dict[bytes, int] = {}
        self._layouts: list[Layout] = []
        self._requests: list[RequestLayout] = []

    def cut_all(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[RawLine | Skipped]:
        """Cut a whole source. Feed each piece to the reader before asking for the next."""
        coming = iter(blocks)
        # What drips in is not waited for.
        first = []
        for one in coming:
            first.append(one)
            if len(first) >= LONG or len(one[2]) < FULL:
                break
        self._long = len(first) >= LONG
        for source, number, data in chain(first, coming):
            yield from self.cut(source, number, data)

    @property
    def _ready(self) -> bool:
        """Whether it is time to look for shapes: the log is long enough to be worth it."""
        return self._read >= (HEAD if self._long else MANY)

    def cut(self, source: str, number: int, data: bytes) -> Iterator[RawLine | Skipped]:
        """Cut whole lines of a source, the first of which has this number."""
        while data:
            if not self._ready or not (self._layouts or self._requests):
                lines = data.split(b"\n")
                del lines[-1]
                for done, line in enumerate(lines):
                    yield source, number + done, line
                    self._read += 1
                    if self._met(line):
                        data = data[sum(map(len, lines[: done + 1])) + done + 1 :]
                        number += done + 1
                        break
                else:
                    return
                continue
            block = Block(data, self._index, self._layouts, self.reader.date())
            used, read = yield from self._pieces(source, number, block)
            number += read
            data = data[used:]

    def _pieces(self, source: str, number: int, block: Block) -> Generator[RawLine | Skipped, None, tuple[int, int]]:
        """Cut one block; return how many bytes and lines were used: the rest is to be looked at again."""
        date = self.reader.date()
        lines = Lines(block, self._requests, any(one in block.data for one in _STRANGE), date)
        at = 0
        while at < block.count:
            stop = lines.misfit(at)
            if stop - at > LEAST and self._may_skip(lines, at, stop):
                # The last line is read, and the last request: what they leave open is then as if all had been read.
                end = lines.last_request(at, stop - 1)
                if end > at:
                    yield gap_of(source, number + at, lines, at, end, self.reader)
                at, few = end, 1
            else:
                # One that cannot be skipped yet may become so with the next line.
                few = 1 if stop - at > LEAST else max(1, stop - at)
            for _ in range(few):
                line = block.data[block.starts[at] : block.ends[at]]
                yield source, number + at, line
                learnt = block.shape[at] < 0 and at not in lines.requests and self._met(line)
                at += 1
                if (learnt or self.reader.date() != date) and len(block.data) - block.ends[at - 1] > AGAIN:
                    return int(block.ends[at - 1]) + 1, at
        return len(block.data), block.count

    def _may_skip(self, lines: Lines, at: int, stop: int) -> bool:
        if self._serving() != self._engine or lines.block.layouts is not self._layouts:
            return False
        if lines.date != self.reader.date():
            return False
        asked = self._asked(self._engine)
        # What is open may be closed by these lines, and is told of before them: it must not change what they mean.
        if any(asked.events(one) is None for one in self.reader.waiting()):
            return False
        room = self.reader.room()
        return room > 0 and (room == ANY or lines.longest(at, stop) < room)

    def _met(self, line: bytes) -> bool:
        """Count the shape of a line that was read; tell whether it was learnt now."""
        if not self._ready:
            return False
        if (engine := self._serving()) != self._engine:
            # What a line means depends on whose it is.
            self._engine = engine
            # New ones: the block at hand goes on with those it was taken apart with, and is skipped no more.
            self._seen.clear()
            self._index, self._layouts, self._requests = {}, [], []
        if not engine:
            return False
        key = line.translate(None, b"0123456789") if len(line) < 400 else line[:60].translate(None, b"0123456789")
        self._seen[key] += 1
        if self._seen[key] != SIGHTINGS:
            if len(self._seen) > MOST_KEYS:
                self._seen.clear()
            return False
        found = learn(line, self._asked(self._engine))
        if found is None or len(self._layouts) + len(self._requests) >= MOST_LAYOUTS:
            return False
        if isinstance(found, RequestLayout):
            if all(found.head.pattern != one.head.pattern for one in self._requests):
                self._requests.append(found)
                return True
            return False
        if found.skeleton in self._index:
            return False
        self._index[found.skeleton] = len(self._layouts)
        self._layouts.append(found)
        return True
