"""What stands still in a line and what may change in it: chunks of text with a number behind each but the last."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from diagnoser.values import dataclass

# Where ``HH:MM:SS`` has digits.
_CLOCK = (0, 1, 3, 4, 6, 7)
#: What stands for a name where others have the place of a number.
NAME = -1


@dataclass(slots=True, frozen=True)
class Chunk:
    """A text in which nothing changes but times.

    ``clocks`` says where a time of day begins and whether it is the line's own or the envelope's; ``dates`` where the
    digits of the line's date are, and which part of (year, month, day) they must be. In ``text`` both are zeros.
    """

    text: bytes
    clocks: tuple[tuple[int, bool], ...] = ()
    dates: tuple[tuple[int, int, int], ...] = ()

    def on(self, date: tuple[int, int, int]) -> bytes:
        """Return the text as it is on a day."""
        made = bytearray(self.text)
        for place, size, part in self.dates:
            made[place : place + size] = b"%0*d" % (size, date[part])
        return bytes(made)

    @property
    def mask(self) -> bytes:
        """Zero where a digit may be any, all bits set elsewhere."""
        made = bytearray(b"\xff" * len(self.text))
        for place, _ in self.clocks:
            for digit in _CLOCK:
                made[place + digit] = 0
        return bytes(made)


@dataclass(slots=True, frozen=True)
class Form:
    """A whole line or a part of one. ``numbers``: what stands between the chunks, counted among all in the line.

    ``NAME`` among them is no number but a word of letters, digits, ``-`` and ``_``.
    """

    chunks: tuple[Chunk, ...]
    numbers: tuple[int, ...]


@dataclass(slots=True, frozen=True)
class Stamps:
    """Which numbers of a line are times: the first of its own, with a year or not, and its envelope's hour."""

    own: int = -1
    dated: bool = False
    outer: int = -1

    def role(self, number: int) -> tuple[str, int] | None:
        """Return what a number is: a part of the line's date or of a time of day, and which; None for neither."""
        if self.own >= 0:
            part = number - self.own + (not self.dated)
            if number >= self.own and part < 6:
                return ("date", part) if part < 3 else ("own", part - 3)
        if self.outer >= 0 and 0 <= number - self.outer < 3:
            return "outer", number - self.outer
        return None


def form_of(
    line: bytes, numbers: Sequence[tuple[int, int]], loose: Collection[int], stamps: Stamps, at: int, stop: int
) -> Form:
    """Return the form of a part of a line whose numbers stand there; those that are ``loose`` may be any."""
    chunks, between = [], []
    text = b""
    clocks: list[tuple[int, bool]] = []
    dates: list[tuple[int, int, int]] = []
    for number, (start, end) in enumerate(numbers):
        if start < at or end > stop:
            continue
        text += line[at:start]
        at = end
        role = stamps.role(number)
        if number in loose and role is None:
            chunks.append(Chunk(text, tuple(clocks), tuple(dates)))
            between.append(number)
            text, clocks, dates = b"", [], []
            continue
        if role is None:
            text += line[start:end]
            continue
        if role[0] == "date":
            dates.append((len(text), end - start, role[1]))
        elif role[1] == 0:
            clocks.append((len(text), role[0] == "own"))
        text += b"0" * (end - start)
    chunks.append(Chunk(text + line[at:stop], tuple(clocks), tuple(dates)))
    return Form(tuple(chunks), tuple(between))
