"""One file or stream: its bytes in blocks, decompressed and in UTF-8."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO

from diagnoser.language import Sentence
from diagnoser.sources import compression

#: Bytes of one read, and the longest line that is kept.
BLOCK = 1 << 20
#: What is looked at to decide what an input is.
HEAD = 64 << 10

Report = Callable[[str], None]


class Part:
    """A file (by ``path``, can be read again), a member of an archive (by ``opener``, likewise) or an open ``stream``.

    A stream is read once. ``name`` is shown in evidence.
    """

    def __init__(
        self,
        name: str,
        *,
        path: Path | None = None,
        stream: BinaryIO | None = None,
        opener: Callable[[], BinaryIO] | None = None,
        address: str = "",
    ) -> None:
        self.name = name
        self.path = path
        #: Where another process finds it, for what is no file of this machine.
        self.address = address
        self._opener = opener
        self.compressed = ""
        #: Bytes taken from the file or stream by the reading at hand, compressed ones as they are.
        self.done = 0
        self._stream = stream
        self._started: Iterator[bytes] | None = None
        self._peeked: list[bytes] = []
        self._late: list[str] = []

    def peek(self, report: Report = lambda _: None) -> bytes:
        """Give the first ``HEAD`` bytes of the content (fewer when there are no more). Raises ``OSError``.

        ``report`` hears why there is nothing at all.
        """
        if self._once():
            self._started = self._content(BLOCK, self._late.append)
            while sum(map(len, self._peeked)) < HEAD and (block := next(self._started, b"")):
                self._peeked.append(block)
            for text in [] if self._peeked else self._late:
                report(text)
            return b"".join(self._peeked)[:HEAD]
        head, told = b"", list[str]()
        for block in self._content(HEAD, told.append):
            head += block
            if len(head) >= HEAD:
                break
        for text in [] if head else told:
            report(text)
        return head[:HEAD]

    def blocks(self, report: Report) -> Iterator[bytes]:
        """Yield the whole content, at most ``BLOCK`` bytes at a time; ``report`` hears what could not be read."""
        if self._started is None:
            try:
                yield from self._content(BLOCK, report)
            except OSError as error:  # gone since it was looked at
                report(Sentence("cannot read {name}: {error}", name=self.name, error=error.strerror or error))
            return
        started, peeked = self._started, self._peeked
        self._started, self._peeked = iter(()), []
        yield from chain(peeked, started)
        for text in self._late:
            report(text)

    @property
    def place(self) -> PurePath | None:
        """Where the part lies among its rotations: its path, or its name in an archive; None for a stream."""
        return self.path if self._opener is None else PurePosixPath(self.name)

    @property
    def elsewhere(self) -> bool:
        """Whether another process can open it: a regular file under its path, or an address on shared storage."""
        if self.address:
            return not self.address.startswith("memory:")
        return self.size() is not None

    @property
    def where(self) -> str:
        """What another process opens it by."""
        return self.address or str(self.path)

    def size(self) -> int | None:
        """Return the bytes of the file as it lies on disk, None for what has no end yet, or is gone by now."""
        try:
            status = self.path.stat() if self.path is not None and self._opener is None else None
        except OSError:
            return None
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    def _once(self) -> bool:
        """Tell what cannot be opened a second time: a pipe, a process substitution, standard input."""
        if self._opener is not None:
            return False
        return self.path is None or not stat.S_ISREG(self.path.stat().st_mode)

    def _content(self, size: int, report: Report) -> Iterator[bytes]:
        raw = self._raw(size, report)
        head = next(raw, b"")
        while len(head) < compression.MAGIC_LENGTH and (more := next(raw, b"")):
            head += more
        blocks: Iterator[bytes] = chain([head], raw)
        self.compressed = compression.codec_of(head)
        if self.compressed:
            blocks = compression.decompress(blocks, self.compressed, report)
        return _in_utf8(blocks)

    def _raw(self, size: int, report: Report) -> Iterator[bytes]:
        if self._opener is not None:
            stream: BinaryIO | None = self._opener()
        else:
            stream = self._stream if self.path is None else self.path.open("rb", buffering=0)
        assert stream is not None
        done = self.done = 0
        # Where others write meanwhile, what was there first is gone, or stands elsewhere.
        promised = os.fstat(stream.fileno()).st_size if self._opener is None and self.path is not None else 0
        try:
            while block := stream.read(size):
                done = self.done = done + len(block)
                yield block
            if done < promised:
                report(
                    Sentence(
                        "the file became shorter while it was read: {count} bytes of it were not seen",
                        count=promised - done,
                    )
                )
        except OSError as error:
            if not done:
                raise
            report(Sentence("reading stopped at byte {done}: {error}", done=done, error=error.strerror or error))
        finally:
            if self.path is not None or self._opener is not None:
                stream.close()


def _in_utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Drop a byte order mark; text in UTF-16 (what PowerShell writes when redirecting) becomes UTF-8."""
    head = next(blocks, b"")
    while len(head) < 4 and (more := next(blocks, b"")):
        head += more
    if head.startswith(codecs.BOM_UTF8):
        head = head[3:]
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        for block in chain([head], blocks):
            # A block grows by half at most; half blocks keep the bound.
            for at in range(0, len(block), BLOCK // 2):
                yield decoder.decode(block[at : at + BLOCK // 2]).encode("utf-8", "replace")
        return
    if head:
        yield head
    yield from blocks
