"""Python source as data: constants, types and texts of expressions, told from the syntax alone."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from typing import Any


class Unknown:
    """The value of an expression that only running it would tell; ``text`` is its source."""

    def __init__(self, text: str) -> None:
        self.text = text


#: Names that classes and modules gave to values, over all modules read: later modules do not replace earlier ones.
Names = dict[str, ast.expr]


class Classes:
    """Fields of every class: annotation, default and bases."""

    def __init__(self) -> None:
        self.fields: dict[str, dict[str, ast.AnnAssign | ast.Assign]] = {}
        self.bases: dict[str, list[str]] = {}

    def add(self, node: ast.ClassDef) -> None:
        """Take the fields of one class; of two of one name the one with more fields counts."""
        own: dict[str, ast.AnnAssign | ast.Assign] = {}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                own[item.target.id] = item
            elif isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
                own[item.targets[0].id] = item
        if len(own) >= len(self.fields.get(node.name, {})):
            self.fields[node.name] = own
            self.bases[node.name] = [dotted(base).rpartition(".")[2] for base in node.bases]

    def all_fields(self, name: str, seen: tuple[str, ...] = ()) -> dict[str, ast.AnnAssign | ast.Assign]:
        """Return a class's fields with those it inherits."""
        found: dict[str, ast.AnnAssign | ast.Assign] = {}
        for base in self.bases.get(name, []):
            if base not in seen:
                found |= self.all_fields(base, (*seen, name))
        return found | self.fields.get(name, {})


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` as written, "" for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


class Values:
    """Works out literals: constants, names of constants, fields of classes, and what they are made of."""

    def __init__(self, names: Names, classes: Classes) -> None:
        self.names = names
        self.classes = classes

    def value(self, node: ast.expr | None, depth: int = 0) -> Any:
        """Return the value of an expression, or Unknown."""
        if node is None or depth > 12:
            return Unknown("")
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = [self.value(item, depth + 1) for item in _spread(node.elts)]
            return Unknown(ast.unparse(node)) if any(isinstance(one, Unknown) for one in items) else items
        if isinstance(node, ast.Dict) and not node.keys:
            return {}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand, depth + 1)
            return -inner if isinstance(inner, int | float) else Unknown(ast.unparse(node))
        if isinstance(node, ast.BinOp):
            return self._sum(node, depth)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.value(self.names[node.id], depth + 1)
        if isinstance(node, ast.Attribute):
            owner = dotted(node.value).rpartition(".")[2]
            return self.field(owner, node.attr, depth + 1) if owner in self.classes.fields else self._plain(node)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        return self._plain(node)

    def _plain(self, node: ast.expr) -> Unknown:
        return Unknown(ast.unparse(node)[:200])

    def _sum(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        try:
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Mult) and isinstance(left, int | float) and isinstance(right, int | float):
                return left * right
            if isinstance(node.op, ast.LShift) and isinstance(left, int) and 0 <= right < 64:
                return left << right
        except TypeError:
            pass
        return self._plain(node)

    def field(self, owner: str, name: str, depth: int = 0) -> Any:
        """Return the default of a class's field."""
        item = self.classes.all_fields(owner).get(name)
        if item is None or item.value is None:
            return Unknown("")
        return self.value(item.value, depth + 1)

    def _call(self, node: ast.Call, depth: int) -> Any:
        called = dotted(node.func).rpartition(".")[2]
        keys = {word.arg: word.value for word in node.keywords}
        if called in ("field", "Field"):
            if "default" in keys or node.args:
                return self.value(keys.get("default", node.args[0] if node.args else None), depth + 1)
            factory = keys.get("default_factory")
            if isinstance(factory, ast.Lambda):
                return self.value(factory.body, depth + 1)
            empty: dict[str, Any] = {"list": [], "dict": {}, "set": [], "tuple": []}
            return empty.get(dotted(factory) if factory else "", Unknown(ast.unparse(node)))
        if called in ("get_field", "_declared_default") and node.args:
            owner = dotted(node.args[0]) if called == "get_field" else "ServerArgs"
            name = self.value(node.args[-1], depth + 1)
            return self.field(owner, name, depth + 1) if isinstance(name, str) else self._plain(node)
        if called in ("list", "sorted", "set", "tuple") and len(node.args) == 1:
            return self.value(node.args[0], depth + 1)
        if called == "int" and node.args:
            inner = self.value(node.args[0], depth + 1)
            return int(inner) if isinstance(inner, int | float) else self._plain(node)
        if called == "get_args" and node.args:
            return self.choices(node.args[0]) or self._plain(node)
        return self._plain(node)

    def choices(self, node: ast.expr | None, depth: int = 0) -> list[Any]:
        """Return the values that a type allows: Literal, a name of one, unions and wrappers around one."""
        if node is None or depth > 8:
            return []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):  # an annotation in quotes
            try:
                return self.choices(ast.parse(node.value, mode="eval").body, depth + 1)
            except SyntaxError:
                return []
        if isinstance(node, ast.Name):
            return self.choices(self.names.get(node.id), depth + 1)
        if isinstance(node, ast.BinOp):
            return self.choices(node.left, depth + 1) + self.choices(node.right, depth + 1)
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            outer = dotted(node.value).rpartition(".")[2]
            if outer == "Literal":
                plain = [one.value for one in inner if isinstance(one, ast.Constant)]
                return plain + [
                    got for one in inner if isinstance(one, ast.Name) for got in self.choices(one, depth + 1)
                ]
            if outer in ("Annotated", "A", "SkipValidation"):
                inner = inner[:1]
            if outer in ("Optional", "Union", "Annotated", "A", "SkipValidation"):
                return [got for one in inner for got in self.choices(one, depth + 1)]
        return []


def _spread(items: list[ast.expr]) -> Iterator[ast.expr]:
    for item in items:
        yield item.value if isinstance(item, ast.Starred) else item


def text_of(node: ast.expr | None, names: Names | None = None, depth: int = 0) -> str | None:
    """Return a text as a template, values as ``{expression}``; None when it is no text.

    Implicit and explicit concatenation, f-strings, ``.format`` and ``%`` are followed; ``%s`` stays as it is.
    """
    if depth > 40 or node is None:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (text_of(side, names, depth + 1) for side in (node.left, node.right))
        if left is None and right is None:
            return None
        return (left if left is not None else "{...}") + (right if right is not None else "{...}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return text_of(node.left, names, depth + 1)
    if isinstance(node, ast.IfExp):
        return text_of(node.body, names, depth + 1)
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("format", "strip", "rstrip"):
            return text_of(called.value, names, depth + 1)
        if dotted(called).endswith("dedent") and node.args:
            return text_of(node.args[0], names, depth + 1)
        if isinstance(called, ast.Attribute) and called.attr == "join" and len(node.args) == 1:
            glue, items = text_of(called.value), node.args[0]
            if glue is not None and isinstance(items, ast.List | ast.Tuple):
                return glue.join(text_of(one, names, depth + 1) or "{...}" for one in items.elts)
    return None


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue):
        spec = text_of(part.format_spec) if part.format_spec is not None else ""
        if isinstance(part.value, ast.Constant) and isinstance(part.value.value, str):
            return part.value.value
        word = "".join(char for char in ast.unparse(part.value) if char in string.ascii_letters + string.digits + "_.")
        return f"{{{word[:40] or 'x'}{':' + spec if spec else ''}}}"
    return ""
