"""Environment variables that a module declares or reads, with the default where the source tells it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.releases.python import Unknown, Values, dotted

_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_READERS = re.compile(r"(?:environ\.get|getenv|environ\.setdefault|get_\w*env\w*|\w*env_\w+|is_set|use_\w+|\w*_env)$")


class Variable(NamedTuple):
    """One variable. ``declared``: it stands in the engine's own table of variables."""

    name: str
    kind: str
    default: Any
    declared: bool
    file: str


def variables(tree: ast.Module, file: str, values: Values, prefixes: tuple[str, ...]) -> Iterator[Variable]:
    """Yield declarations (vLLM's table, SGLang's ``Env…`` fields) and direct reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(node.value, ast.Dict) and dotted(target) == "environment_variables":
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield Variable(key.value, "", _default_in(value, key.value, values), True, file)
            elif isinstance(node.value, ast.Call) and isinstance(target, ast.Name) and _NAME.fullmatch(target.id):
                kind = dotted(node.value.func).rpartition(".")[2]
                if kind.startswith("Env"):
                    first = node.value.args[0] if node.value.args else None
                    yield Variable(target.id, kind.removeprefix("Env").lower(), values.value(first), True, file)
                elif target.id.startswith(prefixes) and _names_itself(node.value, target.id):
                    default = node.value.args[1] if len(node.value.args) > 1 else None
                    yield Variable(target.id, "", values.value(default), True, file)
        elif isinstance(node, ast.Call) and node.args and _READERS.search(dotted(node.func)):
            name = values.value(node.args[0])
            if isinstance(name, str) and _NAME.fullmatch(name) and name.startswith(prefixes):
                second = values.value(node.args[1]) if len(node.args) > 1 else Unknown("")
                yield Variable(name, "", second, False, file)
        elif isinstance(node, ast.Subscript) and dotted(node.value).endswith("environ"):
            name = values.value(node.slice)
            if isinstance(name, str) and name.startswith(prefixes) and isinstance(node.ctx, ast.Load):
                yield Variable(name, "", Unknown(""), False, file)
        elif isinstance(node, ast.Compare) and dotted(node.comparators[0]).endswith("environ"):
            name = values.value(node.left)
            if isinstance(name, str) and name.startswith(prefixes):
                yield Variable(name, "", Unknown(""), False, file)


def _names_itself(node: ast.Call, name: str) -> bool:
    """Tell whether a call's first argument is the name it is assigned to: ``X = Gated("X", True)``."""
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == name


def _default_in(node: ast.expr, name: str, values: Values) -> Any:
    """Return what a variable is when unset: the second argument of the read, through what its lambda makes of it."""
    if isinstance(node, ast.Call):
        first = values.value(node.args[0]) if node.args else None
        return values.value(node.args[1]) if first == name and len(node.args) > 1 else Unknown(ast.unparse(node)[:200])
    body = node.body if isinstance(node, ast.Lambda) else node
    try:
        return _through(body, name, values)
    except (TypeError, ValueError, AttributeError):
        return Unknown(ast.unparse(body)[:200])


def _through(node: ast.expr, name: str, values: Values) -> Any:
    """Work an expression around one read out, with the read's default in its place; raises ValueError where unknown."""
    if isinstance(node, ast.Call):
        called = dotted(node.func).rpartition(".")[2]
        if node.args and values.value(node.args[0]) == name:
            told = values.value(node.args[1]) if len(node.args) > 1 else None
            if isinstance(told, Unknown):
                raise ValueError(told.text)
            return told
        if called in ("bool", "int", "float", "str") and len(node.args) == 1:
            inner = _through(node.args[0], name, values)
            return {"bool": bool, "int": int, "float": float, "str": str}[called](inner)
        if isinstance(node.func, ast.Attribute) and called in ("lower", "upper", "strip") and not node.args:
            return getattr(str, called)(_through(node.func.value, name, values))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _through(node.left, name, values), values.value(node.comparators[0])
        if isinstance(right, Unknown):
            raise ValueError(right.text)
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            return (left in right) is isinstance(node.ops[0], ast.In)
        if isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return (left == right) is isinstance(node.ops[0], ast.Eq)
    known = values.value(node)
    if isinstance(known, Unknown):
        raise ValueError(known.text)
    return known
