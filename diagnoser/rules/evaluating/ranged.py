"""Comparisons with what a histogram knows to a bucket only: true or false where all that the value may be agrees."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from diagnoser.rules.evaluating import logic
from diagnoser.rules.evaluating.spreads import REQUESTS
from diagnoser.rules.evaluating.value import NOTHING, UNKNOWN, Answer, unknown
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator

#: Arithmetic whose extremes lie at the ends of its operands, for what is never negative: no latency and no length is.
_MONOTONE = ("+", "-", "*", "/", "min", "max")


def compare(evaluator: Evaluator, node: Node) -> Answer:
    """Compare two values; unknown where the level lies within a bucket that also holds the value."""
    answers = [evaluator.answer(arg) for arg in node.args]
    value = logic.compare(node.op, *(one.value for one in answers))
    if value is UNKNOWN:
        return Answer(UNKNOWN, NOTHING.union(*(one.needs for one in answers if not one.known)))
    if not evaluator.spreads.given or not any(part.op == "spread" for part in walk(node)):
        return Answer(value)
    told = {logic.compare(node.op, *pair) for pair in product(*(_ends(evaluator, arg) for arg in node.args))}
    return Answer(told.pop()) if len(told) == 1 else unknown(REQUESTS)


def _ends(evaluator: Evaluator, node: Node) -> tuple[float, ...]:
    """Return the least and the most that a number may be; one of both where it is known."""
    if node.op == "spread" and (limits := evaluator.spreads.ends(node)) is not None:
        return limits
    if node.op == "else":
        return _ends(evaluator, node.args[0 if evaluator.answer(node.args[0]).known else 1])
    if node.op in _MONOTONE:
        inner = [_ends(evaluator, arg) for arg in node.args if isinstance(arg, Node)]
        if any(len(one) > 1 for one in inner):
            known = [one for pair in product(*inner) if (one := logic.calculate(node.op, pair)) is not UNKNOWN]
            return (min(known), max(known)) if known else (evaluator.value(node),)
    return (evaluator.value(node),)
