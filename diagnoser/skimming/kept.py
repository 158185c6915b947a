"""Lines of a gap that may still be asked for: where they stand, so that one that is not asked for is never copied.

They travel between processes without what they were read from, and are bound to it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from diagnoser.model import Record
from diagnoser.skimming.layouts import Shape
from diagnoser.tables.table import Origin

if TYPE_CHECKING:
    from diagnoser.skimming.blocks import Block


class Spans:
    """Some lines of a block, by where they stand in its data, which is ``base`` bytes into what was cut."""

    def __init__(self, data: bytes, base: int, starts: Any, stops: Any) -> None:
        self.data = data
        self.base = base
        self.starts, self.stops = starts, stops

    @classmethod
    def of(cls, block: Block, lines: Any) -> Spans:
        """Return lines of a block by their numbers in it."""
        return cls(block.data, block.base, *block.spans(lines))

    def each(self, some: Any) -> list[bytes]:
        """Return some of them, by place or as a slice."""
        where = zip(self.starts[some].tolist(), self.stops[some].tolist(), strict=True)
        return [self.data[start:stop] for start, stop in where]

    def bind(self, data: bytes) -> None:
        """Take what was cut in place of the block that is not here."""
        self.data = data
        self.starts, self.stops = self.starts + self.base, self.stops + self.base
        self.base = 0

    def __getstate__(self) -> tuple[int, Any, Any]:
        return self.base, self.starts, self.stops

    def __setstate__(self, state: tuple[int, Any, Any]) -> None:
        self.base, self.starts, self.stops = state
        self.data = b""


class Texts:
    """The texts of statistics lines: of each the shape, which is the one of ``shapes`` that ``owners`` says."""

    def __init__(self, shapes: Sequence[Shape], owners: Any, spans: Spans) -> None:
        self.shapes, self.owners = shapes, owners
        self.spans = spans

    def __call__(self, rows: Any) -> list[Callable[[], str]]:
        """Return what gives the texts of some rows. It holds no more than their lines: some are kept for long."""
        made = zip(self.owners[rows].tolist(), self.spans.each(rows), strict=True)
        return [partial(self.shapes[owner].text_of, line) for owner, line in made]


class Records:
    """The records of lines with an event: of each its number, its time, NaN for none, and which of ``parts`` it is.

    A part is a shape and what an event in it says.
    """

    def __init__(
        self, source: str, numbers: Any, parts: Sequence[tuple[Shape, Mapping[str, Any]]], owners: Any, times: Any,
        spans: Spans,
    ) -> None:  # fmt: skip
        self.source, self.numbers = source, numbers
        self.parts, self.owners = parts, owners
        self.times, self.spans = times, spans

    def __call__(self, place: int) -> tuple[Record, Mapping[str, Any]]:
        """Return one of them."""
        shape, fields = self.parts[self.owners[place]]
        number, time = int(self.numbers[place]), float(self.times[place])
        line = self.spans.each(slice(place, place + 1))[0]
        made = Record(
            Origin(self.source, number), shape.text_of(line), shape.kind, shape.dialect, shape.level,
            time if time == time else None, process=shape.process, ranks=shape.ranks, stream=shape.stream,
            last_line=number,
        )  # fmt: skip
        return made, fields
