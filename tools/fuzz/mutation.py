"""Random changes of inputs from a seed: the same number gives the same input on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

#: Pieces that have broken readers of text before.
NASTY = (
    b"\0", b"\xff", b"\r", b"\n\n", b"\x1b[31m", b"\x1b]0;t\x07", b"\xe2\x80\xae", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"NaN", b"Infinity", b"-1e400", b"1e308", b"9" * 400, b"-0", b"0x", b"null", b"[]", b"{}", b"[[[[[[[[", b"{{{{{{",
    b"((((((((", b'"' * 9, b"'" * 9, b"\\" * 9, b"- - - - - ", b"&a [*a, *a]", b"*a", b"!!python/object:os.system",
    b"<<: *a", b"| |\n", b"%n%s", b"{0}", b"2026-02-29", b"0000-00-00 00:00:00", b"9999-12-31T23:59:60Z", b"1969-12-31",
    b"# EOF\n", b'le="+Inf"', b"Traceback (most recent call last):", b"\xf0\x9f\x92\xa9" * 8, b"a" * 3000, b" " * 3000,
)  # fmt: skip
#: No input grows beyond this by changes: a fuzzer looks for the odd, not for the large.
MOST = 40_000


def mutated(seeds: Sequence[bytes], words: Sequence[bytes], number: int) -> bytes:
    """Return the input of this number: one of the seeds, changed in one to eight places."""
    dice = random.Random(number)
    data = dice.choice(seeds)
    if dice.random() < 0.1:  # two inputs in one, as rotation and careless shells make them
        other = dice.choice(seeds)
        at = dice.randrange(len(data) + 1)
        data = data[:at] + other[dice.randrange(len(other) + 1) :]
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        data = dice.choice(_CHANGES)(data, dice, words)[:MOST]
    return data


def _flip(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 4, 32))):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def _truncate(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _behead(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    return data[dice.randrange(len(data) + 1) :]


def _span(data: bytes, dice: random.Random) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + dice.choice((1, 3, 20, 200, 2000)))


def _drop(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + data[end:]


def _repeat(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:end] + data[start:end] * dice.choice((1, 2, 50)) + data[end:]


def _swap(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    a, b, c, d = sorted(dice.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _insert(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(NASTY) + data[at:]


def _overwrite(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + dice.choice(NASTY if not words or dice.random() < 0.5 else words) + data[end:]


def _exchange(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    """Put one word of the seeds in the place of another: still well formed, and something else."""
    if not words:
        return data
    return data.replace(dice.choice(words), dice.choice(words), dice.choice((1, -1)))


def _lines(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    dice.shuffle(lines)
    return b"\n".join(lines)


_CHANGES: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _flip, _truncate, _behead, _drop, _repeat, _swap, _insert, _overwrite, _exchange, _exchange, _lines,
)  # fmt: skip
