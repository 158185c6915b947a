"""Lines with their numbers taken out: what stands still in each line, and where its numbers are, by the block.

A number is a run of digits. A line's key is the line with each of its numbers written as a single 0, whatever its
digits: lines of one shape have one key.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_RUN = re.compile(rb"[0-9]+")
_ZERO, _TEN = 48, 10
#: No text has this byte, so it can stand for what is taken out.
_NONE = b"\xff"
#: Digits of one number: no server prints a larger one, and as many are exact in a float.
MOST_DIGITS = 15
_POWERS = 10.0 ** np.arange(MOST_DIGITS + 1)


def key_of(line: bytes) -> bytes:
    """Return the key of one line."""
    return _RUN.sub(b"0", line)


class Digits:
    """The numbers in some whole lines: ``keys`` has each line's key, ``first`` the number of numbers before it."""

    def __init__(self, data: bytes, ends: Any) -> None:
        self._bytes = code = np.frombuffer(data, np.uint8)
        figure = code - np.uint8(_ZERO)
        digit = figure < _TEN
        places = np.flatnonzero(digit[1:] != digit[:-1])
        places += 1
        if digit[0]:
            # A block never ends with a digit, but may begin with one.
            places = np.concatenate(([0], places))
        self._starts, self.sizes = places[::2], places[1::2] - places[::2]
        # Digits become zeros, and those behind another digit are taken out.
        figure *= digit
        still = code - figure
        still[1:] |= (digit[1:] & digit[:-1]).view(np.uint8) * np.uint8(_NONE[0])
        self.keys: list[bytes] = still.tobytes().translate(None, _NONE).split(b"\n")
        self.first = np.zeros(len(ends), np.int64)
        self.first[1:] = np.searchsorted(self._starts, ends[:-1])
        # Bytes that no text has would be lost.
        self.odd = np.unique(np.searchsorted(ends, np.flatnonzero(code == _NONE[0]))) if _NONE in data else ends[:0]

    def are(self, numbers: Any, digits: bytes) -> Any:
        """Tell which of some numbers have just these digits."""
        same = self.sizes[numbers] == len(digits)
        start = self._starts[numbers]
        for place, digit in enumerate(digits):
            same &= self._bytes.take(start + place, mode="clip") == digit
        return same

    def read(self, numbers: Any) -> Any:
        """Return what some numbers are, as whole numbers; those of too many digits are anything."""
        sizes = self.sizes[numbers]
        last = self._starts[numbers] + (sizes - 1)
        found = self._bytes[last] - np.int64(_ZERO)
        least, most = (int(sizes.min()), min(int(sizes.max()), MOST_DIGITS)) if len(sizes) else (0, 0)
        for place in range(1, most):
            figure = self._bytes.take(last - place, mode="clip") - np.int64(_ZERO)
            found += figure * 10**place if place < least else figure * (10**place * (sizes > place))
        return found

    def decimals(self, wholes: Any, fractions: Any) -> Any:
        """Return numbers of two parts, a point between them, just as ``float`` reads them."""
        power = _POWERS.take(self.sizes[fractions], mode="clip")
        return (self.read(wholes) * power + self.read(fractions)) / power

    def fraction(self, numbers: Any) -> Any:
        """Return what stands behind a point, just as ``float`` reads it."""
        return self.read(numbers) / _POWERS.take(self.sizes[numbers], mode="clip")
