"""Streaming decompression by magic bytes: gzip, bzip2, xz and zstd, bounded, and tolerant of a cut end."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from diagnoser.language import Sentence

if TYPE_CHECKING:
    import zstandard

#: At most this much comes out of one step, so that no input can make memory grow.
STEP = 1 << 20
#: A decompressed input longer than this, or larger than its compressed form by this ratio, is a bomb.
MAX_TOTAL = 64 << 30
MAX_RATIO = 10_000
#: Small inputs may have any ratio: they cannot hurt.
RATIO_FREE = 256 << 20
#: xz streams name the memory they need; the highest preset asks for 65 MiB.
_XZ_MEMORY = 256 << 20
#: zstd has no bound on its output, only on its ratio (about 32,000:1 at worst): it is fed in small pieces.
_ZSTD_FEED = 4 << 10

MAGIC_LENGTH = 6


class _Decoder(Protocol):
    """One compressed stream (gzip member, xz stream, zstd frame)."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Gzip:
    """zlib's decompressor with the interface that bz2 and lzma share."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._failed: zlib.error | None = None

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._failed is None and not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._failed is not None:
            raise self._failed
        data = self._inner.unconsumed_tail + data
        before = self._inner.copy()
        try:
            return self._inner.decompress(data, max_length)
        except zlib.error as error:
            # zlib throws away what it had made of the sound part of this piece, perhaps the very lines before a crash.
            self._failed = error
            out = _sound_part(before, data, max_length)
            if not out:
                raise
            return out


def _sound_part(inner: zlib._Decompress, data: bytes, max_length: int) -> bytes:
    """Decompress byte by byte up to the damage."""
    out = bytearray()
    with contextlib.suppress(zlib.error):
        for at in range(len(data)):
            out += inner.decompress(data[at : at + 1])
            if len(out) >= max_length:
                break
    return bytes(out)


class _Zstd:
    """zstd's decompressor with the interface that bz2 and lzma share; ``max_length`` is kept by small feeding."""

    def __init__(self, inner: zstandard.ZstdDecompressionObj) -> None:
        self._inner = inner
        self._pending = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._pending

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._pending

    def decompress(self, data: bytes, max_length: int) -> bytes:
        data = self._pending + data if self._pending else data
        out = b""
        at = 0
        # Ordinary text comes out in handfuls: several feeds make one step.
        while at < len(data) and len(out) < max_length // 2 and not self._inner.eof:
            out += self._inner.decompress(data[at : at + _ZSTD_FEED])
            at += _ZSTD_FEED
        self._pending = data[at:]
        return out


#: A decoder at the start of a stream, and the error of its own that it may raise. Most logs need no library for it.
_Fresh = tuple[_Decoder, type[Exception]]


def _gzip() -> _Fresh:
    return _Gzip(), zlib.error


def _bzip2() -> _Fresh:
    import bz2

    return bz2.BZ2Decompressor(), OSError


def _xz() -> _Fresh:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), lzma.LZMAError


def _zstd() -> _Fresh:
    import zstandard

    return _Zstd(zstandard.ZstdDecompressor().decompressobj()), zstandard.ZstdError


_CODECS: dict[bytes, tuple[str, Callable[[], _Fresh]]] = {
    b"\x1f\x8b\x08": ("gzip", _gzip),
    b"BZh": ("bzip2", _bzip2),
    b"\xfd7zXZ\x00": ("xz", _xz),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}


def codec_of(head: bytes) -> str:
    """Name the compression that ``head`` (six bytes or more) starts with, "" when it is none."""
    return next((name for magic, (name, _) in _CODECS.items() if head.startswith(magic)), "")


def decompress(blocks: Iterator[bytes], codec: str, report: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the content of compressed ``blocks`` in steps of about ``STEP`` bytes; joined streams are read through.

    What cannot be had (cut end, damage, trailing garbage, a bomb) ends the content and is told to ``report`` with
    its place; what was decompressed until there has been yielded.
    """
    make = next(maker for name, maker in _CODECS.values() if name == codec)
    decoder, own_error = make()
    taken = given = 0
    data = b""
    while True:
        if decoder.eof:
            data = (decoder.unused_data + data).lstrip(b"\0")
            while len(data) < MAGIC_LENGTH and (more := next(blocks, b"")):
                taken += len(more)
                data = (data + more).lstrip(b"\0")
            if not data:
                return
            if codec_of(data) != codec:
                report(
                    Sentence(
                        "{codec} data is followed by something else at byte {count}; it was not read",
                        codec=codec,
                        count=taken - len(data),
                    )
                )
                return
            decoder, own_error = make()
        elif decoder.needs_input and not data:
            data = next(blocks, b"")
            taken += len(data)
            if not data:
                report(
                    Sentence(
                        "{codec} data is cut at byte {taken}; read up to there ({given} bytes of text)",
                        codec=codec,
                        taken=taken,
                        given=given,
                    )
                )
                return
        try:
            out = decoder.decompress(data, STEP)
        except (own_error, OSError, EOFError, ValueError, MemoryError) as error:
            report(
                Sentence(
                    "{codec} data is damaged near byte {taken} ({error}); read up to there ({given} bytes of text)",
                    codec=codec,
                    taken=taken,
                    error=error,
                    given=given,
                )
            )
            return
        data = b""
        given += len(out)
        if given > MAX_TOTAL or given > max(RATIO_FREE, taken * MAX_RATIO):
            report(
                Sentence(
                    "{codec} data grows to more than {given} bytes from {taken}; the rest was not read",
                    codec=codec,
                    given=given,
                    taken=taken,
                )
            )
            return
        for at in range(0, len(out), STEP):
            yield out[at : at + STEP]
