"""The second back end: forward chaining by the durable-rules package, kept to the part of it that is sound.

Measured limits of durable-rules 2.0.28 shape this module. ``none`` only sees what came earlier, so absence is a fact of
its own and every stratum gets a session after the ones it depends on. Joins other than equality read out of bounds, and
terms after a nested "or" are ignored, so rules are flat conjunctions of equalities, one per branch. More than 511 tests
on one field never end, so a session holds few names.

Unknown is not a third truth value there, so each session decides two worlds at once, joined on the field ``world``:
"certain" holds what is known, "possible" also what is unknown. A cause is true when it follows in the first, false when
it does not even follow in the second, else unknown. This is Kleene's value, since clauses have no negation left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnoser.inference.branches import ALWAYS, Clause, clauses
from diagnoser.inference.problem import Component, InferenceError, Problem, Strata, Truth
from diagnoser.inference.session import Atom, run

#: Names one session may test: a third of the number at which durable-rules stops answering.
NAMES = 170

CERTAIN, POSSIBLE = "certain", "possible"


def evaluate(problem: Problem, strata: Strata) -> dict[str, Truth]:
    """Return the value of every cause.

    Raises InferenceError when the package is missing, reports an error or loses a fact, or when the rules do not fit
    its limits.
    """
    rules = {rule.id: rule for rule in problem.rules}
    values: dict[str, Truth] = {}
    for stratum in strata:
        written = {cause: clauses(rules[cause]) for component in stratum for cause in component}
        for batch in _batches(stratum, written):
            listed = [clause for cause in batch for clause in written[cause]]
            derived = run(listed, sorted(_facts(listed, batch, problem.values, values)))
            for cause in batch:
                known, possible = ((f"+c:{cause}", world) in derived for world in (CERTAIN, POSSIBLE))
                values[cause] = True if known else None if possible else False
    return values


def _batches(stratum: list[Component], written: Mapping[str, list[Clause]]) -> Iterator[list[str]]:
    """Join components while their names fit into one session; the order makes earlier batches facts of later ones."""
    batch: list[str] = []
    names: set[str] = set()
    for component in stratum:
        more = {name for cause in component for clause in written[cause] for name in (clause.head, *clause.body)}
        if len(more) > NAMES:
            raise InferenceError(
                f"{component[0]} and the causes it depends on in a circle use {len(more)} names; "
                f"the durable back end takes {NAMES}: use the plain one"
            )
        if len(names | more) > NAMES:
            yield batch
            batch, names = [], set()
        batch.extend(component)
        names |= more
    if batch:
        yield batch


def _facts(
    listed: list[Clause], batch: list[str], props: Mapping[str, Truth], decided: Mapping[str, Truth]
) -> Iterator[Atom]:
    """Yield (literal, world) for every literal that the clauses use and that is settled before the session."""
    # A cause that can never hold heads no clause, and is not unknown for that.
    heads = {clause.head for clause in listed} | {f"+c:{cause}" for cause in batch}
    for literal in dict.fromkeys(name for clause in listed for name in clause.body):
        if literal in heads:
            continue
        if literal == ALWAYS:
            certain = possible = True
        else:
            sign, kind, name = literal[0], literal[1], literal[3:]
            value = props.get(name) if kind == "p" else decided.get(name)
            wanted = sign == "+"
            if sign == "~":
                certain = possible = value is not True
            else:
                certain, possible = value is wanted, value is not (not wanted)
        if certain:
            yield literal, CERTAIN
        if possible:
            yield literal, POSSIBLE
