"""The two kinds of archive, tar and zip, as members one after the other; what is wrong with one is told, not raised."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import IO, cast

from diagnoser.language import Sentence
from diagnoser.sources.part import BLOCK, Report
from diagnoser.sources.source import Source
from diagnoser.values import dataclass

#: Headers that name a long path or hold further attributes are read whole: more than this is no path.
_HEADER = 1 << 20
#: A zip's table of contents is read whole: ten thousand members take less than two mebibytes.
_CONTENTS = 16 << 20
#: Bytes at the end of a zip in which its table of contents is announced, comment included.
_END = 66 << 10
_SPOOL, _MOST_ZIP = 32 << 20, 4 << 30
#: How members of a zip may be packed; LZMA's window is as large as the archive asks for.
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_EXTRA = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, RuntimeError, NotImplementedError, tarfile.TarError)


@dataclass(slots=True)
class Member:
    """One member: ``blocks`` yields its content, and raises ValueError in words for a person where it is damaged.

    ``unfit`` says why it is not read, "" where it is; a ``folder`` has nothing to read.
    """

    name: str
    folder: bool
    unfit: str
    blocks: Callable[[], Iterator[bytes]]


def members(source: Source, report: Report) -> Iterator[Member]:
    """Yield the members of an archive in their order; each must be read before the next one is asked for."""
    if source.head_bytes.startswith(b"PK"):
        yield from _zipped(source, report)
    else:
        yield from _tarred(source, report)


class _Header(tarfile.TarInfo):
    """A tar header that is refused when it announces more than a header can need."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> _Header:
        """Parse one block of 512 bytes."""
        try:
            made = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # two empty blocks: the end, as it should be
                raise
            # The library takes any other for the end too.
            raise tarfile.ReadError(str(error)) from None
        if made.type in _EXTRA and made.size > _HEADER:
            raise tarfile.ReadError("a header is larger than any path")
        return made


def _tarred(source: Source, report: Report) -> Iterator[Member]:
    stream = io.BufferedReader(_Blocks(source.blocks()), BLOCK)
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
            for info in archive:
                unfit = "" if info.isdir() or (info.isreg() and not info.issparse()) else Sentence("is no plain file")
                yield Member(info.name, info.isdir(), unfit, partial(_of_tar, archive, info))
    except (*_DAMAGE, ValueError) as error:
        report(Sentence("the archive is damaged or cut ({error}); what stands before it was read", error=error))


def _of_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    try:
        file = archive.extractfile(info)
        while file is not None and (block := file.read(BLOCK)):
            yield block
    except (*_DAMAGE, ValueError) as error:
        raise ValueError(f"damaged or cut ({error})") from None


def _zipped(source: Source, report: Report) -> Iterator[Member]:
    with closing(_seekable(source, report)) as file:
        if (size := _contents_size(file)) > _CONTENTS:
            report(Sentence("the archive's table of contents takes {size} bytes: not read", size=size))
            return
        try:
            archive = zipfile.ZipFile(file)
        except (*_DAMAGE, zipfile.BadZipFile, ValueError, struct.error) as error:
            report(Sentence("the archive is damaged or cut ({error})", error=error))
            return
        for info in archive.infolist():
            mode = info.external_attr >> 16
            plain = stat.S_IFMT(mode) in (0, stat.S_IFREG)
            unfit = "" if plain else Sentence("is no plain file")
            if info.flag_bits & 1:
                unfit = Sentence("is encrypted")
            elif info.compress_type not in _PACKED:
                unfit = Sentence("is packed in a way that is not read")
            folder = info.filename.endswith("/")  # ``is_dir`` raises where a member has no name
            yield Member(info.filename, folder, "" if folder else unfit, partial(_of_zip, archive, info))


def _of_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(info) as file:
            while block := file.read(BLOCK):
                yield block
    except (*_DAMAGE, zipfile.BadZipFile, ValueError, struct.error) as error:
        raise ValueError(f"damaged or cut ({error})") from None


def _seekable(source: Source, report: Report) -> IO[bytes]:
    """Open a zip where it lies, or copy it from a pipe: its table of contents stands at its end."""
    if source.path is not None and source.path.is_file():
        return source.path.open("rb")
    copy = cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=_SPOOL))  # noqa: SIM115 - the caller closes it
    size = 0
    for block in source.blocks():
        size += len(block)
        if size > _MOST_ZIP:
            report(Sentence("more than {most} bytes; the rest was not read", most=_MOST_ZIP))
            break
        copy.write(block)
    return copy


def _contents_size(file: IO[bytes]) -> int:
    """Return the size that a zip announces for its table of contents, 0 where it announces none."""
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - _END))
    tail = file.read(_END)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + 22 > len(tail):
        return 0
    size = int(struct.unpack_from("<L", tail, at + 12)[0])
    large = tail.rfind(b"PK\x06\x06")
    if size == 0xFFFFFFFF and 0 <= large <= len(tail) - 56:
        size = int(struct.unpack_from("<Q", tail, large + 40)[0])
    return size


class _Blocks(io.RawIOBase):
    """Blocks as a stream that is read once, forwards."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = b""

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer from the next block."""
        view = memoryview(cast(bytearray, buffer))
        self._left = self._left or next(self._blocks, b"")
        data, self._left = self._left[: len(view)], self._left[len(view) :]
        view[: len(data)] = data
        return len(data)
