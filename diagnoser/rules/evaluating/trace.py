"""How an expression came to its value, as a tree to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnoser.rules.evaluating.format import plain
from diagnoser.rules.evaluating.value import NOTHING, Trace
from diagnoser.rules.model import Node

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator

#: Nodes that explain nothing further: constants, and everything read straight from a run.
_LEAVES = ("number", "text", "bool", "list")
_READ = ("aggregate", "ranked", "spread", "events", "eventfield", "survived", "before", "after", "within")


def trace(evaluator: Evaluator, node: Node) -> Trace:
    """Trace a checked expression over the evaluator's run; symptoms are opened up once."""
    return _trace(evaluator, node, frozenset())


def _trace(evaluator: Evaluator, node: Node, opened: frozenset[str]) -> Trace:
    answer = evaluator.answer(node)
    children: tuple[Trace, ...] = ()
    if node.op == "symptom":
        name = node.args[0]
        if name in evaluator.symptoms and name not in opened:
            children = (_trace(evaluator, evaluator.symptoms[name], opened | {name}),)
    elif node.op not in _READ:
        parts = [arg for arg in node.args if isinstance(arg, Node) and arg.op not in _LEAVES]
        children = tuple(_trace(evaluator, part, opened) for part in parts)
    needs = NOTHING if answer.known else answer.needs
    return Trace(node.text or node.op, plain(answer.value), children, needs, answer.note)
