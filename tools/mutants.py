"""What can be left out of a rule: every part of its condition and symptoms, every `unless`, every level of severity.

A symptom of the rule that loses a part loses it in the levels too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from diagnoser.rules.model import Node, Rule
from diagnoser.rules.nodes import walk
from diagnoser.values import replace

_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "!=", "in", "absent", "matches", "truth"})
_LOGIC = frozenset({"and", "or", "not", "else", "if"})
_TRUE = Node("bool", (True,), "true", "bool")


class Mutant(NamedTuple):
    """One change. ``kind`` is condition, unless, severity or boundary; ``where`` names the text it stands in."""

    rule: str
    kind: str
    where: str
    text: str
    changed: Rule


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Yield the rule without one of its parts, each way once."""
    own = dict(rule.symptoms)
    used = _reached(rule.when, own).union(*(_reached(one, own) for _, one in rule.severity if one is not None))
    for kind, text, node in _without(rule.when):
        yield Mutant(rule.id, kind, "when", text, replace(rule, when=_opened(node, own)))
    for name, symptom in rule.symptoms:
        if name not in used:
            continue
        for kind, text, node in _without(symptom):
            yield Mutant(rule.id, kind, name, text, _with(rule, {**own, name: node}))
    for cause in rule.unless:
        left = tuple(one for one in rule.unless if one != cause)
        yield Mutant(rule.id, "unless", "unless", cause, replace(rule, unless=left))
    for at, (level, condition) in enumerate(rule.severity[:-1] if len(rule.severity) > 1 else ()):
        levels = rule.severity[:at] + rule.severity[at + 1 :]
        yield Mutant(rule.id, "severity", level, condition.text if condition else "", replace(rule, severity=levels))


def _with(rule: Rule, own: Mapping[str, Node]) -> Rule:
    """Return a rule whose condition and levels speak of these symptoms, written out."""
    levels = tuple((level, None if one is None else _opened(one, own)) for level, one in rule.severity)
    return replace(rule, when=_opened(rule.when, own), severity=levels)


def _reached(node: Node, own: Mapping[str, Node]) -> set[str]:
    """Return the rule's own symptoms that a condition speaks of, through others too."""
    found: set[str] = set()
    for part in walk(node):
        if part.op == "symptom" and part.args[0] in own and part.args[0] not in found:
            found |= {part.args[0], *_reached(own[part.args[0]], own)}
    return found


def _opened(node: Node, own: Mapping[str, Node]) -> Node:
    """Return a condition with the rule's own symptoms written out."""
    if node.op == "symptom" and node.args[0] in own:
        return _opened(own[node.args[0]], own)
    return replace(node, args=tuple(_opened(arg, own) if isinstance(arg, Node) else arg for arg in node.args))


def _without(node: Node) -> Iterator[tuple[str, str, Node]]:
    """Yield (kind, what is left out, what is left).

    Of a chain of `and` or `or` each member goes, not each pair of them. A text that is no chain is made true.
    """
    if node.op not in ("and", "or"):
        yield "condition", node.text, _TRUE
    yield from _inside(node)


def _inside(node: Node, top: bool = True) -> Iterator[tuple[str, str, Node]]:
    parts = [at for at, arg in enumerate(node.args) if isinstance(arg, Node)]
    if node.op in ("and", "or"):
        for at in parts:
            rest = [node.args[other] for other in parts if other != at]
            part = node.args[at]
            if part.op != node.op:
                yield "condition", part.text, rest[0] if len(rest) == 1 else replace(node, args=tuple(rest))
    elif node.op == "else":
        yield "boundary", f"else {node.args[1].text}", node.args[0]
    elif node.op in _COMPARED and not top:
        yield "boundary", f"true: {node.text}", _TRUE
        return
    if node.op in _LOGIC:
        for at in parts:
            # What stands in a chain of `and` is left out already, which is the same as being true.
            same = node.op == "and" and node.args[at].op in _COMPARED
            for kind, text, inner in _inside(node.args[at], top=same):
                yield kind, text, replace(node, args=(*node.args[:at], inner, *node.args[at + 1 :]))
