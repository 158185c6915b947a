"""A reader of records that can be told of lines that nobody looked at, as long as nothing depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from diagnoser.formats._stream import Stream
from diagnoser.formats.base import Head
from diagnoser.formats.clock import Clock
from diagnoser.formats.joining import Open, whole_request
from diagnoser.formats.process import Writer
from diagnoser.formats.records import PATIENCE, RecordReader
from diagnoser.formats.wrapping import ANY, Width
from diagnoser.gap import Gap
from diagnoser.model import Line, Record
from diagnoser.tables.table import Origin

#: Messages whose next lines are expected: the prefix of each changes with the second.
_MOST_RUNNING = 256


class SkippingReader(RecordReader):
    """Reads the lines of one source; gaps may lie between them, each in one stream."""

    def __init__(self) -> None:
        super().__init__()
        # How the lines of open messages begin.
        self._running: dict[str, tuple[Stream, str, Open]] = {}

    def waiting(self) -> list[Record]:
        """Return the messages that were read and not given back yet: open ones, and what stands behind them."""
        return [one.record for one in self._pending if one.record.kind in ("message", "raw", "traceback")]

    def goes_on(self, number: int, text: str, bare: Callable[[str], bool]) -> bool:
        """Take a line that is surely the next one of an open message, a frame of a traceback say; tell whether it is.

        Such a line is ``bare`` of any envelope, and has the prefix of the message and a blank behind it.
        """
        at = text.find("] ") + 2
        known = self._running.get(text[:at])
        if known is None:
            return False
        stream, tag, message = known
        if message.closed or stream.prefixed.get(tag) is not message:
            del self._running[text[:at]]
            return False
        if text[at : at + 1] not in (" ", "\t") or stream.width.full or self._quotes:
            return False
        if "% " in text or "%|" in text or " across cluster]" in text or not bare(text):
            return False
        # Whatever waits in front is looked at with every line.
        count = self._count + 1
        first = self._pending[0]
        if first is not message and (first.closed or count - first.seen > PATIENCE):
            return False
        self._count = count
        stream.width.see(text)
        message.append(text[at:], number, count)
        stream.last = message
        return True

    def _prefixed(self, line: Line, stream: Stream, who: Writer, text: str, head: Head) -> tuple[Record, ...]:
        done = super()._prefixed(line, stream, who, text, head)
        # The line is bare when nothing was taken from it but its writer's prefix.
        whole = line.text
        message = stream.prefixed.get(who.tag)
        if line.envelope == "bare" and message is not None and not message.closed and message.prefix[-2:] == "] ":
            at = whole.find("] ") + 2
            if whole[at:] == head.text and whole[:at].endswith(message.prefix):
                if len(self._running) >= _MOST_RUNNING:
                    self._running.clear()
                self._running[whole[:at]] = stream, who.tag, message
        return done

    def room(self, name: str, wrapped: bool) -> int:
        """Bytes that a stream's lines must not reach to be skipped now, unless they have as many characters.

        0 while one could be what a user sent.

        ``wrapped``: whether they all have a time of their envelope, so that no terminal broke them.
        """
        stream = self._streams[name]
        # A request may enclose lines of other streams: users paste wrapped logs.
        if self._quotes or stream.loose is not None:
            return 0
        broken = any(
            one.record.kind == "request" and not whole_request(one.record) for one in self._pending if not one.closed
        )
        if broken or (wrapped and stream.width.full):
            return 0
        return ANY if wrapped else stream.width.room

    def standing(self, name: str) -> tuple[Clock, Width]:
        """Return what a stream knows of the day and of its lines' width, to ``resume`` it in another reader."""
        return self._streams[name].clock, self._streams[name].width

    def resume(self, name: str, standing: tuple[Clock, Width]) -> None:
        """Go on with a stream somewhere behind the line that it was at."""
        self._streams[name].clock, self._streams[name].width = standing

    def now(self, name: str) -> tuple[tuple[int, int, int], float, str, float]:
        """Year, month and day that a stream's lines print now, when that day began, what is known of times in it.

        Last how far that clock is ahead of the envelope's, in seconds.
        """
        clock = self._streams[name].clock
        return (clock.date, *clock.midnight(), clock.shift)

    def last(self, name: str) -> float | None:
        """Return the last time of a stream."""
        return self._streams[name].clock.last

    def skip(self, gap: Gap, tags: Iterable[tuple[str, bool]], time: float | None) -> Sequence[Record | Gap]:
        """Take lines that were not looked at, at a moment when it is quiet; return what is complete now.

        ``tags``: who wrote them, and whether with vLLM's formatter. ``time``: the last time that they print.
        """
        self._count += gap.count
        stream = self._streams[gap.stream]
        for tag, formatted in tags:
            # What each single line would have ended.
            bare = stream.bare.get(tag)
            if bare is not None and not bare.closed and bare.frames != "frames":
                bare.close()
            before = stream.prefixed.get(tag) if formatted else None
            if before is not None and not before.closed:
                before.close()
        stream.last = None
        if not gap.wrapped:
            stream.width.pass_by(gap.longest, gap.as_long)
        stream.clock.pass_by(time)
        held = Open(Record(Origin(gap.source, gap.line), "", "gap"), "", self._count)
        held.closed = True
        held.record = gap  # type: ignore[assignment]
        self._pending.append(held)
        return self._release(())

    def tag_of(self, text: str) -> str:
        """Return the writer's prefix of a line, "" without one."""
        return self._peel(text)[0].tag if text[:1] == "(" or text[:2] in ("[r", "[d") else ""
