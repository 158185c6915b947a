"""Cutting a log while others look for the gaps in what comes next, by what was known when they began.

Whoever looks ahead takes for granted that nothing happens until then: the same server goes on, and no message is open.
That is checked before a gap is believed; where it is not so, its lines are cut as ever. So the pieces are other ones
than without help, but as good: what is read of a log does not depend on how it was cut.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from typing import NamedTuple

from diagnoser.envelopes import Peeler
from diagnoser.formats.skipping import SkippingReader
from diagnoser.skimming.cutter import Cutter, RawLine, Skipped
from diagnoser.skimming.foreseen import Foreseen, Found, Seed, mark_of
from diagnoser.skimming.layouts import Layout, Request
from diagnoser.skimming.trials import Asked
from diagnoser.values import dataclass

#: Bytes that are worth giving to somebody else, and of a log that is worth having others at all.
WORTH, LONG = 1 << 20, 32 << 20


class Place(NamedTuple):
    """Where a piece of a log should be: in a file, from a byte on, so many bytes."""

    path: str
    at: int
    size: int


#: Gives what comes next to somebody: a packed seed, the input, the first line's number, the lines or where they are.
#: What it gives back waits for what was found; None where nobody looks.
Give = Callable[[bytes, str, int, "bytes | Place"], "Future[Found] | None"]


@dataclass(slots=True, frozen=True)
class Others:
    """Who looks ahead: how pieces are given to them, and how many may be on their way."""

    give: Give
    most: int


class AheadCutter(Cutter):
    """A cutter that has others look ahead. ``paths`` has the files that they can open, by the names of their lines."""

    def __init__(
        self,
        others: Others,
        paths: Mapping[str, str],
        reader: SkippingReader,
        peeler: Peeler,
        serving: Callable[[str], str],
        asked: Callable[[str], Asked],
        size: int | None = None,
    ) -> None:
        super().__init__(reader, peeler, serving, asked, size)
        self._others = others
        self._paths = dict(paths)
        # Bytes after which it is worth it.
        self._left = 0 if size is not None and size >= LONG else LONG
        # Shapes, and how they are given away.
        self._packed: tuple[list[Layout | Request], bytes] = [], b""
        self._answered = False

    def cut_all(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[RawLine | Skipped]:
        """Cut a whole source. Feed each piece to the reader before asking for the next."""
        coming = self._placed(blocks)
        waiting: deque[tuple[str, int, bytes, Future[Found] | None]] = deque()
        more = True
        while more or waiting:
            # Until shapes are known nobody can look ahead.
            while more and len(waiting) < (self._others.most if self._settled else 1):
                unit = next(coming, None)
                if unit is None:
                    more = False
                else:
                    waiting.append((*unit[:3], self._given(*unit)))
            if waiting:
                source, number, data, given = waiting.popleft()
                self._left -= len(data)
                found = self._answer(given)
                if found is not None and found.mark == mark_of(data):
                    yield from self._checked(source, number, data, found.gaps)
                    continue
                if found is not None:
                    # A file that is not what it was, or was not taken as it is.
                    self._paths.pop(source, None)
                yield from self.cut(source, number, data)

    def _answer(self, given: Future[Found] | None) -> Found | None:
        """Wait for what somebody found. Nobody is waited for until the first of them is there to work."""
        if given is None:
            return None
        if not self._answered and not given.done():
            given.cancel()
            return None
        try:
            found = given.result()
        except (Exception, CancelledError):
            return None
        self._answered = True
        return found

    def _placed(self, blocks: Iterable[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, bytes, int]]:
        """Yield pieces, each with the bytes of its input before it."""
        before, name = 0, ""
        for source, number, data in self._gathered(blocks):
            if source != name:
                before, name = 0, source
            yield source, number, data, before
            before += len(data)

    @property
    def _settled(self) -> bool:
        return len(self._shapes) > 0 and self._ready and self._size >= WORTH and self._left <= 0

    def _given(self, source: str, number: int, data: bytes, before: int) -> Future[Found] | None:
        """Give a piece away that is worth it."""
        if not self._settled or len(data) < WORTH:
            return None
        if self._packed[0] != self._shapes.every:
            self._packed = list(self._shapes.every), pickle.dumps(self._shapes.every)
        seed = Seed(self._engine, self._stream, self._packed[1], self.reader.standing(self._stream))
        path = self._paths.get(source)
        piece = data if path is None else Place(path, before, len(data))
        return self._others.give(pickle.dumps(seed), source, number, piece)

    def _checked(self, source: str, number: int, data: bytes, foreseen: list[Foreseen]) -> Iterator[RawLine | Skipped]:
        """Read the lines between gaps; cut the rest as ever from the first gap on that is none."""
        at = 0
        for one in foreseen:
            yield from self._between(source, number, data[at : one.start])
            gap = one.skipped[0]
            room = self._room(one.now, gap.wrapped) if gap.stream == self._stream else 0
            if not room or self.reader.last(gap.stream) != one.before:
                yield from self.cut(source, gap.line, data, one.start)
                return
            yield one.bind(data)
            number, at = gap.line + gap.count, one.stop
        yield from self._between(source, number, data[at:])

    def _between(self, source: str, number: int, data: bytes) -> Iterator[RawLine]:
        for place, line in enumerate(data[:-1].split(b"\n") if data else ()):
            if not self._goes_on(number + place, line):
                yield source, number + place, line
                self._met(line)
