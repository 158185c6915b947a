"""Reads the vocabulary's files and checks every entry; all faults are told at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from diagnoser.knowledge.metricref import MetricRefError, parse_ref
from diagnoser.knowledge.vocabulary import (
    COMBINE,
    ENGINES,
    EXPORTERS,
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


@cache
def _writers() -> tuple[str, ...]:
    """Return who writes samples: engines, exporters, and what each module in the folder of readers is named after."""
    folder = Path(__file__).parent.parent / "traces"
    names = [one.stem.replace("_", "-") for one in sorted(folder.glob("*.py")) if not one.stem.startswith("_")]
    return (*ENGINES, *EXPORTERS, *(name for name in names if name != "base"))


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

    def by_writer(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return ``{writer: [text, ...]}`` under a key; empty when the key is missing.

        Writers are engines, exporters, and the readers of traces.
        """
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.fault(key, f"{key} must map a writer (an engine, a reader of traces) to a list")
            return {}
        for writer in value:
            if writer not in _writers():
                self.faults.append(self.document.unknown((self.name, key, writer), writer, _writers(), "writer"))
        return {writer: self.names(items, (key, writer)) for writer, items in value.items()}

    def bounds(self) -> tuple[float, float]:
        """Return what a series can be: its ``range``, else anything that is not below zero."""
        value = self.data.get("range", [0, math.inf])
        numbers = isinstance(value, list) and all(isinstance(one, int | float) for one in value)
        if not numbers or len(value) != 2 or not value[0] < value[1]:
            self.fault("range", f"range must be [lowest, highest], not {value!r}")
            return 0.0, math.inf
        return float(value[0]), float(value[1])

    def metrics(self) -> dict[str, tuple[str, ...]]:
        """Return the metric references by writer; each must be readable."""
        found = self.by_writer("metric")
        for writer, refs in found.items():
            for at, ref in enumerate(refs):
                try:
                    parse_ref(ref)
                except MetricRefError as error:
                    path: Steps = (self.name, "metric", writer, at)
                    self.faults.append(self.document.error(path, str(error)))
        return found


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
    entry.only(("title", "unit", "kind", "combine", "range", "log", "metric"))
    unit, kind = entry.text("unit", SERIES_UNITS), entry.text("kind", KINDS)
    combine = entry.text("combine", COMBINE, required=False)
    low, high = entry.bounds()
    title, log, metric = entry.text("title"), entry.by_writer("log"), entry.metrics()
    return Series(entry.name, title, unit, kind, combine, log, metric, low, high)


def _fact(entry: _Entry) -> FactSpec:
    entry.only(("title", "type", "unit", "args", "derive", "metric", "only"))
    unit = entry.text("unit", FACT_UNITS, required=False)
    derive = entry.text("derive", required=False)
    args, kind = entry.by_writer("args"), entry.text("type", TYPES)
    only = entry.text("only", ENGINES, required=False)
    return FactSpec(entry.name, entry.text("title"), kind, unit, args, derive, entry.metrics(), only)


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
