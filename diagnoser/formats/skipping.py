"""A reader of records that can be told of lines that nobody looked at, as long as nothing depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnoser.formats.joining import Open, whole_request
from diagnoser.formats.records import RecordReader
from diagnoser.model import Gap, Record
from diagnoser.table import Origin


class SkippingReader(RecordReader):
    """Reads the lines of one source; gaps may lie between them, all in its unnamed stream."""

    def waiting(self) -> list[Record]:
        """Return the messages that were read and not given back yet: open ones, and what stands behind them."""
        return [one.record for one in self._pending if one.record.kind in ("message", "raw", "traceback")]

    def room(self) -> int:
        """Bytes that lines must not reach to be skipped now: 0 while a line could belong to what a user sent."""
        stream = self._streams[""]
        if stream.quote is not None or stream.loose is not None:
            return 0
        broken = any(
            one.record.kind == "request" and not whole_request(one.record) for one in self._pending if not one.closed
        )
        return 0 if broken else stream.width.room

    def date(self) -> tuple[int, int, int]:
        """Year, month and day that lines of the unnamed stream print now."""
        return self._streams[""].clock.date

    def clock(self) -> tuple[float, str, float | None]:
        """When that day began, what is known of times in it, and the last time."""
        clock = self._streams[""].clock
        return (*clock.midnight(), clock.last)

    def skip(self, gap: Gap, tags: Iterable[tuple[str, bool]], time: float | None) -> Sequence[Record | Gap]:
        """Take lines that were not looked at, at a moment when it is quiet; return what is complete now.

        ``tags``: who wrote them, and whether with vLLM's formatter. ``time``: the last time that they print.
        """
        self._count += gap.count
        stream = self._streams[""]
        for tag, formatted in tags:
            # What each single line would have ended.
            bare = stream.bare.get(tag)
            if bare is not None and not bare.closed and bare.frames != "frames":
                bare.close()
            before = stream.prefixed.get(tag) if formatted else None
            if before is not None and not before.closed:
                before.close()
        stream.last = None
        stream.width.full = False
        stream.clock.pass_by(time)
        held = Open(Record(Origin(gap.source, gap.line), "", "gap"), "", self._count)
        held.closed = True
        held.record = gap  # type: ignore[assignment]
        self._pending.append(held)
        return self._release(())

    def tag_of(self, text: str) -> str:
        """Return the writer's prefix of a line, "" without one."""
        return self._peel(text)[0].tag if text[:1] == "(" or text[:2] in ("[r", "[d") else ""
