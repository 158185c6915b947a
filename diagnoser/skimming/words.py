"""The bytes of a block, eight at a time from any place on, and the numbers that stand at given places.

A number of up to eight digits is one word: its digits are told from what follows, moved to the end of the word and
added up in three steps, for all lines at once.
"""

from __future__ import annotations

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
# Pairs of digits, then of pairs, then of those: what each of two is times, how far it is off, what is kept.
_SUMS = tuple(
    (np.uint64(times), np.uint64(off), np.uint64(kept))
    for times, off, kept in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF))
)
_POWERS = 10 ** np.arange(WORD + 1)


def words_of(text: bytes) -> Any:
    """Return a text as words, its end filled up with zeros."""
    return np.frombuffer(text + bytes(-len(text) % WORD), "<u8")


class Words:
    """The bytes of whole lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data + bytes(MOST_BYTES)
        self._bytes = np.frombuffer(self._data, np.uint8)

    def at(self, places: Any, count: int) -> Any:
        """Return so many words from each place on, a row each."""
        size = count * WORD
        every = np.ndarray((len(self._data) - size + 1,), f"V{size}", self._data, strides=(1,))
        return every[places].view("<u8").reshape(-1, count)

    def bytes_at(self, places: Any) -> Any:
        """Return the byte at each place as a word, a row each."""
        return self._bytes[places].astype("<u8").reshape(-1, 1)

    def numbers(self, places: Any, wanted: bool) -> tuple[Any, Any]:
        """Return how many digits stand from each place on, and the whole numbers they are where that is wanted.

        Of more than ``MOST_DIGITS`` only that they are more is told.
        """
        sizes, found = self._digits(places, wanted)
        full = np.flatnonzero(sizes == WORD)
        if len(full):
            more, rest = self._digits(places[full] + WORD, wanted)
            sizes[full] += more
            if wanted:
                found[full] = found[full] * _POWERS[more] + rest
        return sizes, found

    def _digits(self, places: Any, wanted: bool) -> tuple[Any, Any]:
        """Return the same of the digits in one word."""
        word = self.at(places, 1)[:, 0] ^ _ZEROS
        other = ((word + _ABOVE_NINE) | word) & _HIGHEST
        below = (other - _ONE) & ~other
        sizes = (((below >> _SEVEN) & _ONES) * _ONES) >> _TOP
        found = _sum((word & below) << (_BITS - sizes * _EIGHT)) if wanted else None
        return sizes.view(np.int64), found


def _sum(word: Any) -> Any:
    """Return the numbers that the digits in words are, the first digit in the lowest byte."""
    for times, off, kept in _SUMS:
        word = (word * times + (word >> off)) & kept
    return word.view(np.int64)


def seconds(text: Any) -> tuple[Any, Any]:
    """Return the seconds since midnight that rows of eight bytes ``HH:MM:SS`` tell, and whether they are a time."""
    digits = (text - np.uint8(48)).astype(np.int64)
    valid = np.ones(len(text), bool)
    second: Any = 0
    for place, least in ((0, 24), (3, 60), (6, 60)):
        tens, ones = digits[:, place], digits[:, place + 1]
        told = tens * 10 + ones
        # What is no digit is above nine: bytes below zero went round.
        valid &= (tens < 10) & (ones < 10) & (told < least)
        second = second * 60 + told
    return second, valid
