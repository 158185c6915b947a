"""Where rules come from: the shipped folder, folders given by the user, packages that offer rules by entry point."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from diagnoser.knowledge.words import hint
from diagnoser.rules.errors import RuleError
from diagnoser.rules.model import STAGES

#: Entry points of this group name a package whose folder holds ``<stage>/*.yaml`` and ``events/*.yaml``.
GROUP = "diagnoser.rules"

#: Files of one folder: compiling as many takes minutes; more are no rules, or another folder than was meant.
MOST_RULES = 2000

#: Folders beside the stages: shared messages, and what is no rule: the catalogue of engine versions, languages.
_EVENTS, _OTHERS = "events", ("catalog", "lang")


class Pack(NamedTuple):
    """Rules of an installed package. ``problem`` says why it cannot be read; then ``folder`` is None."""

    name: str
    folder: Path | None
    problem: str = ""


class RuleSource(NamedTuple):
    """One YAML file: the id of its rule, "" for a file of shared events."""

    path: Path
    id: str = ""
    stage: str = ""


def installed_packs() -> list[Pack]:
    """Return the rule packs of this Python installation, by name. Only parents of a dotted package are run."""
    if not _any_declared():
        return []
    # Reading the installation's metadata is slow: a run without packs does without.
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    packs = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            spec = find_spec(entry.value)
        except (ImportError, ValueError) as error:
            packs.append(Pack(entry.name, None, f"package {entry.value} cannot be found: {error}"))
            continue
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if folders:
            packs.append(Pack(entry.name, Path(folders[0])))
        else:
            packs.append(Pack(entry.name, None, f"{entry.value} is no package folder"))
    return packs


def _any_declared() -> bool:
    """Whether an installed distribution may declare a pack: its entry points name the group, or cannot be looked at."""
    for place in map(Path, sys.path):
        try:
            found = [one.path for one in os.scandir(place) if one.name.endswith((".dist-info", ".egg-info", ".egg"))]
        except FileNotFoundError:
            continue
        except OSError:
            return True  # a zip file
        for path in found:
            try:
                content = Path(path, "entry_points.txt").read_bytes()
            except FileNotFoundError:
                if path.endswith(".egg"):
                    return True
                continue
            except OSError:
                continue  # an .egg-info that is a file has no entry points
            if GROUP.encode() in content:
                return True
    return False


def rule_files(folders: Sequence[Path]) -> list[str]:
    """Return every YAML file that `sources` would read, in order; missing folders hold none."""
    found = []
    for folder in folders:
        try:
            stages = sorted(one.path for one in os.scandir(folder) if one.name not in _OTHERS and one.is_dir())
        except OSError:
            continue
        for stage in stages:
            found += sorted(one.path for one in os.scandir(stage) if one.name.endswith(".yaml"))
    return found


def sources(folder: Path, pack: str = "") -> tuple[list[RuleSource], list[RuleError]]:
    """List a folder of rules. Ids of a pack's rules begin with the pack's name. Files in wrong places are errors."""
    found: list[RuleSource] = []
    errors: list[RuleError] = []
    if not folder.is_dir():
        return [], [RuleError(str(folder), 1, 1, "no such folder of rules")]
    for path in sorted(folder.glob("*/*")):
        place = path.parent.name
        if path.name.startswith((".", "_")) or place.startswith((".", "_")) or place in _OTHERS or path.is_dir():
            continue
        if path.suffix == ".yml":
            errors.append(RuleError(str(path), 1, 1, "rule files end in .yaml"))
        elif path.suffix != ".yaml":
            continue
        elif not path.is_file():  # reading a pipe may never end
            errors.append(RuleError(str(path), 1, 1, "is no file"))
        elif place == _EVENTS:
            found.append(RuleSource(path))
        elif place in STAGES:
            found.append(RuleSource(path, ".".join(filter(None, (pack, place, path.stem))), place))
        else:
            known = (*STAGES, _EVENTS)
            text = f"folder '{place}' is no stage{hint(place, known) or '; known: ' + ', '.join(known)}"
            errors.append(RuleError(str(path), 1, 1, text))
    if len(found) > MOST_RULES:
        return [], [RuleError(str(folder), 1, 1, f"more than {MOST_RULES} files of rules")]
    errors += _stray(folder)
    return found, errors


def _stray(folder: Path) -> Iterator[RuleError]:
    """Rules outside a stage's folder would be passed over in silence."""
    if (folder / "series.yaml").exists():
        return  # the shipped folder: its own files of knowledge lie here
    for path in sorted(folder.glob("*.y*ml")):
        yield RuleError(str(path), 1, 1, f"a rule lies in the folder of its stage: {folder.name}/<stage>/{path.name}")
