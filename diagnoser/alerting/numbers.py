"""Numbers of the rule language as PromQL: facts, attributes of a run, aggregates, and arithmetic over them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from diagnoser.alerting.aggregates import Aggregates, Value
from diagnoser.alerting.names import CannotSayError
from diagnoser.alerting.promql import Expr, Known, Missing, Truth, call, join, number
from diagnoser.rules.model import Node, RuleBase
from diagnoser.values import dataclass

_SUMS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "min": min,
    "max": max,
}
#: What a server is while its metrics are scraped and its log is not read: attributes of the run.
_RUN: Mapping[str, Any] = {"run.stats": 0.0, "run.end": "running", "run.complete_start": False}
#: Nodes that only a log, or what it prints, can decide.
_OF_LOGS = ("event", "events", "eventfield", "survived", "before", "after", "within", "arg", "argset", "isset")


@dataclass(slots=True)
class Numbers:
    """Translates what conditions compare. ``slo`` are objectives in seconds."""

    base: RuleBase
    figures: Aggregates
    slo: Mapping[str, float]
    #: Decides conditions inside of numbers, such as if(c, a, b).
    truth: Callable[[Node], Truth]

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
            second = join("+", join("*", number(0), self.figures.universe()), expr(second))
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
            below = expr(right)
            if op == "/" and not isinstance(right, Known):
                below = join("!=", below, number(0))
            return join(op, expr(left), below)
        if isinstance(left, Known) or isinstance(right, Known):
            held, level = (right, left) if isinstance(left, Known) else (left, right)
            return call("clamp_max" if op == "min" else "clamp_min", expr(held), expr(level))
        a, b = expr(left), expr(right)
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


def expr(value: Value) -> Expr:
    """Return a value as PromQL; one that is missing has none."""
    assert not isinstance(value, Missing)
    return value if isinstance(value, Expr) else number(float(value.value))
