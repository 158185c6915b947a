"""From truth values of symptoms to causes with their why. Two back ends stand behind one function."""

from __future__ import annotations

from diagnoser.inference import explain, plain
from diagnoser.inference.adapter import Theory
from diagnoser.inference.problem import And, Cause, CauseRule, InferenceError, Not, Or, Problem, Prop, Ref, Truth, Why
from diagnoser.inference.strata import stratify

__all__ = [
    "BACKENDS", "And", "Cause", "CauseRule", "InferenceError", "Not", "Or", "Problem", "Prop", "Ref", "Theory", "Truth",
    "Why", "infer",
]  # fmt: skip

BACKENDS = ("plain", "durable")


def infer(problem: Problem, backend: str = "plain") -> list[Cause]:
    """Return a verdict on every rule, in the order of the rules: true, false or unknown (None), each with its why.

    A cause is true when its condition is true and no cause of its ``unless`` is known to hold; a cause of ``unless``
    that is unknown does not silence it (``Cause.doubts`` names it). Causes that only support each other are false.
    Raises InferenceError for a cycle through a negation, an unknown back end, or a back end that is not installed.
    """
    order = stratify(problem.rules) if problem.order is None else problem.order
    if backend == "plain":
        values = plain.evaluate(problem, order)
    elif backend == "durable":
        # Here, not above: the package behind it is optional.
        from diagnoser.inference import durable

        values = durable.evaluate(problem, order)
    else:
        raise InferenceError(f"no inference back end {backend!r}; there are {', '.join(BACKENDS)}")
    return explain.causes(problem, order, values)
