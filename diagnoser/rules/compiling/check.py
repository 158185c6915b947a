"""Types and names: turns the raw tree of ``expression.parse`` into a checked one, or says what is wrong and where.

A checked tree names things by what they are: ``series``, ``event``, ``fact``, ``symptom``, ``cause``, ``run``,
``field`` (all with the name as first argument); calls become ``aggregate``, ``ranked``, ``events``, ``eventfield``,
``survived``, ``isset``, ``arg``, ``argset``, ``knob``, ``known``, ``if`` or the scalar function's own name. Every node
has its kind: "bool", "number", "text", "version", "list" or "any" (an argument or knob: known only from a log).
"""

from __future__ import annotations

from diagnoser.rules import units
from diagnoser.rules.compiling.expression import ExpressionError, locate
from diagnoser.rules.compiling.kinds import KIND_WORDS, NodeError, as_bool, comparable, mistaken, need, pattern, seconds
from diagnoser.rules.model import Node
from diagnoser.rules.names import KINDS, RUN, Names, References, references
from diagnoser.values import dataclass, replace

__all__ = ["Names", "References", "check", "references"]

#: A checked node and its unit ("" when unknown or none).
Typed = tuple[Node, str]


@dataclass(slots=True, frozen=True)
class Scope:
    """Where an expression stands: "top", "row" (inside an aggregate), "event" (after where), "fields" (sets)."""

    place: str = "top"
    event: str = ""
    fields: tuple[tuple[str, str], ...] = ()


def check(node: Node, names: Names, want: str = "") -> Node:
    """Return the node with names looked up and kinds filled.

    ``want`` is the kind the whole must have ("bool" for symptoms and conditions; "" for any). Raises ExpressionError:
    unknown names (with the nearest valid one), wrong types, arities and units, each with its column.
    """
    scope = Scope() if names.fields is None else Scope("fields", "", tuple(names.fields.items()))
    try:
        checked, unit = Checker(names).visit(node, scope)
        if want == "bool":
            checked = as_bool(node, checked, unit)
        elif want and checked.kind not in (want, "any"):
            raise NodeError(node, f"expected {KIND_WORDS[want]}, this is {KIND_WORDS[checked.kind]}")
    except NodeError as fault:
        raise ExpressionError(str(fault), locate(node, fault.node), fault.expected, fault.nearest) from None
    return checked


class Checker:
    """One pass over a tree; methods raise NodeError."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def visit(self, node: Node, scope: Scope) -> Typed:
        """Check one node and everything below it."""
        op = node.op
        if op in ("number", "text", "bool"):
            return replace(node, kind=op), node.args[1] if op == "number" else ""
        if op == "name":
            return self.name(node, scope)
        if op == "call":
            from diagnoser.rules.compiling.checkcalls import call

            return call(self, node, scope)
        if op in ("while", "where", "overall"):
            raise NodeError(node, f"'{op}' belongs directly inside the brackets of a function over samples or events")
        if op in ("before", "after", "within"):
            return self.order(node, scope)
        parts = [self.visit(arg, scope) for arg in node.args]
        if op == "list":
            return replace(node, args=tuple(part for part, _ in parts), kind="list"), parts[0][1] if parts else ""
        if op in ("and", "or", "not"):
            args = tuple(as_bool(raw, *part) for raw, part in zip(node.args, parts, strict=True))
            return replace(node, args=args, kind="bool"), ""
        if op in ("neg", "+", "-", "*", "/"):
            return self.arithmetic(node, parts)
        if op == "else":
            return self.choice(node, parts, scope)
        return self.comparison(node, parts, scope)

    def name(self, node: Node, scope: Scope) -> Typed:
        """Look a bare name up by what may stand in this place."""
        (name,) = node.args
        names = self.names
        for field, kind in scope.fields:
            if field == name:
                unit = "gib" if kind == "gib" else ""
                return Node("field", (name,), node.text, KINDS.get(kind, "text")), unit
        if scope.place == "row" and name in names.series:
            return Node("series", (name,), node.text, "number"), names.series[name]
        if scope.place == "top":
            for op, known in (("symptom", names.symptoms), ("event", names.events), ("cause", names.causes)):
                if name in known:
                    return Node(op, (name,), node.text, "bool"), ""
        if name in names.facts:
            kind, unit = names.facts[name]
            return Node("fact", (name,), node.text, KINDS.get(kind, "text")), unit
        if name in RUN:
            kind, unit = RUN[name]
            return Node("run", (name,), node.text, kind), unit
        raise self.unknown(node, name, scope)

    def unknown(self, node: Node, name: str, scope: Scope) -> NodeError:
        """Say why a name is not valid here."""
        names = self.names
        if name in names.series:
            return NodeError(node, f"'{name}' is a sample: say which value of it, such as p50({name})")
        if names.event_of(name) and scope.place == "top":
            return NodeError(node, f"'{name}' is a field of an event: say which one, such as first({name})")
        if scope.place == "row" and name in names.events:
            return NodeError(node, f"'{name}' is an event: conditions over rows see only samples")
        valid = [*names.facts, *RUN, *(field for field, _ in scope.fields)]
        if scope.place == "row":
            valid += names.series
        if scope.place == "top":
            valid += [*names.symptoms, *names.events, *names.causes, *names.series]
        if scope.place == "event":
            return NodeError(node, f"the event {scope.event} has no field '{name}'", valid, name)
        return NodeError(node, f"unknown name '{name}'", valid, name)

    def event(self, node: Node) -> Node:
        """Return the event that a node must name."""
        name = node.args[0] if node.op == "name" else ""
        if name in self.names.events:
            return Node("event", (name,), node.text, "bool")
        if not name:
            raise NodeError(node, "the name of an event belongs here")
        raise NodeError(node, f"unknown event '{name}'", self.names.events, name)

    def order(self, node: Node, scope: Scope) -> Typed:
        """Check `E before F`, `E after F`, `E within 60s of F`."""
        if scope.place != "top":
            raise NodeError(node, f"'{node.op}' compares events and cannot stand inside a function")
        ends = (self.event(node.args[0]), self.event(node.args[-1]))
        if node.op == "within":
            return replace(node, args=(ends[0], seconds(node.args[1]), ends[1]), kind="bool"), ""
        return replace(node, args=ends, kind="bool"), ""

    def arithmetic(self, node: Node, parts: list[Typed]) -> Typed:
        """Check + - * / and the sign."""
        for raw, (part, _) in zip(node.args, parts, strict=True):
            need(raw, part, "number", f"'{'-' if node.op == 'neg' else node.op}' needs numbers")
        args = tuple(part for part, _ in parts)
        unit = parts[0][1]
        if len(parts) == 2:
            left, right = unit, parts[1][1]
            if node.op in "+-" and units.clash(left, right):
                raise NodeError(node, f"{left} and {right} cannot be added or subtracted")
            unit = (left or right) if node.op in "+-" else units.product(left, right, node.op)
        return replace(node, args=args, kind="number"), unit

    def choice(self, node: Node, parts: list[Typed], scope: Scope) -> Typed:
        """Check `x else y`: both sides are of one kind."""
        (left, unit), (right, other) = parts
        if "any" not in (left.kind, right.kind) and left.kind != right.kind:
            raise NodeError(node.args[1], f"both sides of 'else' must be {KIND_WORDS[left.kind]}")
        if scope.place == "row" and left.kind != "number":
            raise NodeError(node, "in a condition over rows, 'else' stands beside a sample: (requests.swapped else 0)")
        kind = right.kind if left.kind == "any" else left.kind
        return replace(node, args=(left, right), kind=kind), unit or other

    def comparison(self, node: Node, parts: list[Typed], scope: Scope) -> Typed:
        """Check ordering, equality, membership and matches."""
        (left, unit), (right, other) = parts
        op = node.op
        if op == "matches":
            need(node.args[0], left, "text", "'matches' needs a text on its left")
            if scope.place == "row":
                raise NodeError(node, "'matches' cannot stand in a condition over rows")
            pattern(node.args[1])
        elif op in ("in", "absent"):
            if right.kind not in ("list", "any", "text"):
                raise NodeError(node.args[1], 'a list belongs after \'in\', such as ["a", "b"]')
            if right.op == "list":
                for raw, item in zip(node.args[1].args, right.args, strict=True):
                    comparable(raw, left, item, "==")
        elif unit == "flag" and right.op == "bool":
            right = Node("number", (float(right.args[0]), ""), right.text, "number")
        elif other == "flag" and left.op == "bool":
            left = Node("number", (float(left.args[0]), ""), left.text, "number")
        else:
            comparable(node, left, right, op)
            for raw, one, one_unit, two, two_unit in (
                (node.args[1], right, other, left, unit),
                (node.args[0], left, unit, right, other),
            ):
                mistaken(raw, one, one_unit, two, two_unit)
        return replace(node, args=(left, right), kind="bool"), ""
