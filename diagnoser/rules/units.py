"""Units of literals and of samples: what a suffix means and which units may meet."""

from __future__ import annotations

from diagnoser.knowledge.words import nearest

#: Suffix of a literal -> (unit, numerator, denominator). Two integers, so that 95% is exactly 0.95.
SUFFIXES: dict[str, tuple[str, int, int]] = {
    "%": ("ratio", 1, 100),
    "ms": ("seconds", 1, 1000),
    "s": ("seconds", 1, 1),
    "m": ("seconds", 60, 1),
    "min": ("seconds", 60, 1),
    "h": ("seconds", 3600, 1),
    "d": ("seconds", 86400, 1),
    "KiB": ("gib", 1, 1 << 20),
    "MiB": ("gib", 1, 1 << 10),
    "GiB": ("gib", 1, 1),
    "TiB": ("gib", 1 << 10, 1),
    "k": ("", 1024, 1),
}
PERIODS = {"s": 1, "min": 60, "h": 3600}

#: The unit of events per second: `1/min`, `rate(E)`.
PER_SECOND = "1/s"


class UnitError(ValueError):
    """A suffix that is no unit. ``nearest`` is the most similar one, or ""."""

    def __init__(self, suffix: str) -> None:
        self.nearest = nearest(suffix, SUFFIXES, 0.5) or ""
        super().__init__(f"unknown unit '{suffix}'")


def literal(text: str) -> tuple[float, str]:
    """Return value and unit of a number as written: seconds, GiB, a ratio, per second, or a plain number ("").

    Raises UnitError when the suffix is no unit.
    """
    if "/" in text:
        number, _, period = text.partition("/")
        return float(number) / PERIODS[period], PER_SECOND
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
    suffix = text[len(digits) :]
    number_value = float(digits.replace("_", ""))
    if not suffix:
        return number_value, ""
    if suffix not in SUFFIXES:
        raise UnitError(suffix)
    unit, numerator, denominator = SUFFIXES[suffix]
    return number_value * numerator / denominator, unit


def clash(left: str, right: str) -> bool:
    """Say whether two units cannot be compared or added. "" (unknown or plain) goes with everything."""
    if PER_SECOND in (left, right) and {left, right} & {"tokens/s", "requests/s"}:
        return False
    return bool(left and right and left != right and left not in _FREE and right not in _FREE)


#: Units that say nothing about what they may be compared with.
_FREE = ("x", "flag", "gpus", "events", "tokens/step")


def product(left: str, right: str, operator: str) -> str:
    """Return the unit of a product or quotient, "" when nothing useful is known.

    A share of something keeps the unit of the thing; a quotient of equals is a plain number (it may exceed 1).
    """
    plain = ("", "ratio", "x", "flag")
    if right in plain:
        return left if left not in plain else ""
    if operator == "*" and left in plain:
        return right
    return ""
