"""One input of the command: a file, a rotated set or a stream, read as numbered raw lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.sources.kinds import sniff
from diagnoser.sources.part import BLOCK, Part

#: Bytes kept of one line; the rest of it is passed over.
MAX_LINE = BLOCK


class Source:
    """An input in one or several parts, in the order they were written.

    ``kind`` and ``state`` are those of ``kinds.sniff``.
    ``bytes`` (decompressed) and ``lines`` count what the last reading gave; ``unended`` says that the last line had no
    line break, as the end of something that was cut. ``problems`` says what could not be read.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        """Look at the start of each part. One that cannot be opened is no part of it, but a problem."""
        self.name = parts[-1].name
        self.kind = "unknown"
        self.state = "empty"
        self.bytes = 0
        self.lines = 0
        self.unended = False
        self.problems: list[Problem] = []
        self.parts: list[Part] = []
        self._head = b""
        for part in parts:
            try:
                told: list[str] = []
                head = part.peek(told.append)
                kind, state, reason = sniff(head)
            except OSError as error:
                self.problems.append(
                    Problem(
                        part.name,
                        None,
                        Sentence("cannot read {name}: {error}", name=part.name, error=error.strerror or error),
                    )
                )
                continue
            if state == "ok":
                self.parts.append(part)
                self.kind = kind
                self._head = head
                self.state = "ok"
            else:
                # What is damaged from its first byte on is not "empty".
                text = (
                    Sentence("{one}: {other}", one=part.name, other=told[0])
                    if told
                    else Sentence("{name} is {reason}", name=part.name, reason=reason)
                )
                self.problems.append(Problem(part.name, None, text))
                if self.state != "ok":
                    self.state = state

    @property
    def path(self) -> Path | None:
        """The file itself, for readers that must seek (SQLite); None for compressed, rotated or streamed input."""
        alone = self.parts[0] if len(self.parts) == 1 else None
        return None if alone is None or alone.compressed else alone.path

    @property
    def head_bytes(self) -> bytes:
        """The beginning of the content as it is, 64 KiB at most."""
        return self._head

    @property
    def done(self) -> int:
        """Bytes taken so far of all parts as they lie on disk, by the reading at hand."""
        return sum(part.done for part in self.parts)

    def size(self) -> int | None:
        """Return the bytes of all parts as they lie on disk, None where one is a stream."""
        sizes = [part.size() for part in self.parts]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def head(self) -> str:
        """Give the beginning of the content as text, 64 KiB at most."""
        return self._head.decode("utf-8", "replace")

    def raw_lines(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield (part name, 1-based line number, line without its newline); a carriage return at the end stays.

        Lines are cut at ``MAX_LINE`` bytes. Memory is bounded by a few blocks whatever the input.
        """
        for name, number, data in self.line_blocks():
            for line in data[:-1].split(b"\n"):
                yield name, number, line
                number += 1

    def line_blocks(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield the same in blocks: (part name, number of the first line, whole lines, each with a line break)."""
        self.bytes = self.lines = 0
        for part in self.parts:
            yield from self._blocks_of(part)

    def content(self, limit: int = 256 << 20) -> bytes:
        """Give the whole content at once, for documents that are not read by the line; cut at ``limit`` bytes."""
        kept: list[bytes] = []
        for block in self.blocks():
            kept.append(block)
            if self.bytes > limit:
                self._problem(
                    self.name, None, Sentence("larger than {limit} bytes; the rest was not read", limit=limit)
                )
                return b"".join(kept)[:limit]
        return b"".join(kept)

    def blocks(self) -> Iterator[bytes]:
        """Yield the whole content in blocks, for documents too large to be held; counts bytes and lines."""
        self.bytes = self.lines = 0
        for part in self.parts:
            for block in part.blocks(lambda text, name=part.name: self._problem(name, None, text)):  # type: ignore[misc]
                self.bytes += len(block)
                self.lines += block.count(b"\n")
                yield block

    def _blocks_of(self, part: Part) -> Iterator[tuple[str, int, bytes]]:
        name = part.name
        number = 1
        cuts = first_cut = 0
        tail = b""
        skipping = False

        def report(text: str) -> None:
            self._problem(name, number - 1 or None, text)

        for block in part.blocks(report):
            self.bytes += len(block)
            if not tail and block[0] == 0:
                block = block.lstrip(b"\0")  # the hole of a truncating rotation may be gigabytes long
            end = block.rfind(b"\n") + 1
            if end:
                # A block is no longer than the longest line, so only the line that began earlier can exceed it.
                first = block.find(b"\n") + len(tail)
                data = b"".join((tail, memoryview(block)[:end]))
                tail = block[end:]
                if first > MAX_LINE:
                    data = data[:MAX_LINE] + data[first:]
                    skipping = True
                if skipping:
                    cuts += 1
                    first_cut = first_cut or number
                    skipping = False
                count = _lines_in(data)
                self.lines += count
                yield name, number, data
                number += count
            else:
                tail += block
            if len(tail) > MAX_LINE:
                tail = tail[:MAX_LINE]
                skipping = True
        self.unended = bool(tail)
        if tail:
            self.lines += 1
            if skipping:
                cuts += 1
                first_cut = first_cut or number
            yield name, number, tail + b"\n"
        if cuts:
            self._problem(
                name,
                first_cut,
                Sentence("{cuts} lines longer than {most} bytes were cut, this one first", cuts=cuts, most=MAX_LINE),
            )

    def _problem(self, name: str, line: int | None, text: str) -> None:
        problem = Problem(name, line, text)
        if problem not in self.problems:
            self.problems.append(problem)


def _lines_in(data: bytes) -> int:
    """Count line breaks: in a third of the time where numpy is at hand, which long logs need anyway."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return data.count(b"\n")
    return int(numpy.count_nonzero(numpy.frombuffer(data, numpy.uint8) == ord("\n")))
