"""A request line that spans lines: SGLang prints the user's text as it is, line breaks included.

The text may be a whole server log, so neither an engine's prefix nor an access line proves that the request is over.
What proves it is the end of the request itself, which stands on one of the next lines: until it is seen, or too many
lines have gone by, the lines are held back.
"""

from __future__ import annotations

from collections.abc import Callable

from diagnoser.formats.base import Head
from diagnoser.formats.joining import Open
from diagnoser.model import Line
from diagnoser.patterns import lazily

#: Lines and characters held back; a request that has not ended by then was cut off.
MOST_LINES = 500
MOST_CHARACTERS = 256 * 1024

# The quote that closes the text, with the next field or the end of the object behind it; a line that opens a text of
# its own before that is another request.
_CLOSING = lazily(r"\"(?:, '?\w+'?[=:]|[)}]+\Z)")
_OPENING = lazily(r"[=:] ?\"")

#: A body as a client sent it, by whatever middleware; clients also choose the names of their requests.
BODY = lazily(r"Added request |[{,] ?(['\"])(?:messages|prompt|input)\1: ?[\[\"']")
#: Where a file was cut, its first line may be the rest of what a user wrote: fields of a request behind it, or quotes
#: and line breaks that were escaped because they stand in quotes.
REQUEST_REST = lazily(
    r"\\['\"nrt]|"
    r"\b(?:prompt|text|output)[:=] ?['\"]|['\"], (?:params: SamplingParams\(|sampling_params=|lora_request|input_ids=|"
    r"prompt_token_ids|finish_reason)|'meta_info': "
)


def quotes(head: Head) -> bool:
    """Whether an engine's message is about what a client sent."""
    return head.kind == "message" and head.level in ("INFO", "DEBUG", "") and BODY.search(head.text) is not None


def unfinished(record: Open) -> bool:
    """Whether a record is such a request, still open."""
    return record.record.kind == "request" and record.record.dialect == "sglang" and not record.closed


class Quote:
    """Lines behind an unfinished request, of which it is not known whether they are the user's or the server's."""

    __slots__ = ("_envelope", "_size", "lines", "request", "stream")

    def __init__(self, request: Open, line: Line) -> None:
        """Begin with the request and its first line."""
        self.request = request
        self.stream, self._envelope = line.stream, line.envelope
        self.lines: list[Line] = []
        self._size = 0

    def encloses(self, line: Line) -> bool:
        """Whether a line of another stream may be in the request: its stream comes of an envelope inside this one's."""
        inside = not self.stream or line.stream.startswith(f"{self.stream}/")
        return inside and line.envelope != self._envelope

    def take(self, line: Line, seen: int) -> bool | None:
        """Hold one line. True: the request ends with it and has got all lines; False: give up; None: go on."""
        self.lines.append(line)
        self._size += len(line.text)
        self.request.seen = seen
        if _closes(line.text.rstrip()):
            self._keep(len(self.lines))
            return True
        return False if len(self.lines) >= MOST_LINES or self._size >= MOST_CHARACTERS else None

    def end(self, own: Callable[[Line], bool]) -> None:
        """Keep what stands before the server's next own line: the log ends inside the request, so it was cut there."""
        self._keep(next((at for at, line in enumerate(self.lines) if own(line)), len(self.lines)))

    def _keep(self, count: int) -> None:
        for held in self.lines[:count]:
            self.request.append(held.text.rstrip("\r"), held.number, self.request.seen)
        del self.lines[:count]
        self.request.close()


def _closes(text: str) -> bool:
    if text[-1:] not in (")", "}"):
        return False
    closing = _CLOSING.search(text)
    return closing is not None and _OPENING.search(text, 0, closing.start() + 1) is None
