"""A rule base as lists, dicts and scalars, and back: what the cache stores. Examples are left out."""

from __future__ import annotations

from typing import Any

from diagnoser.rules.model import EventSpec, Node, Place, Remedy, Rule, RuleBase, Template

#: Node texts repeat (a condition stands in its parent's text too), so texts are stored once and referred to by number.
_Pool = dict[str, int]


def base_to_plain(base: RuleBase) -> dict[str, Any]:
    """Return the rule base as plain data."""
    pool: _Pool = {}
    return {
        "rules": [_rule(rule, pool) for rule in base.rules.values()],
        "events": [_event(spec, pool) for spec in base.events.values()],
        "symptoms": [[name, _node(node, pool)] for name, node in base.symptoms.items()],
        "problems": base.problems,
        "texts": list(pool),
    }


def base_from_plain(data: dict[str, Any]) -> RuleBase:
    """Return the rule base that `base_to_plain` wrote. Raises KeyError, TypeError or IndexError on anything else."""
    texts: list[str] = data["texts"]
    rules = [_to_rule(row, texts) for row in data["rules"]]
    events = [_to_event(row, texts) for row in data["events"]]
    return RuleBase(
        rules={rule.id: rule for rule in rules},
        events={spec.name: spec for spec in events},
        symptoms={name: _to_node(node, texts) for name, node in data["symptoms"]},
        problems=list(data["problems"]),
    )


def _node(node: Node, pool: _Pool) -> list[Any]:
    """Return [operator, text number, kind, arguments]."""
    return [node.op, pool.setdefault(node.text, len(pool)), node.kind, [_arg(arg, pool) for arg in node.args]]


def _arg(arg: Any, pool: _Pool) -> Any:
    """Return an argument; a node and a tuple are both lists, told apart by their key."""
    if isinstance(arg, Node):
        return {"n": _node(arg, pool)}
    if isinstance(arg, tuple):
        return {"t": [_arg(item, pool) for item in arg]}
    if arg is None or isinstance(arg, str | int | float | bool):
        return arg
    raise TypeError(f"an expression holds a {type(arg).__name__}, which is not plain data")


def _to_node(row: list[Any], texts: list[str]) -> Node:
    op, text, kind, args = row
    return Node(op, tuple([_to_arg(arg, texts) if type(arg) is dict else arg for arg in args]), texts[text], kind)


def _to_arg(arg: dict[str, Any], texts: list[str]) -> Any:
    if "n" in arg:
        return _to_node(arg["n"], texts)
    return tuple(_to_arg(item, texts) if type(item) is dict else item for item in arg["t"])


def _maybe(node: Node | None, pool: _Pool) -> list[Any] | None:
    return None if node is None else _node(node, pool)


def _to_maybe(row: list[Any] | None, texts: list[str]) -> Node | None:
    return None if row is None else _to_node(row, texts)


def _place(place: Place) -> list[Any]:
    return [place.file, place.line, place.column]


def _event(spec: EventSpec, pool: _Pool) -> list[Any]:
    templates = [
        [t.engine, t.text, t.anchor, t.pattern, t.converters, t.versions, _place(t.place)] for t in spec.templates
    ]
    sets = [[fact, source if isinstance(source, str) else {"n": _node(source, pool)}] for fact, source in spec.sets]
    plain = [spec.where, spec.level, spec.role, spec.phase, spec.source]
    return [spec.name, spec.title, templates, sets, plain, _place(spec.place)]


def _to_event(row: list[Any], texts: list[str]) -> EventSpec:
    name, title, templates, sets, (where, level, role, phase, source), place = row
    return EventSpec(
        name,
        title,
        tuple(
            [
                Template(engine, text, anchor, pattern, tuple([(f, k) for f, k in converters]), versions, Place(*at))
                for engine, text, anchor, pattern, converters, versions, at in templates
            ]
        ),
        where,
        level,
        role,
        phase,
        tuple([(fact, value if isinstance(value, str) else _to_arg(value, texts)) for fact, value in sets]),
        source,
        Place(*place),
    )


_REMEDY = ("knob", "action", "by", "text", "tradeoff")
_RULE = (
    "id",
    "title",
    "stage",
    "status",
    "gain",
    "confidence",
    "meaning",
    "impact",
    "false_positives",
    "needs",
    "verify",
)
_LISTS = ("source", "unless", "explains")


def _remedy(remedy: Remedy, pool: _Pool) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(remedy, key) for key in _REMEDY}
    plain |= {"flag": remedy.flag, "env": remedy.env, "engines": remedy.engines}
    return plain | {"to": _maybe(remedy.to, pool), "condition": _maybe(remedy.condition, pool)}


def _to_remedy(row: dict[str, Any], texts: list[str]) -> Remedy:
    fields = {key: row[key] for key in _REMEDY}
    fields |= {key: tuple((engine, name) for engine, name in row[key]) for key in ("flag", "env")}
    fields |= {key: _to_maybe(row[key], texts) for key in ("to", "condition")}
    return Remedy(**fields, engines=tuple(row["engines"]))


def _rule(rule: Rule, pool: _Pool) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(rule, key) for key in (*_RULE, *_LISTS)}
    return plain | {
        "severity": [[level, _maybe(node, pool)] for level, node in rule.severity],
        "symptoms": [[name, _node(node, pool)] for name, node in rule.symptoms],
        "when": _node(rule.when, pool),
        "supports": [_node(node, pool) for node in rule.supports],
        "remedies": [_remedy(remedy, pool) for remedy in rule.remedies],
        "placeholders": [[text, _node(node, pool)] for text, node in rule.placeholders],
        "place": _place(rule.place),
    }


def _to_rule(row: dict[str, Any], texts: list[str]) -> Rule:
    fields: dict[str, Any] = {key: row[key] for key in _RULE}
    fields |= {key: tuple(row[key]) for key in _LISTS}
    return Rule(
        **fields,
        severity=tuple([(level, _to_maybe(node, texts)) for level, node in row["severity"]]),
        symptoms=tuple([(name, _to_node(node, texts)) for name, node in row["symptoms"]]),
        when=_to_node(row["when"], texts),
        supports=tuple([_to_node(node, texts) for node in row["supports"]]),
        remedies=tuple([_to_remedy(remedy, texts) for remedy in row["remedies"]]),
        placeholders=tuple([(text, _to_node(node, texts)) for text, node in row["placeholders"]]),
        place=Place(*row["place"]),
    )
