"""Rule files to a rule base in two passes: every name, then every expression. Faults are collected, not raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.knowledge.yamlfile import Document, YamlError, load
from diagnoser.rules.compiling.bench import Bench
from diagnoser.rules.compiling.cycles import find_cycles
from diagnoser.rules.compiling.events import compile_event, compile_sets
from diagnoser.rules.compiling.rule import compile_rule
from diagnoser.rules.compiling.schema import EventModel, EventsFile, RuleFile
from diagnoser.rules.compiling.shape import check_shape
from diagnoser.rules.errors import RuleError
from diagnoser.rules.model import EventSpec, Node, Place, Rule, RuleBase
from diagnoser.rules.names import RUN, Names
from diagnoser.rules.packs import RuleSource
from diagnoser.values import dataclass, field


@dataclass(slots=True)
class _File:
    """One file read: ``model`` is None when its shape is wrong."""

    source: RuleSource
    document: Document
    model: RuleFile | EventsFile | None
    bench: Bench

    def events(self) -> Mapping[str, EventModel]:
        return self.model.events if self.model is not None else {}

    def names(self, key: str) -> list[str]:
        """Names that the file defines under a key, even when something else in it is wrong."""
        data = self.document.data
        part = data.get(key) if isinstance(data, dict) else None
        return [str(name) for name in part] if isinstance(part, dict) else []


@dataclass(slots=True)
class _Registry:
    """Names with one meaning each; a second definition is a fault that names both places."""

    errors: list[RuleError]
    places: dict[str, tuple[str, Place]] = field(default_factory=dict)

    def add(self, what: str, name: str, place: Place) -> bool:
        """Take a name; False when it was taken before."""
        before = self.places.setdefault(name, (what, place))
        if before[1] is place:
            return True
        kind, first = before
        where = f" at {first.file}:{first.line}" if first.line else " in the vocabulary"
        rules = "; rules can be added, not replaced" if (what, kind) == ("cause", "cause") else ""
        text = f"{what} {name} is already defined{where}" + (f" (as {kind})" if kind != what else "") + rules
        self.errors.append(RuleError(place.file, place.line, place.column, text))
        return False


def assemble(files: Sequence[RuleSource], vocabulary: Vocabulary, catalog: Catalog) -> tuple[RuleBase, list[RuleError]]:
    """Return the rule base of ``files`` and everything that is wrong with it."""
    errors: list[RuleError] = []
    events: dict[str, Mapping[str, str]] = {}
    symptoms: set[str] = set()
    causes: dict[str, None] = {}
    # Filled below; the benches share it, so that every file sees every name.
    names = Names(
        series={name: one.unit for name, one in vocabulary.series.items()},
        spreads={name for name, one in vocabulary.series.items() if one.kind == "spread"},
        facts={name: (one.type, one.unit) for name, one in vocabulary.facts.items()},
        knobs=tuple(vocabulary.knobs),
        events=events,
        symptoms=symptoms,
        causes=causes,
    )
    read = [_read(source, names, errors) for source in files]
    every = [file for file in read if file is not None]
    _collect(every, vocabulary, events, symptoms, causes, errors)
    specs = _events(every, events, catalog)
    checked = _symptoms(every)
    rules = _rules(every, checked)
    for members in find_cycles(rules, checked):
        _cycle(members, every, errors)
    return RuleBase(rules=rules, events=specs, symptoms=checked), errors


def _read(source: RuleSource, names: Names, errors: list[RuleError]) -> _File | None:
    try:
        document = load(source.path)
    except YamlError as error:
        errors.append(RuleError(error.file, error.line, error.column, error.text))
        return None
    model: RuleFile | EventsFile | None
    if source.id:
        model, wrong = check_shape(document, RuleFile)
    else:
        model, wrong = check_shape(document, EventsFile)
    errors += wrong
    return _File(source, document, model, Bench(document, names, errors))


def _collect(
    files: Sequence[_File],
    vocabulary: Vocabulary,
    events: dict[str, Mapping[str, str]],
    symptoms: set[str],
    causes: dict[str, None],
    errors: list[RuleError],
) -> None:
    """Take the names of every file, broken ones too: a fault in one file must not make others look wrong."""
    registry = _Registry(errors)
    for what, words in (("sample", vocabulary.series), ("fact", vocabulary.facts), ("attribute of a run", RUN)):
        for word in words:
            registry.places.setdefault(word, (what, Place("", 0)))
    for file in files:
        if file.source.id:
            registry.add("cause", file.source.id, file.bench.place(()))
            causes[file.source.id] = None
        for name in file.names("events"):
            registry.add("event", name, file.bench.place(("events", name)))
            events.setdefault(name, {})
        for name in file.names("symptoms"):
            registry.add("symptom", name, file.bench.place(("symptoms", name)))
            symptoms.add(name)


def _events(files: Sequence[_File], events: dict[str, Mapping[str, str]], catalog: Catalog) -> dict[str, EventSpec]:
    """Compile the templates of every event; then their facts, and only then may expressions use their fields."""
    specs: dict[str, EventSpec] = {}
    for file in files:
        for name, model in file.events().items():
            if name not in specs:
                spec = compile_event(file.bench, name, model, catalog)
                specs[name] = compile_sets(file.bench, spec, model) if model.sets else spec
                events[name] = spec.fields
    return specs


def _symptoms(files: Sequence[_File]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for file in files:
        if isinstance(file.model, RuleFile):
            for name, text in file.model.symptoms.items():
                node = file.bench.expression(("symptoms", name), text, "bool")
                if node is not None:
                    found.setdefault(name, node)
    return found


def _rules(files: Sequence[_File], symptoms: Mapping[str, Node]) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for file in files:
        if isinstance(file.model, RuleFile) and file.source.id not in rules:
            rules[file.source.id] = compile_rule(file.bench, file.source.id, file.model, file.source.stage, symptoms)
    return rules


def _cycle(members: tuple[str, ...], files: Sequence[_File], errors: list[RuleError]) -> None:
    """Report a circle where its first member is defined."""
    name = members[0]
    for file in files:
        path = ("unless",) if file.source.id == name else ("symptoms", name)
        if file.source.id == name or name in file.names("symptoms"):
            place = file.bench.place(path)
            circle = " -> ".join((*members, name))
            text = f"these depend on each other through 'unless', 'not' or symptoms: {circle}"
            errors.append(RuleError(place.file, place.line, place.column, text))
            return
