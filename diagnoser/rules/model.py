"""A rule base in memory: what the loader makes of the YAML files and everything to its right uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from diagnoser.values import dataclass, field

SEVERITIES = ("info", "warning", "critical")
CONFIDENCES = ("possible", "likely", "certain")
STAGES = ("ingress", "scheduling", "memory", "cache", "compute", "comms", "output", "platform")


@dataclass(slots=True, frozen=True)
class Node:
    """One node of a parsed expression: operator, children and constants, and where it stands in its text.

    ``text`` is the source text of the node (for ``--why``); ``kind`` its checked type: "bool", "number", "text",
    "version", "list". Plain data: it can be pickled or turned to JSON and back.
    """

    op: str
    args: tuple[Any, ...] = ()
    text: str = ""
    kind: str = ""


@dataclass(slots=True, frozen=True)
class Place:
    """Where something stands in a rule file, for errors."""

    file: str
    line: int
    column: int = 1


@dataclass(slots=True, frozen=True)
class Template:
    """One spelling of a message, ready to match: ``anchor`` is the literal prefilter, ``pattern`` the regex text."""

    engine: str  # "vllm", "sglang", "any", ...
    text: str
    anchor: str
    pattern: str
    converters: tuple[tuple[str, str], ...] = ()  # (field, int|float|gib|text|word)
    versions: str = ""
    place: Place = Place("", 0)


class LateTemplates(Sequence[Template]):
    """Templates that are read when one of them is asked for: of hundreds of events few come up in a log."""

    def __init__(self, anchors: Sequence[str], read: Callable[[], tuple[Template, ...]]) -> None:
        self.anchors = anchors
        self._read = read

    @cached_property
    def all(self) -> tuple[Template, ...]:
        """Every template, read."""
        return self._read()

    def __len__(self) -> int:
        return len(self.anchors)

    def __getitem__(self, at: Any) -> Any:
        return self.all[at]

    def __eq__(self, other: object) -> bool:
        return self.all == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.all)


@dataclass(slots=True, frozen=True)
class EventSpec:
    """An event of the vocabulary and every template that makes it."""

    name: str
    title: str
    templates: Sequence[Template]
    where: str = "message"  # message | traceback | stats | access | everything
    level: str = ""
    role: str = "notice"
    phase: str = "any"
    sets: tuple[tuple[str, str | Node], ...] = ()  # fact, field name or expression over the fields
    source: str = ""
    place: Place = Place("", 0)
    generic: bool = False  # any error looks like that; it names no cause by itself

    @property
    def anchors(self) -> Sequence[str]:
        """The literal of every template, in their order."""
        late = self.templates
        return late.anchors if isinstance(late, LateTemplates) else [template.anchor for template in late]

    @property
    def fields(self) -> dict[str, str]:
        """Field name to type, over all templates."""
        return {name: kind for template in self.templates for name, kind in template.converters}


@dataclass(slots=True, frozen=True)
class Remedy:
    """One thing to change. Exactly one of ``knob``, ``flag``, ``env``, ``action`` is set."""

    knob: str = ""
    flag: tuple[tuple[str, str], ...] = ()  # (engine, --flag)
    env: tuple[tuple[str, str], ...] = ()  # (engine, VARIABLE)
    action: str = ""
    to: Node | None = None
    by: str = ""  # raise | lower | set | remove
    condition: Node | None = None
    engines: tuple[str, ...] = ()
    text: str = ""
    tradeoff: str = ""
    experiment: bool = True


@dataclass(slots=True, frozen=True)
class Example:
    """A small log written in a rule file, expanded to lines, and what must come of it.

    ``files`` are other inputs: (file name, lines); ``slo`` are objectives: (name, seconds).
    """

    name: str
    lines: tuple[str, ...]
    severity: str = ""
    remedies: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    place: Place = Place("", 0)
    files: tuple[tuple[str, tuple[str, ...]], ...] = ()
    slo: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True, frozen=True)
class Rule:
    """One cause. Texts may hold ``{expression:format}`` placeholders."""

    id: str
    title: str
    stage: str
    status: str
    severity: tuple[tuple[str, Node | None], ...]  # (level, condition); None holds always; first true wins
    gain: int
    source: tuple[str, ...]
    symptoms: tuple[tuple[str, Node], ...]
    when: Node
    unless: tuple[str, ...]
    supports: tuple[Node, ...]
    confidence: str
    explains: tuple[str, ...]
    meaning: str
    impact: str
    false_positives: str
    needs: str
    remedies: tuple[Remedy, ...]
    verify: str
    fires: tuple[Example, ...] = ()
    silent: tuple[Example, ...] = ()
    place: Place = Place("", 0)
    placeholders: tuple[tuple[str, Node], ...] = ()  # every expression used inside {} of this rule's texts
    asks: tuple[str, ...] = ()  # kinds of inputs that ``needs`` names
    not_applicable: tuple[tuple[str, Node], ...] = ()  # (why, condition)


@dataclass(slots=True, frozen=True)
class Point:
    """One point of the checklist or one note on a run.

    ``questions`` maps "not_applicable", "fail" and "pass" to conditions; ``reasons`` maps those and "unknown" to texts,
    ``placeholders`` the expressions inside the braces of those texts.
    """

    id: str
    title: str
    questions: Mapping[str, Node]
    reasons: Mapping[str, str] = field(default_factory=dict)
    placeholders: Mapping[str, Node] = field(default_factory=dict)


@dataclass(slots=True)
class RuleBase:
    """Everything loaded: rules by id, events and symptoms by name, derived facts, checklist, notes.

    ``theory`` is what inference makes of the rules when the first run is judged (inference.Theory).
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    events: dict[str, EventSpec] = field(default_factory=dict)
    symptoms: dict[str, Node] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    derived: dict[str, Node] = field(default_factory=dict)
    checklist: list[Point] = field(default_factory=list)
    notes: list[Point] = field(default_factory=list)
    theory: Any = field(default=None, compare=False)
