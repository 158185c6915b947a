"""Texts that a module can print: log calls, exceptions, assertions, prints, and texts put together for one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tools.releases.python import dotted, text_of

_LEVELS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal"}
#: A text that is no message: too short to be told from others.
_SHORTEST = 8


class Text(NamedTuple):
    """One printed text as a template; ``level`` is a logging level, an exception's class, "print" or "text"."""

    text: str
    level: str
    file: str


def texts(tree: ast.Module, file: str) -> Iterator[Text]:
    """Yield every text of a module once, with the most telling level it is used at."""
    skip = _docstrings(tree)
    levels: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            level = _level(node)
            if level:
                for given in [*node.args, *(word.value for word in node.keywords)]:
                    levels.setdefault(id(given), level)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for given in node.exc.args:
                levels[id(given)] = dotted(node.exc.func).rpartition(".")[2]
        elif isinstance(node, ast.Assert) and node.msg is not None:
            levels[id(node.msg)] = "AssertionError"
    seen: set[str] = set()
    found = {}
    for node in ast.walk(tree):
        if id(node) in skip or not isinstance(node, ast.expr):
            continue
        text = text_of(node)
        if text is not None:
            # What an outer expression holds is no text of its own.
            skip.update(id(inner) for inner in ast.walk(node) if inner is not node and id(inner) not in levels)
            if len(text) >= _SHORTEST and (" " in text.strip() or id(node) in levels):
                level = levels.get(id(node), "text")
                if text not in seen or level != "text":
                    seen.add(text)
                    found[text] = Text(text, level, file)
    yield from found.values()


def _level(node: ast.Call) -> str:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else dotted(called)
    plain = name.removesuffix("_once").removeprefix("log_")
    if plain in _LEVELS and isinstance(called, ast.Attribute | ast.Name):
        return {"warn": "warning", "exception": "error", "fatal": "critical"}.get(plain, plain)
    return "print" if name in ("print", "print_warning_once", "rank0_log", "log_info_on_rank0", "rank0_print") else ""


def _docstrings(tree: ast.Module) -> set[int]:
    """Return the ids of texts that stand as statements: documentation."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
