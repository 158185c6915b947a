"""What must be true of a run for one part of a rule to matter, and how near a run comes to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.model import Node, Rule
from diagnoser.values import replace

#: What a part may be wanted as: true, false, not true (false or unknown), unknown.
TRUE, FALSE, NOT_TRUE, UNKNOWN = "true", "false", "not true", "unknown"
_FLIPPED = {TRUE: FALSE, FALSE: TRUE, NOT_TRUE: "not false", "not false": NOT_TRUE, UNKNOWN: UNKNOWN}


class Goal(NamedTuple):
    """A condition, symptoms written out, and what it is wanted as."""

    node: Node
    want: str


def opened(node: Node, symptoms: Mapping[str, Node]) -> Node:
    """Return a condition with all symptoms written out."""
    if node.op == "symptom" and node.args[0] in symptoms:
        return opened(symptoms[node.args[0]], symptoms)
    return replace(node, args=tuple(opened(arg, symptoms) if isinstance(arg, Node) else arg for arg in node.args))


def goals(rule: Rule, changed: Rule, symptoms: Mapping[str, Node]) -> list[list[Goal]]:
    """Return ways, each some goals at once, in which a changed rule may say something else than the rule."""
    own = {**symptoms, **dict(rule.symptoms)}
    before, after = opened(rule.when, own), opened(changed.when, {**symptoms, **dict(changed.symptoms)})
    ways = [[*_differs(before, after)]] if before != after else []
    found = [Goal(before, TRUE)]
    kept = dict(changed.severity)
    for level, condition in rule.severity:
        if condition is None:
            break
        said = opened(condition, own)
        left = kept.get(level)
        if left is None:
            ways.append([*found, Goal(said, TRUE)])
        elif opened(left, own) != said:
            ways.append([*found, *_differs(said, opened(left, own))])
        found.append(Goal(said, NOT_TRUE))
    return ways


def _differs(one: Node, two: Node) -> Iterator[Goal]:
    """Yield what makes two conditions differ, of which the second lacks a part of the first."""
    if one.op in ("and", "or"):
        keep, drop = (TRUE, NOT_TRUE) if one.op == "and" else (NOT_TRUE, TRUE)
        left, right = one.args
        for kept, gone in ((left, right), (right, left)):
            if two == kept:
                yield Goal(kept, keep)
                yield Goal(gone, drop)
                return
        if two.op == one.op:
            at = 0 if two.args[0] != left else 1
            yield Goal(one.args[1 - at], keep)
            yield from _differs(one.args[at], two.args[at])
            return
    if one.op == two.op and len(one.args) == len(two.args):
        for at, (was, now) in enumerate(zip(one.args, two.args, strict=True)):
            if was == now or not isinstance(was, Node):
                continue
            if one.op == "else" and at == 1:
                yield Goal(one.args[0], UNKNOWN)
            if one.op == "if" and at:
                yield Goal(one.args[0], TRUE if at == 1 else FALSE)
            yield from _differs(was, now)
        return
    if one.op == "else" and two == one.args[0]:
        yield Goal(two, UNKNOWN)
        yield Goal(one.args[1], TRUE)
        return
    yield Goal(one, FALSE)


def nearness(evaluator: Evaluator, goal: Goal) -> float:
    """Return from 0 to 1 how near a run comes to a goal; 1 where it is reached."""
    node, want = goal
    if node.op in ("and", "or") and want != UNKNOWN:
        parts = [nearness(evaluator, Goal(one, want)) for one in chain(node)]
        every = (node.op == "and") == (want in (TRUE, "not false"))
        return sum(parts) / len(parts) if every else max(parts)
    if node.op == "not":
        return nearness(evaluator, Goal(node.args[0], _FLIPPED[want]))
    value = evaluator.value(node)
    if node.op == "else" and want != UNKNOWN:
        first = evaluator.answer(node.args[0])
        return nearness(evaluator, Goal(node.args[0 if first.known else 1], want))
    if want == UNKNOWN:
        return float(value is not True and value is not False)
    if want in (TRUE, FALSE):
        if value is not True and value is not False:
            return 0.0
        return 1.0 if value is (want == TRUE) else 0.3 + 0.4 * _closeness(evaluator, node, want == TRUE)
    return float((value is not True) if want == NOT_TRUE else (value is not False))


def _closeness(evaluator: Evaluator, node: Node, want: bool) -> float:
    """Return from 0 to 1 how near the numbers of a comparison come to what turns it."""
    if node.op not in (">", ">=", "<", "<="):
        return 0.0
    left, right = (evaluator.value(one) for one in node.args)
    if not all(isinstance(one, int | float) and one >= 0 for one in (left, right)):
        return 0.0
    small, large = (left, right) if (node.op[0] == ">") == want else (right, left)
    return float(min(small / large, 1.0)) if large else 0.0


def chain(node: Node) -> Iterator[Node]:
    """Yield the members of a chain of `and` or `or`."""
    for arg in node.args:
        if arg.op == node.op:
            yield from chain(arg)
        else:
            yield arg


def unmet(evaluator: Evaluator, goal: Goal) -> Iterator[Node]:
    """Yield the smallest conditions that keep a run from a goal."""
    node, want = goal
    if nearness(evaluator, goal) == 1.0:
        return
    if node.op in ("and", "or"):
        for part in chain(node):
            yield from unmet(evaluator, Goal(part, want))
    elif node.op == "not":
        yield from unmet(evaluator, Goal(node.args[0], _FLIPPED[want]))
    elif node.op == "else" and want != UNKNOWN:
        for part in node.args:
            yield from unmet(evaluator, Goal(part, want))
    else:
        yield node
