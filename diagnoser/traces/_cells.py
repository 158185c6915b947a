"""Cells of GPU tables as numbers: missing values, flags, bit masks; percentages as ratios, MiB and bytes as GiB."""

from __future__ import annotations

import csv
import re
from functools import lru_cache

from diagnoser.language import Sentence

#: What the tools write where a card cannot tell.
_MISSING = frozenset({"", "-", "n/a", "na", "nan", "none", "unknown", "err!", "unsupported", "not supported"})
_WORDS = {
    "active": 1.0, "not active": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0,
    "throttled": 1.0, "unthrottled": 0.0,
}  # fmt: skip
_NUMBER = re.compile(r"\(?(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%][\w%/]*)?\)?")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+(?:\s*[A-Za-z%/]+)?")

#: Factor to the unit of the vocabulary: ratios, GiB, GiB/s, W, MHz, degrees Celsius. nvidia-smi's MB are MiB.
_FACTORS = {
    "%": 0.01, "gpm:%": 0.01, "vram%": 0.01,
    "b": 2.0**-30, "kib": 2.0**-20, "mib": 2.0**-10, "mb": 2.0**-10, "gib": 1.0, "gb": 1.0,
    "mb/s": 2.0**-10, "mib/s": 2.0**-10, "gpm:mib/s": 2.0**-10, "kb/s": 2.0**-20, "gb/s": 1.0,
    "w": 1.0, "mhz": 1.0, "c": 1.0, "bool": 1.0, "errs": 1.0, "": 1.0,
}  # fmt: skip

#: No card has a larger figure; throttle reasons are bits of a number of 64.
MOST = 1e19


class CellError(ValueError):
    """A cell that is no number, flag or sign for a missing value; the text says what was expected."""


@lru_cache(maxsize=4096)
def number(cell: str, unit: str) -> float | None:
    """Return a cell in the unit of the vocabulary; None where the card does not tell.

    ``unit`` is that of the column; one that the cell itself writes counts more. Raises CellError.
    """
    text = cell.strip().strip('"').strip()
    lower = text.lower()
    if lower in _MISSING or (text.startswith("[") and text.endswith("]")):
        return None
    if lower in _WORDS:
        return _WORDS[lower]
    if lower.startswith("0x"):
        try:
            return float(int(lower[:20], 16))
        except ValueError:
            raise CellError(Sentence("{text} is no number", text=_short(text))) from None
    found = _NUMBER.fullmatch(text)
    if found is None:
        if _DECIMAL_COMMA.fullmatch(text):
            raise CellError(
                Sentence("{text} has a decimal comma; numbers are read with a decimal point only", text=_short(text))
            )
        raise CellError(Sentence("{text} is no number", text=_short(text)))
    factor = _FACTORS.get((found[2] or unit).lower())
    if factor is None:
        raise CellError(Sentence("{text} is in a unit that is not known", text=_short(text)))
    value = float(found[1]) * factor
    if not abs(value) <= MOST:
        raise CellError(Sentence("{text} is beyond any card", text=_short(text)))
    return value


def split(line: str, separator: str = ",") -> list[str]:
    """Return the cells of a row; quotes keep separators together. Never raises."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    except (csv.Error, StopIteration):  # a carriage return, or a cell of more than 128 KiB
        return [cell.strip() for cell in line.split(separator)]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
