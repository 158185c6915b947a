"""Types of function calls; the other half of check.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnoser.rules import functions as known
from diagnoser.rules import units
from diagnoser.rules.compiling.check import Scope, Typed
from diagnoser.rules.compiling.kinds import NodeError, as_bool, comparable, mistaken, need, seconds
from diagnoser.rules.evaluating.logic import ORDER
from diagnoser.rules.evaluating.spreads import OF_SPREADS
from diagnoser.rules.model import Node
from diagnoser.rules.names import IMPLICIT, KINDS
from diagnoser.rules.nodes import has_series

if TYPE_CHECKING:
    from diagnoser.rules.compiling.check import Checker


def call(checker: Checker, node: Node, scope: Scope) -> Typed:
    """Check a call by the function's name. Raises NodeError."""
    name, *args = node.args
    if name in known.LOOKUPS:
        return _lookup(checker, node)
    if len(args) != 1 and name in known.SCALAR and not (name in known.OF_FIELDS and not args):
        return _scalar(checker, node, scope)
    if name in known.SCALAR and not known.is_aggregate(name):
        return _scalar(checker, node, scope)
    if name not in known.known_functions() and not known.is_aggregate(name):
        raise NodeError(node, f"unknown function '{name}'", known.known_functions(), name)
    if scope.place == "row":
        raise NodeError(node, f"{name}() inside another aggregate: rows are aggregated once")
    if scope.place == "fields":
        raise NodeError(node, f"{name}() looks at a whole run; only the event's own fields are known here")
    if not args:
        raise NodeError(node, f"{name}() needs an argument")
    if name in known.RANKED:
        return _ranked(checker, node, scope)
    subject = _plain(args[0])
    dotted = subject.args[0] if subject.op == "name" else ""
    if name == "survived" or (name in known.OF_EVENTS and not (name == "rate" and dotted in checker.names.series)):
        return _events(checker, node)
    if (name in known.OF_FIELDS or known.PERCENTILE.match(name)) and dotted not in checker.names.series:
        split = checker.names.event_of(dotted)
        if split is not None:
            return _eventfield(checker, node, split)
    return _aggregate(checker, node)


def _plain(arg: Node) -> Node:
    """Strip while, where and overall."""
    while arg.op in ("while", "where", "overall"):
        arg = arg.args[0]
    return arg


def _arity(node: Node, least: int, most: int | None) -> None:
    given = len(node.args) - 1
    if given < least or (most is not None and given > most):
        count = str(least) if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        raise NodeError(node, f"{node.args[0]}() takes {count} argument{'' if count == '1' else 's'}, not {given}")


def _scalar(checker: Checker, node: Node, scope: Scope) -> Typed:
    name, *raw = node.args
    _arity(node, *known.SCALAR[name])
    parts = [checker.visit(arg, scope) for arg in raw]
    args = tuple(part for part, _ in parts)
    if name == "known":
        if scope.place == "row":
            raise NodeError(node, "known() looks at a whole run; inside a function over rows use 'else'")
        return Node("known", args, node.text, "bool"), ""
    if name == "if":
        condition = as_bool(raw[0], *parts[0])
        if len({args[1].kind, args[2].kind} - {"any"}) > 1:
            raise NodeError(raw[2], "both results of if() must be of one kind")
        kind = args[2].kind if args[1].kind == "any" else args[1].kind
        return Node("if", (condition, *args[1:]), node.text, kind), parts[1][1] or parts[2][1]
    for arg, (part, _) in zip(raw, parts, strict=True):
        need(arg, part, "number", f"{name}() needs numbers")
    unit = parts[0][1]
    for arg, (_, other) in zip(raw[1:], parts[1:], strict=True):
        if name in ("min", "max") and units.clash(unit, other):
            raise NodeError(arg, f"{name}() of {unit} and {other}")
        unit = unit or other
    return Node(name, args, node.text, "number"), unit


def _lookup(checker: Checker, node: Node) -> Typed:
    name = node.args[0]
    _arity(node, 1, 1)
    raw = node.args[1]
    if name in ("arg", "argset"):
        if raw.op != "text":
            raise NodeError(raw, f'{name}() takes the name of an argument in quotes, such as {name}("max_num_seqs")')
        return Node(name, raw.args, node.text, "any" if name == "arg" else "bool"), ""
    word = raw.args[0] if raw.op == "name" else ""
    valid = checker.names.facts if name == "isset" else checker.names.knobs
    if word not in valid:
        what = "fact" if name == "isset" else "knob"
        raise NodeError(raw, f"unknown {what} '{word or raw.text}'", valid, word)
    if name == "isset":
        return Node("isset", (word,), node.text, "bool"), ""
    return Node("knob", (word,), node.text, "any"), ""


def _ranked(checker: Checker, node: Node, scope: Scope) -> Typed:
    _arity(node, 1, 1)
    inner, unit = checker.visit(node.args[1], scope)
    if inner.op != "aggregate" or inner.kind != "number" or inner.args[0] == "groups":
        hint = "takes a number over samples, such as most(p50(requests.waiting))"
        raise NodeError(node.args[1], f"{node.args[0]}() {hint}")
    return Node("ranked", (node.args[0], inner), node.text, "number"), unit


def _aggregate(checker: Checker, node: Node) -> Typed:
    """Build ``aggregate`` nodes: (function, S, S2 or None, while or None, overall, seconds or None)."""
    name, raw, *rest = node.args
    extra = 1 if name in known.TIMED or name == "corr" else 0
    _arity(node, 1 + extra, 1 + extra)
    row = Scope("row")
    overall, condition = False, None
    second_raw = rest[0] if name == "corr" else None
    # `corr(a, b while c)`: the words stand behind the last sample expression.
    holder = second_raw if second_raw is not None else raw
    if holder.op == "overall":
        overall, holder = True, holder.args[0]
    if holder.op == "where":
        raise NodeError(holder, "'where' is for events: samples are narrowed with 'while'")
    if holder.op == "while":
        condition = as_bool(holder.args[1], *checker.visit(holder.args[1], row))
        holder = holder.args[0]
    second = None
    if second_raw is not None:
        second, _ = _numeric(checker, holder, row, name)
        subject_raw = raw
    else:
        subject_raw = holder
    length = seconds(rest[0]) if name in known.TIMED else None
    spread = _spread(checker, node, subject_raw, condition is not None or second is not None)
    if spread is not None:
        return spread
    if name in known.CONDITIONAL:
        kind, unit = known.CONDITIONAL[name]
        subject = as_bool(subject_raw, *checker.visit(subject_raw, row))
    else:
        subject, unit = _numeric(checker, subject_raw, row, name)
        kind = "number"
        if name in known.NUMERIC and known.NUMERIC[name] != "same":
            unit = known.NUMERIC[name]
        elif name == "corr":
            unit = ""
        elif name == "rate":
            unit = units.PER_SECOND
    if not has_series(subject) and not (second is not None and has_series(second)):
        raise NodeError(subject_raw, f"{name}() of one argument looks at samples; there is none in it")
    return Node("aggregate", (name, subject, second, condition, overall, length), node.text, kind), unit


def _spread(checker: Checker, node: Node, raw: Node, narrowed: bool) -> Typed | None:
    """Build a ``spread`` node where the subject is a distribution: (function, series, level or None, comparison)."""
    name = node.args[0]
    compared = raw.op in ORDER
    subject = raw.args[0] if compared else raw
    series = subject.args[0] if subject.op == "name" else ""
    if series not in checker.names.spreads:
        return None
    checked, unit = checker.visit(subject, Scope("row"))
    if narrowed:
        raise NodeError(node, f"{series} is a distribution over requests: 'while' and corr() are for samples over time")
    if name == "share":
        if not compared or raw.op in ("==", "!="):
            raise NodeError(raw, f"share() of a distribution needs a level, such as share({series} > 2s)")
        level, other = checker.visit(raw.args[1], Scope())
        comparable(raw, checked, level, raw.op)
        mistaken(raw.args[1], level, other, checked, unit)
        return Node("spread", (name, checked, level, raw.op), node.text, "number"), "ratio"
    if compared or not (name in OF_SPREADS or known.PERCENTILE.match(name)):
        takes = f"{', '.join(OF_SPREADS)}, percentiles and share"
        raise NodeError(node, f"{name}() cannot be asked of {series}, a distribution over requests: it knows {takes}")
    return Node("spread", (name, checked, None, ""), node.text, "number"), "" if name == "samples" else unit


def _numeric(checker: Checker, raw: Node, row: Scope, name: str) -> Typed:
    node, unit = checker.visit(raw, row)
    hint = f"{name}() needs a number over samples"
    need(raw, node, "number", hint if node.kind != "bool" else f"{hint}: for a condition use share() or longest()")
    return node, unit


def _where(checker: Checker, raw: Node) -> tuple[Node, str, Node | None]:
    """Split `E where C`: the raw name node, its event, the checked condition."""
    if raw.op == "overall" or raw.op == "while":
        raise NodeError(raw, f"'{raw.op}' is for samples: events are narrowed with 'where'")
    if raw.op != "where":
        return raw, "", None
    subject = raw.args[0]
    dotted = subject.args[0] if subject.op == "name" else ""
    split = checker.names.event_of(dotted)
    event = dotted if dotted in checker.names.events or split is None else split[0]
    fields = {**checker.names.events.get(event, {}), **IMPLICIT}
    scope = Scope("event", event, tuple(fields.items()))
    return subject, event, as_bool(raw.args[1], *checker.visit(raw.args[1], scope))


def _events(checker: Checker, node: Node) -> Typed:
    """Build ``events`` nodes: (function, event node, where or None, seconds or None)."""
    name, raw, *rest = node.args
    extra = 1 if name == "peak" else 0
    _arity(node, 1 + extra, 1 + extra)
    subject = _plain(raw)
    event = checker.event(subject)
    _, _, condition = _where(checker, raw)
    if name == "survived":
        return Node("survived", (event,), node.text, "bool"), ""
    length = seconds(rest[0]) if extra else None
    return Node("events", (name, event, condition, length), node.text, "number"), known.OF_EVENTS[name]


def _eventfield(checker: Checker, node: Node, split: tuple[str, str]) -> Typed:
    """Build ``eventfield`` nodes: (function, event node, field, where or None)."""
    name, raw, *_ = node.args
    _arity(node, 1, 1)
    event, field = split
    fields = {**checker.names.events[event], **IMPLICIT}
    subject = _plain(raw)
    if field not in fields:
        raise NodeError(subject, f"the event {event} has no field '{field}'", fields, field)
    kind = KINDS.get(fields[field], "text")
    if name not in ("first", "last") and kind != "number":
        raise NodeError(subject, f"{name}() needs a field that is a number; {field} is a text")
    _, _, condition = _where(checker, raw)
    unit = "gib" if fields[field] == "gib" else ""
    head = Node("event", (event,), event, "bool")
    return Node("eventfield", (name, head, field, condition), node.text, kind), unit
