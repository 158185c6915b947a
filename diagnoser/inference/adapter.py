"""From rules as they are loaded to a problem that back ends understand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from diagnoser.inference.problem import (
    And,
    CauseRule,
    Formula,
    InferenceError,
    Not,
    Or,
    Problem,
    Prop,
    Ref,
    Strata,
    Truth,
)
from diagnoser.inference.strata import stratify
from diagnoser.rules.model import Node, Rule

ResultOf = Callable[[Node], Truth]


class Theory:
    """What of a problem is the same for every run: the conditions of all rules as formulas, and their propositions.

    Conditions without a boolean operator are propositions. A symptom is one under its own name, unless its definition
    names causes: then the definition takes its place, since only inference knows causes.
    Raises InferenceError when a cause is used in anything but and, or, not.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        listed = tuple(rules)
        self.propositions: dict[str, Node] = {}
        self._symptoms = {name: node for rule in listed for name, node in rule.symptoms}
        self._causal = _causal(self._symptoms)
        self.rules = tuple(CauseRule(rule.id, self._formula(rule.when), rule.unless) for rule in listed)

    @cached_property
    def order(self) -> Strata:
        """The order in which the causes can be decided. Raises InferenceError where there is none."""
        return stratify(self.rules)

    def problem(self, result_of: ResultOf) -> Problem:
        """Return the problem of one run. ``result_of`` judges a node; it is asked once per symptom and condition."""
        values = {name: result_of(node) for name, node in self.propositions.items()}
        return Problem({name: _truth(value) for name, value in values.items()}, self.rules, self.order)

    def _formula(self, node: Node) -> Formula:
        if node.op in ("and", "or"):
            terms = tuple([self._formula(child) for child in node.args])
            return And(terms) if node.op == "and" else Or(terms)
        if node.op == "not":
            return Not(self._formula(node.args[0]))
        if node.op == "cause":
            return Ref(str(node.args[0]))
        if node.op == "symptom":
            name = str(node.args[0])
            return self._formula(self._symptoms[name]) if name in self._causal else self._proposition(name, node)
        named = _named(node)
        if named is None or not named.isdisjoint(self._causal):
            raise InferenceError(f"a cause may only be combined with and, or, not: {node.text}")
        return self._proposition(node.text or repr(node), node)

    def _proposition(self, name: str, node: Node) -> Prop:
        self.propositions.setdefault(name, node)
        return Prop(name)


def _truth(value: object) -> Truth:
    return value if value is True or value is False else None


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
