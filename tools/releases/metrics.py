"""Prometheus metrics that a module makes: name as constructed, type, labels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tools.releases.python import Names, Unknown, Values, dotted, text_of

_KINDS = {"counter": "counter", "gauge": "gauge", "histogram": "histogram", "summary": "summary", "info": "info"}
_NAME = re.compile(r"[a-zA-Z_:][\w:]*")


class Metric(NamedTuple):
    """One metric. ``exposed`` is the name on the page: counters get ``_total``, infos ``_info``."""

    name: str
    kind: str
    labels: tuple[str, ...]
    file: str

    @property
    def exposed(self) -> str:
        """Return the name as prometheus_client writes it."""
        if self.kind == "counter":
            return self.name if self.name.endswith("_total") else self.name + "_total"
        return self.name


def metrics(tree: ast.Module, file: str, values: Values, prefixes: tuple[str, ...]) -> Iterator[Metric]:
    """Yield every metric whose constructor stands in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = _kind(node)
            keys = {word.arg: word.value for word in node.keywords if word.arg}
            given = keys.get("name") or (node.args[0] if node.args else None)
            for name in _texts(given, values):
                if _NAME.fullmatch(name) and name.startswith(prefixes):
                    labels = values.value(keys.get("labelnames") or (node.args[2] if len(node.args) > 2 else None))
                    told = tuple(map(str, labels)) if isinstance(labels, list) else ()
                    yield Metric(name, kind, told, file)


def _texts(node: ast.expr | None, values: Values) -> list[str]:
    """Return the names that an expression can be: its text, or a constant's."""
    if node is None:
        return []
    text = text_of(node)
    if text is None:
        known = values.value(node)
        text = known if isinstance(known, str) else None
    return [] if text is None else [text]


def _kind(node: ast.Call) -> str:
    name = dotted(node.func).rpartition(".")[2].lower()
    return next((kind for word, kind in _KINDS.items() if word in name), "")


def named(tree: ast.Module, prefixes: tuple[str, ...]) -> set[str]:
    """Return every text of a module that reads like a metric's name, wherever it stands."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(prefixes)
        and _NAME.fullmatch(node.value)
    }


__all__ = ["Metric", "Names", "Unknown", "metrics", "named"]
