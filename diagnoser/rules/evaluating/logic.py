"""Three-valued logic, comparison and arithmetic on single values. Pure functions; UNKNOWN in, UNKNOWN out."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from packaging.version import InvalidVersion, Version

from diagnoser.rules.evaluating.value import UNKNOWN, Value
from diagnoser.rules.searching import search_of

#: Seconds that a rule's regular expression may take on one text.
PATTERN_TIME = 0.2

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}


def both(left: Value, right: Value) -> Value:
    """Kleene and."""
    if left is False or right is False:
        return False
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else True


def either(left: Value, right: Value) -> Value:
    """Kleene or."""
    if left is True or right is True:
        return True
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else False


def negate(value: Value) -> Value:
    """Kleene not."""
    return UNKNOWN if value is UNKNOWN else not value


def truth(value: Value) -> Value:
    """Read a value of unknown type (an argument) as a condition: a printed True, "true", 1; None is false."""
    if value is None or value is UNKNOWN:
        return False if value is None else UNKNOWN
    if isinstance(value, str):
        value = _WORDS.get(value.lower(), UNKNOWN)
        return bool(value) if value is None or isinstance(value, bool) else UNKNOWN
    return bool(value) if isinstance(value, bool | int | float) else UNKNOWN


def number(value: Value) -> Value:
    """Read a value of unknown type as a number; UNKNOWN when it is none, as NaN says of itself."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return UNKNOWN
    return value if isinstance(value, bool | int | float) and value == value else UNKNOWN


def compare(op: str, left: Value, right: Value) -> Value:
    """Compare two values with one of == != < <= > >=.

    Log values are printed texts: a text that reads like the other side's type is read as such. None equals only None
    (and the text "None"); an order that makes no sense is UNKNOWN.
    """
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, Version) or isinstance(right, Version):
        pair = (release(left), release(right))
        return UNKNOWN if None in pair else ORDER[op](*pair)
    left, right = _alike(left, right)
    if op in ("==", "!="):
        return ORDER[op](left, right)
    low, high = number(left), number(right)
    return UNKNOWN if low is UNKNOWN or high is UNKNOWN else ORDER[op](low, high)


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Bring a text and a value of another type together."""
    if isinstance(left, str) and not isinstance(right, str):
        right, left = _alike(right, left)
    elif isinstance(right, str) and not isinstance(left, str):
        if left is None or isinstance(left, bool):
            right = _WORDS.get(right.lower(), right)
        elif isinstance(left, int | float):
            read = number(right)
            right = right if read is UNKNOWN else read
    return left, right


def release(value: Value) -> tuple[tuple[int, ...], int] | None:
    """Return what versions are compared by: release numbers (padded) and post number; None when it is no version.

    Development builds and release candidates count as the release that they lead to: they have its flags.
    """
    if not isinstance(value, Version):
        try:
            value = Version(str(value))
        except InvalidVersion:
            return None
    numbers = value.release + (0,) * (4 - len(value.release))
    return numbers, value.post or 0


def member(value: Value, items: Iterable[Value]) -> Value:
    """Say whether a value equals one of the items; UNKNOWN when it may."""
    found: Value = False
    for item in items:
        found = either(found, compare("==", value, item))
    return found


def searched(value: Value, pattern: str) -> Value:
    """Search a regular expression, case matters. UNKNOWN when the value is, or when the search takes too long."""
    if value is UNKNOWN or value is None:
        return UNKNOWN if value is UNKNOWN else False
    text = str(value)
    try:
        return search_of(pattern)(text, 0, len(text), PATTERN_TIME) is not None
    except TimeoutError:
        return UNKNOWN


def divide(left: float, right: float) -> Value:
    """Divide; UNKNOWN by zero."""
    return left / right if right else UNKNOWN


def multiple(value: float, step: float) -> Value:
    """Round down to a multiple of ``step``."""
    return math.floor(value / step) * step if step > 0 else UNKNOWN


def pow2(value: float) -> Value:
    """Round down to a power of two (fractions too); UNKNOWN for numbers that are not positive."""
    return 2.0 ** (math.frexp(value)[1] - 1) if value > 0 and math.isfinite(value) else UNKNOWN


def half_up(value: float) -> float:
    """Round to the nearest integer, halves up as people do (not to even)."""
    return math.floor(value + 0.5)


#: Scalar functions and operators of numbers.
ARITHMETIC: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
    "neg": operator.neg,
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": half_up,
    "multiple": multiple,
    "pow2": pow2,
}


def calculate(op: str, values: Iterable[Value]) -> Value:
    """Apply an arithmetic function; UNKNOWN when a value is unknown or no number, or the result is not finite."""
    numbers = [number(value) for value in values]
    if any(value is UNKNOWN for value in numbers):
        return UNKNOWN
    try:
        result = ARITHMETIC[op](*numbers)
    except (OverflowError, ValueError):
        return UNKNOWN
    return UNKNOWN if result is UNKNOWN or result != result else result
