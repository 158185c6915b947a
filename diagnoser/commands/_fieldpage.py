"""What a name of the vocabulary means: a sample, a fact, a knob, an event, or a label as an engine prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import phrase
from diagnoser.rules.model import Node, Rule, RuleBase
from diagnoser.rules.nodes import walk

_KINDS = {
    "gauge": phrase("a level at the time of the line"),
    "count": phrase("what happened since the line before"),
    "total": phrase("a counter since the start of the server"),
    "spread": phrase("a distribution over requests or tokens, from histograms or from values one by one"),
}

_DUMPED = phrase("what the server is; read from its own dump of arguments")
_TOLD = phrase("read from messages")
_TURNED = phrase("one thing to turn, whatever its flag is called")
_MESSAGE = phrase("a message in the log")
#: The kinds of names.
KINDS = (phrase("sample"), phrase("fact"), phrase("knob"), phrase("event"))


def describe(name: str, base: RuleBase, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Return every meaning of a name; empty when there is none. A printed label may mean several samples."""
    found: list[dict[str, Any]] = []
    for series in vocabulary.series.values():
        labels = {label for names in series.log.values() for label in names}
        if name == series.name or name.casefold() in {label.casefold() for label in labels}:
            means = _KINDS[series.kind]
            found.append(_entry("sample", series.name, series.title, series.unit, means, series.log, base))
    if name in vocabulary.facts:
        fact = vocabulary.facts[name]
        means = _DUMPED if fact.args else _TOLD
        found.append(_entry("fact", name, fact.title, fact.unit or fact.type, means, fact.args, base))
    if name in vocabulary.knobs:
        knob = vocabulary.knobs[name]
        found.append(_entry("knob", name, knob.title, "", _TURNED, knob.flags, base))
    if name in base.events:
        event = base.events[name]
        printed: dict[str, list[str]] = {}
        for template in event.templates:
            printed.setdefault(template.engine, []).append(template.text)
        found.append(_entry("event", name, event.title or name, "", _MESSAGE, printed, base))
    return found


def names(base: RuleBase, vocabulary: Vocabulary) -> dict[str, str]:
    """Return every name that can be asked for, with its title."""
    out = {series.name: series.title for series in vocabulary.series.values()}
    out |= {fact.name: fact.title for fact in vocabulary.facts.values()}
    out |= {knob.name: knob.title for knob in vocabulary.knobs.values()}
    return out | {event.name: event.title for event in base.events.values()}


def labels(vocabulary: Vocabulary) -> list[str]:
    """Return every label that an engine prints."""
    return [label for series in vocabulary.series.values() for printed in series.log.values() for label in printed]


def _entry(
    kind: str, name: str, title: str, unit: str, means: str, printed: Mapping[str, Any], base: RuleBase
) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "title": title,
        "unit": unit,
        "means": means,
        "printed": {engine: list(texts) for engine, texts in printed.items()},
        "used_by": sorted(rule.id for rule in base.rules.values() if _uses(rule, name)),
    }


def _uses(rule: Rule, name: str) -> bool:
    nodes: list[Node] = [rule.when, *(node for _, node in rule.symptoms), *rule.supports]
    nodes += [node for remedy in rule.remedies for node in (remedy.to, remedy.condition) if node is not None]
    return any(remedy.knob == name for remedy in rule.remedies) or any(
        name in node.args for root in nodes for node in walk(root) if node.op != "text"
    )
