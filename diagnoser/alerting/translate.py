"""Conditions of the rule base as PromQL, in three values: for which servers they are true, and for which false."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from diagnoser.alerting.aggregates import Aggregates, Value
from diagnoser.alerting.names import CannotSayError
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
    call,
    either,
    join,
    number,
    without,
)
from diagnoser.alerting.rows import OPPOSITE, ORDER
from diagnoser.rules.model import Node, RuleBase
from diagnoser.values import dataclass, field

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SUMS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "min": min,
    "max": max,
}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
#: What a server is while its metrics are scraped and its log is not read: attributes of the run.
_RUN: Mapping[str, Any] = {"run.stats": 0.0, "run.end": "running", "run.complete_start": False}
_JOINING = ("symptom", "cause", "not", "and", "or", "else", "if")
#: Nodes that only a log, or what it prints, can decide.
_OF_LOGS = ("event", "events", "eventfield", "survived", "before", "after", "within", "arg", "argset", "isset")


@dataclass(slots=True)
class Translator:
    """Translates the conditions of one rule for one engine.

    ``slo`` are objectives in seconds. ``cause`` answers for other causes, ``record`` gives an
    expression a name. ``lost`` says what PromQL cannot work out, ``nodes`` where that stands,
    ``unseen`` what no metric tells.
    """

    base: RuleBase
    figures: Aggregates
    slo: Mapping[str, float]
    cause: Callable[[str], Truth]
    record: Callable[[str, Expr], str]
    lost: dict[str, None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    unseen: dict[str, None] = field(default_factory=dict)

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
        return self._of(self.value(node))

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
            value = self.value(node)
            if isinstance(value, Missing) and not value.exact:
                return self._gone(value)
            there = ALWAYS if isinstance(value, Known) else NEVER if isinstance(value, Missing) else Side(value)
        return Truth(there, without(ALWAYS, there, self.figures.universe()))

    def _member(self, node: Node) -> Truth:
        value = self.value(node.args[0])
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
        first, second = self.value(left), self.value(right)
        for value in (first, second):
            if isinstance(value, Missing):
                return self._gone(value)
        if isinstance(first, Known) and isinstance(second, Known):
            return _constant(_COMPARE[op](first.value, second.value))
        if isinstance(first, Known):
            first, second, op = second, first, _MIRROR[op]
        return _two_sides(op, _expr(first), _expr(second))

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
        level = self.value(spread.args[2])
        found = self.figures.beyond(spread.args[1].args[0], share)
        if spread.args[3] not in (">", ">="):
            level = Missing(False, f"share() of {spread.args[1].args[0]} below a level")
        for value in (level, found):
            if isinstance(value, Missing):
                return self._gone(value)
        assert isinstance(found, Expr)
        return _two_sides(op, found, _expr(level))

    def value(self, node: Node) -> Value:
        """Return a number, or a text that is the same for every server."""
        op, args = node.op, node.args
        if op in ("number", "text", "bool"):
            return Known(args[0])
        if op in _OF_LOGS:
            return Missing(True, _messages(node))
        if op == "run":
            return self._run(args[0])
        if op in ("fact", "knob"):
            return self._fact(args[0] if op == "fact" else self.figures.metrics.vocabulary.knobs[args[0]].fact)
        if op == "aggregate":
            return self.figures.answer(node)
        if op == "ranked":
            return self.figures.ranked(node)
        if op == "spread":
            return self.figures.spread(node)
        if op == "else":
            return self._default(self.value(args[0]), self.value(args[1]))
        if op in (*_SUMS, "/", "neg"):
            return self._arithmetic(op, [self.value(arg) for arg in args])
        if op == "if":
            return self._number_if(self.truth(args[0]), self.value(args[1]), self.value(args[2]))
        return Missing(False, node.text)

    def _run(self, name: str) -> Value:
        if name == "engine":
            return Known(self.figures.metrics.engine)
        if name == "run.served":  # every other condition asks for work
            return Known(True)
        if name == "run.scrapes":
            return Known(float(self.figures.window.seconds // self.figures.window.interval))
        return Known(_RUN[name]) if name in _RUN else Missing(False, name)

    def _fact(self, name: str) -> Value:
        head, _, objective = name.partition(".")
        if head == "slo":
            return Known(self.slo[objective]) if objective in self.slo else Missing(True, "objectives (--slo)")
        try:
            found = self.figures.metrics.fact(name, self.figures.by)
        except CannotSayError as told:
            return Missing(False, str(told))
        if found is not None:
            self.figures.seen.add(name)
            return found
        derived = self.base.derived.get(name)
        return Missing(True, name) if derived is None else self.value(derived)

    def _default(self, first: Value, second: Value) -> Value:
        if isinstance(first, Known) or (isinstance(first, Missing) and not first.exact):
            return first
        if isinstance(first, Missing):
            return second
        if isinstance(second, Missing):
            return first if second.exact else second
        if isinstance(second, Known):
            second = join("+", join("*", number(0), self.figures.universe()), _expr(second))
        return join("or", first, second)

    def _arithmetic(self, op: str, parts: list[Value]) -> Value:
        for part in parts:
            if isinstance(part, Missing):
                return part
        if op == "neg":
            op, parts = "*", [Known(-1.0), *parts]
        out = parts[0]
        for part in parts[1:]:
            out = self._two(op, out, part)
        return out

    def _two(self, op: str, left: Value, right: Value) -> Value:
        if isinstance(left, Known) and isinstance(right, Known):
            if op == "/":
                return Known(left.value / right.value) if right.value else Missing(True, "a division by zero")
            return Known(_SUMS[op](left.value, right.value))
        if op not in ("min", "max"):
            below = _expr(right)
            if op == "/" and not isinstance(right, Known):
                below = join("!=", below, number(0))
            return join(op, _expr(left), below)
        if isinstance(left, Known) or isinstance(right, Known):
            held, level = (right, left) if isinstance(left, Known) else (left, right)
            return call("clamp_max" if op == "min" else "clamp_min", _expr(held), _expr(level))
        a, b = _expr(left), _expr(right)
        first, second = ("<=", "<") if op == "min" else (">=", ">")
        return join("or", join(first, a, b), join(second, b, a))

    def _number_if(self, condition: Truth, then: Value, otherwise: Value) -> Value:
        if condition.true.always or condition.false.always:
            return then if condition.true.always else otherwise
        return Missing(False, "if() over metrics")


def _messages(node: Node) -> str:
    if node.op in ("arg", "argset", "isset"):
        return f"the argument {node.args[0]}"
    first = node.args[0]
    inner = next((arg for arg in node.args if isinstance(arg, Node)), None)
    return f"messages of the log ({first if isinstance(first, str) and inner is None else inner and inner.args[0]})"


def _expr(value: Value) -> Expr:
    assert not isinstance(value, Missing)
    return value if isinstance(value, Expr) else number(float(value.value))


def _two_sides(op: str, left: Expr, right: Expr) -> Truth:
    return Truth(Side(join(op, left, right)), Side(join(OPPOSITE[op], left, right)), join(f"{op} bool", left, right))


def _constant(value: bool) -> Truth:
    return Truth(ALWAYS, NEVER) if value else Truth(NEVER, ALWAYS)
