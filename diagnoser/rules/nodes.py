"""Expression nodes as data: to JSON and back, walking, and small builders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnoser.rules.model import Node


def to_json(node: Node) -> dict[str, Any]:
    """Return plain lists, dicts and scalars; ``from_json`` gives an equal node back."""
    return {"op": node.op, "args": [_out(arg) for arg in node.args], "text": node.text, "kind": node.kind}


def from_json(data: dict[str, Any]) -> Node:
    """Rebuild a node from what ``to_json`` made. Raises KeyError on anything else."""
    return Node(data["op"], tuple(_in(arg) for arg in data["args"]), data["text"], data["kind"])


def _out(arg: Any) -> Any:
    if isinstance(arg, Node):
        return to_json(arg)
    return [_out(item) for item in arg] if isinstance(arg, tuple) else arg


def _in(arg: Any) -> Any:
    if isinstance(arg, dict):
        return from_json(arg)
    return tuple(_in(item) for item in arg) if isinstance(arg, list) else arg


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, parents first."""
    yield node
    for arg in node.args:
        if isinstance(arg, Node):
            yield from walk(arg)


def has_series(node: Node) -> bool:
    """Say whether a row expression depends on the row."""
    return node.op == "series" or any(has_series(arg) for arg in node.args if isinstance(arg, Node))


def number(value: float, text: str = "") -> Node:
    """Return a literal."""
    return Node("number", (value, ""), text or f"{value:g}", "number")
