"""What the catalogue holds: flags, environment variables and messages with their versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from diagnoser.values import dataclass


class Spelled(NamedTuple):
    """One spelling of a flag and the versions that accept it (``last`` None: the newest read still does)."""

    name: str
    first: str
    last: str | None


class Default(NamedTuple):
    """A default from a version on. ``rule`` (a sentence) instead of ``value`` where it is computed at start-up."""

    since: str
    until: str | None
    value: Any
    rule: str


class Flag(NamedTuple):
    """One command-line flag over all versions.

    ``name`` is the spelling of the newest version that has it; ``spellings`` has it and every alias, ``--no-`` forms
    too. ``dest`` is its key in dumps of the arguments. ``type`` is what the engine's parser calls it. ``defaults`` are
    those of the parser; ``unset`` says what an undecided one (None) becomes. ``not_in`` is the last version read
    without it.
    """

    engine: str
    name: str
    first: str
    last: str | None
    dest: str
    spellings: tuple[Spelled, ...]
    type: str = ""
    negatable_since: str | None = None
    choices: tuple[Any, ...] = ()
    choices_history: tuple[Mapping[str, Any], ...] = ()
    defaults: tuple[Default, ...] = ()
    unset: tuple[Default, ...] = ()
    absent_in: tuple[str, ...] = ()
    not_in: str | None = None
    deprecated_in: str | None = None
    replaced_by: str = ""
    config_field: str = ""
    group: str = ""
    meaning: str = ""
    note: str = ""

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        if self.type.startswith("Deprecated"):
            return not self.choices  # it says what replaced it; one of a choice is still a value
        return self.type.startswith(("bool", "flag")) or "store_true" in self.type.lower()


class Env(NamedTuple):
    """One environment variable over all versions; ``defaults`` may hold source text where it could not be evaluated."""

    engine: str
    name: str
    first: str
    last: str | None
    type: str = ""
    defaults: tuple[Default, ...] = ()
    choices: tuple[Any, ...] = ()
    absent_in: tuple[str, ...] = ()
    deprecated_in: str | None = None
    replaced_by: str = ""
    old_alias: str = ""
    unit: str = ""
    group: str = ""
    meaning: str = ""
    note: str = ""


class MessageTemplate(NamedTuple):
    """One historical wording. ``optional`` lists the bracketed parts that are not always printed."""

    text: str
    first: str
    last: str | None
    optional: tuple[str, ...] = ()
    level: str = ""
    exception: str = ""


@dataclass(slots=True, frozen=True)
class Message:
    """One diagnostic message in all its wordings. ``source`` names the library that prints it, "" for the engine."""

    engine: str
    id: str
    templates: tuple[MessageTemplate, ...]
    level: str = ""
    role: str = ""
    group: str = ""
    causes: tuple[str, ...] = ()
    source: str = ""
    meaning: str = ""
    note: str = ""


def _defaults(rows: list[dict[str, Any]]) -> tuple[Default, ...]:
    return tuple(Default(row["since"], row.get("until"), row.get("value"), row.get("rule", "")) for row in rows)


def flag_from(engine: str, row: dict[str, Any]) -> Flag:
    """Make a Flag of one line of ``flags.jsonl``."""
    tuples = ("choices", "choices_history", "absent_in")
    fields: dict[str, Any] = {key: tuple(row[key]) for key in tuples if key in row}
    fields |= {key: _defaults(row[key]) for key in ("defaults", "unset") if key in row}
    plain: tuple[str, ...] = (
        "type",
        "negatable_since",
        "not_in",
        "deprecated_in",
        "replaced_by",
        "config_field",
        "group",
    )
    fields |= {key: row[key] for key in (*plain, "meaning", "note") if key in row}
    own = [(row["name"], row["first"], row.get("last"))]
    names = [Spelled(*item) for item in own + [(a["name"], a["first"], a.get("last")) for a in row.get("aliases", [])]]
    if "name_since" in row:
        names[0] = names[0]._replace(first=row["name_since"])
    since = row.get("negatable_since")
    if since:
        known = {spelled.name for spelled in names}
        negated = [Spelled("--no-" + s.name[2:], since, s.last) for s in names if s.name.startswith("--")]
        names += [spelled for spelled in negated if spelled.name not in known]
    dest = row.get("dest") or row["name"].lstrip("-").replace("-", "_")
    return Flag(engine, row["name"], row["first"], row.get("last"), dest, tuple(names), **fields)


def env_from(engine: str, row: dict[str, Any]) -> Env:
    """Make an Env of one line of ``env.jsonl``."""
    fields: dict[str, Any] = {key: tuple(row[key]) for key in ("choices", "absent_in") if key in row}
    if "defaults" in row:
        fields["defaults"] = _defaults(row["defaults"])
    plain = ("type", "deprecated_in", "replaced_by", "old_alias", "unit", "group", "meaning", "note")
    fields |= {key: row[key] for key in plain if key in row}
    return Env(engine, row["name"], row["first"], row.get("last"), **fields)


def message_from(engine: str, row: dict[str, Any]) -> Message:
    """Make a Message of one line of ``messages.jsonl`` or ``seen-live.jsonl``."""
    templates = tuple(
        MessageTemplate(
            item["text"],
            item["first"],
            item.get("last"),
            tuple(item.get("optional", ())),
            item.get("level", ""),
            item.get("exception", ""),
        )
        for item in row["templates"]
    )
    plain = ("level", "role", "group", "source", "meaning", "note")
    fields = {key: row[key] for key in plain if key in row}
    return Message(engine, row["id"], templates, causes=tuple(row.get("causes", ())), **fields)
