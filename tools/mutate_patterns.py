"""Patterns of readers without one of their parts, one at a time: what the stored readings do not notice.

Everything happens in one process: a pattern is changed where it stands, the documents of `tests/data/readings.txt` that
use it are read again (`tools/readings.py`), and it is put back.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from diagnoser.envelopes._registry import by_first
from tools.pattern_parts import part, places, weakened
from tools.readings import Document, documents
from tools.survivors import explained

_ROOT = Path(__file__).parent.parent
_Remembering: Any = type(functools.lru_cache(set))
_ROOMS = ("formats", "envelopes", "traces")


class Pattern(NamedTuple):
    """A pattern of a module: a compiled one, one that is compiled late, or the text of an envelope's head."""

    module: str
    name: str
    value: Any
    expression: str
    flags: int

    @property
    def title(self) -> str:
        """Its name without the package's."""
        return f"{self.module.removeprefix('diagnoser.')}.{self.name}"


class Part(NamedTuple):
    """What one of them loses."""

    pattern: Pattern
    place: int

    @property
    def title(self) -> str:
        """The line that names it."""
        return f"pattern: {self.pattern.title}: {self.place}: {part(self.pattern.expression, self.place)}"


def listed() -> Iterator[Pattern]:
    """Yield every pattern that a reader's module makes, and the heads of envelopes."""
    for room in _ROOMS:
        for path in sorted((_ROOT / "diagnoser" / room).glob("*.py")):
            module = f"diagnoser.{room}.{path.stem}"
            written = path.read_text(encoding="utf-8")
            for name, value in sorted(vars(importlib.import_module(module)).items()):
                own = re.search(rf"(?m)^{name}(?:: [^=\n]+)? = (?:re\.compile|lazily)\(", written)
                if name == "HEAD" and isinstance(value, str) and room == "envelopes":
                    yield Pattern(module, name, value, value, 0)
                elif own and isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    yield Pattern(module, name, value, value.pattern, value.flags)
                elif own and type(value).__name__ == "lazily":
                    yield Pattern(module, name, value, *value.__dict__["_said"])


def parts(pattern: Pattern) -> list[Part]:
    """Return what a pattern can lose, one by one."""
    return [Part(pattern, place) for place in places(pattern.expression)]


class Change:
    """A pattern that lacks a part as long as this lasts; with ``used`` it is whole and tells its use."""

    def __init__(self, pattern: Pattern, place: int | None = None, used: set[str] | None = None) -> None:
        said = pattern.expression if place is None else weakened(pattern.expression, place)
        self.pattern, self.said, self.used = pattern, said, used
        self._held: list[tuple[ModuleType, str]] = []

    def __enter__(self) -> None:
        value = self.pattern.value
        made: Any = self.said if isinstance(value, str) else re.compile(self.said, self.pattern.flags)
        if self.used is not None:
            made = _Watched(made, self.used, self.pattern.title)
        if type(value).__name__ == "lazily":
            value.__dict__.clear()
            value.__dict__.update({name: getattr(made, name) for name in _METHODS})
        else:
            self._held = [*_holders(value, self.pattern.module)]
            self._set(made)
        _forget()

    def __exit__(self, *_: object) -> None:
        value = self.pattern.value
        if type(value).__name__ == "lazily":
            value.__dict__.clear()
            value.__dict__["_said"] = (self.pattern.expression, self.pattern.flags)
        else:
            self._set(value)
        _forget()

    def _set(self, value: Any) -> None:
        for module, name in self._held:
            setattr(module, name, value)
        if isinstance(self.pattern.value, str):
            by_first.cache_clear()


_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "finditer", "findall", "pattern", "groups")


class _Watched:
    """A compiled pattern that notes that it was asked."""

    def __init__(self, real: re.Pattern[str], used: set[str], title: str) -> None:
        self._real, self._used, self._title = real, used, title

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def noted(*args: Any, **named: Any) -> Any:
            self._used.add(self._title)
            return found(*args, **named)

        return noted


def _holders(value: Any, home: str) -> Iterator[tuple[ModuleType, str]]:
    """Yield every module, and the name in it, that a pattern was imported to."""
    for module in [one for one in sys.modules.values() if isinstance(one, ModuleType)]:
        if module.__name__.startswith("diagnoser.") and (not isinstance(value, str) or module.__name__ == home):
            for name, known in list(vars(module).items()):
                if known is value:
                    yield module, name


def _forget() -> None:
    """Empty what readers remember of lines that they have read."""
    for room in _ROOMS:
        for name, module in list(sys.modules.items()):
            if name.startswith(f"diagnoser.{room}."):
                for value in list(vars(module).values()):
                    if isinstance(value, _Remembering) and (value.cache_info().maxsize or 0) > 1:
                        value.cache_clear()


def uses(patterns: list[Pattern], stored: list[Document]) -> dict[str, list[Document]]:
    """Return, for every pattern, the documents that are read with it; for a head, all logs."""
    used: set[str] = set()
    found: dict[str, list[Document]] = {one.title: [] for one in patterns}
    watched = [Change(one, used=used) for one in patterns if not isinstance(one.value, str)]
    for change in watched:
        change.__enter__()
    try:
        for document in stored:
            used.clear()
            document.reading()
            for title in used:
                found[title].append(document)
    finally:
        for change in watched:
            change.__exit__()
    for one in patterns:
        # Equal expressions are one object, which the first of them watches.
        twin = next(other for other in patterns if other.value is one.value)
        found[one.title] = found[twin.title]
        if isinstance(one.value, str):
            found[one.title] = [document for document in stored if document.title in ("log", "lines")]
    return found


def noticed(one: Part, stored: list[Document]) -> bool:
    """Tell whether a document is read otherwise without a part of a pattern."""
    try:
        change = Change(one.pattern, one.place)
        with change:
            return any(_reading(document) != document.read for document in stored)
    except re.error:
        return True  # an expression that cannot be is none


def _reading(document: Document) -> list[str] | None:
    try:
        return document.reading()
    except Exception:
        return None


def patterns(only: list[str]) -> int:
    """Print the parts of patterns that no stored reading needs and nothing explains; return how many."""
    chosen = [one for one in listed() if not only or any(word in one.title for word in only)]
    readings, known = uses(chosen, documents()), explained()
    made = why = survived = 0
    for pattern in chosen:
        for one in parts(pattern):
            made += 1
            if noticed(one, readings[pattern.title]):
                continue
            why += one.title in known
            survived += one.title not in known
            if one.title not in known:
                print(one.title, flush=True)
    seen = made - why - survived
    print(f"patterns: {len(chosen)}, {made} parts, {seen} noticed, {why} explained, {survived} survived")
    return survived
