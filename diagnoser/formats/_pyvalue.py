"""One printed value to a Python object, by the grammar in pyrepr.lark.

Nested calls become dicts with "__class__" (and "__args__" for positional arguments); enum members their plain text or
their name; ``torch.bfloat16`` the name an operator would write; what the grammar does not know stays the printed text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple, cast

from diagnoser.patterns import lazily

#: Deeper nesting than any configuration has; more is hostile or broken and stays text.
DEPTH_LIMIT = 60

_WORDS: dict[str, object] = {
    "None": None,
    "null": None,
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "inf": float("inf"),
    "nan": float("nan"),
}
# More digits than any argument has: what is longer stays text, for it fits no float.
_INTEGER = lazily(r"[+-]?\d{1,40}")
_FLOAT = lazily(r"[+-]?\d{1,40}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,9})?|[+-](?:inf|nan)")
_MEMBER = lazily(r"[A-Z]\w*\.([A-Z][A-Z0-9_]*)")
_ESCAPE = lazily(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[\s\S])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_PATHS = frozenset(("Path", "PosixPath", "PurePosixPath", "WindowsPath", "Some", "str", "SecretStr"))
_MAPPINGS = frozenset(("OrderedDict", "defaultdict", "dict", "Counter", "mappingproxy"))
_NESTED = lazily(r"[(\[{<'\"]")
_BRACKET = lazily(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[(\[{<]|[)\]}>]""", re.DOTALL)


def parse_value(text: str) -> object:
    """Read one value. Never fails: what is no value is returned as its text."""
    if text in _WORDS:
        return _WORDS[text]
    if not _NESTED.search(text):
        return _plain(text)
    inner = text[1:-1]
    if text[0] in "'\"" and text[0] == text[-1] and len(text) > 1 and "\\" not in inner and text[0] not in inner:
        return inner
    return _nested(text)


def _plain(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _name(text)


def _name(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    member = _MEMBER.fullmatch(text)
    return member.group(1) if member else text.removeprefix("torch.")


def _string(text: str) -> str | bytes:
    quote = 2 if text[0] == "b" else 1
    body = text[quote:-1]
    if "\\" in body:
        body = _ESCAPE.sub(_unescape, body)
    return body.encode("latin-1", "replace") if quote == 2 else body


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else match.group()
    if code[0] in "01234567":
        return chr(int(code, 8))
    # JSON escapes the slash; an unknown escape keeps its backslash, as Python does.
    return _ESCAPED.get(code, code if code in "\\'\"/" else match.group())


def _nested(text: str) -> object:
    if _depth(text) > DEPTH_LIMIT:
        return text
    try:
        return _parser()(text)
    except ValueError:  # the marker that _parser puts in place of lark's own errors
        return text


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in _BRACKET.finditer(text):
        char = token.group()
        if char in "([{<":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}>":
            depth -= 1
    return deepest


@lru_cache(maxsize=1)  # built on first use: lark and the grammar cost more time than a whole short log
def _parser() -> Callable[[str], object]:
    from importlib.resources import files

    from lark import Lark, LarkError, Transformer

    grammar = files(__package__).joinpath("pyrepr.lark").read_text(encoding="utf-8")
    handlers = {name.removeprefix("on_"): staticmethod(function) for name, function in _HANDLERS.items()}
    builder: Transformer[object, object] = type("Builder", (Transformer,), handlers)()
    lark = Lark(grammar, parser="lalr", lexer="contextual", transformer=builder, maybe_placeholders=False)

    def parse(text: str) -> object:
        try:
            return lark.parse(text)
        except LarkError as error:
            raise ValueError(str(error)) from None

    return parse


class _Keyword(NamedTuple):
    """A ``name=value`` argument on its way into the call around it."""

    name: str
    value: object


class _Pair(NamedTuple):
    """An item of a dict on its way into it."""

    key: object
    value: object


def _dict(pairs: list[object]) -> object:
    return {_key(pair.key): pair.value for pair in pairs if isinstance(pair, _Pair)}


def _key(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _set(items: list[object]) -> object:
    """Return a frozenset, or a list when a member (a nested call) cannot be in a set."""
    try:
        return frozenset(items)
    except TypeError:
        return items


def _enum(parts: list[object]) -> object:
    head, value = parts
    return value if isinstance(value, str) else str(head)[1:-1].rpartition(".")[2]


def _call(parts: list[object]) -> object:
    name = str(parts[0])
    arguments = [part for part in parts[1:] if not isinstance(part, _Keyword)]
    keywords = {part.name: part.value for part in parts[1:] if isinstance(part, _Keyword)}
    short = name.rpartition(".")[2]
    if not keywords and len(arguments) == 1 and short in _PATHS:
        return arguments[0]
    mapping = arguments[-1] if arguments else {}
    if short in _MAPPINGS and isinstance(mapping, dict):
        return {**mapping, **keywords}
    if short in ("frozenset", "set") and not keywords and len(arguments) < 2:
        return arguments[0] if arguments else frozenset()
    made: dict[str, object] = {"__class__": name}
    if arguments:
        made["__args__"] = arguments
    made.update(keywords)
    return made


#: Rule of the grammar to the function that builds its value from its parts.
_HANDLERS: dict[str, Callable[[list[object]], object]] = {
    "number": lambda parts: _plain(str(parts[0])),
    "string": lambda parts: _joined([_string(str(part)) for part in parts]),
    "name": lambda parts: _name(str(parts[0])),
    "opaque": lambda parts: str(parts[0]),
    "list": list,
    "tuple": tuple,
    "group": lambda parts: parts[0],
    "pair": lambda parts: _Pair(parts[0], parts[1]),
    "dict": _dict,
    "set": _set,
    "field": lambda parts: _Keyword(str(parts[0]), parts[1]),
    "fields": list,
    "struct": lambda parts: _call([parts[0], *cast("list[object]", parts[1])]),
    "keyword": lambda parts: _Keyword(str(parts[0]), parts[1]),
    "call": _call,
    "enum": _enum,
}


def _joined(pieces: list[str | bytes]) -> str | bytes:
    """Join neighbouring string literals; text and bytes do not mix."""
    if all(isinstance(piece, bytes) for piece in pieces):
        return b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return "".join(piece if isinstance(piece, str) else piece.decode("latin-1") for piece in pieces)
