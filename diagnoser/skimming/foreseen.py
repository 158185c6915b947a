"""The gaps in lines somewhere in the middle of a log, found by what was known of it before them.

It is taken for granted that nothing happens until then: the same server goes on, and no message is open.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from diagnoser.envelopes import Peeler
from diagnoser.formats.skipping import SkippingReader
from diagnoser.skimming.cutter import HEAD, LARGE, Cutter, RawLine, Skipped, Told
from diagnoser.skimming.shapes import Shapes
from diagnoser.skimming.trials import Asked
from diagnoser.values import dataclass

if TYPE_CHECKING:
    from diagnoser.skimming.words import Words

#: Lines at the start that are read in any case: they tell the time.
SYNC = 16


@dataclass(slots=True)
class Foreseen:
    """A gap that is there if all is as it was taken for granted: the clock, and the time of the line before it.

    It goes from one byte to before another one. A line that could not be skipped then may be skipped now, for the room
    of lines only grows; never the other way round.
    """

    skipped: Skipped
    start: int
    stop: int
    now: Told
    before: float | None

    def bind(self, data: bytes) -> Skipped:
        """Return the gap with its lines where they are."""
        gap = self.skipped[0]
        for lines in (*(rows.texts for rows in gap.rows), *(seen.record for seen in gap.events)):
            lines.spans.bind(data)  # type: ignore[attr-defined]
        return self.skipped


@dataclass(slots=True)
class Seed:
    """What is known when somebody begins to look ahead; ``shapes`` are packed, ``standing`` is the reader's."""

    engine: str
    stream: str
    shapes: bytes
    standing: Any


@dataclass(slots=True)
class Found:
    """The gaps in a piece, and the ``mark`` of what was looked at."""

    mark: int
    gaps: list[Foreseen]


def mark_of(data: bytes) -> int:
    """Return what tells lines from others: somebody else may find others where these were read."""
    return zlib.crc32(data[::509], len(data))


def look(seed: bytes, asked: Callable[[str], Asked], source: str, number: int, data: bytes) -> Found:
    """Look for the gaps in some lines; there are none in what is no whole lines."""
    if not data.endswith(b"\n"):
        return Found(mark_of(data), [])
    import numpy as np  # only where long logs are read by several

    began: Seed = pickle.loads(seed)
    reader, peeler = SkippingReader(), Peeler()
    reader.resume(began.stream, began.standing)
    cutter = _Looking(began, reader, peeler, asked)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    found: list[Foreseen] = []

    def pieces() -> Iterator[RawLine | Skipped]:
        at = int(ends[min(SYNC, len(ends)) - 1]) + 1
        for place, line in enumerate(data[: at - 1].split(b"\n")):
            yield source, number + place, line
        for piece in cutter.cut(source, number + SYNC, data, at):
            if not isinstance(piece[0], str):
                gap = piece[0]
                first = gap.line - number
                start, stop = int(ends[first - 1]) + 1, int(ends[first + gap.count - 1]) + 1
                now, before = reader.now(began.stream), reader.last(began.stream)
                found.append(Foreseen(piece, start, stop, now, before))
            yield piece

    for line in peeler.lines(pieces(), begun=True):
        if line.__class__ is tuple:
            reader.skip(*line)
        else:
            reader.feed(line)
    return Found(mark_of(data), found)


class _Looking(Cutter):
    """Cuts lines somewhere in a log by what was known before."""

    def __init__(self, seed: Seed, reader: SkippingReader, peeler: Peeler, asked: Callable[[str], Asked]) -> None:
        super().__init__(reader, peeler, lambda stream: seed.engine if stream == seed.stream else "", asked)
        self._stream, self._engine = seed.stream, seed.engine
        self._shapes = _unpacked(seed.shapes).copy()
        self._long, self._lines_read, self._size = True, HEAD, LARGE
        self._words = _words()


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Shapes:
    """Return shapes; the next pieces of a log mostly come with the same."""
    made = Shapes()
    for one in pickle.loads(packed):
        made.add(one)
    return made


@lru_cache(maxsize=1)
def _words() -> Words:
    """Return buffers that are used again for the next piece."""
    from diagnoser.skimming.words import Words  # only where long logs are read by several

    return Words()
