"""YAML as rule files use it: strict, bounded, without YAML 1.1's surprises, and every value knows its place.

Plain scalars are ``null``/``~``/nothing, ``true``/``false``, decimal integers, decimal floats; everything else is text:
``no``, ``on``, ``12:30:00``, ``1_000``, ``0x10``, ``007`` and dates stay what was written. Keys are always text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from diagnoser.knowledge.words import hint
from diagnoser.values import dataclass

CParser: Any
try:
    from yaml._yaml import CParser
except ImportError:
    CParser = None

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))

#: Steps from the top of a document: keys of mappings, indexes of lists.
Steps = tuple[str | int, ...]


class YamlError(Exception):
    """A YAML file that cannot be used: ``file``, 1-based ``line`` and ``column``, and what is wrong."""

    def __init__(self, file: str, line: int, column: int, text: str) -> None:
        super().__init__(f"{file}:{line}:{column}: {text}")
        self.file, self.line, self.column, self.text = file, line, column, text


@dataclass(slots=True, frozen=True)
class Document:
    """One YAML file: ``data`` (dict, list, str, int, float, bool, None) and where each part of it stands."""

    file: str
    data: Any
    root: Node | None

    def place(self, path: Steps = (), *, value: bool = False) -> tuple[int, int]:
        """Return 1-based (line, column) of a mapping key or a list item; with ``value`` that of the key's value.

        ``path`` is what leads to it: ``("events", "kv.retracted", "sglang", 0)``. A path that leads nowhere gives the
        place of the last step that exists.
        """
        node, found = self.root, self.root
        for step in path:
            key, child = _step(node, step)
            if child is None:
                break
            node, found = child, child if value or key is None else key
        if found is None:
            return 1, 1
        return found.start_mark.line + 1, found.start_mark.column + 1

    def error(self, path: Steps, text: str, *, value: bool = False) -> YamlError:
        """Make (not raise) the error that says ``text`` about the part at ``path``."""
        return YamlError(self.file, *self.place(path, value=value), text)

    def unknown(self, path: Steps, word: str, words: Iterable[str], what: str) -> YamlError:
        """Make the error for a ``word`` that is none of ``words``, with the nearest one."""
        known = list(words)
        listing = f" (known: {', '.join(sorted(known))})" if len(known) <= 12 else ""
        return self.error(path, f"unknown {what} {word!r}{hint(word, known)}{listing}")


def load(path: Path, name: str | None = None) -> Document:
    """Read one YAML file of at most 1 MiB; ``name`` is how errors call it (default: the path as given).

    Raises YamlError for anything wrong with it: unreadable, not UTF-8, not YAML, several documents, duplicate keys,
    aliases, tags, nested too deep.
    """
    name = name or str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise YamlError(name, 1, 1, f"cannot be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        raise YamlError(name, 1, 1, f"larger than {MAX_BYTES >> 10} KiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise YamlError(name, line, error.start - raw.rfind(b"\n", 0, error.start), "is not UTF-8") from None
    return parse(text, name)


def parse(text: str, name: str = "<text>") -> Document:
    """Read YAML from a string; see `load`."""
    try:
        root = _loader(text).get_single_node()
        return Document(name, None if root is None else _build(root, name, set(), 0), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlError(name, line, column, ": ".join(filter(None, (error.context, error.problem)))) from None
    except ReaderError as error:
        line, column = text.count("\n", 0, error.position) + 1, error.position - text.rfind("\n", 0, error.position)
        raise YamlError(name, line, column, f"unprintable character: {error.reason}") from None
    except RecursionError:
        # Only the pure Python parser gets here; libyaml has its own limit of nesting.
        raise YamlError(name, 1, 1, "nested too deep") from None


def documents(text: str, name: str = "<text>") -> Iterator[Document]:
    """Read a stream of YAML documents (``---`` between them) one by one, as strictly as `load`.

    Raises YamlError at the first document that cannot be read; those before it were given. JSON is YAML, too.
    """
    try:
        loader = _loader(text)
        while loader.check_node():
            root = loader.get_node()
            yield Document(name, None if root is None else _build(root, name, set(), 0), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlError(name, line, column, ": ".join(filter(None, (error.context, error.problem)))) from None
    except ReaderError as error:
        raise YamlError(name, text.count("\n", 0, error.position) + 1, 1, f"unprintable: {error.reason}") from None
    except RecursionError:
        raise YamlError(name, 1, 1, "nested too deep") from None


class _PythonLoader(Reader, Scanner, Parser, Composer, BaseResolver):
    """PyYAML's own parser, about ten times slower than libyaml. Resolves no plain scalar: `_scalar` does."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)


if CParser is None:  # PyYAML was built without libyaml
    _loader: type[Any] = _PythonLoader
else:

    class _CLoader(CParser, BaseResolver):  # type: ignore[misc]
        """libyaml's parser, likewise without a resolver of scalars."""

        def __init__(self, stream: str) -> None:
            CParser.__init__(self, stream)
            BaseResolver.__init__(self)

    _loader = _CLoader


def _build(node: Node, name: str, seen: set[int], depth: int) -> Any:
    """Turn a node into plain data. ``seen`` holds the nodes met so far: a node met twice was reached by an alias."""
    mark = node.start_mark
    if id(node) in seen:
        raise YamlError(name, mark.line + 1, mark.column + 1, "is used again by an alias (*name): write it out")
    seen.add(id(node))
    if depth > MAX_DEPTH:
        raise YamlError(name, mark.line + 1, mark.column + 1, f"nested deeper than {MAX_DEPTH}")
    if node.tag not in _PLAIN_TAGS:
        raise YamlError(name, mark.line + 1, mark.column + 1, f"tags ({node.tag}) are not read")
    if isinstance(node, ScalarNode):
        # libyaml gives plain scalars the style "", PyYAML None.
        return node.value if node.style else _scalar(node.value)
    if isinstance(node, SequenceNode):
        return [_build(item, name, seen, depth + 1) for item in node.value]
    mapping: dict[str, Any] = {}
    for key, child in node.value:
        if not isinstance(key, ScalarNode):
            place = key.start_mark
            raise YamlError(name, place.line + 1, place.column + 1, "a key must be one word or text")
        if key.value in mapping:
            place = key.start_mark
            raise YamlError(name, place.line + 1, place.column + 1, f"duplicate key {key.value!r}")
        mapping[key.value] = _build(child, name, seen, depth + 1)
    return mapping


def _scalar(text: str) -> Any:
    """Give a plain scalar its type (see the top of this module)."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "0123456789+-.":
        if _INT.fullmatch(text):
            return int(text) if len(text) < 40 else text
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def _step(node: Node | None, step: str | int) -> tuple[Node | None, Node | None]:
    """Return (key node, child node) of one step down a path; (None, None) when it does not exist."""
    if isinstance(node, MappingNode):
        for key, child in node.value:
            if key.value == step:
                return key, child
    elif isinstance(node, SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return None, node.value[step]
    return None, None
