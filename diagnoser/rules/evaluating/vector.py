"""Row expressions compiled to functions over whole columns: plain Python's `map` does the looping.

A compiled piece is ``partial`` when a row may have no value (division by zero, a missing optional series): missing is
NaN in numbers and None in conditions. Operators that must look out for it are chosen at compile time, so that the
usual piece pays nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from diagnoser.rules.evaluating.logic import ARITHMETIC, ORDER, number
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, unknown
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import has_series
from diagnoser.values import dataclass

NAN = float("nan")

Columns = Mapping[str, Sequence[float]]
#: Gives as many values as there are rows; constants repeat for ever.
Run = Callable[[Columns], Iterable[Any]]


@dataclass(slots=True, frozen=True)
class Piece:
    """A compiled row expression. ``series``: a row must have all of them; ``optional``: used where present."""

    run: Run
    series: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    partial: bool = False


class Undecided(Exception):  # noqa: N818 - a signal that carries an answer, not an error
    """A constant of a row expression (a fact, an argument) is unknown: so is all that is made of it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("unknown")
        self.answer = answer


def compile_rows(node: Node, scalar: Callable[[Node], Answer]) -> Piece:
    """Compile a checked row expression; ``scalar`` evaluates the parts that do not depend on the row.

    Raises Undecided when such a part is unknown.
    """
    if not has_series(node):
        answer = scalar(node)
        value = answer.value
        if node.kind == "any" and not isinstance(value, list | tuple | set | frozenset):
            # Rows hold numbers: an argument printed as None or as a word has nothing to compare them with.
            value = number(value)
        if value is UNKNOWN or (value is None and node.kind == "number"):
            raise Undecided(answer if answer.value is UNKNOWN else unknown(f"a number as {node.text}"))
        return _constant(value)
    if node.op == "series":
        name = node.args[0]
        return Piece(lambda columns: columns[name], frozenset((name,)))
    parts = [compile_rows(arg, scalar) for arg in node.args if isinstance(arg, Node)]
    if node.op == "else":
        left, right = parts
        run = _mapped(_fallback, parts)
        return Piece(run, right.series, left.series | left.optional | right.optional, right.partial)
    partial = any(part.partial for part in parts)
    function, makes_missing = _function(node, partial)
    series = frozenset().union(*(part.series for part in parts))
    optional = frozenset().union(*(part.optional for part in parts))
    return Piece(_mapped(function, parts), series, optional, partial or makes_missing)


def _constant(value: Any) -> Piece:
    return Piece(lambda columns: repeat(value))


def _mapped(function: Callable[..., Any], parts: Sequence[Piece]) -> Run:
    runs = [part.run for part in parts]
    if len(runs) == 1:
        (only,) = runs
        return lambda columns: map(function, only(columns))
    if len(runs) == 2:
        one, two = runs
        return lambda columns: map(function, one(columns), two(columns))
    return lambda columns: map(function, *(run(columns) for run in runs))


def _function(node: Node, partial: bool) -> tuple[Callable[..., Any], bool]:
    """Return the function of an operator and whether it may leave rows without a value."""
    op = node.op
    if op in ORDER:
        return (_careful(ORDER[op]) if partial else ORDER[op]), False
    if op in ("and", "or", "not"):
        return (_KLEENE if partial else _PLAIN)[op], False
    if op == "/":
        return _divide, True
    if op in ("multiple", "pow2", "floor", "ceil", "round", "min", "max"):
        return _number(ARITHMETIC[op]), op in ("multiple", "pow2")
    if op == "if":
        return _choose, False
    if op == "list":
        return (lambda *items: items), False
    if op == "in":
        return (lambda value, items: value in items), False
    if op == "absent":
        return (lambda value, items: value not in items), False
    return ARITHMETIC[op], False


def _careful(compare: Callable[[Any, Any], bool]) -> Callable[[float, float], bool | None]:
    return lambda left, right: compare(left, right) if left == left and right == right else None


def _number(function: Callable[..., Any]) -> Callable[..., float]:
    def apply(*values: float) -> float:
        if any(value != value for value in values):
            return NAN
        result = function(*values)
        return NAN if result is UNKNOWN else float(result)

    return apply


def _divide(left: float, right: float) -> float:
    return left / right if right else NAN


def _fallback(value: float, other: float) -> float:
    return value if value == value else other


def _choose(condition: bool | None, yes: Any, no: Any) -> Any:
    return NAN if condition is None else yes if condition else no


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


_PLAIN: dict[str, Callable[..., Any]] = {"and": operator.and_, "or": operator.or_, "not": operator.not_}
_KLEENE: dict[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "not": lambda value: None if value is None else not value,
}
