"""What the names in a profile stand for, read from ``kernels.yaml``: kernels, API calls, system calls, engine steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.yamlfile import Document, load

#: The sections of the file.
SECTIONS = ("kernels", "calls", "system", "steps")
#: Most pieces of one class, and the length of one.
PIECES = 64
SHORTEST, LONGEST = 3, 64
#: Characters of a name that are looked at: what a kernel is stands at its start, template arguments may fill pages.
NAME = 2000

_KEYS = ("title", "source", "pieces", "within")


class Names:
    """One section: which class a name belongs to, and which class that is counted in."""

    def __init__(self, classes: Mapping[str, Sequence[str]], within: Mapping[str, str]) -> None:
        self.classes = tuple(classes)
        self._starts = [(name, tuple(one[1:] for one in pieces if one[0] == "^")) for name, pieces in classes.items()]
        self._inside = [[one for one in pieces if one[0] != "^"] for pieces in classes.values()]
        self._within = within

    def of(self, name: str) -> tuple[str, ...]:
        """Return the class of a name, and the class that it is counted in as well; () for one that is none of them."""
        text = name[:NAME].lower().removeprefix("void ").lstrip()
        for (found, starts), inside in zip(self._starts, self._inside, strict=True):
            if text.startswith(starts) or any(piece in text for piece in inside):
                return (found, self._within[found]) if found in self._within else (found,)
        return ()


class KernelNames:
    """All sections of the file."""

    def __init__(self, sections: Mapping[str, Names]) -> None:
        self.kernels, self.calls, self.system, self.steps = (sections[one] for one in SECTIONS)

    @classmethod
    def load(cls, rules: Path) -> KernelNames:
        """Read ``kernels.yaml`` in the folder ``rules``. Raises YamlError with the place of the first fault."""
        document = load(rules / "kernels.yaml")
        data = document.data
        if not isinstance(data, dict) or set(data) != set(SECTIONS):
            raise document.error((), f"expected the keys {', '.join(SECTIONS)}")
        return cls({section: _names(document, section, data[section]) for section in SECTIONS})


@cache
def kernel_names() -> KernelNames:
    """Return the names of the rule base that belongs to this installation."""
    return KernelNames.load(rules_dir())


def _names(document: Document, section: str, data: Any) -> Names:
    if not isinstance(data, dict) or not data:
        raise document.error((section,), f"{section} must map classes to their names")
    within: dict[str, str] = {}
    for name, row in data.items():
        path = (section, name)
        if not isinstance(row, dict):
            raise document.error(path, f"{name} must be a mapping")
        for key in row:
            if key not in _KEYS:
                raise document.unknown((*path, key), key, _KEYS, "key")
        if not isinstance(row.get("title"), str):
            raise document.error(path, f"{name}: title is missing")
        for key in ("source", "pieces"):
            if not isinstance(row.get(key), list) or not row[key] or not all(isinstance(one, str) for one in row[key]):
                raise document.error(path, f"{name}: {key} must be a list of texts")
        if len(row["pieces"]) > PIECES:
            raise document.error((*path, "pieces"), f"{name}: at most {PIECES} pieces")
        for at, piece in enumerate(row["pieces"]):
            if not SHORTEST <= len(piece.removeprefix("^")) <= LONGEST or piece != piece.lower():
                text = f"'{piece}' must be lower case, {SHORTEST} to {LONGEST} characters"
                raise document.error((*path, "pieces", at), text)
        if "within" in row:
            if row["within"] not in data or row["within"] == name:
                raise document.unknown((*path, "within"), str(row["within"]), tuple(data), "class")
            within[name] = row["within"]
    return Names({name: row["pieces"] for name, row in data.items()}, within)
