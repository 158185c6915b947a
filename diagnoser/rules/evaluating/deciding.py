"""The fewest further inputs that could decide an unknown condition, by three-valued logic: one wherever one can."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from diagnoser.rules.evaluating.sourcing import COSTS, IMPOSSIBLE, METRICS_PAGE, source_of
from diagnoser.rules.evaluating.value import UNKNOWN
from diagnoser.rules.model import Node
from diagnoser.rules.names import references
from diagnoser.values import dataclass

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator

#: More inputs together than this are no answer.
_MOST = 3

#: What of a condition is looked into; everything else becomes known as a whole.
_BOTH, _NEITHER = (True, True), (False, False)


@dataclass(slots=True, frozen=True)
class Decision:
    """Inputs that could decide a condition: by source, what is asked of each.

    ``true`` and ``false`` say which way they can decide it: what can only be ruled out is not shown by them alone.
    """

    asked: tuple[tuple[str, frozenset[str]], ...]
    true: bool
    false: bool


class Decider:
    """Which truths a condition of one run could get from further inputs, each named by its source (sourcing.py)."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._open: set[str] = set()
        # By the identity of a part: it is looked at for every input, and many rules ask for the same symptoms.
        self._asked: dict[int, dict[str, dict[str, str]]] = {}

    def fewest(self, node: Node) -> Decision | None:
        """Return the fewest inputs that could decide it: the surest of those, then the cheapest; None for none."""
        leaves = list(self._leaves(node))
        every = sorted({source for needs in leaves for ways in needs.values() for source in ways} - {IMPOSSIBLE})
        for size in range(1, min(_MOST, len(every)) + 1):
            ranked = sorted(
                (-sum(found), sum(map(_cost, sources)), sources, found)
                for sources in combinations(every, size)
                if any(found := self.ways(node, sources))
            )
            if ranked:
                _, _, sources, (true, false) = ranked[0]
                asked = ((one, frozenset(_asked(leaves, sources, one))) for one in sorted(sources, key=_cost))
                return Decision(tuple(asked), true, false)
        return None

    def ways(self, node: Node, sources: Collection[str]) -> tuple[bool, bool]:
        """Return whether the condition can become true and false where these sources are given."""
        value = self.evaluator.answer(node).value
        if value is not UNKNOWN:
            return value is True, value is False
        op, args = node.op, node.args
        if op in ("and", "or"):
            left, right = (self.ways(arg, sources) for arg in args)
            if op == "and":
                return left[0] and right[0], left[1] or right[1]
            return left[0] or right[0], left[1] and right[1]
        if op == "not":
            true, false = self.ways(args[0], sources)
            return false, true
        if op == "symptom":
            return self._within(args[0], sources)
        if op == "cause":
            return _NEITHER
        if op == "else":
            left, right = (self.ways(arg, sources) for arg in args)
            return left[0] or right[0], left[1] or right[1]
        if op == "if":
            asked, yes, no = (self.ways(arg, sources) for arg in args)
            return (asked[0] and yes[0]) or (asked[1] and no[0]), (asked[0] and yes[1]) or (asked[1] and no[1])
        return _BOTH if self._knowable(node, sources) else _NEITHER

    def _within(self, name: str, sources: Collection[str]) -> tuple[bool, bool]:
        symptom = self.evaluator.symptoms.get(name)
        if symptom is None or name in self._open:
            return _NEITHER
        self._open.add(name)
        try:
            return self.ways(symptom, sources)
        finally:
            self._open.discard(name)

    def _knowable(self, node: Node, sources: Collection[str]) -> bool:
        """Whether a value that is no combination of truths can become known."""
        answer = self.evaluator.answer(node)
        if answer.known:
            return True
        if (derived := self._derived(node)) is not None:
            return self._knowable(derived, sources)
        inner = [arg for arg in node.args if isinstance(arg, Node)]
        if node.op == "else":
            return any(self._knowable(arg, sources) for arg in inner)
        if node.op == "if":
            return all(self._knowable(arg, sources) for arg in inner[:1]) and any(
                self._knowable(arg, sources) for arg in inner[1:]
            )
        if node.op in _COMBINING and any(not self.evaluator.answer(arg).known for arg in inner):
            return all(self._knowable(arg, sources) for arg in inner)
        if node.op in ("and", "or", "not", "symptom"):
            return any(self.ways(node, sources))
        needs = self._needs(node)
        return bool(needs) and all(any(way in sources for way in ways) for ways in needs.values())

    def _derived(self, node: Node) -> Node | None:
        """Return what a fact is worked out of, where that says what it lacks."""
        derived = self.evaluator.derived.get(node.args[0]) if node.op == "fact" else None
        return derived if derived is not None and self.evaluator.answer(derived).needs else None

    def _needs(self, node: Node) -> dict[str, dict[str, str]]:
        """Return what a value needs: for each need its sources, and what is asked of each."""
        if (asked := self._asked.get(id(node))) is not None:
            return asked
        evaluator = self.evaluator
        found = self._asked[id(node)] = dict[str, dict[str, str]]()
        series = references(node).series
        for need in self.evaluator.answer(node).needs:
            source = source_of(need, evaluator.run)
            found[need] = {source: need}
            if source == "statistics" and series and (page := evaluator.missing.page(series)):
                found[need][METRICS_PAGE] = page
        return found

    def _leaves(self, node: Node) -> Iterator[dict[str, dict[str, str]]]:
        """Yield the needs of every part that is unknown and not made of unknown parts."""
        seen: set[str] = set()
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if self.evaluator.answer(part).known:
                continue
            if part.op == "symptom":
                if part.args[0] not in seen and part.args[0] in self.evaluator.symptoms:
                    seen.add(part.args[0])
                    waiting.append(self.evaluator.symptoms[part.args[0]])
                continue
            if (derived := self._derived(part)) is not None:
                waiting.append(derived)
                continue
            inner = [arg for arg in part.args if isinstance(arg, Node)] if part.op in (*_COMBINING, *_LOGICAL) else []
            if unknown := [arg for arg in inner if not self.evaluator.answer(arg).known]:
                waiting += unknown
            else:
                yield self._needs(part)


def _cost(source: str) -> int:
    return COSTS.get(source, COSTS[""])


def _asked(leaves: Iterable[dict[str, dict[str, str]]], sources: Collection[str], source: str) -> Iterator[str]:
    """Yield what is asked of a source by the parts that these sources make known, not what a cheaper one has too."""
    for needs in leaves:
        if all(any(way in sources for way in ways) for ways in needs.values()):
            for ways in needs.values():
                if source in ways and source == min((way for way in ways if way in sources), key=_cost):
                    yield ways[source]


_LOGICAL = ("and", "or", "not", "else", "if", "truth", "matches")
_COMBINING = (
    *("==", "!=", "<", "<=", ">", ">=", "in", "absent"),
    *("+", "-", "*", "/", "neg", "min", "max", "floor", "ceil", "round", "multiple", "pow2"),
)
