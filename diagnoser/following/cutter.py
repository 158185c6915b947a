"""Bytes as they come to numbered lines: half a line waits for its rest, but not for ever."""

from __future__ import annotations

import codecs

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.sources import InputError
from diagnoser.sources.compression import codec_of
from diagnoser.sources.kinds import sniff
from diagnoser.sources.source import MAX_LINE

#: Name of the part, 1-based line number, line without its newline.
Raw = tuple[str, int, bytes]


class Cutter:
    """Cuts one input. ``bytes`` and ``lines`` count what was taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.part = name
        self.bytes = self.lines = 0
        self.problems: list[Problem] = []
        self._parts = 1
        self._number = 0
        self._tail = b""
        self._grown = 0.0
        self._fresh = True
        self._skipping = False
        self._cuts = self._first_cut = 0

    def begin(self, why: str) -> None:
        """Go on with another file of the same name: its lines are counted anew, under a name that tells it apart."""
        self._parts += 1
        self.part = f"{self.name} ({self._parts}, {why})"
        self._number = 0
        self._fresh = True

    def feed(self, block: bytes, now: float) -> list[Raw]:
        """Take what came; return the lines that are complete. Raises InputError for what is no text."""
        if self._fresh and block:
            refuse(self.name, block)
            self._fresh = False
            block = block.removeprefix(codecs.BOM_UTF8)
        self.bytes += len(block)
        if not self._tail and block[:1] == b"\0":
            block = block.lstrip(b"\0")  # the hole of a truncating rotation
        if not block:
            return []
        self._grown = now
        lines = (self._tail + block).split(b"\n")
        self._tail = lines.pop()
        given = [self._line(line) for line in lines]
        if len(self._tail) > MAX_LINE:
            self._tail = self._tail[:MAX_LINE]
            self._skipping = True
        return given

    def rest(self, now: float, after: float) -> list[Raw]:
        """Return the line that has no end yet if it has not grown for ``after`` seconds."""
        if not self._tail or now - self._grown < after:
            return []
        line, self._tail = self._tail, b""
        return [self._line(line)]

    def finish(self) -> None:
        """Say what was cut."""
        if self._cuts:
            text = Sentence(
                "{cuts} lines longer than {most} bytes were cut, this one first", cuts=self._cuts, most=MAX_LINE
            )
            self.problems.append(Problem(self.name, self._first_cut, text))

    def _line(self, line: bytes) -> Raw:
        self._number += 1
        self.lines += 1
        if len(line) > MAX_LINE or self._skipping:
            line = line[:MAX_LINE]
            self._skipping = False
            self._cuts += 1
            self._first_cut = self._first_cut or self._number
        return self.part, self._number, line


def refuse(name: str, head: bytes) -> None:
    """Raise InputError for a beginning that cannot be that of a log that goes on."""
    codec = codec_of(head)
    if codec:
        raise InputError(
            f"cannot follow {name}: it is {codec} data, which is not written line by line; follow the log itself, "
            "or leave out --follow to read the file once"
        )
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"cannot follow {name}: it is UTF-16; write the log in UTF-8, or leave out --follow")
    _, state, reason = sniff(head)
    if state == "binary":
        raise InputError(f"cannot follow {name}: it is {reason}")
