"""The bytes of a block, eight at a time from any place on, and the numbers that stand at given places.

A number of up to eight digits is one word: its digits are told from what follows, moved to the end of the word and
added up in three steps, for all lines at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

#: Bytes of one word, and those that may be asked for at once.
WORD, MOST_BYTES = 8, 704
#: Digits of one number: no server prints a larger one, and as many are exact in a float.
MOST_DIGITS = 15

_ZEROS = np.uint64(0x3030303030303030)
_ONES = np.uint64(0x0101010101010101)
# What added to a byte of ten or more sets its highest bit.
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGHEST = np.uint64(0x8080808080808080)
_ONE, _SEVEN, _EIGHT = np.uint64(1), np.uint64(7), np.uint64(8)
_TOP, _BITS = np.uint64(56), np.uint64(64)
# Of ``HH:MM:SS`` as a word: its digits, and where minutes and seconds are once each digit is added to ten of the last.
_DIGITS = np.uint64(0xFFFF00FFFF00FFFF)
_TEN, _BYTE, _MINUTE, _SECOND = np.uint64(10), np.uint64(0xFF), np.uint64(24), np.uint64(48)
_HOURS, _MINUTES = np.uint64(3600), np.uint64(60)
# Pairs of digits, then of pairs, then of those: what each of two is times, how far it is off, what is kept.
_SUMS = tuple(
    (np.uint64(times), np.uint64(off), np.uint64(kept))
    for times, off, kept in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF))
)
_POWERS = 10 ** np.arange(WORD + 1)


def words_of(text: bytes) -> Any:
    """Return a text as words, its end filled up with zeros."""
    return np.frombuffer(text + bytes(-len(text) % WORD), "<u8")


# A line break, and the first byte that prints something.
_BREAK, _PRINTED = np.uint8(10), np.uint8(32)
# Which bytes a name is made of.
_NAMING = np.array([(chr(code).isalnum() and code < 128) or chr(code) in "-_" for code in range(256)])
#: Bytes of a name.
MOST_NAME = 100


class Words:
    """The bytes of whole lines, in memory that is used again for the next ones: new memory takes longer than they do.

    ``ends`` has where each line ends; ``plain`` says that no byte among them sends a line another way.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._codes = np.zeros(0, np.uint8)
        self._flags = np.zeros(0, bool)
        self.ends = np.zeros(0, np.int64)
        self.plain = True

    def hold(self, data: bytes) -> None:
        """Take other lines."""
        size = len(data)
        if size > len(self._flags):
            self._data = bytearray(size + MOST_BYTES + 2 * WORD)
            self._codes = np.frombuffer(self._data, np.uint8)
            self._flags = np.zeros(size, bool)
        codes = np.frombuffer(data, np.uint8)
        self._codes[:size] = codes
        # Few logs have other bytes below the first that prints than line breaks.
        ends = np.flatnonzero(np.less(codes, _PRINTED, out=self._flags[:size]))
        breaks = codes[ends] == _BREAK
        self.plain = bool(breaks.all())
        self.ends = ends if self.plain else ends[breaks]

    def at(self, places: Any, count: int) -> list[Any]:
        """Return so many words from each place on: the first of all places, the second of all, ..."""
        if not count:
            return []
        rows = self._rows(places, count)
        return [rows[:, number] for number in range(count)]

    def _rows(self, places: Any, count: int) -> Any:
        size = count * WORD
        every = np.ndarray((len(self._data) - size + 1,), f"V{size}", self._data, strides=(1,))
        return every[places].view("<u8").reshape(-1, count)

    def names(self, places: Any) -> Any:
        """Return how many bytes the name at each place has, 0 where there is none or it is too long."""
        rows = _NAMING[self._rows(places, MOST_NAME // WORD + 1).view(np.uint8)]
        return np.where(rows.all(axis=1), 0, np.argmin(rows, axis=1))

    def numbers(self, places: Any, wanted: bool, behind: int) -> tuple[Any, Any, list[Any] | None]:
        """Return how many digits stand from each place on, and the whole numbers they are where that is wanted.

        Of more than ``MOST_DIGITS`` only that they are more is told. Last so many words of what stands behind them,
        None where some have more digits than a word.
        """
        words = self.at(places, 1 + behind)
        sizes, found = _digits(words[0], wanted)
        full = np.flatnonzero(sizes == WORD)
        if not len(full):
            return sizes, found, _moved(words, sizes.view(np.uint64) * _EIGHT)
        more, rest = _digits(self.at(places[full] + WORD, 1)[0], wanted)
        sizes[full] += more
        if wanted:
            found[full] = found[full] * _POWERS[more] + rest
        return sizes, found, None


def clock(words: list[Any], place: int) -> tuple[Any, Any]:
    """Return the seconds since midnight that ``HH:MM:SS`` at a place in words tells, and whether it is a time."""
    number, off = divmod(place, WORD)
    word = words[number] if not off else _moved(words[number : number + 2], np.uint64(off * WORD))[0]
    word = word ^ _ZEROS
    strange = ((word + _ABOVE_NINE) | word) & _HIGHEST & _DIGITS
    pairs = word * _TEN + (word >> _EIGHT)
    hour, minute, second = pairs & _BYTE, (pairs >> _MINUTE) & _BYTE, (pairs >> _SECOND) & _BYTE
    valid = (strange == 0) & (hour < 24) & (minute < 60) & (second < 60)
    return (hour * _HOURS + minute * _MINUTES + second).view(np.int64), valid


def _moved(words: list[Any], bits: Any) -> list[Any]:
    """Return the words that begin so many bits later, at most as many as one has."""
    rest = _BITS - bits
    made = []
    for word, following in pairwise(words):
        moved = word >> bits
        moved |= following << rest
        made.append(moved)
    return made


def _digits(word: Any, wanted: bool) -> tuple[Any, Any]:
    """Return how many digits words begin with, and the numbers that those are."""
    word = word ^ _ZEROS
    other = word + _ABOVE_NINE
    other |= word
    other &= _HIGHEST
    below = other - _ONE
    below &= np.invert(other, out=other)
    sizes = below >> _SEVEN
    sizes &= _ONES
    sizes *= _ONES
    sizes >>= _TOP
    if not wanted:
        return sizes.view(np.int64), None
    word &= below
    np.multiply(sizes, _EIGHT, out=below)
    word <<= np.subtract(_BITS, below, out=below)
    # The digits stand at the end of the word now, the first in the lowest byte: they are added up by pairs.
    for times, off, kept in _SUMS:
        np.right_shift(word, off, out=below)
        word *= times
        word += below
        word &= kept
    return sizes.view(np.int64), word.view(np.int64)
