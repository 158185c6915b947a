"""The reference back end: each stratum in turn, each component to its least fixpoint."""

from __future__ import annotations

from diagnoser.inference.problem import Problem, Strata, Truth, truth


def evaluate(problem: Problem, strata: Strata) -> dict[str, Truth]:
    """Return the value of every cause.

    Causes of one component start false and only rise (false < unknown < true), so that causes which merely support
    each other stay false.
    """
    rules = {rule.id: rule for rule in problem.rules}
    values: dict[str, Truth] = {}
    for stratum in strata:
        for component in stratum:
            values.update(dict.fromkeys(component, False))
            changed = True
            while changed:
                changed = False
                for cause in component:
                    rule = rules[cause]
                    blocked = any(values.get(other) is True for other in rule.unless)
                    value = False if blocked else truth(rule.when, problem.values.get, values.get)
                    if value is not values[cause]:
                        values[cause], changed = value, True
    return values
