"""Command-line flags: ``add_argument`` calls, and the flags that a configuration class makes by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.releases.python import Unknown, Values, dotted, text_of

#: Classes whose flags another command takes, not the server.
_OTHER_PROGRAMS = frozenset({"BatchFrontendArgs"})


class Flag(NamedTuple):
    """One flag as the parser of one release has it; ``default`` may be Unknown."""

    names: tuple[str, ...]
    kind: str
    default: Any
    choices: tuple[Any, ...]
    negatable: bool
    deprecated: bool
    dest: str


class FlagReader:
    """Reads the flags of one module. ``makers`` are calls that give the arguments of a class's fields."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def read(self, tree: ast.Module) -> Iterator[Flag]:
        """Yield the flags that a module adds, in the order of the source."""
        for owner, function in _functions(tree):
            sources = self._sources(function, owner)
            for node in ast.walk(function):
                if not isinstance(node, ast.Call):
                    continue
                called = dotted(node.func).rpartition(".")[2]
                if called == "add_argument":
                    yield from self._argument(node, sources)
                elif called == "add_cli_args_from_dataclass" and len(node.args) > 1:
                    yield from self._annotated(dotted(node.args[1]))

    def _sources(self, function: ast.AST, owner: str) -> dict[str, tuple[str, str]]:
        """Return local names that stand for a class's arguments: name to (class, field or "")."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name, value = node.targets[0].id, node.value
            if isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in (
                "get_kwargs",
                "_compute_kwargs",
            ):
                given = dotted(value.args[0]).rpartition(".")[2] if value.args else ""
                found[name] = (owner if given == "cls" else given, "")
            elif isinstance(value, ast.Subscript):
                inner = self._field_of(value, found)
                if inner:
                    found[name] = inner
        return found

    def _field_of(self, node: ast.expr, sources: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
        """Return (class, field) of ``kwargs["field"]`` or ``get_kwargs(Class)["field"]``."""
        if not isinstance(node, ast.Subscript):
            return sources.get(dotted(node)) if isinstance(node, ast.Name) else None
        key = self.values.value(node.slice)
        if not isinstance(key, str):
            return None
        if isinstance(node.value, ast.Call) and dotted(node.value.func).endswith("get_kwargs") and node.value.args:
            return dotted(node.value.args[0]).rpartition(".")[2], key
        known = sources.get(dotted(node.value))
        return (known[0], key) if known else None

    def _argument(self, node: ast.Call, sources: dict[str, tuple[str, str]]) -> Iterator[Flag]:
        names = []
        for given in node.args:
            text = text_of(given)
            if text is None:
                continue
            if isinstance(given, ast.JoinedStr) and "replace" in ast.unparse(given):
                # One flag for every field of the class whose arguments the loop goes over.
                for owner in sorted({owner for owner, field in sources.values() if not field}):
                    for below in [owner, *self._heirs(owner)]:
                        yield from self._fields(below)
                return
            names.append(text.replace("{prefix}", ""))
        names = [name for name in names if name.startswith("-")]
        if not names:
            return
        keys = {word.arg: word.value for word in node.keywords if word.arg}
        base: Flag | None = None
        for word in node.keywords:
            if word.arg is None:
                known = self._field_of(word.value, sources)
                base = self._field(names[0], *known) if known and known[1] else None
        yield self._flag(tuple(names), keys, base)

    def _flag(self, names: tuple[str, ...], keys: dict[str, ast.expr], base: Flag | None) -> Flag:
        kind, default, choices = ("", None, ()) if base is None else (base.kind, base.default, base.choices)
        negatable = base.negatable if base else False
        action = keys.get("action")
        did = (
            text_of(action) if isinstance(action, ast.Constant) else dotted(action).rpartition(".")[2] if action else ""
        )
        if did == "store_true":
            kind, default = "bool", False
        elif did == "store_false":
            kind, default = "bool", True
        elif did == "BooleanOptionalAction":
            kind, negatable = "bool", True
        elif "type" in keys and not kind:
            kind = dotted(keys["type"]) or "str"
        if "default" in keys:
            default = self.values.value(keys["default"])
        if "choices" in keys:
            told = self.values.value(keys["choices"])
            choices = tuple(told) if isinstance(told, list) else choices
        dest = text_of(keys.get("dest")) or ""
        deprecated = bool(did and "eprecated" in did) or "eprecated" in (text_of(keys.get("help")) or "")[:40]
        return Flag(names, kind or "str", default, choices, negatable, deprecated, dest)

    def _heirs(self, owner: str) -> list[str]:
        heirs = (name for name, bases in self.values.classes.bases.items() if owner in bases)
        return sorted(name for name in heirs if name not in _OTHER_PROGRAMS)

    def _fields(self, owner: str) -> Iterator[Flag]:
        for field, item in self.values.classes.all_fields(owner).items():
            if (
                isinstance(item, ast.AnnAssign)
                and not field.startswith("_")
                and "ClassVar" not in ast.unparse(item.annotation)
            ):
                yield self._field("--" + field.replace("_", "-"), owner, field)

    def _field(self, name: str, owner: str, field: str) -> Flag:
        """Return the flag that a field of a configuration class makes."""
        item = self.values.classes.all_fields(owner).get(field)
        if not isinstance(item, ast.AnnAssign):
            return Flag((name,), "", Unknown(""), (), False, False, field)
        plain = _plain_type(item.annotation)
        choices = tuple(self.values.choices(item.annotation))
        is_bool = plain.split("[")[-1].startswith("bool")
        kind = "bool" if is_bool else "enum" if choices else plain
        default = self.values.value(item.value) if item.value is not None else Unknown("required")
        return Flag((name,), kind, default, choices, is_bool, False, field)

    def _annotated(self, owner: str) -> Iterator[Flag]:
        """Yield the flags of a class whose fields carry their help: ``name: A[type, "help"] = default``."""
        for field, item in self._collected(owner).items():
            if not isinstance(item, ast.AnnAssign):
                continue
            note = item.annotation
            if isinstance(note, ast.Constant) and isinstance(note.value, str):
                note = ast.parse(note.value, mode="eval").body
            if not (isinstance(note, ast.Subscript) and dotted(note.value) in ("A", "Annotated")):
                continue
            parts = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
            meta = next((p for p in parts[1:] if isinstance(p, ast.Call) and dotted(p.func).endswith("Arg")), None)
            if meta is None and not any(text_of(part) is not None for part in parts[1:]):
                continue
            keys = {word.arg: word.value for word in meta.keywords if word.arg} if meta else {}
            if self.values.value(keys["no_cli"]) is True if "no_cli" in keys else False:
                continue
            told = self.values.value(keys["cli_name"]) if "cli_name" in keys else None
            name = told if isinstance(told, str) else "--" + field.replace("_", "-")
            others = self.values.value(keys["aliases"]) if "aliases" in keys else []
            names = (name, *(others if isinstance(others, list) else ()))
            plain = self._field(name, "", "")._replace(names=names, dest=field)
            choices = self.values.value(keys["choices"]) if "choices" in keys else self.values.choices(parts[0])
            kind = _plain_type(parts[0])
            help_text = text_of(keys.get("help")) if meta else text_of(parts[1])
            action = dotted(keys["action"]) if "action" in keys else ""
            yield plain._replace(
                kind="bool" if kind == "bool" else kind,
                default=self.values.value(item.value) if item.value is not None else None,
                choices=tuple(choices) if isinstance(choices, list) else (),
                negatable=action.endswith("BooleanOptionalAction"),
                deprecated="eprecated" in action or "eprecated" in (help_text or "")[:40],
            )

    def _collected(self, owner: str) -> dict[str, ast.AnnAssign | ast.Assign]:
        """Return the fields of a class, and of every class that names a part of the configuration (SGLang 0.5.2x)."""
        classes = self.values.classes
        found = dict(classes.all_fields(owner))
        for name, own in classes.fields.items():
            if "_NS_PATH" in own:
                found |= classes.all_fields(name)
        return found


def _plain_type(node: ast.expr) -> str:
    """Return a type as written, without "or nothing"."""
    text = ast.unparse(node).strip("'").replace(" | None", "")
    return text[len("Optional[") : -1] if text.startswith("Optional[") else text


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield (class or "", function) of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    yield node.name, item
