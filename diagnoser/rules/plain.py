"""A rule base as lists, dicts and scalars, and back: what the cache stores. Examples are left out.

A vocabulary is plain data as it is; only its tuples need making again.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from diagnoser.knowledge.vocabulary import FactSpec, Knob, Series, Vocabulary
from diagnoser.rules.model import EventSpec, LateTemplates, Node, Place, Point, Remedy, Rule, RuleBase, Template


class _Pool:
    """Nodes by number, each distinct one once and after its parts: rules repeat what they name."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[Any, int] = {}

    def add(self, node: Node) -> int:
        """Return the number of a node."""
        args = [self.arg(arg) for arg in node.args]
        key = (node.op, node.text, node.kind, repr(args))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rows)
            self.rows.append([node.op, args, node.text, node.kind])
        return number

    def maybe(self, node: Node | None) -> int | None:
        """Return the number of a node, None for none."""
        return None if node is None else self.add(node)

    def arg(self, arg: Any) -> Any:
        """Return an argument: a node as a list of its number, a tuple as a mapping, the rest as it is."""
        if isinstance(arg, Node):
            return [self.add(arg)]
        if isinstance(arg, tuple):
            return {"t": [self.arg(item) for item in arg]}
        if arg is None or isinstance(arg, str | int | float | bool):
            return arg
        raise TypeError(f"an expression holds a {type(arg).__name__}, which is not plain data")


def base_to_plain(base: RuleBase) -> dict[str, Any]:
    """Return the rule base as plain data."""
    pool = _Pool()
    return {
        "rules": [_rule(rule, pool) for rule in base.rules.values()],
        "events": [_event(spec, pool) for spec in base.events.values()],
        "symptoms": [[name, pool.add(node)] for name, node in base.symptoms.items()],
        "problems": base.problems,
        "derived": [[name, pool.add(node)] for name, node in base.derived.items()],
        "checklist": [_point(point, pool) for point in base.checklist],
        "notes": [_point(point, pool) for point in base.notes],
        "nodes": pool.rows,
    }


def base_from_plain(data: dict[str, Any]) -> RuleBase:
    """Return the rule base that `base_to_plain` wrote. Raises KeyError, TypeError or IndexError on anything else."""
    nodes = _to_nodes(data["nodes"])
    rules = [_to_rule(row, nodes) for row in data["rules"]]
    events = [_to_event(row, nodes) for row in data["events"]]
    return RuleBase(
        rules={rule.id: rule for rule in rules},
        events={spec.name: spec for spec in events},
        symptoms={name: nodes[number] for name, number in data["symptoms"]},
        problems=list(data["problems"]),
        derived={name: nodes[number] for name, number in data["derived"]},
        checklist=[_to_point(row, nodes) for row in data["checklist"]],
        notes=[_to_point(row, nodes) for row in data["notes"]],
    )


def vocabulary_from_plain(data: list[dict[str, list[Any]]]) -> Vocabulary:
    """Return the vocabulary that was written as JSON."""
    series, facts, knobs = data
    return Vocabulary(
        {name: Series(*row[:5], *map(_tuples, row[5:7]), *row[7:]) for name, row in series.items()},
        {
            name: FactSpec._make([*row[:4], _tuples(row[4]), row[5], _tuples(row[6]), *row[7:]])
            for name, row in facts.items()
        },
        {name: Knob._make([*row[:3], _tuples(row[3])]) for name, row in knobs.items()},
    )


def _tuples(lists: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {engine: tuple(words) for engine, words in lists.items()}


def _point(point: Point, pool: _Pool) -> list[Any]:
    questions = [[key, pool.add(node)] for key, node in point.questions.items()]
    inserted = [[key, pool.add(node)] for key, node in point.placeholders.items()]
    return [point.id, point.title, questions, dict(point.reasons), inserted]


def _to_point(row: list[Any], nodes: list[Node]) -> Point:
    name, title, questions, reasons, inserted = row
    return Point(
        name,
        title,
        {key: nodes[number] for key, number in questions},
        reasons,
        {key: nodes[number] for key, number in inserted},
    )


def _to_nodes(rows: list[list[Any]]) -> list[Node]:
    nodes: list[Node] = []
    for op, args, text, kind in rows:
        for at, arg in enumerate(args):
            if type(arg) is list or type(arg) is dict:
                args[at] = _to_arg(arg, nodes)
        nodes.append(Node(op, tuple(args), text, kind))
    return nodes


def _to_arg(arg: Any, nodes: list[Node]) -> Any:
    if type(arg) is list:
        return nodes[arg[0]]
    return tuple(_to_arg(item, nodes) for item in arg["t"]) if type(arg) is dict else arg


def _to_maybe(number: int | None, nodes: list[Node]) -> Node | None:
    return None if number is None else nodes[number]


def _place(place: Place) -> list[Any]:
    return [place.file, place.line, place.column]


def _event(spec: EventSpec, pool: _Pool) -> list[Any]:
    templates = [
        [t.engine, t.text, t.anchor, t.pattern, t.converters, t.versions, _place(t.place)] for t in spec.templates
    ]
    # As text in the text: a run reads the templates of the few events whose anchors come up in its log.
    late = json.dumps(templates, separators=(",", ":"), ensure_ascii=False)
    sets = [[fact, source if isinstance(source, str) else pool.arg(source)] for fact, source in spec.sets]
    plain = [spec.where, spec.level, spec.role, spec.phase, spec.source, spec.generic]
    return [spec.name, spec.title, list(spec.anchors), late, sets, plain, _place(spec.place)]


def _to_event(row: list[Any], nodes: list[Node]) -> EventSpec:
    name, title, anchors, late, sets, (where, level, role, phase, source, generic), place = row
    return EventSpec(
        name,
        title,
        LateTemplates(anchors, partial(_to_templates, late)),
        where,
        level,
        role,
        phase,
        tuple([(fact, value if isinstance(value, str) else _to_arg(value, nodes)) for fact, value in sets]),
        source,
        Place(*place),
        generic,
    )


def _to_templates(text: str) -> tuple[Template, ...]:
    return tuple(
        Template(engine, text, anchor, pattern, tuple((f, k) for f, k in converters), versions, Place(*at))
        for engine, text, anchor, pattern, converters, versions, at in json.loads(text)
    )


_REMEDY = ("knob", "action", "by", "text", "tradeoff", "experiment")
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
_LISTS = ("source", "unless", "explains", "asks")


def _remedy(remedy: Remedy, pool: _Pool) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(remedy, key) for key in _REMEDY}
    plain |= {"flag": remedy.flag, "env": remedy.env, "engines": remedy.engines}
    return plain | {"to": pool.maybe(remedy.to), "condition": pool.maybe(remedy.condition)}


def _to_remedy(row: dict[str, Any], nodes: list[Node]) -> Remedy:
    fields = {key: row[key] for key in _REMEDY}
    fields |= {key: tuple((engine, name) for engine, name in row[key]) for key in ("flag", "env")}
    fields |= {key: _to_maybe(row[key], nodes) for key in ("to", "condition")}
    return Remedy(**fields, engines=tuple(row["engines"]))


def _rule(rule: Rule, pool: _Pool) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(rule, key) for key in (*_RULE, *_LISTS)}
    return plain | {
        "severity": [[level, pool.maybe(node)] for level, node in rule.severity],
        "symptoms": [[name, pool.add(node)] for name, node in rule.symptoms],
        "when": pool.add(rule.when),
        "not_applicable": [[why, pool.add(node)] for why, node in rule.not_applicable],
        "supports": [pool.add(node) for node in rule.supports],
        "remedies": [_remedy(remedy, pool) for remedy in rule.remedies],
        "placeholders": [[text, pool.add(node)] for text, node in rule.placeholders],
        "place": _place(rule.place),
    }


def _to_rule(row: dict[str, Any], nodes: list[Node]) -> Rule:
    fields: dict[str, Any] = {key: row[key] for key in _RULE}
    fields |= {key: tuple(row[key]) for key in _LISTS}
    return Rule(
        **fields,
        severity=tuple([(level, _to_maybe(node, nodes)) for level, node in row["severity"]]),
        symptoms=tuple([(name, nodes[node]) for name, node in row["symptoms"]]),
        when=nodes[row["when"]],
        not_applicable=tuple([(why, nodes[node]) for why, node in row["not_applicable"]]),
        supports=tuple([nodes[node] for node in row["supports"]]),
        remedies=tuple([_to_remedy(remedy, nodes) for remedy in row["remedies"]]),
        placeholders=tuple([(text, nodes[node]) for text, node in row["placeholders"]]),
        place=Place(*row["place"]),
    )
