"""One shape out of several: how records of the facts become records of the catalogue.

Every function takes one record and the versions read, and returns a new dict without empty fields. A record of the
catalogue itself is a third shape and stays as it is, so that a release can be added to what is known already. A field
that nobody here knows is an error: facts must not get lost because somebody added a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:\.post\d+)?")
#: Defaults that the facts tell in words: they are a rule, not a value.
_WORDS = re.compile(r"\w+ defaults|value of env .*|'.*' with .*")


class CatalogError(Exception):
    """The facts cannot be turned into a catalogue: says which file and record, and why."""


def flag(row: dict[str, Any], versions: list[str]) -> dict[str, Any]:
    """Normalise one flag of either engine or of the router."""
    row = dict(row)
    name, first, last = row.pop("name"), _first(row), _last(row)
    ranges = {
        key: (value["first_seen"], value["last_seen"]) for key, value in (row.pop("alias_ranges", None) or {}).items()
    }
    aliases = []
    for alias in row.pop("aliases", []):
        if isinstance(alias, dict):
            alias, *span = alias["name"], alias["first"], alias.get("last")
        else:
            span = list(ranges.get(alias, (first, last)))
        aliases.append(_filled({"name": alias, "first": span[0], "last": span[1]}))
    dest = row.pop("dest", None)
    unset = row.pop("effective_default", None) or row.pop("default_when_unset", None) or []
    made = {
        "name": name,
        "first": first,
        "last": last,
        "name_since": ranges[name][0] if name in ranges else row.pop("name_since", None),
        "aliases": sorted(aliases, key=lambda alias: str(alias["name"])),
        "dest": dest if dest != name.lstrip("-").replace("-", "_") else None,
        "type": row.pop("type", None),
        "nargs": row.pop("nargs", None),
        "choices": row.pop("choices", None),
        "choices_history": [_filled(item) for item in row.pop("choices_history", [])],
        "defaults": _defaults(row),
        "unset": row.pop("unset", None) or [_unset(item, versions) for item in unset],
    }
    keep = ("absent_in", "not_in", "negatable_since", "deprecated_in", "replaced_by", "config_field", "where", "group")
    made |= {key: row.pop(key, None) for key in (*keep, "meaning", "note")}
    negative = row.pop("negative_form", None)
    if negative not in (None, "--no-" + name.lstrip("-")):
        raise ValueError(f"negative form {negative} is not --no-…")
    return _done(made, row)


def env(row: dict[str, Any], _versions: list[str]) -> dict[str, Any]:
    """Normalise one environment variable."""
    row = dict(row)
    made = {"name": row.pop("name"), "first": _first(row), "last": _last(row), "type": row.pop("type", None)}
    made["defaults"] = _defaults(row)
    keep = ("choices", "choices_history", "absent_in", "not_in", "deprecated_in", "replaced_by", "old_alias", "unit")
    made |= {key: row.pop(key, None) for key in (*keep, "group", "meaning", "note")}
    for dropped in ("in_envs_py", "read_in"):
        row.pop(dropped, None)
    return _done(made, row)


def metric(row: dict[str, Any], _versions: list[str]) -> dict[str, Any]:
    """Normalise one metric: only the names of its version fields change, the rest is kept as it is."""
    row = dict(row)
    made = {"name": row.pop("name"), "first": _first(row), "last": _last(row)}
    return _filled(made | dict(sorted(row.items())))


def stats_field(row: dict[str, Any]) -> dict[str, Any]:
    """Normalise one field of a statistics line."""
    row = dict(row)
    made = {"field": row.pop("field"), "line": row.pop("line"), "first": _first(row), "last": _last(row)}
    made["meaning"] = row.pop("meaning", None)
    return _done(made, row)


def message(row: dict[str, Any], _versions: list[str]) -> dict[str, Any]:
    """Normalise one message with all its wordings."""
    row = dict(row)
    origin = row.pop("source", None) or row.pop("origin", None)
    wordings = row.pop("variants", None) or row.pop("templates", None) or row.pop("formats")
    made = {
        "id": row.pop("id"),
        "group": row.pop("group", None) or row.pop("topic", None),
        "level": row.pop("level", None) or row.pop("severity", None),
        "role": row.pop("role", None),
        "causes": row.pop("causes", None),
        "source": origin if origin != "sglang" else None,
        "meaning": row.pop("meaning", None),
        "note": row.pop("note", None),
        "example": row.pop("example", None),
        "templates": [_wording(item) for item in wordings],
    }
    for derived in ("first_seen", "last_seen", "origin"):  # follow from the wordings
        row.pop(derived, None)
    return _done(made, row)


def _wording(item: dict[str, Any]) -> dict[str, Any]:
    item = dict(item)
    text = item.pop("template", None) or item.pop("text")
    ranges = item.pop("ranges", None)
    files = item.pop("file", None) or item.pop("files", None) or item.pop("module", None)
    made = {
        # One facts file writes a line break as two characters, the other as one.
        "text": text.replace("\\n", "\n"),
        "first": _first(item),
        "last": _last(item),
        "ranges": ranges.split(",") if isinstance(ranges, str) else ranges,
        "level": item.pop("level", None),
        "exception": item.pop("exception", None),
        "optional": item.pop("optional", None),
        "source": item.pop("source", None),
        "files": [files] if isinstance(files, str) else files,
    }
    item.pop("anchor", None)  # follows from the text
    return _done(made, item)


def _first(row: dict[str, Any]) -> str:
    return str(row.pop("first_seen") if "first_seen" in row else row.pop("first"))


def _last(row: dict[str, Any]) -> str | None:
    value = row.pop("last_seen") if "last_seen" in row else row.pop("last", None)
    return None if value is None else str(value)


def _defaults(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Read ``default_history`` [{since, value}] or ``defaults`` [{from, to, value}] as [{since, value | rule}]."""
    history = row.pop("default_history", None) or row.pop("defaults", None) or []
    row.pop("default", None)  # the last of the history
    made = []
    for item in history:
        if "rule" in item:
            made.append(dict(item))
            continue
        value, since = item["value"], item["since"] if "since" in item else item["from"]
        words = isinstance(value, str) and _WORDS.fullmatch(value)
        made.append({"since": since, "rule": value} if words else {"since": since, "value": value})
    return made


def _unset(item: dict[str, Any], versions: list[str]) -> dict[str, Any]:
    """Read what an undecided default becomes: {since, value, when, else} or {versions, rule}."""
    if "rule" in item:
        text = item["versions"]
        numbers = _NUMBER.findall(text)
        one = len(numbers) == 1 and ".." not in text and "up to" not in text
        until = numbers[-1] if numbers and not text.endswith("..") else None
        since = numbers[0] if one or len(numbers) > 1 or text.endswith("..") else versions[0]
        return _filled({"since": since, "until": None if until == versions[-1] else until, "rule": item["rule"]})
    value, when, other = item["value"], item.get("when"), item.get("else")
    if when is None and other is None and not (isinstance(value, str) and " " in value):
        return {"since": item["since"], "value": value}
    rule = f"{value} ({when})" if when else str(value)
    return {"since": item["since"], "rule": rule + (f", otherwise {other}" if other is not None else "")}


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if not _empty(value)}


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, list | dict | str) and not value)


def _done(made: dict[str, Any], rest: Iterable[str]) -> dict[str, Any]:
    if left := sorted(rest):
        raise ValueError(f"unknown field {left[0]!r}: say in catalog_shapes.py what becomes of it")
    return _filled(made)
