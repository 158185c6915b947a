"""What inference works on: formulas over propositions and causes, the rules made of them, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from diagnoser.values import dataclass

#: Kleene's three values; None is unknown.
Truth = bool | None


class InferenceError(Exception):
    """A problem that has no meaning, or a back end that cannot be trusted or is not there."""


@dataclass(slots=True, frozen=True)
class Prop:
    """A named proposition: a symptom or a condition that the evaluator has already judged."""

    name: str


@dataclass(slots=True, frozen=True)
class Ref:
    """Another cause, by id."""

    id: str


@dataclass(slots=True, frozen=True)
class Not:
    """Negation: unknown stays unknown."""

    term: Formula


@dataclass(slots=True, frozen=True)
class And:
    """The smallest of its terms, false < unknown < true. Without terms it is true."""

    terms: tuple[Formula, ...]


@dataclass(slots=True, frozen=True)
class Or:
    """The largest of its terms. Without terms it is false."""

    terms: tuple[Formula, ...]


Formula = Prop | Ref | Not | And | Or


@dataclass(slots=True, frozen=True)
class CauseRule:
    """A cause holds when ``when`` is true and none of the causes in ``unless`` is *known* to hold."""

    id: str
    when: Formula
    unless: tuple[str, ...] = ()


#: Causes that depend on each other, in the order of the rules; mostly just one.
Component = tuple[str, ...]
#: Strata of components, both in an order in which they can be decided.
Strata = list[list[Component]]


@dataclass(slots=True, frozen=True)
class Problem:
    """Truth values and rules. A proposition or a cause that is mentioned but not listed is unknown.

    ``order`` is that in which the causes can be decided, where somebody knows it already (strata.py).
    """

    values: Mapping[str, Truth]
    rules: tuple[CauseRule, ...]
    order: Strata | None = None


@dataclass(slots=True, frozen=True)
class Why:
    """A node of an explanation: the parts of a formula that alone give it its value.

    ``op`` is "and", "or", "not", "prop" or "cause"; ``name`` is set for the last two, ``parts`` for the others.
    """

    op: str
    value: Truth
    name: str = ""
    parts: tuple[Why, ...] = ()

    def leaves(self) -> Iterator[Why]:
        """Yield the propositions and causes at the bottom, left to right."""
        if not self.parts and self.name:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass(slots=True, frozen=True)
class Cause:
    """The verdict on one rule.

    ``holds`` is true, false or unknown (None); ``why`` explains the value of the rule's condition. ``missing`` names
    what would have to be known to decide an unknown cause. ``blocked_by`` are causes of ``unless`` that hold: the
    condition may be true, the cause is not. ``doubts`` are causes of ``unless`` that are undecided: a better
    explanation that nobody could look for.
    """

    id: str
    holds: Truth
    why: Why
    missing: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def negated(value: Truth) -> Truth:
    """Kleene's not."""
    return None if value is None else not value


def truth(formula: Formula, prop: Callable[[str], Truth], ref: Callable[[str], Truth]) -> Truth:
    """Evaluate a formula with Kleene's tables. No more of it is looked at than decides it."""
    # Asked some ten thousand times a run, where ``match`` takes three times as long.
    if isinstance(formula, Prop):
        return prop(formula.name)
    if isinstance(formula, Ref):
        return ref(formula.id)
    if isinstance(formula, Not):
        return negated(truth(formula.term, prop, ref))
    decides = isinstance(formula, Or)
    found: Truth = not decides
    for term in formula.terms:
        value = truth(term, prop, ref)
        if value is decides:
            return value
        if value is None:
            found = None
    return found


def pushed(formula: Formula, positive: bool = True) -> Formula:
    """Return an equal formula whose negations stand directly before propositions and causes (or its negation)."""
    match formula:
        case Not(term):
            return pushed(term, not positive)
        case And(terms):
            parts = tuple(pushed(term, positive) for term in terms)
            return And(parts) if positive else Or(parts)
        case Or(terms):
            parts = tuple(pushed(term, positive) for term in terms)
            return Or(parts) if positive else And(parts)
        case _:
            return formula if positive else Not(formula)


def references(formula: Formula, positive: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the causes a formula names, each with whether it stands under an odd number of negations."""
    match formula:
        case Ref(name):
            yield name, not positive
        case Not(term):
            yield from references(term, not positive)
        case And(terms) | Or(terms):
            for term in terms:
                yield from references(term, positive)
        case _:
            return
