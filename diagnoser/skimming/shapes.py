"""All shapes that are known as one expression, which takes a block of lines apart at once."""

from __future__ import annotations

import re
from typing import Any

from diagnoser.skimming.layouts import Layout
from diagnoser.values import dataclass


@dataclass(slots=True)
class Shape:
    """A layout in the expression: the groups of its time (-1 for none), of its numbers, and the one that tells it."""

    layout: Layout
    stamp: int
    numbers: tuple[int, ...]
    mark: int


class Shapes:
    """Layouts as a tree of their tokens: what several have in common at their start is looked at once."""

    def __init__(self) -> None:
        self._tree: dict[str, Any] = {}
        self._count = 0
        self._made: tuple[re.Pattern[str], list[Shape], int] | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, layout: Layout) -> bool:
        """Add a layout; tell whether it is new."""
        node = self._tree
        for token in layout.tokens:
            node = node.setdefault(token, {})
        if "" in node:
            return False
        node[""] = layout
        self._count += 1
        self._made = None
        return True

    def compiled(self) -> tuple[re.Pattern[str], list[Shape], int]:
        """Return the expression, what its groups mean, and the group that holds a line of no known shape.

        It finds each line with its line break, and nothing else.
        """
        if self._made is None:
            shapes: list[Shape] = []
            source, last = _written(self._tree, (), 0, shapes)
            self._made = re.compile(f"{source}|([^\n]*+\n)"), shapes, last
        return self._made


def _written(node: dict[str, Any], groups: tuple[int, ...], last: int, shapes: list[Shape]) -> tuple[str, int]:
    """Write what follows a node, behind these groups, the last of all so far being this one (counted from 1)."""
    before = []
    # What has no branches is written in a loop: lines are longer than calls may be deep.
    while len(node) == 1 and "" not in node:
        token, node = next(iter(node.items()))
        before.append(token)
        if token[0] == "(":
            groups, last = (*groups, last), last + 1
    ways = []
    for token, more in node.items():
        if token == "":
            stamp, numbers = (groups[0], groups[1:]) if more.timed else (-1, groups)
            shapes.append(Shape(more, stamp, numbers, last))
            ways.append("(\n)")
            last += 1
            continue
        inner, deep = groups, last
        if token[0] == "(":
            inner, deep = (*groups, last), last + 1
        rest, last = _written(more, inner, deep, shapes)
        ways.append(token + rest)
    return "".join(before) + (ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"), last
