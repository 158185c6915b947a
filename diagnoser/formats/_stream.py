"""What is open in one stream of lines while its records are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from diagnoser.formats.base import Head
from diagnoser.formats.clock import Clock
from diagnoser.formats.joining import Open
from diagnoser.formats.process import colourless
from diagnoser.formats.quoting import Quote
from diagnoser.formats.wrapping import Width
from diagnoser.model import Line

#: Streams of one source that are told apart.
MOST = 4096
#: Processes of one stream with something open; more are looked through for complete ones.
MANY = 512


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

    def tidy(self) -> None:
        """Forget what is complete: a log may name a new process on every line."""
        for opened in (self.prefixed, self.bare):
            if len(opened) > MANY:
                for tag in [tag for tag, record in opened.items() if record.closed]:
                    del opened[tag]


class Quotes(dict[Quote, Stream]):
    """Requests whose text goes on, with their streams; one of a stream at most."""

    def begin(self, request: Open, line: Line, stream: Stream) -> None:
        """Note that a request goes on behind its first line."""
        if stream.quote is None:
            stream.quote = Quote(request, line)
            self[stream.quote] = stream

    def of(self, line: Line, stream: Stream) -> Quote | None:
        """Return the request that a line may be in: its stream's, or one around it, as users paste wrapped logs."""
        return stream.quote or next((one for one in self if one.encloses(line)), None)

    def close(self, quote: Quote) -> Quote:
        """Forget a request and return it."""
        self.pop(quote).quote = None
        return quote

    def last(self, ask: Callable[[str], Head | None]) -> Quote:
        """Forget one at the end of the log and return it: what is left in it are the server's lines.

        A log that a user pasted is older than the request that brought it.
        """
        quote, stream = next(iter(self.items()))
        request = quote.request.record

        def own(line: Line) -> bool:
            head = ask(colourless(line.text))
            if head is None or head.dialect != request.dialect or head.hour is None:
                return False
            time, _ = copy(stream.clock).resolve(head, line.time, line.undated)
            return time is not None and request.time is not None and time >= request.time

        quote.end(own)
        return self.close(quote)


class Streams(dict[str, Stream]):
    """Streams by name, made when asked for; those beyond ``MOST`` share one, so that memory is bounded."""

    def foresee(self, lines: Sequence[Line], ask: Callable[[str], Head | None]) -> None:
        """Look for dates and the time zone in lines that are still to come: the first ones often print no time."""
        for line in lines:
            head = ask(line.text)
            if head is not None and line.time is not None:
                self[line.stream].clock.foresee_zone(head, line.time)
            if head is not None and head.year is not None:
                self[line.stream].clock.hint(head)
            elif line.time is not None:
                self[line.stream].clock.envelope(line.time)

    def __missing__(self, name: str) -> Stream:
        if len(self) >= MOST and name != "":
            return self[""]
        made = self[name] = Stream()
        return made
