"""The catalogue and one release newer than it to a folder of facts, for `diagnose catalog build`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diagnoser.knowledge.versions import VersionList
from tools.releases.python import Unknown
from tools.releases.release import ENGINES, Release
from tools.releases.renew_messages import messages

Row = dict[str, Any]
_EMPTY: tuple[object, ...] = (None, [], {}, False, "")


class Tables:
    """The catalogue's rows of one engine, changed in place and written as facts."""

    def __init__(self, catalog: Path, engine: str) -> None:
        folder = catalog / engine
        self.engine = engine
        self.versions: list[str] = json.loads((folder / "versions.json").read_bytes())["read"]
        self.rows = {
            name: _rows(folder / f"{name}.jsonl") for name in ("flags", "env", "metrics", "messages", "stats-fields")
        }
        notes = folder / "metrics-notes.json"
        self.notes: Row = json.loads(notes.read_bytes()) if notes.is_file() else {}


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.is_file() else []


def write_facts(
    catalog: Path, releases: list[Release], folder: Path, before: Mapping[str, Release] | None = None
) -> list[str]:
    """Write the facts of all engines, with the releases added; return what was added, ended or changed, in words.

    ``before`` holds the newest release that the catalogue knows of each engine, read in the same way: only what that
    reading found can be said to be gone.
    """
    known = dict(before or {})
    told: list[str] = []
    tables = {engine: Tables(catalog, engine) for engine in ENGINES}
    for release in sorted(releases, key=lambda one: (one.engine, _place(tables[one.engine].versions, one.version))):
        told += renew(tables[release.engine], release, known.get(release.engine))
        known[release.engine] = release
    for engine in ("vllm", "sglang"):
        own, out = tables[engine], folder / engine
        out.mkdir(parents=True, exist_ok=True)
        messages, metrics = list(own.rows["messages"]), own.notes | {"metrics": own.rows["metrics"]}
        if engine == "sglang":
            router = tables["sglang-router"]
            messages += router.rows["messages"]
            metrics["router_metrics"] = router.rows["metrics"]
            _write(out / "router_flags.json", {"versions_read": router.versions, "flags": router.rows["flags"]})
        _write(out / "flags.json", {"versions_read": own.versions, "flags": own.rows["flags"]})
        _write(out / "env_vars.json", {"env_vars": own.rows["env"]})
        _write(out / "metrics.json", metrics)
        fields = {"batch_line_fields": own.rows["stats-fields"]} if own.rows["stats-fields"] else {}
        # JSON is YAML: the builder reads both.
        _write(out / "log_messages.yaml", {"messages": messages} | fields)
    return told


def _write(path: Path, content: Row) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _place(versions: list[str], version: str) -> int:
    return VersionList(versions).first_index(version)


def renew(tables: Tables, release: Release, last: Release | None = None) -> list[str]:
    """Add one release, newer than all that the tables have; return what changed, in words."""
    before = tables.versions[-1]
    if _place(tables.versions, release.version) < len(tables.versions):
        raise ValueError(f"{release.engine} {release.version} is not newer than {before}, the newest version read")
    told: list[str] = []
    _flags(tables.rows["flags"], release, last, told, before)
    if release.engine != "sglang-router":  # its metrics and messages stand in compiled code
        _variables(tables.rows["env"], release, last, told, before)
        _metrics(tables, release, last, told, before)
        messages(tables.rows["messages"], release, last, told, before)
    tables.versions.append(release.version)
    return [f"{release.engine} {release.version}: {one}" for one in told]


def _flags(rows: list[Row], release: Release, last: Release | None, told: list[str], before: str) -> None:
    version, left = release.version, dict(release.flags)
    read_last = {name: flag for flag in (last.flags.values() if last else ()) for name in flag.names}
    by_name = {name: flag for flag in release.flags.values() for name in flag.names}
    # A flag that exists beats one that has gone and had the same spelling.
    for row in sorted(rows, key=lambda one: "last" in one):
        aliases = row.get("aliases", [])
        spelled = [
            row["name"],
            *(one["name"] for one in aliases if "last" not in one or one["last"] == row.get("last")),
        ]
        mine = next((by_name[name] for name in spelled if name in by_name), None)
        if mine is None or next((n for n in mine.names if n in left), None) is None:
            if "last" not in row:
                row["last"] = before
                told.append(f"flag {row['name']} is gone")
            continue
        if "last" in row:
            if row["name"] not in mine.names:
                continue
            told.append(f"flag {row['name']} is back")
            row.setdefault("absent_in", []).append(before)
            del row["last"]
        for name in mine.names:
            left.pop(name, None)
        # Some catalogues list the negative among the spellings, some as a property of the flag.
        negatives = [f"--no-{name[2:]}" for name in mine.names] if mine.negatable else []
        listed = [one["name"] for one in aliases if one["name"] in negatives]
        _spellings(row, (*mine.names, *listed), version, before, told)
        old = read_last.get(row["name"])
        if not (old and not isinstance(old.default, Unknown) and old.default == mine.default):
            _default(row, mine.default, version, told)
        old = read_last.get(row["name"])
        if mine.choices and list(mine.choices) != row.get("choices", []) and not (old and old.choices == mine.choices):
            added = [one for one in mine.choices if one not in row.get("choices", [])]
            removed = [one for one in row.get("choices", []) if one not in mine.choices]
            if added or removed:
                changes = " ".join([f"+{one}" for one in added] + [f"-{one}" for one in removed])
                told.append(f"flag {row['name']}: choices {changes}")
                change = {"since": version, "added": added, "removed": removed}
                row.setdefault("choices_history", []).append({key: one for key, one in change.items() if one})
            row["choices"] = list(mine.choices)
        if mine.deprecated and "deprecated_in" not in row:
            row["deprecated_in"] = version
            told.append(f"flag {row['name']} is deprecated")
    for name, flag in left.items():
        if name in read_last:
            continue  # left out of the catalogue on purpose: the release before had it too
        others = [{"name": other, "first": version, "last": None} for other in flag.names if other != name]
        row = {"name": name, "first": version, "last": None, "type": flag.kind, "choices": list(flag.choices)}
        row |= {"defaults": [_told(flag.default, version)], "not_in": before, "aliases": others}
        row |= {"negatable_since": version} if flag.negatable else {}
        row |= {"deprecated_in": version} if flag.deprecated else {}
        rows.append(row)
        told.append(f"flag {name} is new")


def _spellings(row: Row, names: tuple[str, ...], version: str, before: str, told: list[str]) -> None:
    aliases: list[Row] = row.setdefault("aliases", [])
    if row["name"] not in names:
        old = {"name": row["name"], "first": row.get("name_since", row["first"]), "last": before}
        now = next(one for one in aliases if one["name"] in names)
        told.append(f"flag {row['name']} is now {now['name']}")
        aliases.remove(now)
        aliases.append(old)
        row["name"], row["name_since"] = now["name"], now["first"]
    for one in aliases:
        if one["name"] not in names and "last" not in one:
            one["last"] = before
            told.append(f"spelling {one['name']} is gone")
    known = {row["name"], *(one["name"] for one in aliases)}
    aliases += [{"name": name, "first": version, "last": None} for name in names if name not in known]


def _default(row: Row, value: Any, version: str, told: list[str]) -> None:
    """Append a default that changed. One that only running the engine would tell says nothing new."""
    history: list[Row] = row.setdefault("defaults", [])
    if isinstance(value, Unknown):
        return
    last = history[-1].get("value") if history else None
    if history and "rule" in history[-1]:
        return
    if str(last) != str(value) and not (last in _EMPTY and value in _EMPTY):
        told.append(f"{row['name']}: default {last!r} is now {value!r}")
        history.append({"since": version, "value": value})


def _told(value: Any, version: str) -> Row:
    return {"since": version, "rule": value.text} if isinstance(value, Unknown) else {"since": version, "value": value}


def _variables(rows: list[Row], release: Release, last: Release | None, told: list[str], before: str) -> None:
    own, found = ENGINES[release.engine].variables, release.variables
    known = {row["name"]: row for row in rows}
    for name, row in known.items():
        if name in found:
            if row.pop("last", None) is not None:
                row.setdefault("absent_in", []).append(before)
            old = last.variables.get(name) if last else None
            if old is None or isinstance(old.default, Unknown) or old.default != found[name].default:
                _default(row, _shown(found[name].default, release.engine), release.version, told)
        elif "last" not in row and (last is None or name in last.variables):
            row["last"] = before
            told.append(f"variable {name} is gone")
    for name in sorted(set(found) - set(known) - set(last.variables if last else ())):
        # What a part that is no server reads (a store, an accelerator's library) has other beginnings.
        if name.startswith(own) or (found[name].declared and release.engine == "vllm"):
            row = {"name": name, "first": release.version, "last": None, "type": found[name].kind, "not_in": before}
            rows.append(row | {"defaults": [_told(_shown(found[name].default, release.engine), release.version)]})
            told.append(f"variable {name} is new")


def _shown(value: Any, engine: str) -> Any:
    """Return a variable's default as the engine's table keeps it: SGLang's as source text, vLLM's as a value."""
    return repr(value) if engine == "sglang" and not isinstance(value, Unknown) else value


def _metrics(tables: Tables, release: Release, last: Release | None, told: list[str], before: str) -> None:
    made = {name: one for name, one in release.metrics.items() if one.kind}
    words, read_last = _names(release), _names(last) if last else None
    known = set()
    for row in tables.rows["metrics"]:
        name = row["name"]
        exposed = name if row.get("type") != "counter" or name.endswith("_total") else name + "_total"
        known.add(exposed)
        from_library = (row.get("note") or "").startswith("From prometheus_fastapi_instrumentator")
        if from_library or name.startswith(("process_", "python_")):
            continue
        if exposed in words:
            # Two rows of one exposed name are two generations of it: the first stays what it was.
            if "replaced_by" not in row and row.pop("last", None) is not None:
                told.append(f"metric {name} is back")
        elif "last" not in row and (read_last is None or exposed in read_last):
            row["last"] = before
            told.append(f"metric {name} is gone")
    for name in sorted(set(made) - known - set(last.metrics if last else ())):
        one = made[name]
        row = {"name": name, "first": release.version, "last": None, "type": one.kind, "not_in": before}
        tables.rows["metrics"].append(row | ({"labels": {"all": list(one.labels)}} if one.labels else {}))
        told.append(f"metric {name} is new")


def _names(release: Release) -> set[str]:
    """Return every name that a release's source tells, as a page would show it."""
    return set(release.metrics) | release.metric_words | {name + "_total" for name in release.metric_words}
