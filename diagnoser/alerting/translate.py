"""Conditions of the rule base as PromQL, in three values: for which servers they are true, and for which false."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnoser.alerting.aggregates import Aggregates, Value
from diagnoser.alerting.numbers import Numbers, expr
from diagnoser.alerting.promql import (
    ALWAYS,
    LOST,
    NEVER,
    Expr,
    Known,
    Missing,
    Side,
    Truth,
    bits,
    both,
    either,
    join,
    number,
    without,
)
from diagnoser.alerting.rows import OPPOSITE, ORDER
from diagnoser.rules.evaluating.logic import ORDER as COMPARE
from diagnoser.rules.model import Node, RuleBase
from diagnoser.values import dataclass, field

_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_JOINING = ("symptom", "cause", "not", "and", "or", "else", "if")


@dataclass(slots=True)
class Translator:
    """Translates the conditions of one rule for one engine.

    ``slo`` are objectives in seconds. ``cause`` answers for other causes, ``record`` gives an expression a name.
    ``lost`` says what PromQL cannot work out, ``nodes`` where that stands, ``unseen`` what no metric tells.
    """

    base: RuleBase
    figures: Aggregates
    slo: Mapping[str, float]
    cause: Callable[[str], Truth]
    record: Callable[[str, Expr], str]
    lost: dict[str, None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    unseen: dict[str, None] = field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        """The translator of what is compared."""
        return Numbers(self.base, self.figures, self.slo, self.truth)

    def truth(self, node: Node) -> Truth:
        """Return for which servers a condition is true and for which it is false."""
        found = self._truth(node)
        # A default stands in for what is unknown, never for what PromQL cannot say.
        if (found[:2] == (LOST, LOST) and node.op not in _JOINING) or (node.op == "else" and LOST in found):
            self.nodes.append(node)
        return found

    def _truth(self, node: Node) -> Truth:
        op, args = node.op, node.args
        if op == "symptom":
            return self.symptom(args[0])
        if op == "cause":
            return self.cause(args[0])
        if op == "not":
            inner = self.truth(args[0])
            return Truth(inner.false, inner.true)
        if op in ("and", "or"):
            left, right = self.truth(args[0]), self.truth(args[1])
            if op == "and":
                return Truth(both(left.true, right.true), either(left.false, right.false))
            return Truth(either(left.true, right.true), both(left.false, right.false))
        if op == "else":
            return self._choice(self.truth(args[0]), self.truth(args[1]))
        if op == "if":
            return self._branch(*map(self.truth, args))
        if op == "known":
            return self._known(args[0])
        if op in ("in", "absent", "matches"):
            return self._member(node)
        if op in ORDER:
            return self._comparison(op, args[0], args[1])
        if op == "aggregate" and args[0] == "sustained":
            found = self.figures.sustained(args[1], args[3], args[4], args[5])
            return self._gone(found) if isinstance(found, Missing) else found
        return self._of(self.numbers.value(node))

    def symptom(self, name: str) -> Truth:
        """Return a symptom: its value is recorded under its own name, so that conditions read like the rule."""
        found = self.truth(self.base.symptoms[name])
        if found.true.always or found.false.always or not (found.true.expr or found.false.expr):
            return found
        recorded = Expr(self.record(name, bits(found, self.figures.universe())))
        yes = Side(join("==", recorded, number(1))) if found.true.expr else NEVER
        no = Side(join("==", recorded, number(0))) if found.false.expr else NEVER
        return Truth(yes._replace(exact=found.true.exact), no._replace(exact=found.false.exact))

    def _of(self, value: Value) -> Truth:
        if isinstance(value, Known):
            return _constant(bool(value.value))
        if isinstance(value, Missing):
            return self._gone(value)
        return _two_sides("!=", value, number(0))

    def _gone(self, missing: Missing) -> Truth:
        (self.unseen if missing.exact else self.lost).setdefault(missing.why)
        return Truth(NEVER, NEVER) if missing.exact else Truth(LOST, LOST)

    def _choice(self, first: Truth, second: Truth) -> Truth:
        """Return ``first else second``."""
        universe = self.figures.universe()
        if second == _constant(False):
            return Truth(first.true, without(ALWAYS, first.true, universe))
        if second == _constant(True):
            return Truth(without(ALWAYS, first.false, universe), first.false)
        known = either(first.true, first.false)
        return Truth(
            either(first.true, without(second.true, known, universe)),
            either(first.false, without(second.false, known, universe)),
        )

    def _branch(self, condition: Truth, then: Truth, otherwise: Truth) -> Truth:
        return Truth(
            either(both(condition.true, then.true), both(condition.false, otherwise.true)),
            either(both(condition.true, then.false), both(condition.false, otherwise.false)),
        )

    def _known(self, node: Node) -> Truth:
        if node.kind == "bool":
            inner = self.truth(node)
            there = either(inner.true, inner.false)
        else:
            value = self.numbers.value(node)
            if isinstance(value, Missing) and not value.exact:
                return self._gone(value)
            there = ALWAYS if isinstance(value, Known) else NEVER if isinstance(value, Missing) else Side(value)
        return Truth(there, without(ALWAYS, there, self.figures.universe()))

    def _member(self, node: Node) -> Truth:
        value = self.numbers.value(node.args[0])
        if not isinstance(value, Known) or node.args[1].op != "list":
            return self._of(value if isinstance(value, Missing) else Missing(False, node.text))
        inside = value.value in [item.args[0] for item in node.args[1].args]
        return _constant(inside is (node.op == "in"))

    def _comparison(self, op: str, left: Node, right: Node) -> Truth:
        for one, other, way in ((left, right, op), (right, left, _MIRROR[op])):
            if other.op == "bool" and one.op == "fact":
                return self._flag(one, way, other.args[0])
            if one.op == "spread" and one.args[0] == "share" and other.op == "number" and way in (">", ">="):
                return self._share(one, way, other.args[0])
            if one.op == "aggregate" and other.op == "number":
                name, subject, _, condition, overall, _ = one.args
                if name == "longest" and way in (">", ">="):
                    found = self.figures.sustained(subject, condition, overall, other.args[0])
                    return self._gone(found) if isinstance(found, Missing) else found
                if name == "samples":
                    self.figures.window.need(other.args[0] * self.figures.window.interval)
        first, second = self.numbers.value(left), self.numbers.value(right)
        for value in (first, second):
            if isinstance(value, Missing):
                return self._gone(value)
        if isinstance(first, Known) and isinstance(second, Known):
            return _constant(COMPARE[op](first.value, second.value))
        if isinstance(first, Known):
            first, second, op = second, first, _MIRROR[op]
        return _two_sides(op, expr(first), expr(second))

    def _flag(self, fact: Node, op: str, wanted: bool) -> Truth:
        name = fact.args[0]
        spec = self.base and self.figures.metrics.vocabulary.facts.get(name)
        if not spec or not spec.metric.get(self.figures.metrics.engine):
            return self._gone(Missing(True, name))
        self.figures.seen.add(name)
        yes, no = (Side(self.figures.metrics.flag(name, self.figures.by, one)) for one in (True, False))
        return Truth(yes, no) if (op == "==") is wanted else Truth(no, yes)

    def _share(self, spread: Node, op: str, share: float) -> Truth:
        """Compare a share by its percentile: more than 5 % lie above a level where the 95th percentile does."""
        level = self.numbers.value(spread.args[2])
        found = self.figures.beyond(spread.args[1].args[0], share)
        if spread.args[3] not in (">", ">="):
            level = Missing(False, f"share() of {spread.args[1].args[0]} below a level")
        for value in (level, found):
            if isinstance(value, Missing):
                return self._gone(value)
        assert isinstance(found, Expr)
        return _two_sides(op, found, expr(level))


def _two_sides(op: str, left: Expr, right: Expr) -> Truth:
    return Truth(Side(join(op, left, right)), Side(join(OPPOSITE[op], left, right)), join(f"{op} bool", left, right))


def _constant(value: bool) -> Truth:
    return Truth(ALWAYS, NEVER) if value else Truth(NEVER, ALWAYS)
