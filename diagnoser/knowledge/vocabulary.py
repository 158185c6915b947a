"""The vocabulary: names of samples, facts and knobs, read from ``series.yaml``, ``facts.yaml`` and ``knobs.yaml``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from diagnoser.knowledge.labels import LabelMap

if TYPE_CHECKING:
    from diagnoser.knowledge.yamlfile import YamlError

#: The files of the vocabulary, in the folder of the rules.
FILES = ("series.yaml", "facts.yaml", "knobs.yaml")
ENGINES = ("vllm", "sglang", "vllm-router", "sglang-router")
#: How people write them.
TITLES = {"vllm": "vLLM", "sglang": "SGLang", "vllm-router": "vLLM router", "sglang-router": "SGLang router"}
#: Exporters whose metrics pages stand beside those of engines.
EXPORTERS = ("dcgm",)
KINDS = ("gauge", "count", "total", "spread")
TYPES = ("int", "float", "bool", "text", "list")
COMBINE = ("max", "min", "sum")
SERIES_UNITS = (
    "requests",
    "tokens",
    "ratio",
    "tokens/s",
    "seconds",
    "events",
    "tokens/step",
    "flag",
    "gib",
    "GiB/s",
    "watts",
    "celsius",
    "MHz",
    "x",
    "requests/s",
)
FACT_UNITS = ("requests", "tokens", "ratio", "gib", "bytes", "seconds", "gpus", "x")

_NONE: Mapping[str, tuple[str, ...]] = {}


class Series(NamedTuple):
    """A sample that statistics lines, metrics pages and other traces tell.

    ``kind``: gauge (a level), count (what happened in the interval), total (a counter since the start), spread (a
    distribution over requests). ``log`` maps the writer (an engine, or a reader of traces) to its labels; ``{any}`` in
    a label stands for one word. ``combine`` says what to do when one line prints several of them: "max", "min", "sum",
    or "" (spellings of one field: the first in ``log`` order counts). ``metric`` maps an engine or exporter to
    references as in metricref.py, the newest name first; the first that a page has counts. What is below ``low`` or
    above ``high`` cannot be.
    """

    name: str
    title: str
    unit: str
    kind: str
    combine: str = ""
    log: Mapping[str, tuple[str, ...]] = _NONE
    metric: Mapping[str, tuple[str, ...]] = _NONE
    low: float = 0.0
    high: float = math.inf


class FactSpec(NamedTuple):
    """Something that a run is. ``args`` maps engine to argument names of its dumps, by order of trust.

    ``derive`` is an expression over other facts that gives the value where nothing printed it. ``metric`` maps an
    engine to references as in metricref.py; it fills what no log told. ``only`` is the engine that alone prints it.
    """

    name: str
    title: str
    type: str
    unit: str = ""
    args: Mapping[str, tuple[str, ...]] = _NONE
    derive: str = ""
    metric: Mapping[str, tuple[str, ...]] = _NONE
    only: str = ""


class Knob(NamedTuple):
    """One thing to turn. ``flags`` maps engine to flags, the preferred or oldest first.

    ``fact`` names the fact that holds the current value; without it the flag's own argument does.
    """

    name: str
    title: str
    fact: str = ""
    flags: Mapping[str, tuple[str, ...]] = _NONE


class VocabularyError(Exception):
    """Every fault of the vocabulary files at once; ``problems`` are YamlErrors with file, line and column."""

    def __init__(self, problems: Sequence[YamlError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class Vocabulary(NamedTuple):
    """All names that rules may use."""

    series: Mapping[str, Series]
    facts: Mapping[str, FactSpec]
    knobs: Mapping[str, Knob]

    @classmethod
    def load(cls, rules: Path) -> Vocabulary:
        """Read the three files in the folder ``rules``. Raises VocabularyError that lists every fault."""
        # A run that has the vocabulary from its cache must not pay for YAML.
        from diagnoser.knowledge.vocabulary_files import read

        return read(rules)

    def label_map(self, engine: str) -> LabelMap:
        """Return the map from a label of the engine's statistics line to the names of the series it feeds."""
        return LabelMap({name: one.log[engine] for name, one in self.series.items() if engine in one.log})

    def arg_map(self, engine: str) -> dict[str, list[str]]:
        """Return the map from an argument name of the engine's dumps to the names of the facts it tells."""
        found: dict[str, list[str]] = {}
        for name, fact in self.facts.items():
            for arg in fact.args.get(engine, ()):
                found.setdefault(arg, []).append(name)
        return found

    def knob_of(self, engine: str, flag: str) -> Knob | None:
        """Return the knob that lists this flag for this engine."""
        return next((knob for knob in self.knobs.values() if flag in knob.flags.get(engine, ())), None)
