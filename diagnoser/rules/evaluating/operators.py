"""How each operator of an expression is evaluated: Kleene's logic, choices, and what goes to lookups and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from diagnoser.rules.evaluating import logic, ranged
from diagnoser.rules.evaluating.value import NOTHING, UNKNOWN, Answer, Value
from diagnoser.rules.model import Node
from diagnoser.rules.needs import quicker

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator


def _gather(evaluator: Evaluator, node: Node) -> tuple[list[Value], frozenset[str]]:
    """Evaluate the children; needs are those of the unknown ones."""
    answers = [evaluator.answer(arg) for arg in node.args if isinstance(arg, Node)]
    return [answer.value for answer in answers], NOTHING.union(
        *(answer.needs for answer in answers if not answer.known)
    )


def calculate(evaluator: Evaluator, node: Node) -> Answer:
    """Return the value of arithmetic and functions of plain values."""
    values, needs = _gather(evaluator, node)
    value = logic.calculate(node.op, values)
    return Answer(value, needs if value is UNKNOWN else NOTHING)


def _kleene(evaluator: Evaluator, node: Node) -> Answer:
    left = evaluator.answer(node.args[0])
    if left.value is (node.op == "or"):
        return Answer(left.value)
    right = evaluator.answer(node.args[1])
    value = (logic.either if node.op == "or" else logic.both)(left.value, right.value)
    return Answer(value, left.needs | right.needs if value is UNKNOWN else NOTHING)


def _truth(evaluator: Evaluator, node: Node) -> Answer:
    """Read an argument, whose type only a log knows, as a truth value."""
    inner = evaluator.answer(node.args[0])
    return Answer(logic.truth(inner.value), inner.needs)


def _not(evaluator: Evaluator, node: Node) -> Answer:
    inner = evaluator.answer(node.args[0])
    return Answer(logic.negate(inner.value), inner.needs)


def _member(evaluator: Evaluator, node: Node) -> Answer:
    left, right = evaluator.answer(node.args[0]), evaluator.answer(node.args[1])
    items = right.value
    if isinstance(items, str):
        found: Value = left.value in items if isinstance(left.value, str) else UNKNOWN
    elif isinstance(items, list | tuple | set | frozenset):
        found = logic.member(left.value, items)
    else:
        found = UNKNOWN
    if node.op == "absent":
        found = logic.negate(found)
    return Answer(found, left.needs | right.needs if found is UNKNOWN else NOTHING)


def _matches(evaluator: Evaluator, node: Node) -> Answer:
    left = evaluator.answer(node.args[0])
    found = logic.searched(left.value, node.args[1].args[0])
    return Answer(found, quicker(node.text) if found is UNKNOWN and left.known else left.needs)


def _else(evaluator: Evaluator, node: Node) -> Answer:
    left = evaluator.answer(node.args[0])
    if left.known:
        return left
    right = evaluator.answer(node.args[1])
    return right if right.known else Answer(UNKNOWN, left.needs | right.needs)


def _if(evaluator: Evaluator, node: Node) -> Answer:
    condition = evaluator.answer(node.args[0])
    if condition.value is UNKNOWN:
        return condition
    return evaluator.answer(node.args[1 if condition.value else 2])


def _list(evaluator: Evaluator, node: Node) -> Answer:
    return Answer(*_gather(evaluator, node))


def _events(evaluator: Evaluator, node: Node) -> Answer:
    if node.args[0] == "rate":
        return evaluator.events.rate(node, evaluator.lookups.loaded)
    return evaluator.events.calculate(node)


def _constant(evaluator: Evaluator, node: Node) -> Answer:
    return Answer(node.args[0])


def _lookup(evaluator: Evaluator, node: Node) -> Answer:
    found = evaluator.lookups.value(node.op, node.args[0])
    derived = evaluator.derived.get(node.args[0]) if node.op == "fact" and not found.known else None
    # What is worked out of other things needs what those need.
    needs = evaluator.answer(derived).needs if derived is not None else NOTHING
    return Answer(UNKNOWN, needs) if needs else found


def _set(evaluator: Evaluator, node: Node) -> Answer:
    return evaluator.lookups.is_set(node.op, node.args[0])


def _samples(evaluator: Evaluator, node: Node) -> Answer:
    return evaluator.samples.answer(node)


def _order(evaluator: Evaluator, node: Node) -> Answer:
    return evaluator.events.order(node)


#: Operator -> how it is evaluated; everything else is arithmetic (``calculate``).
EVALUATE: Mapping[str, Callable[[Evaluator, Node], Answer]] = {
    **dict.fromkeys(("number", "text", "bool"), _constant),
    **dict.fromkeys(logic.ORDER, ranged.compare),
    **dict.fromkeys(("and", "or"), _kleene),
    **dict.fromkeys(("in", "absent"), _member),
    **dict.fromkeys(("fact", "arg", "knob"), _lookup),
    **dict.fromkeys(("isset", "argset"), _set),
    **dict.fromkeys(("aggregate", "ranked"), _samples),
    **dict.fromkeys(("before", "after", "within"), _order),
    "spread": lambda evaluator, node: evaluator.spreads.answer(node),
    "not": _not,
    "truth": _truth,
    "matches": _matches,
    "else": _else,
    "if": _if,
    "list": _list,
    "events": _events,
    "cause": lambda evaluator, node: evaluator.cause(node.args[0]),
    "known": lambda evaluator, node: Answer(evaluator.answer(node.args[0]).known),
    "symptom": lambda evaluator, node: evaluator.symptom_answer(node.args[0]),
    "event": lambda evaluator, node: evaluator.events.seen(node.args[0]),
    "eventfield": lambda evaluator, node: evaluator.events.field(node),
    "survived": lambda evaluator, node: evaluator.events.survived(node.args[0].args[0]),
    "run": lambda evaluator, node: evaluator.lookups.attribute(node.args[0]),
    "field": lambda evaluator, node: evaluator.field(node.args[0]),
}
