"""Everything a rule file says about a cause, as one dictionary: `explain` and the pages are printed from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.patterns import lazily
from diagnoser.rules.model import Node, Remedy, Rule, RuleBase
from diagnoser.rules.nodes import walk
from diagnoser.rules.texts import Placeholder, split

#: A text inside an expression.
_QUOTED = lazily(r'"([^"]*)"')


def describe(rule: Rule, base: RuleBase, vocabulary: Vocabulary, say: Say = ENGLISH) -> dict[str, Any]:
    """Return the page of a rule as data, in the order it is read."""

    def plain(text: str) -> str:
        return plain_text(text, say)

    names = list(_named(_conditions(rule), base.symptoms))
    nodes = [*_conditions(rule), *(base.symptoms[name] for name in names)]
    return {
        "id": rule.id,
        "title": rule.title,
        "stage": rule.stage,
        "status": rule.status,
        "severity": [{"level": level, "when": node.text if node else None} for level, node in rule.severity],
        "meaning": plain(rule.meaning),
        "impact": plain(rule.impact),
        "explains": list(rule.explains),
        "unless": list(rule.unless),
        "diagnosis": {
            "when": rule.when.text,
            "symptoms": [{"name": name, "condition": base.symptoms[name].text} for name in names],
            "supports": [node.text for node in rule.supports],
            "messages": list(_messages(nodes, base)),
            "needs": plain(rule.needs),
        },
        "mitigation": [_remedy(remedy, vocabulary, plain) for remedy in rule.remedies],
        "false_positives": plain(rule.false_positives),
        "verify": plain(rule.verify),
        "source": list(rule.source),
    }


def plain_text(text: str, say: Say = ENGLISH) -> str:
    """Return a text with its placeholders as the expressions they stand for: there is no log to fill them from."""

    def answer(found: re.Match[str]) -> str:
        return f'"{say(found[1])}"'

    parts = (_QUOTED.sub(answer, part.expression) if isinstance(part, Placeholder) else part for part in split(text))
    return " ".join("".join(parts).split())


def _conditions(rule: Rule) -> list[Node]:
    return [rule.when, *(node for _, node in rule.symptoms), *rule.supports]


def _named(nodes: Iterable[Node], known: Mapping[str, Node]) -> Iterator[str]:
    """Yield the symptoms that conditions name, and those that these name, each once, in reading order."""
    seen: set[str] = set()
    waiting = list(nodes)
    while waiting:
        for node in walk(waiting.pop(0)):
            for name in node.args:
                if isinstance(name, str) and name in known and name not in seen and node.op not in ("text", "number"):
                    seen.add(name)
                    yield name
                    waiting.append(known[name])


def _messages(nodes: Iterable[Node], base: RuleBase) -> Iterator[dict[str, str]]:
    names = dict.fromkeys(
        name
        for root in nodes
        for node in walk(root)
        for name in node.args
        if isinstance(name, str) and name in base.events and node.op not in ("text", "number")
    )
    for name in names:
        event = base.events[name]
        for template in event.templates:
            yield {
                "event": name,
                "title": event.title,
                "engine": template.engine,
                "text": template.text,
                "versions": template.versions,
                "source": event.source,
            }


def _remedy(remedy: Remedy, vocabulary: Vocabulary, plain: Callable[[str], str]) -> dict[str, Any]:
    knob = vocabulary.knobs.get(remedy.knob)
    flags = {engine: list(names) for engine, names in knob.flags.items()} if knob else {}
    flags |= {engine: [name] for engine, name in remedy.flag}
    if remedy.engines:
        flags = {engine: names for engine, names in flags.items() if engine in remedy.engines}
    return {
        "knob": remedy.knob or None,
        "title": knob.title if knob else "",
        "flags": flags,
        "env": dict(remedy.env),
        "action": plain(remedy.action) or None,
        "to": remedy.to.text if remedy.to else None,
        "by": remedy.by or None,
        "if": remedy.condition.text if remedy.condition else None,
        "engines": list(remedy.engines),
        "why": plain(remedy.text),
        "costs": plain(remedy.tradeoff),
    }
