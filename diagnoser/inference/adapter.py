"""From rules as they are loaded to a problem that back ends understand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from diagnoser.inference.problem import And, CauseRule, Formula, InferenceError, Not, Or, Problem, Prop, Ref, Truth
from diagnoser.rules.model import Node, Rule

ResultOf = Callable[[Node], Truth]


def problem_from_rules(rules: Iterable[Rule], result_of: ResultOf) -> Problem:
    """Build the problem of one run: conditions without a boolean operator become propositions.

    ``result_of`` judges a node; it is asked once per symptom and condition. A symptom is one proposition under its own
    name, unless its definition names causes: then the definition takes its place, since only inference knows causes.
    Raises InferenceError when a cause is used in anything but and, or, not.
    """
    listed = tuple(rules)
    walker = _Walker({name: node for rule in listed for name, node in rule.symptoms}, result_of)
    made = tuple(CauseRule(rule.id, walker.formula(rule.when), rule.unless) for rule in listed)
    return Problem(walker.values, made)


class _Walker:
    def __init__(self, symptoms: Mapping[str, Node], result_of: ResultOf) -> None:
        self.symptoms = symptoms
        self.result_of = result_of
        self.values: dict[str, Truth] = {}
        self._causal = _causal(symptoms)

    def formula(self, node: Node) -> Formula:
        if node.op == "and":
            return And(tuple(self.formula(child) for child in node.args))
        if node.op == "or":
            return Or(tuple(self.formula(child) for child in node.args))
        if node.op == "not":
            return Not(self.formula(node.args[0]))
        if node.op == "cause":
            return Ref(str(node.args[0]))
        if node.op == "symptom":
            name = str(node.args[0])
            return self.formula(self.symptoms[name]) if name in self._causal else self._proposition(name, node)
        named = _named(node)
        if named is None or not named.isdisjoint(self._causal):
            raise InferenceError(f"a cause may only be combined with and, or, not: {node.text}")
        return self._proposition(node.text or repr(node), node)

    def _proposition(self, name: str, node: Node) -> Prop:
        if name not in self.values:
            value = self.result_of(node)
            self.values[name] = value if value is True or value is False else None
        return Prop(name)


def _causal(symptoms: Mapping[str, Node]) -> set[str]:
    """Return the symptoms whose definitions name causes, themselves or through other symptoms."""
    named = {name: _named(definition) for name, definition in symptoms.items()}
    found = {name for name, others in named.items() if others is None}
    while more := {name for name, others in named.items() if others and not others.isdisjoint(found)} - found:
        found |= more
    return found


def _named(node: Node) -> set[str] | None:
    """Return the symptoms that an expression names; None when it names a cause."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.op == "cause":
            return None
        if one.op == "symptom":
            found.add(str(one.args[0]))
        else:
            waiting += [child for child in one.args if isinstance(child, Node)]
    return found
