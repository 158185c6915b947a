"""Why a cause has its value: shared by all back ends, so that they differ in nothing but how values are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from diagnoser.inference.problem import (
    Cause,
    CauseRule,
    Formula,
    Not,
    Or,
    Problem,
    Prop,
    Ref,
    Strata,
    Truth,
    Why,
    negated,
    references,
    truth,
)

Look = Callable[[str], Truth]


def causes(problem: Problem, strata: Strata, values: Mapping[str, Truth]) -> list[Cause]:
    """Turn the values of all causes into verdicts with their why, in the order of the rules."""
    rules = {rule.id: rule for rule in problem.rules}
    whens = {name: rule.when for name, rule in rules.items()}
    masks: dict[str, Look] = {}
    for stratum in strata:
        for component in stratum:
            masks.update(_founded(component, rules, problem, values))
    found = []
    for rule in problem.rules:
        value = values[rule.id]
        look = masks[rule.id]
        missing: tuple[str, ...] = ()
        if value is None:
            missing = tuple(dict.fromkeys(_missing(rule.id, whens, problem.values, values)))
        found.append(
            Cause(
                rule.id,
                value,
                why(rule.when, problem.values.get, look),
                missing,
                tuple(other for other in rule.unless if values.get(other) is True),
                tuple(other for other in rule.unless if values.get(other) is None),
            )
        )
    return found


def why(formula: Formula, prop: Look, ref: Look) -> Why:
    """Return the parts of a formula that give it its value: all conjuncts of a truth, the true ones of an or."""
    if isinstance(formula, Prop):
        return Why("prop", prop(formula.name), formula.name)
    if isinstance(formula, Ref):
        return Why("cause", ref(formula.id), formula.id)
    if isinstance(formula, Not):
        inner = why(formula.term, prop, ref)
        return Why("not", negated(inner.value), parts=(inner,))
    parts = [why(term, prop, ref) for term in formula.terms]
    values = {part.value for part in parts}
    decides = isinstance(formula, Or)
    value = decides if decides in values else None if None in values else not decides
    telling = [part for part in parts if part.value is value]
    return telling[0] if len(telling) == 1 else Why("or" if decides else "and", value, parts=tuple(telling))


def _founded(
    component: Iterable[str], rules: Mapping[str, CauseRule], problem: Problem, values: Mapping[str, Truth]
) -> dict[str, Look]:
    """Give each cause a view of the values in which no cause proves itself.

    Of its own component a true cause sees only what became true in an earlier round.
    """
    members = list(component)
    if len(members) == 1 and all(name != members[0] for name, _ in references(rules[members[0]].when)):
        return {members[0]: values.get}
    proven: set[str] = set()
    looks: dict[str, Look] = {}
    while len(looks) < len(members):
        hidden = frozenset(member for member in members if values[member] is True and member not in proven)

        def look(name: str, hidden: frozenset[str] = hidden) -> Truth:
            return False if name in hidden else values.get(name)

        # Blocked and undecided causes are never proven: they may see everything.
        ready = [name for name in hidden if truth(rules[name].when, problem.values.get, look) is True]
        if not ready:
            looks.update({name: values.get for name in members if name not in looks})
            break
        looks.update(dict.fromkeys(ready, look))
        proven.update(ready)
    return looks


def _missing(
    cause: str, whens: Mapping[str, Formula], props: Mapping[str, Truth], values: Mapping[str, Truth]
) -> Iterator[str]:
    """Yield the undecided propositions behind an undecided cause, through other undecided causes, once each."""
    seen, todo = {cause}, [cause]
    while todo:
        name = todo.pop()
        for leaf in why(whens[name], props.get, values.get).leaves():
            if leaf.op == "prop" or leaf.name not in whens:
                yield leaf.name
            elif leaf.name not in seen:
                seen.add(leaf.name)
                todo.append(leaf.name)
