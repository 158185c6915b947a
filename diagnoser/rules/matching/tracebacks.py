"""Which lines of a record are the engine's message, which are stack frames and which are the exception."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.patterns import lazily

#: How every Python traceback begins, exception groups included.
HEADER = "Traceback (most recent call last)"

_GROUP_HEADER = lazily(r"\s*[+|] ")
_MARGIN = lazily(r"\s*[+|] ?")


class Parts:
    """Parts of one record's text, worked out when first asked.

    Frames hold source lines that quote the very messages they would print, so nothing may be matched on them. After
    the header frames are indented; the first line that is not is the exception, and all that follows it (pydantic
    indents its reasons) belongs to it until the next traceback of the chain.
    """

    __slots__ = ("_spans", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: list[tuple[int, str]] | None = [] if HEADER not in text else None

    def at(self, position: int) -> str:
        """Return "message", "stack" or "exception" for the line that begins at ``position``."""
        if self._spans is None:
            self._spans = list(_spans(self._text))
        part = "message"
        for start, name in self._spans:
            if start > position:
                break
            part = name
        return part


def _spans(text: str) -> Iterator[tuple[int, str]]:
    """Positions of the lines where the part changes, with the new part's name."""
    part, grouped, position = "message", False, 0
    for line in text.split("\n"):
        now = part
        if HEADER in line:
            grouped = _GROUP_HEADER.match(line) is not None
            # "Scheduler hit an exception: Traceback ..." is the engine's own message; the frames begin below it.
            now = "message" if not grouped and line.split(HEADER, 1)[0].strip() else "stack"
        elif part == "stack" and _ends_stack(line, grouped):
            now = "exception"
        if now != part:
            yield position, now
            part = now
        if HEADER in line and part == "message":
            yield position + len(line) + 1, "stack"
            part = "stack"
        position += len(line) + 1


def _ends_stack(line: str, grouped: bool) -> bool:
    """Whether a line after the header is no frame. Members of an exception group stand behind a margin of "|"."""
    if grouped and (margin := _MARGIN.match(line)):
        line = line[margin.end() :]
    return bool(line) and not line[0].isspace()
