"""Reads the vocabulary's files and checks every entry; all faults are told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diagnoser.knowledge.vocabulary import (
    COMBINE,
    ENGINES,
    FACT_UNITS,
    FILES,
    KINDS,
    SERIES_UNITS,
    TYPES,
    FactSpec,
    Knob,
    Series,
    Vocabulary,
    VocabularyError,
)
from diagnoser.knowledge.yamlfile import Document, Steps, YamlError, load
from diagnoser.values import dataclass


def read(rules: Path) -> Vocabulary:
    """Read the three files in the folder ``rules``. Raises VocabularyError that lists every fault."""
    faults: list[YamlError] = []
    of_series, of_facts, of_knobs = (rules / name for name in FILES)
    series = {name: _series(entry) for name, entry in _entries(of_series, faults)}
    facts = {name: _fact(entry) for name, entry in _entries(of_facts, faults)}
    knobs = {name: _knob(entry, facts) for name, entry in _entries(of_knobs, faults)}
    if faults:
        raise VocabularyError(faults)
    return Vocabulary(series, facts, knobs)


@dataclass(slots=True)
class _Entry:
    """One mapping of a vocabulary file while it is checked; faults are collected, not raised."""

    document: Document
    name: str
    data: Mapping[str, Any]
    faults: list[YamlError]

    def fault(self, key: str | None, text: str) -> None:
        path: Steps = (self.name,) if key is None else (self.name, key)
        self.faults.append(self.document.error(path, text))

    def only(self, keys: Sequence[str]) -> None:
        """Complain about keys that nobody reads."""
        for key in self.data:
            if key not in keys:
                self.faults.append(self.document.unknown((self.name, key), key, keys, "key"))

    def text(self, key: str, choices: Sequence[str] = (), required: bool = True) -> str:
        """Return a text, one of ``choices`` if given; "" when it is missing or wrong."""
        value = self.data.get(key, "")
        if value == "":
            if required:
                self.fault(None, f"{self.name}: {key} is missing")
        elif not isinstance(value, str):
            self.fault(key, f"{key} must be text, not {value!r}")
        elif choices and value not in choices:
            self.faults.append(self.document.unknown((self.name, key), value, choices, key))
        else:
            return value
        return ""

    def names(self, value: Any, path: Steps) -> tuple[str, ...]:
        """Return a list of texts (one text counts as a list of one)."""
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and items and all(isinstance(item, str) and item for item in items):
            return tuple(items)
        self.faults.append(self.document.error((self.name, *path), f"expected a list of texts, not {value!r}"))
        return ()

    def by_engine(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return ``{engine: [text, ...]}`` under a key; empty when the key is missing."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.fault(key, f"{key} must map an engine to a list")
            return {}
        for engine in value:
            if engine not in ENGINES:
                self.faults.append(self.document.unknown((self.name, key, engine), engine, ENGINES, "engine"))
        return {engine: self.names(items, (key, engine)) for engine, items in value.items()}


def _entries(path: Path, faults: list[YamlError]) -> list[tuple[str, _Entry]]:
    try:
        document = load(path)
    except YamlError as error:
        faults.append(error)
        return []
    if not isinstance(document.data, dict):
        faults.append(document.error((), "expected a mapping of names"))
        return []
    entries = []
    for name, data in document.data.items():
        if isinstance(data, dict):
            entries.append((name, _Entry(document, name, data, faults)))
        else:
            faults.append(document.error((name,), f"{name} must be a mapping"))
    return entries


def _series(entry: _Entry) -> Series:
    entry.only(("title", "unit", "kind", "combine", "log", "metric"))
    unit, kind = entry.text("unit", SERIES_UNITS), entry.text("kind", KINDS)
    combine = entry.text("combine", COMBINE, required=False)
    return Series(
        entry.name, entry.text("title"), unit, kind, combine, entry.by_engine("log"), entry.by_engine("metric")
    )


def _fact(entry: _Entry) -> FactSpec:
    entry.only(("title", "type", "unit", "args", "derive"))
    unit = entry.text("unit", FACT_UNITS, required=False)
    derive = entry.text("derive", required=False)
    return FactSpec(entry.name, entry.text("title"), entry.text("type", TYPES), unit, entry.by_engine("args"), derive)


def _knob(entry: _Entry, facts: Mapping[str, FactSpec]) -> Knob:
    entry.only(("title", "fact", *ENGINES))
    fact = entry.text("fact", tuple(facts), required=False)
    flags = {engine: entry.names(entry.data[engine], (engine,)) for engine in ENGINES if engine in entry.data}
    for engine, names in flags.items():
        if not all(name.startswith("--") for name in names):
            entry.fault(engine, f"{entry.name}: a flag starts with --")
    if not flags:
        entry.fault(None, f"{entry.name}: names no flag of any engine")
    return Knob(entry.name, entry.text("title"), fact, flags)
