"""Lines to records: the writer's prefix parsed, continuation lines joined, streams and processes kept apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from diagnoser.formats import dialects, process, progress, ray, vllm
from diagnoser.formats._stream import Quotes, Stream, Streams
from diagnoser.formats.base import Head
from diagnoser.formats.joining import Open, whole_request
from diagnoser.formats.quoting import REQUEST_REST, Quote, quotes, unfinished
from diagnoser.formats.wrapping import GLUED, begins
from diagnoser.model import Line, Record
from diagnoser.tables.table import Origin

#: A record that has not grown for so many lines is complete: it bounds memory and keeps the output in order.
PATIENCE = 200
#: Writers remembered per source; a hostile log may invent more.
_MOST_WRITERS = 4096

_NOTHING: tuple[Record, ...] = ()


class RecordReader:
    """Joins the lines of one source to records; gives them back in the order of their first lines.

    ``feed`` may hold records back until they are complete; ``flush`` gives them out at the end and keeps the clock.
    """

    def __init__(self) -> None:
        self._heads = tuple(dialect.head for dialect in dialects())
        self._streams = Streams()
        self._writers: dict[str, process.Writer] = {"": process.NOBODY}
        self._pending: deque[Open] = deque()
        self._quotes = Quotes()
        self._count = 0

    def foresee(self, lines: Sequence[Line]) -> None:
        """Learn the year from the first lines before they are fed."""
        self._streams.foresee(lines, self._ask)

    def feed(self, line: Line) -> Sequence[Record]:
        """Take one line; return the records that are complete now."""
        text = line.text
        if "\x1b" in text or (text[:1] == "[" and "m" in text[2:8]):
            text = process.colourless(text)
        if text[-1:] in ("\r", "\n"):
            text = text.rstrip("\r\n")
        self._count += 1
        stream = self._streams[line.stream]
        if self._quotes and (quoting := self._quotes.of(line, stream)):
            return self._quoted(line, quoting)
        if line.time is None:
            if stream.width.full and self._unbroken(line, stream, text):
                return _NOTHING
            stream.width.see(text)
        who = process.NOBODY
        if text[:1] == "(" or text[:2] in ("[r", "[d"):
            who, text = self._peel(text)
        done = self._line(line, stream, who, text)
        if not self._pending:
            return done
        return self._release(done)

    def _unbroken(self, line: Line, stream: Stream, text: str) -> bool:
        """Put a line behind the last one when it is the rest that a terminal broke off."""
        last, loose = stream.last, stream.loose
        if last is not None and not last.closed and stream.width.rest(text) and not begins(text, self._ask):
            last.glue(text, line.number, self._count)
            stream.width.see(text)
            return True
        if loose is not None:
            loose.close()
            stream.loose = None
        return False

    def _quoted(self, line: Line, quote: Quote) -> Sequence[Record]:
        """Hold a line that a user may have sent; when it turns out that none did, read what was held again."""
        verdict = quote.take(line, self._count)
        if verdict is None:
            return _NOTHING
        self._quotes.close(quote)
        return self._release(_NOTHING) if verdict else self._reread(quote)

    def _reread(self, quote: Quote) -> list[Record]:
        return [record for line in quote.lines for record in self.feed(line)]

    def flush(self) -> Sequence[Record]:
        """Complete and return everything that is still open."""
        given: list[Record] = []
        while self._quotes:
            given += self._reread(self._quotes.last(self._ask))
        for waiting in (one for one in self._pending if not one.closed):
            waiting.close()
        for stream in self._streams.values():
            stream.bare.clear()
            stream.prefixed.clear()
            stream.last = stream.loose = None
        return [*given, *self._release(_NOTHING)]

    def _release(self, done: tuple[Record, ...]) -> Sequence[Record]:
        """Take the closed records off the front of the queue; ``done`` never had to wait in it."""
        pending = self._pending
        given = list(done)
        while pending:
            first = pending[0]
            if not first.closed:
                if self._count - first.seen <= PATIENCE:
                    break
                first.close()
            given.append(first.record)
            pending.popleft()
        return given

    def _peel(self, text: str) -> tuple[process.Writer, str]:
        # Nearly every line repeats a tag that was read before.
        end = text.find(") ") + 2
        known = self._writers.get(text[:end])
        if known is not None and text[end : end + 1] not in ("(", "["):
            return known, ray.unfold(text[end:])
        end = process.length(text)
        if end == 0:
            return process.NOBODY, text
        tag, rest = text[:end], ray.unfold(text[end:])
        who = self._writers.get(tag)
        if who is None:
            who = process.writer(tag)
            if len(self._writers) < _MOST_WRITERS:
                self._writers[tag] = who
        return who, rest

    def _ask(self, text: str) -> Head | None:
        for head in self._heads:
            found = head(text)
            if found is not None:
                return found
        return None

    def _line(self, line: Line, stream: Stream, who: process.Writer, text: str) -> tuple[Record, ...]:
        end = progress.bar_end(text) if "% " in text or "%|" in text else 0
        if 0 < end < len(text) and text[end:].strip():
            # A bar ends without a line break: what follows it is a line of its own, but where a message tells of it.
            after = self._second(who, text[end:])
            told, behind = self._ask(text), self._ask(after[1])
            if told is None or told.dialect == progress.NAME or (behind is not None and behind.hour is not None):
                return self._piece(line, stream, who, text[:end]) + self._line(line, stream, *after)
        return self._piece(line, stream, who, text)

    def _second(self, who: process.Writer, text: str) -> tuple[process.Writer, str]:
        other, rest = self._peel(text.lstrip())
        return (other, rest) if other is not process.NOBODY else (who, rest)

    def _piece(self, line: Line, stream: Stream, who: process.Writer, text: str) -> tuple[Record, ...]:
        tag = who.tag
        # No dialect begins a line with blanks, but for bars without a title.
        indented = text[:1] in (" ", "\t", "")
        head = self._ask(text) if not indented or "%|" in text else None
        if head is not None and head.dialect == "vllm" and head.where and text[:1] != "{":
            return self._prefixed(line, stream, who, text, head)
        bare = stream.bare.get(tag)
        if bare is not None and not bare.closed:
            if bare.takes_bare(text, head):
                bare.append(text, line.number, self._count)
                stream.last = bare
                return _NOTHING
            if bare.frames != "frames" or (head is not None and head.kind == "traceback"):
                bare.close()
                bare = None
        else:
            bare = None
        if not text.strip():
            return _NOTHING
        if head is None and not indented and (glued := GLUED.search(text)):
            # A print without a line break, or an outer prefix that no envelope knows.
            start = glued.start(1)
            done = self._piece(line, stream, who, text[:start].rstrip())
            return done + self._line(line, stream, *self._second(who, text[start:]))
        record = self._record(line, stream, who, text, head)
        # A JSON object is whole; so are these kinds.
        whole = record.kind == "request" and whole_request(record)
        closed = whole or record.kind in ("access", "stats") or text[:1] == "{"
        # A traceback that other lines interrupt stays the one that goes on.
        busy = bare is not None and not record.text.endswith("(most recent call last):")
        if closed or busy:
            return self._hand_over(record, stream)
        stream.bare[tag] = held = self._hold(record, stream, "")
        if unfinished(held):
            self._quotes.begin(held, line, stream)
        return _NOTHING

    def _prefixed(self, line: Line, stream: Stream, who: process.Writer, text: str, head: Head) -> tuple[Record, ...]:
        """Handle a line of vLLM's formatter, which repeats its prefix on each line of one message."""
        tag, message = who.tag, head.text
        prefix = text[: len(text) - len(message)] if message else text
        before = stream.prefixed.get(tag)
        if before is not None and not before.closed:
            if before.prefix == prefix and before.takes_prefixed(message):
                before.append(message, line.number, self._count)
                stream.last = before
                return _NOTHING
            before.close()
        bare = stream.bare.get(tag)
        if bare is not None and bare.frames != "frames" and not bare.closed:
            bare.close()
        record = self._record(line, stream, who, text, head)
        if record.kind in ("stats", "access"):
            return self._hand_over(record, stream)
        if record.kind == "request" and not vllm.request_complete(message):
            stream.bare[tag] = held = self._hold(record, stream, prefix)
            stream.prefixed[tag] = held
        else:
            stream.prefixed[tag] = self._hold(record, stream, prefix)
        return _NOTHING

    def _hold(self, record: Record, stream: Stream, prefix: str) -> Open:
        stream.last = held = Open(record, prefix, self._count)
        stream.tidy()
        self._pending.append(held)
        return held

    def _hand_over(self, record: Record, stream: Stream) -> tuple[Record, ...]:
        """Give a record out at once, or behind those that still wait."""
        if stream.width.full:
            stream.loose = self._hold(record, stream, "")
            return _NOTHING
        stream.last = None
        if not self._pending:
            return (record,)
        held = Open(record, "", self._count)
        held.closed = True
        self._pending.append(held)
        return _NOTHING

    def _record(self, line: Line, stream: Stream, who: process.Writer, text: str, head: Head | None) -> Record:
        time, known = stream.clock.resolve(head, line.time, line.undated)
        origin = Origin(line.source, line.number)
        if head is None:
            kind = "request" if line.number == 1 and REQUEST_REST.search(text) else "raw"
            return Record(origin, text, kind, "", "", time, known, who.name, who.ranks, "", line.stream, line.number)
        ranks = who.ranks
        if head.ranks and head.ranks != ranks:
            ranks = tuple(sorted({**dict(ranks), **dict(head.ranks)}.items())) if ranks else head.ranks
        return Record(
            origin, head.text, "request" if quotes(head) else head.kind, head.dialect, head.level, time, known,
            head.process or who.name, ranks, head.where, line.stream, line.number,
        )  # fmt: skip
