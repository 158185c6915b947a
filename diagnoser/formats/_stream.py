"""What is open in one stream of lines while its records are put together."""

from __future__ import annotations

from diagnoser.formats.clock import Clock
from diagnoser.formats.joining import Open
from diagnoser.formats.quoting import Quote
from diagnoser.formats.wrapping import Width


class Stream:
    """Per process one record with prefixes on each line, and one without."""

    __slots__ = ("bare", "clock", "last", "loose", "prefixed", "quote", "width")

    def __init__(self) -> None:
        self.clock = Clock()
        self.prefixed: dict[str, Open] = {}
        self.bare: dict[str, Open] = {}
        self.width = Width()
        # The record that took the last line; one that is whole but for a rest behind a terminal's line break.
        self.last: Open | None = None
        self.loose: Open | None = None
        # A request whose text goes on over the next lines.
        self.quote: Quote | None = None
