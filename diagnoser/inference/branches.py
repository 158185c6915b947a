"""Formulas as flat clauses: a head and a conjunction of literals, one clause per branch of every "or"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from diagnoser.inference.problem import And, CauseRule, Formula, InferenceError, Not, Or, Prop, Ref, pushed
from diagnoser.values import dataclass

#: Branches a conjunction may multiply out to; beyond it parts get a name of their own.
BRANCHES = 16
#: Literals in one clause; durable-rules takes at most 16 antecedents.
LITERALS = 8

#: The body of a clause that needs nothing.
ALWAYS = "!always"


@dataclass(slots=True, frozen=True)
class Clause:
    """``head`` holds when every literal of ``body`` does (never empty).

    Literals are texts: "+p:NAME" and "-p:NAME" for a proposition that is true or false, "+c:ID" and "-c:ID" for a
    cause, "~c:ID" for a cause that is not known to hold, "*ID/N" for a part of a rule that was given a name.
    """

    head: str
    body: tuple[str, ...]


def clauses(rule: CauseRule) -> list[Clause]:
    """Turn a rule into clauses whose least model is the rule's. Kleene's and/or are min/max, so and distributes."""
    writer = _Writer(rule.id)
    unless: list[list[Body]] = [[(f"~c:{other}",)] for other in rule.unless]
    bodies = writer.conjunction([writer.branches(pushed(rule.when)), *unless])
    writer.define(f"+c:{rule.id}", bodies)
    return writer.clauses


Body = tuple[str, ...]


class _Writer:
    def __init__(self, cause: str) -> None:
        self.cause = cause
        self.clauses: list[Clause] = []
        self.parts = 0

    def branches(self, formula: Formula) -> list[Body]:
        match formula:
            case And(terms):
                return self.conjunction([self.branches(term) for term in terms])
            case Or(terms):
                return _distinct(body for term in terms for body in self.branches(term))
            case _:
                return [(_literal(formula),)]

    def conjunction(self, parts: list[list[Body]]) -> list[Body]:
        result: list[Body] = [()]
        for part in parts:
            if len(result) * len(part) > BRANCHES:
                result, part = self.named(result), self.named(part)
            result = _distinct(left + right for left, right in product(result, part))
        return result

    def named(self, bodies: list[Body]) -> list[Body]:
        """Give a disjunction a name; a single branch needs none."""
        if len(bodies) <= 1:
            return bodies
        self.parts += 1
        head = f"*{self.cause}/{self.parts}"
        self.define(head, bodies)
        return [(head,)]

    def define(self, head: str, bodies: list[Body]) -> None:
        for body in bodies:
            self.clauses.append(Clause(head, self.short(body or (ALWAYS,))))

    def short(self, body: Body) -> Body:
        while len(body) > LITERALS:
            self.parts += 1
            head = f"*{self.cause}/{self.parts}"
            self.clauses.append(Clause(head, body[:LITERALS]))
            body = (*body[LITERALS:], head)
        return body


def _literal(formula: Formula) -> str:
    match formula:
        case Prop(name):
            return f"+p:{name}"
        case Ref(name):
            return f"+c:{name}"
        case Not(Prop(name)):
            return f"-p:{name}"
        case Not(Ref(name)):
            return f"-c:{name}"
        case _:
            raise InferenceError(f"not a literal: {formula}")


def _distinct(bodies: Iterator[Body]) -> list[Body]:
    """Drop repeated literals and repeated branches, keep the order."""
    return list({frozenset(body): tuple(dict.fromkeys(body)) for body in bodies}.values())
