"""The workbench of one file: turns its expressions and texts into checked nodes and collects what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diagnoser.knowledge.words import hint
from diagnoser.knowledge.yamlfile import Document
from diagnoser.rules import texts
from diagnoser.rules.compiling.check import check
from diagnoser.rules.compiling.expression import ExpressionError, parse
from diagnoser.rules.compiling.shape import written
from diagnoser.rules.errors import RuleError
from diagnoser.rules.model import Node, Place
from diagnoser.rules.names import Names
from diagnoser.values import dataclass

Steps = Sequence[str | int]


@dataclass(slots=True)
class Bench:
    """A document while it is compiled. ``errors`` is shared by all files of a rule base."""

    document: Document
    names: Names
    errors: list[RuleError]

    def place(self, path: Steps) -> Place:
        """Return where the part at ``path`` stands."""
        return Place(self.document.file, *self.document.place(written(self.document, path)))

    def fault(self, path: Steps, text: str, *, column: int = 0) -> None:
        """Note that something is wrong with the key at ``path``, or at a 1-based ``column`` of its value's text."""
        steps = written(self.document, path)
        line, at = self.document.place(steps, value=column > 0)
        if column:
            line, at = self._inside(steps, line, at, column)
        self.errors.append(RuleError(self.document.file, line, at, text))

    def unknown(self, path: Steps, what: str, word: str, words: Sequence[str]) -> None:
        """Note that ``word`` names no ``what``, with the nearest one that does."""
        self.fault(path, f"unknown {what} '{word}'{hint(word, words)}", column=1)

    def expression(self, path: Steps, text: str, want: str = "", names: Names | None = None) -> Node | None:
        """Parse and check the expression at ``path``; None when it is wrong."""
        return self._checked(path, text, want, 0, names or self.names)

    def placeholders(self, path: Steps, text: str) -> list[tuple[str, Node]]:
        """Check every ``{expression:format}`` of the text at ``path``."""
        found: list[tuple[str, Node]] = []
        try:
            parts = texts.placeholders(text)
        except texts.TextError as error:
            self.fault(path, error.text, column=error.column)
            return found
        for part in parts:
            node = self._checked(path, part.expression, "", part.column - 1, self.names)
            if node is not None:
                found.append((part.expression, node))
        return found

    def _checked(self, path: Steps, text: str, want: str, offset: int, names: Names) -> Node | None:
        try:
            return check(parse(text), names, want)
        except ExpressionError as error:
            message = error.message + (f"; did you mean {error.nearest}?" if error.nearest else "")
            self.fault(path, message, column=offset + error.column)
            return None

    def _inside(self, path: Steps, line: int, column: int, at: int) -> tuple[int, int]:
        """Return line and column of the ``at``-th character of a value; its beginning where YAML has folded it."""
        node = _value_node(self.document.root, path)
        if node is None or not hasattr(node, "style"):
            return line, column
        if node.style == "|":
            before = node.value[: at - 1]
            return line + 1 + before.count("\n"), self._indent(line) + at - before.rfind("\n") - 1
        if node.style == ">" or node.end_mark.line != node.start_mark.line:
            return line, column
        return line, column + at - 1 + (1 if node.style in ('"', "'") else 0)

    def _indent(self, line: int) -> int:
        """Return how far the text under a ``|`` on this line is indented, which YAML takes off."""
        try:
            below = Path(self.document.file).read_text(encoding="utf-8").split("\n")[line]
        except (OSError, IndexError):
            return 0
        return len(below) - len(below.lstrip(" "))


def _value_node(node: Any, path: Steps) -> Any:
    """Follow ``path`` through YAML nodes; a step into a text that stands for a mapping stays on it."""
    for step in path:
        children = getattr(node, "value", None)
        if not isinstance(children, list):
            return node
        if isinstance(step, int):
            node = children[step] if step < len(children) else None
        else:
            node = next((value for key, value in children if key.value == step), None)
    return node
