"""Lines that a terminal broke at its width before somebody copied them: where to put them together again."""

from __future__ import annotations

from collections.abc import Callable

from diagnoser.formats import process
from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

#: Columns of a terminal somebody would copy a log from.
_NARROWEST = 60
_WIDEST = 400
#: A line that begins with so many characters of the one before, of enough different ones, repeats its head.
_HEAD = 8
_DIFFERENT = 4
#: An engine's line that begins inside an unrecognised one. Quotes before it mean that somebody quotes a log.
GLUED = lazily(r"^[^'\"`]{1,400}?(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z_]+\d+)*\] )")
#: More than any line has.
ANY = 1 << 62


class Width:
    """Follows the longest line of a stream. In a wrapped log many lines have just that length and none is longer.

    Start-up lines of a log that was not wrapped are longer than any terminal, which settles the matter early.
    """

    __slots__ = ("_begun", "_count", "_longest", "full")

    def __init__(self) -> None:
        self._longest = 0
        self._count = 0
        self._begun = ""
        #: Whether the last line reached the width, so that the next one may be its rest.
        self.full = False

    def see(self, text: str) -> None:
        """Take the next physical line."""
        length = len(text)
        if length < self._longest:
            self.full = False
            return
        self._count = 1 if length > self._longest else self._count + 1
        self._longest = length
        self.full = _NARROWEST <= length <= _WIDEST
        self._begun = text[:_HEAD]

    def pass_by(self, longest: int, count: int) -> None:
        """Take lines that nobody looked at: so many had the most characters, and none of the others is broken."""
        self.full = False
        if longest >= self._longest:
            self._count = count if longest > self._longest else self._count + count
            self._longest = longest

    @property
    def room(self) -> int:
        """Characters that a line must not reach to change nothing; ``ANY`` once one was longer than any terminal."""
        return ANY if self._longest > _WIDEST else self._longest

    def rest(self, text: str) -> bool:
        """Whether an unprefixed line may be the rest of the last one: one full line alone proves nothing."""
        if not self.full or len(text) > self._longest or (self._count < 2 and len(text) != self._longest):
            return False
        if text.startswith(self._begun) and len(set(self._begun)) >= _DIFFERENT:
            return False
        # Frames and lists are indented by two or more; a break before a word leaves one blank.
        return text[:1] not in ("", "\t", " ") or (text[:1] == " " and text[1:2] not in ("", " "))


def begins(text: str, ask: Callable[[str], Head | None]) -> bool:
    """Whether a line is the first one of a record, whatever stands before its head, so that it is nobody's rest."""
    tagged = text[:1] == "(" or text[:2] in ("[r", "[d")
    return (tagged and process.length(text) > 0) or ask(text) is not None or GLUED.search(text) is not None
