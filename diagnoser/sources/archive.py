"""What is in a tar or zip archive: logs and measurements, copied into one temporary file and never under their names.

No name of an archive is ever used as a path, so none can lead out of anywhere. Links, devices and archives inside the
archive are not followed; members, bytes and headers are bounded.
"""

from __future__ import annotations

import io
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.sources.names import worth_opening
from diagnoser.sources.part import BLOCK, Part
from diagnoser.sources.rotation import in_sets
from diagnoser.sources.source import Source

if TYPE_CHECKING:
    from diagnoser.sources._containers import Member

#: Members looked at, and bytes read of all of them together.
MOST_MEMBERS = 10_000
MOST_BYTES = 4 << 30
#: Kept in memory up to this size, then in a temporary file without a name.
SPOOL = 32 << 20
#: Members told one by one that could not be read.
_TOLD = 5


def unpacked(source: Source, bare: bool) -> Iterator[Source]:
    """Yield the sources that are in an archive; a source that is none as it is.

    Their names are those in the archive, behind that of the archive unless ``bare``. The archive itself is yielded, as
    one without content, when there is something to tell of it.
    """
    if source.kind != "archive":
        yield source
        return
    reading = _Reading(source, "" if bare else f"{source.name}/")
    for parts in in_sets(reading.parts):
        inner = Source(parts)
        if inner.kind == "archive":
            inner.state = "binary"
            inner.problems.append(
                Problem(inner.name, None, Sentence("{name} is an archive in an archive: not read", name=inner.name))
            )
        yield inner
    if not reading.parts:
        source.problems.append(
            Problem(source.name, None, Sentence("{name}: no logs nor measurements in this archive", name=source.name))
        )
    if source.problems:
        source.state = "binary"
        yield source


class _Reading:
    """The members of one archive, one behind the other in a temporary file that lives as long as they do."""

    def __init__(self, source: Source, prefix: str) -> None:
        self.parts: list[Part] = []
        self._source, self._prefix = source, prefix
        self._seen: set[str] = set()
        self._passed = 0
        self._spool = _Spool()
        self._room = MOST_BYTES
        from diagnoser.sources._containers import members

        problem = partial(self._problem, source.name)
        for count, member in enumerate(members(source, problem)):
            if count >= MOST_MEMBERS:
                problem(Sentence("more than {most} members; the rest was not read", most=MOST_MEMBERS))
                break
            if self._room <= 0:
                problem(Sentence("more than {most} bytes; the rest was not read", most=MOST_BYTES))
                break
            self._take(member)
        if self._passed > _TOLD:
            problem(Sentence("{count} more members could not be read", count=self._passed - _TOLD))

    def _take(self, member: Member) -> None:
        path = PurePosixPath(member.name.replace("\\", "/"))
        if member.folder or not worth_opening(path.name):
            return
        why = member.unfit
        if path.is_absolute() or ".." in path.parts:
            why = Sentence("its name leads out of the archive")
        elif member.name in self._seen:
            why = Sentence("it is there twice")
        if why:
            self._pass_over(member.name, why)
            return
        self._seen.add(member.name)
        start = self._spool.file.seek(0, io.SEEK_END)
        length = self._copy(member)
        if length >= 0:
            view = partial(_View, self._spool, start, length)
            self.parts.append(Part(f"{self._prefix}{path}", opener=cast(Callable[[], BinaryIO], view)))

    def _copy(self, member: Member) -> int:
        """Copy a member's content and return its length; -1 when nothing of it can be had."""
        length = 0
        blocks = iter(member.blocks())
        while self._room > 0:
            try:
                block = next(blocks, b"")
            except ValueError as error:  # what ``_containers`` makes of all that can be wrong
                self._pass_over(member.name, str(error))
                return length or -1
            if not block:
                return length
            block = block[: self._room]
            self._spool.file.write(block)
            length += len(block)
            self._room -= len(block)
        return length

    def _pass_over(self, name: str, why: str) -> None:
        self._passed += 1
        if self._passed <= _TOLD:
            self._problem(self._source.name, Sentence("{one}: {other}", one=name, other=why))

    def _problem(self, name: str, text: str) -> None:
        self._source.problems.append(Problem(name, None, text))


class _Spool:
    """A temporary file without a name: closed, and gone, when nobody holds it any more."""

    def __init__(self) -> None:
        self.file = cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=SPOOL))  # noqa: SIM115 - lives with the parts
        weakref.finalize(self, self.file.close)


class _View(io.RawIOBase):
    """One member in the temporary file, read on its own."""

    def __init__(self, spool: _Spool, start: int, length: int) -> None:
        self._spool, self._at, self._end = spool, start, start + length

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer from the member."""
        view = memoryview(cast(bytearray, buffer))
        size = min(len(view), self._end - self._at, BLOCK)
        self._spool.file.seek(self._at)
        data = self._spool.file.read(size)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
