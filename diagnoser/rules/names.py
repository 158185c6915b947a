"""The words an expression may use, and the words one does use."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk
from diagnoser.values import dataclass, field

#: Attributes of a run: name -> (kind, unit).
RUN: Mapping[str, tuple[str, str]] = {
    "engine": ("text", ""),
    "version": ("version", ""),
    "run.end": ("text", ""),
    "run.served": ("bool", ""),
    "run.complete_start": ("bool", ""),
    "run.duration": ("number", "seconds"),
    "run.ready_after": ("number", "seconds"),
    "run.ready": ("number", "seconds"),
    "run.end_time": ("number", "seconds"),
    "run.loaded": ("number", "seconds"),
    "run.restarts": ("number", ""),
    "run.unready_starts": ("number", ""),
    "run.lines": ("number", ""),
    "run.errors": ("number", ""),
    "run.stats": ("number", ""),
    "run.scrapes": ("number", ""),
}
#: Fields that every event has.
IMPLICIT: Mapping[str, str] = {
    "phase": "text",
    "text": "text",
    "process": "text",
    "alone": "bool",
    "raised_in": "text",
    "raised_by": "text",
}

#: Type of a template's field or of a fact -> kind of expression.
KINDS: Mapping[str, str] = {
    "int": "number",
    "float": "number",
    "gib": "number",
    "bool": "bool",
    "list": "list",
    "any": "any",
}


@dataclass(slots=True, frozen=True)
class Names:
    """What is known while an expression is checked.

    ``series``: name -> unit; ``spreads`` are those of them that are distributions. ``facts``: name -> (type, unit),
    types as in facts.yaml. ``events``: name -> {field: type}, types as in templates. ``fields`` is given only for the
    ``sets`` of an event: then plain names are its fields, and samples and other events do not exist.
    """

    series: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    knobs: Collection[str] = ()
    events: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    symptoms: Collection[str] = ()
    causes: Collection[str] = ()
    spreads: Collection[str] = ()
    fields: Mapping[str, str] | None = None

    def event_of(self, dotted: str) -> tuple[str, str] | None:
        """Split ``event.field`` at the longest event name; None when no event begins it."""
        head = dotted
        while "." in head:
            head = head.rpartition(".")[0]
            if head in self.events:
                return head, dotted[len(head) + 1 :]
        return None


@dataclass(slots=True, frozen=True)
class References:
    """Every name a checked expression uses, by what it names. ``args`` are arguments of the engine's dumps."""

    series: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    symptoms: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()
    args: frozenset[str] = frozenset()
    knobs: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()


#: Operator of a checked node -> the attribute of References that its first text argument belongs to.
_BUCKETS = {
    "series": "series",
    "event": "events",
    "fact": "facts",
    "isset": "facts",
    "symptom": "symptoms",
    "cause": "causes",
    "arg": "args",
    "argset": "args",
    "knob": "knobs",
    "run": "run",
}


def references(node: Node) -> References:
    """Collect the names in a checked expression. Symptoms are not followed."""
    found: dict[str, set[str]] = {bucket: set() for bucket in set(_BUCKETS.values())}
    for part in walk(node):
        bucket = _BUCKETS.get(part.op)
        if bucket is not None:
            found[bucket].add(part.args[0])
    return References(**{bucket: frozenset(names) for bucket, names in found.items()})
