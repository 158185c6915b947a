"""What changed between two versions of an engine, by the catalogue: flags, variables, metrics, messages, fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from diagnoser.knowledge.catalog import UNRESOLVED, Catalog
from diagnoser.knowledge.records import Flag
from diagnoser.knowledge.versions import Position, VersionList

#: Kinds of a change in the order in which they are told.
KINDS = ("flags", "variables", "metrics", "messages", "fields")
WORDS = ("added", "removed", "renamed", "deprecated", "default", "choices", "reworded")


class Change(NamedTuple):
    """One difference: ``word`` is one of WORDS; ``detail`` says from what to what, "" where the name says it."""

    kind: str
    word: str
    name: str
    detail: str = ""


class DiffError(ValueError):
    """The versions cannot be compared: says which and why."""


def diff(catalog: Catalog, engine: str, old: str, new: str) -> list[Change]:
    """Return what the newer version has differently, by kind, word and name. Raises DiffError.

    A version that was not read counts as what both its neighbours have.
    """
    versions = catalog.version_list(engine)
    if versions is None:
        raise DiffError(f"no version of {engine} was read")
    places = []
    for text in (old, new):
        place = versions.position(text)
        if place is None:
            raise DiffError(f"'{text}' is no version")
        places.append(place)
    ends = Ends(versions, *places)
    changes = [*_flags(catalog, engine, ends, old, new), *_messages(catalog, engine, ends)]
    for kind, table, key in (
        ("variables", "env", "name"),
        ("metrics", "metrics", "name"),
        ("fields", "stats-fields", "field"),
    ):
        changes += _rows(kind, catalog.rows(engine, table), key, ends)
    for name, one in catalog.envs(engine).items():
        if ends.both(one.first, one.last, one.absent_in):
            values = [_value(catalog._at(engine, one.defaults, at)) for at in (old, new)]
            if values[0] != values[1]:
                changes.append(Change("variables", "default", name, f"{values[0]} -> {values[1]}"))
    return sorted(changes, key=lambda one: (KINDS.index(one.kind), WORDS.index(one.word), one.name, one.detail))


class Ends:
    """The two versions, asked at once."""

    def __init__(self, versions: VersionList, old: Position, new: Position) -> None:
        self._versions, self._old, self._new = versions, old, new

    def had(self, first: str | None, last: str | None, absent: Sequence[str] = ()) -> bool:
        """Whether the older version lies in a range."""
        return self._versions.covers(self._old, first, last, absent)

    def has(self, first: str | None, last: str | None, absent: Sequence[str] = ()) -> bool:
        """Whether the newer version lies in a range."""
        return self._versions.covers(self._new, first, last, absent)

    def both(self, first: str | None, last: str | None, absent: Sequence[str] = ()) -> bool:
        """Whether both do."""
        return self.had(first, last, absent) and self.has(first, last, absent)

    def word(self, first: str | None, last: str | None, absent: Sequence[str] = ()) -> str:
        """Return "added", "removed", or "" for no change."""
        had, has = self.had(first, last, absent), self.has(first, last, absent)
        return "" if had == has else "added" if has else "removed"


def _flags(catalog: Catalog, engine: str, ends: Ends, old: str, new: str) -> Iterator[Change]:
    every = {flag.name: flag for flag in catalog.flags(engine).values()}.values()
    added = {flag.name for flag in every if ends.word(flag.first, flag.last, flag.absent_in) == "added"}
    for flag in every:
        word = ends.word(flag.first, flag.last, flag.absent_in)
        if word == "removed":
            heirs = [name for name in flag.replaced_by.replace(",", " ").split() if name in added]
            yield Change("flags", "renamed" if heirs else "removed", flag.name, heirs[0] if heirs else flag.replaced_by)
        elif word == "added":
            yield Change("flags", "added", flag.name, _shown_default(catalog, engine, flag, new))
        elif ends.both(flag.first, flag.last, flag.absent_in):
            yield from _changed(catalog, engine, flag, ends, old, new)


def _changed(catalog: Catalog, engine: str, flag: Flag, ends: Ends, old: str, new: str) -> Iterator[Change]:
    gone = [s.name for s in flag.spellings if ends.word(s.first, s.last) == "removed"]
    come = [s.name for s in flag.spellings if ends.word(s.first, s.last) == "added" and not s.name.startswith("--no-")]
    for name in gone:
        yield Change("flags", "renamed", name, come[0] if come else flag.name)
    for name in come if not gone else ():
        yield Change("flags", "added", name, f"another spelling of {flag.name}")
    values = [_shown_default(catalog, engine, flag, at) for at in (old, new)]
    if values[0] != values[1]:
        yield Change("flags", "default", flag.name, f"{values[0] or 'unset'} -> {values[1] or 'unset'}")
    if flag.deprecated_in and ends.word(flag.deprecated_in, None) == "added":
        yield Change("flags", "deprecated", flag.name, flag.replaced_by)
    for item in flag.choices_history[1:]:
        if ends.word(item["since"], None) == "added":
            words = [f"+{one}" for one in item.get("added", ())] + [f"-{one}" for one in item.get("removed", ())]
            yield Change("flags", "choices", flag.name, " ".join(words) or "replaced")


def _shown_default(catalog: Catalog, engine: str, flag: Flag, version: str) -> str:
    value = catalog.default(engine, flag.name, version)
    if value is not UNRESOLVED and value is not None:
        return f"default {value}" if value != "" else ""
    return catalog.default_rule(engine, flag.name, version)


def _value(found: Sequence[Any]) -> str:
    one = found[-1] if found else None
    return "unset" if one is None else str(one.rule or one.value)


def _rows(kind: str, rows: Iterable[dict[str, Any]], key: str, ends: Ends) -> Iterator[Change]:
    found = list(rows)
    word_of: Callable[[dict[str, Any]], str] = lambda row: ends.word(  # noqa: E731
        row["first"], row.get("last"), row.get("absent_in", ())
    )
    added = {row[key] for row in found if word_of(row) == "added"}
    for row in found:
        word, heir = word_of(row), str(row.get("replaced_by") or "")
        if word == "removed" and heir in added:
            yield Change(kind, "renamed", row[key], heir)
        elif word:
            detail = heir if word == "removed" else str(row.get("type") or "")
            yield Change(kind, word, row[key], detail)


def _messages(catalog: Catalog, engine: str, ends: Ends) -> Iterator[Change]:
    for message in catalog.messages(engine):
        had = [one.text for one in message.templates if ends.had(one.first, one.last)]
        has = [one.text for one in message.templates if ends.has(one.first, one.last)]
        lost, won = [one for one in had if one not in has], [one for one in has if one not in had]
        if (not had and not has) or not (lost or won):
            continue
        word = "added" if not had else "removed" if not has else "reworded"
        for text in lost:
            yield Change("messages", word, message.id, f"- {text}")
        for text in won:
            yield Change("messages", word, message.id, f"+ {text}")
