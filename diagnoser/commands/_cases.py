"""Labelled cases: folders with an expected.yaml, and files of cases that are written like the examples of rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diagnoser.commands._errors import CommandError
from diagnoser.knowledge.yamlfile import YamlError
from diagnoser.knowledge.yamlfile import load as load_yaml
from diagnoser.rules.compiling.examples import ExampleError, expand
from diagnoser.rules.compiling.schema_examples import LogPart
from diagnoser.values import dataclass, field

#: The file of a folder of cases that holds the pieces of logs which many of them share.
PARTS = "parts.yaml"
_KEYS = {"about", "engine", "causes", "also", "log", "slo", "missed"}


@dataclass(slots=True)
class Case:
    """One case. ``causes`` is the label, the root first, empty for a healthy server; ``also`` may be said besides.

    ``lines`` is its log, or ``paths`` are its inputs. ``must_not`` bounds what counts as wrong where a label is not
    complete (None: everything else is). ``missed`` says why a cause is known to be missed.
    """

    name: str
    about: str
    engine: str = ""
    causes: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    must_not: list[str] | None = None
    lines: tuple[str, ...] = ()
    paths: list[Path] = field(default_factory=list)
    slo: dict[str, float] | None = None
    missed: str = ""


def cases(names: Sequence[str]) -> list[Case]:
    """Return the cases under the named files and folders, in order. Raises CommandError that names file and case."""
    found: list[Case] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            found += [_folder(one) for one in sorted(path.glob("**/expected.yaml"))]
            for file in sorted(path.glob("*.yaml")):
                if file.name not in (PARTS, "expected.yaml"):
                    found += _file(file)
        elif path.is_file():
            found += [_folder(path)] if path.name == "expected.yaml" else _file(path)
        else:
            raise CommandError(f"rules score: no file or folder {name}")
    if not found:
        raise CommandError(f"rules score: no labelled case in {', '.join(names)}")
    return found


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        content = load_yaml(path).data
    except YamlError as error:
        raise CommandError(f"rules score: {error}") from None
    if not isinstance(content, dict):
        raise CommandError(f"rules score: {path}: names with their cases are expected")
    return content


def _folder(expected: Path) -> Case:
    data = _yaml(expected)
    folder = expected.parent
    paths = sorted((one for one in folder.iterdir() if one != expected), key=lambda p: (p.name != "server.log", p.name))
    causes = list(data.get("causes", []))
    return Case(
        folder.name,
        "",
        str(data.get("engine", "")),
        causes[:1],
        causes[1:],
        list(data.get("must_not", [])),
        paths=paths,
        slo=data.get("slo"),
    )


def _file(path: Path) -> Iterator[Case]:
    shared = path.parent / PARTS
    parts = _yaml(shared) if shared.is_file() else {}
    for name, data in _yaml(path).items():
        where = f"rules score: {path}: {name}"
        if not isinstance(data, dict) or set(data) - _KEYS:
            raise CommandError(f"{where}: keys are {', '.join(sorted(_KEYS))}")
        try:
            log = [LogPart.model_validate(one) for one in _spread(data.get("log", []), parts, where)]
            lines = expand(log)
        except (ValidationError, ExampleError) as error:
            raise CommandError(f"{where}: {str(error).splitlines()[0]}") from None
        causes, also = list(data.get("causes", [])), list(data.get("also", []))
        about, engine, missed = (str(data.get(key, "")) for key in ("about", "engine", "missed"))
        yield Case(name, about, engine, causes, also, lines=lines, slo=data.get("slo"), missed=missed)


def _spread(log: Sequence[Any], parts: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a log with what every ``use: PART`` names in its place, ``<name>`` filled from ``with``."""
    for one in log:
        if isinstance(one, dict) and "use" in one:
            if one["use"] not in parts:
                raise CommandError(f"{where}: no part '{one['use']}' in {PARTS}")
            part = parts[one["use"]]
            words = {**part.get("with", {}), **one.get("with", {})}
            own = {key: one[key] for key in ("repeat", "every", "wait") if key in one}
            for line in part["log"]:
                entry = dict(line) if isinstance(line, dict) else {"line": line}
                if "line" in entry:
                    entry["line"] = _filled(entry["line"], words)
                entry |= own
                if values := {**entry.get("values", {}), **one.get("values", {})}:
                    entry["values"] = values
                yield entry
        else:
            yield one if isinstance(one, dict) else {"line": one}


def _filled(text: str, words: Mapping[str, Any]) -> str:
    for name, word in words.items():
        text = text.replace(f"<{name}>", str(word))
    return text
