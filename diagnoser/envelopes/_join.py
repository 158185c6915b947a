"""Lines that a runtime cut into pieces (CRI partial lines, docker's 16 KiB chunks) become whole again."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.envelopes._shapes import RECORD_START
from diagnoser.values import dataclass, field

#: Characters kept of one joined line.
MAX_JOINED = 1 << 20
#: Runtimes cut at 16 KiB, and a character takes four bytes at most. A shorter unfinished piece that is followed by the
#: beginning of a record was the last word of a process that died.
_FULL = 4 << 10
#: Writers with an unfinished line at the same time; more are a sign of garbage.
_MAX_OPEN = 256


@dataclass(slots=True)
class Unfinished:
    """A line in the making. All but the text is that of its first piece."""

    source: str
    number: int
    time: float | None
    stream: str
    names: tuple[str, ...]
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    last: int = 0

    def text(self) -> str:
        """Give the joined line."""
        return "".join(self.pieces)


class Joiner:
    """Holds unfinished lines by writer. ``cuts`` counts the pieces that were cut at ``MAX_JOINED`` characters."""

    def __init__(self) -> None:
        self.cuts = 0
        self._open: dict[str, Unfinished] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, key: str) -> bool:
        return key in self._open

    def add(self, key: str, text: str, partial: bool, fresh: Unfinished) -> Iterator[Unfinished]:
        """Take one piece; yield the lines that are complete now. ``fresh`` is used when the piece begins a line."""
        held = self._open.pop(key, None)
        if held is not None and held.last < _FULL and RECORD_START.match(text):
            yield held
            held = None
        held = held or fresh
        held.last = len(text)
        kept = text[: MAX_JOINED - held.size]
        self.cuts += len(kept) < len(text)
        if kept:
            held.pieces.append(kept)
            held.size += len(kept)
        if not partial:
            yield held
            return
        if len(self._open) >= _MAX_OPEN:
            yield self._open.pop(next(iter(self._open)))
        self._open[key] = held

    def flush(self) -> Iterator[Unfinished]:
        """Yield what never ended, oldest first."""
        while self._open:
            yield self._open.pop(next(iter(self._open)))
