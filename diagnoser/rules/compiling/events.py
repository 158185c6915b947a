"""Events of YAML -> EventSpec: templates compiled, catalogue wordings taken in, facts and fields checked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.records import Message, MessageTemplate
from diagnoser.knowledge.words import hint
from diagnoser.rules.compiling.bench import Bench, Steps
from diagnoser.rules.compiling.schema import EventModel, TemplateText
from diagnoser.rules.compiling.template import TemplateError, parse_template
from diagnoser.rules.compiling.wordings import as_template, kept, typed
from diagnoser.rules.model import EventSpec, Node, Template
from diagnoser.rules.names import Names
from diagnoser.values import replace

_NUMBERS = ("int", "float", "gib")


def compile_event(bench: Bench, name: str, model: EventModel, catalog: Catalog) -> EventSpec:
    """Compile one event; faults go to the bench. The facts that it sets are left to `compile_sets`."""
    path = ("events", name)
    templates: dict[tuple[str, str], Template] = {}
    entries = [(engine, (*path, engine, index), text) for engine, index, text in model.templates()]
    wordings = [_wordings(bench, where, engine, text, catalog) for engine, where, text in entries]
    # What one wording of the catalogue prints as a number is a number in all of the event's.
    kinds = typed([*chain.from_iterable(wordings)]) | model.fields
    for (engine, where, text), found in zip(entries, wordings, strict=True):
        for template in _templates(bench, where, engine, text, found, kinds):
            templates.setdefault((engine, template.pattern), template)
    if not entries:
        bench.fault(path, f"event {name} has no template of any engine")
    if model.any and not model.source:
        bench.fault((*path, "any"), "templates of 'any' need 'source': who prints the message")
    return EventSpec(
        name=name,
        title=model.title or name,
        templates=tuple(_one_type_per_field(list(templates.values()))),
        where=model.where,
        level=model.level,
        role=model.role,
        phase=model.phase,
        source=model.source,
        place=bench.place(path),
        generic=model.generic,
    )


def compile_sets(bench: Bench, spec: EventSpec, model: EventModel) -> EventSpec:
    """Return the event with the facts it sets; run when the fields of its templates are known."""
    sets: list[tuple[str, str | Node]] = []
    for fact, given in model.sets.items():
        path = ("events", spec.name, "sets", fact)
        if fact not in bench.names.facts:
            bench.fault(path, f"unknown fact '{fact}'{hint(fact, bench.names.facts)}")
        elif (given.field is None) == (given.value is None):
            bench.fault(path, "a fact comes from a field's name or from {value: EXPRESSION}")
        elif given.field is not None:
            if given.field in spec.fields or given.field in ("text", "phase", "process"):
                sets.append((fact, given.field))
            else:
                bench.unknown(path, f"field of event {spec.name}:", given.field, list(spec.fields))
        else:
            names = Names(facts=bench.names.facts, fields=spec.fields)
            node = bench.expression((*path, "value"), str(given.value), names=names)
            if node is not None:
                sets.append((fact, node))
    return replace(spec, sets=tuple(sets))


def _wordings(bench: Bench, path: Steps, engine: str, text: TemplateText, catalog: Catalog) -> list[MessageTemplate]:
    """Return the wordings of the catalogue that an entry keeps; none for an entry with a text of its own."""
    if (text.text is None) == (text.message is None):
        bench.fault(path, "a template is a text, or {message: ID of the catalogue}")
    if text.text is not None or text.message is None:
        return []
    messages = [*catalog.messages(engine), *(one for one in catalog.seen_live() if one.engine == engine)]
    message = _message(messages, text.message)
    if message is None:
        bench.unknown((*path, "message"), f"message of {engine}", text.message, [one.id for one in messages])
        return []
    found = kept(message.templates, text.match, text.drop)
    if not found:
        bench.fault((*path, "message"), f"no wording of message '{text.message}' is left")
    return found


def _templates(
    bench: Bench, path: Steps, engine: str, text: TemplateText, wordings: list[MessageTemplate], kinds: dict[str, str]
) -> list[Template]:
    """Compile one entry: its text, or its wordings of the catalogue."""
    if text.text is not None:
        try:
            return [parse_template(text.text, engine, versions=text.versions, place=bench.place(path))]
        except TemplateError as error:
            bench.fault(path, error.text, column=error.column)
            return []
    found: list[Template] = []
    for wording in wordings:
        versions = f"{wording.first}..{wording.last or ''}"
        try:
            spelt = as_template(wording, kinds, text.match)
            found.append(parse_template(spelt, engine, versions=versions, place=bench.place(path)))
        except TemplateError:
            continue  # a wording without enough fixed text; the message's other wordings serve
    if wordings and not found:
        bench.fault((*path, "message"), f"no wording of message '{text.message}' has enough fixed text to search for")
    return found


def _message(messages: Sequence[Message], name: str) -> Message | None:
    """Return the message of this id with the wordings of every entry: the catalogue and what was seen live."""
    same = [message for message in messages if message.id == name]
    if not same:
        return None
    return replace(same[0], templates=tuple(chain.from_iterable(message.templates for message in same)))


def _one_type_per_field(templates: list[Template]) -> list[Template]:
    """Make a field text where some wordings print a number and others do not: engines reword their messages."""
    kinds: dict[str, set[bool]] = {}
    for template in templates:
        for field, kind in template.converters:
            kinds.setdefault(field, set()).add(kind in _NUMBERS)
    mixed = {field for field, numbers in kinds.items() if len(numbers) > 1}
    if not mixed:
        return templates
    return [
        replace(one, converters=tuple((field, "text" if field in mixed else kind) for field, kind in one.converters))
        for one in templates
    ]
