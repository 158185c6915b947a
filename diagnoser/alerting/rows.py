"""Conditions over rows as PromQL: a row of the rule language is one evaluation of recorded series."""

from __future__ import annotations

from diagnoser.alerting.names import CannotSayError, Metrics
from diagnoser.alerting.promql import Expr, join, number
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk
from diagnoser.values import dataclass

ORDER = ("==", "!=", "<", "<=", ">", ">=")
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class NotTold(Exception):  # noqa: N818 - no error: it says that metrics cannot know
    """Something in a row that no metric of the engine tells; the text names it."""


@dataclass(slots=True)
class Rows:
    """The rows behind one aggregate: their labels are those that all of their series have."""

    metrics: Metrics
    labels: frozenset[str]
    offset: str = ""

    @classmethod
    def of(cls, metrics: Metrics, nodes: list[Node], loaded: bool) -> Rows:
        """Look at every series that the nodes name. Raises NotTold."""
        names = [part.args[0] for node in nodes for part in walk(node) if part.op == "series"]
        optional = {part.args[0].args[0] for node in nodes for part in walk(node) if _defaulted(part)}
        told = [name for name in names if metrics.refs(name)]
        for name in names:
            if name not in told and name not in optional:
                raise NotTold(name)
        labels = frozenset(metrics.labels).intersection(*(metrics.says(name) for name in told))
        if loaded and not told:
            raise NotTold(", ".join(names))
        return cls(metrics, labels)

    def _named(self, name: str, has: frozenset[str], ratio: bool) -> Expr:
        text = name + (f" offset {self.offset}" if self.offset else "")
        extra = [label for label in self.metrics.labels if label in has - self.labels]
        return Expr(f"{'max' if ratio else 'sum'} without ({', '.join(extra)}) ({text})" if extra else text)

    def series(self, name: str) -> Expr:
        """Return a series at one moment."""
        return self._named(
            self.metrics.row(name), self.metrics.says(name), self.metrics.vocabulary.series[name].unit == "ratio"
        )

    def loaded(self, equals: bool = True) -> Expr:
        """Return where the server had work; as 0 and 1 when not ``equals``."""
        has = self.metrics.says("requests.running")
        one = self._named(self.metrics.load(), has, ratio=True)
        return join("==", one, number(1)) if equals else one

    def value(self, node: Node) -> Expr:
        """Return arithmetic over series. Raises CannotSayError, NotTold."""
        op, args = node.op, node.args
        if op == "series":
            return self.series(args[0])
        if op == "number":
            return number(args[0])
        if op in "+-*/":
            return join(op, self.value(args[0]), self.value(args[1]))
        if op == "neg":
            return join("*", number(-1), self.value(args[0]))
        if op == "else":
            first = args[0]
            if first.op == "series" and not self.metrics.refs(first.args[0]):
                return self.value(args[1])
            other = self.value(args[1])
            # A constant has no labels: it takes those of a row that is always there.
            if args[1].op == "number":
                other = join("+", join("*", number(0), self.loaded(equals=False)), other)
            return join("or", self.value(first), other)
        if op == "fact" or op in ("arg", "knob", "isset", "run"):
            raise NotTold(str(args[0]))
        raise CannotSayError(f"'{node.text}' row by row")

    def where(self, node: Node, wanted: bool = True) -> Expr:
        """Return the rows for which a condition holds (or does not)."""
        op, args = node.op, node.args
        if op in ORDER:
            return join(op if wanted else OPPOSITE[op], self.value(args[0]), self.value(args[1]))
        if op == "not":
            return self.where(args[0], not wanted)
        if op in ("and", "or"):
            return join(
                op if wanted else {"and": "or", "or": "and"}[op],
                self.where(args[0], wanted),
                self.where(args[1], wanted),
            )
        return join("!=" if wanted else "==", self.value(node), number(0))

    def bits(self, node: Node) -> Expr:
        """Return 1 for rows for which a condition holds, 0 for others."""
        op, args = node.op, node.args
        if op in ORDER:
            return join(f"{op} bool", self.value(args[0]), self.value(args[1]))
        if op == "not":
            return join("-", number(1), self.bits(args[0]))
        if op == "and":
            return join("*", self.bits(args[0]), self.bits(args[1]))
        if op == "or":
            return join("> bool", join("+", self.bits(args[0]), self.bits(args[1])), number(0))
        return join("!= bool", self.value(node), number(0))

    def narrowed(self, expr: Expr, condition: Node | None, overall: bool) -> Expr:
        """Keep rows under load, and those for which a condition holds."""
        if not overall and self.metrics.works:
            expr = join("and", expr, self.loaded())
        return expr if condition is None else join("and", expr, self.where(condition))


def _defaulted(node: Node) -> bool:
    return node.op == "else" and isinstance(node.args[0], Node) and node.args[0].op == "series"
