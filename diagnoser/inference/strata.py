"""The order in which causes can be decided: whatever is negated is decided before what negates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.inference.problem import CauseRule, Component, InferenceError, Strata, references


def stratify(rules: Sequence[CauseRule]) -> Strata:
    """Split the causes into strata of components.

    Two causes are in one component when each depends on the other (through positive references only). A cause is in
    a later stratum than every cause it negates or lists in ``unless``.
    Raises InferenceError when a cause depends on its own negation or an id is defined twice.
    """
    needs = _needs(rules)
    reach = {cause: _reach(cause, needs) for cause in needs}
    level = dict.fromkeys(needs, 0)
    for cause, edges in needs.items():
        for other, negative in edges:
            if negative and cause in reach[other] | {other}:
                raise InferenceError(f"{cause} depends on the absence of {other}, which depends on {cause}")
    changed = True
    while changed:
        changed = False
        for cause, edges in needs.items():
            lowest = max((level[other] + negative for other, negative in edges), default=0)
            if lowest > level[cause]:
                level[cause], changed = lowest, True
    components = list(dict.fromkeys(_component(cause, reach) for cause in needs))
    # What a component needs reaches strictly less than the component itself, so this is a topological order.
    components.sort(key=lambda component: len(reach[component[0]] | {component[0]}))
    found: Strata = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for component in components:
        found[level[component[0]]].append(component)
    return found


def _needs(rules: Sequence[CauseRule]) -> dict[str, list[tuple[str, bool]]]:
    known = {rule.id for rule in rules}
    if len(known) < len(rules):
        raise InferenceError("two rules define one cause")
    return {
        rule.id: [
            edge
            for edge in [*references(rule.when), *((other, True) for other in rule.unless)]
            if edge[0] in known  # a cause nobody defines is unknown for good and orders nothing
        ]
        for rule in rules
    }


def _reach(cause: str, needs: Mapping[str, list[tuple[str, bool]]]) -> set[str]:
    seen: set[str] = set()
    todo = [cause]
    while todo:
        for other, _ in needs[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def _component(cause: str, reach: Mapping[str, set[str]]) -> Component:
    if cause not in reach[cause]:
        return (cause,)
    return tuple(other for other in reach if other == cause or (other in reach[cause] and cause in reach[other]))
