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
        self._causal: dict[str, bool] = {}

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
            if name not in self._causal:
                self._causal[name] = self._names_cause(node, frozenset())
            return self.formula(self.symptoms[name]) if self._causal[name] else self._proposition(name, node)
        if self._names_cause(node, frozenset()):
            raise InferenceError(f"a cause may only be combined with and, or, not: {node.text}")
        return self._proposition(node.text or repr(node), node)

    def _proposition(self, name: str, node: Node) -> Prop:
        if name not in self.values:
            value = self.result_of(node)
            self.values[name] = value if value is True or value is False else None
        return Prop(name)

    def _names_cause(self, node: Node, open_symptoms: frozenset[str]) -> bool:
        if node.op == "cause":
            return True
        if node.op == "symptom":
            name = str(node.args[0])
            if name in self._causal:
                return self._causal[name]
            definition = self.symptoms.get(name)
            if definition is None or name in open_symptoms:
                return False
            return self._names_cause(definition, open_symptoms | {name})
        return any(self._names_cause(child, open_symptoms) for child in node.args if isinstance(child, Node))
