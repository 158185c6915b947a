"""Makes the catalogue: turns a folder of facts read from engine releases into reviewable text files.

``FACTS_DIR/<engine>/`` holds ``flags.json``, ``env_vars.json``, ``metrics.json``, ``log_messages.yaml`` and possibly
``router_flags.json``; the shapes differ by engine and are made one here. Output: one folder per engine with one JSON
object a line, sorted by name, so that a change of one flag is a change of one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from diagnoser.knowledge import catalog_shapes as shapes
from diagnoser.knowledge.catalog_shapes import CatalogError

__all__ = ["CatalogError", "build", "check", "render"]

#: Files of the catalogue that people write; everything else in it is made.
HAND_KEPT = frozenset({"replaced-at-start.jsonl", "seen-live.jsonl"})
ENGINES = ("vllm", "sglang")


def build(facts_dir: Path, out_dir: Path) -> list[Path]:
    """Write the catalogue of ``facts_dir`` to ``out_dir`` (``rules/catalog``); return the files written.

    The same facts give the same bytes. Raises CatalogError (file, record, what is wrong) before anything is written.
    """
    written = []
    for name, text in render(facts_dir).items():
        path = out_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def check(facts_dir: Path, out_dir: Path) -> list[str]:
    """Compare the copy with what `build` would write; return one sentence per difference, none when it is current."""
    wanted = render(facts_dir)
    found = {path.relative_to(out_dir).as_posix(): path for path in out_dir.rglob("*.json*")}
    problems = [f"{name} is missing" for name in wanted if name not in found]
    for name, path in sorted(found.items()):
        if name in wanted:
            have, want = path.read_text(encoding="utf-8").splitlines(), wanted[name].splitlines()
            if have != want:
                changed = len(set(have) ^ set(want))
                problems.append(f"{name} is not current: {changed} lines differ" if changed else f"{name}: order")
        elif name not in HAND_KEPT:
            problems.append(f"{name} is no longer made")
    return problems


def render(facts_dir: Path) -> dict[str, str]:
    """Return file name to content of the whole catalogue."""
    files: dict[str, str] = {}
    for engine in ENGINES:
        folder = facts_dir / engine
        flags, env, metrics = (_read(folder / name) for name in ("flags.json", "env_vars.json", "metrics.json"))
        messages = _read(folder / "log_messages.yaml")
        versions = flags["versions_read"]
        by_engine = _messages(folder, engine, messages["messages"])
        files[f"{engine}/versions.json"] = _versions(versions)
        files[f"{engine}/flags.jsonl"] = _lines(folder / "flags.json", flags["flags"], versions, shapes.flag)
        files[f"{engine}/env.jsonl"] = _lines(folder / "env_vars.json", env["env_vars"], versions, shapes.env)
        files[f"{engine}/metrics.jsonl"] = _lines(folder / "metrics.json", metrics["metrics"], versions, shapes.metric)
        rest = {key: value for key, value in metrics.items() if key not in ("metrics", "router_metrics", "schema")}
        files[f"{engine}/metrics-notes.json"] = json.dumps(rest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        if "batch_line_fields" in messages:
            rows = sorted(messages["batch_line_fields"], key=lambda row: (row["field"], row["line"]))
            files[f"{engine}/stats-fields.jsonl"] = _dump(shapes.stats_field(row) for row in rows)
        router = f"{engine}-router"
        if (folder / "router_flags.json").is_file():
            flags = _read(folder / "router_flags.json")
            versions = flags["versions_read"]
            files[f"{router}/versions.json"] = _versions(versions)
            path = folder / "router_flags.json"
            files[f"{router}/flags.jsonl"] = _lines(path, flags["flags"], versions, shapes.flag)
            path = folder / "metrics.json"
            rows = metrics.get("router_metrics", [])
            files[f"{router}/metrics.jsonl"] = _lines(path, rows, versions, shapes.metric)
        files |= {f"{name}/messages.jsonl": text for name, text in by_engine.items()}
    return dict(sorted(files.items()))


def _messages(folder: Path, engine: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    """Split messages between an engine and its router, which one facts file holds together."""
    parts: dict[str, list[dict[str, Any]]] = {engine: []}
    for row in rows:
        made = _made(folder / "log_messages.yaml", row, [], shapes.message)
        owner = f"{engine}-router" if made.get("source") == f"{engine}-router" else engine
        parts.setdefault(owner, []).append(made)
    return {name: _dump(sorted(part, key=lambda row: str(row["id"]))) for name, part in parts.items()}


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return json.loads(text)
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise CatalogError(f"{path}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise CatalogError(f"{path}: {error}") from None


def _lines(
    path: Path,
    rows: list[dict[str, Any]],
    versions: list[str],
    make: Callable[[dict[str, Any], list[str]], dict[str, Any]],
) -> str:
    made = [_made(path, row, versions, make) for row in rows]
    return _dump(sorted(made, key=lambda row: str(row["name"])))


def _made(path: Path, row: dict[str, Any], versions: list[str], make: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    try:
        return make(row, versions)
    except (KeyError, TypeError, ValueError) as error:
        text = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise CatalogError(f"{path}: {row.get('name') or row.get('id')}: {text}") from None


def _versions(versions: list[str]) -> str:
    return json.dumps({"read": versions}, indent=0) + "\n"


def _dump(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
