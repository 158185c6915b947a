"""Text to tree: parses rule expressions with the grammar in ``expression.lark``.

``parse`` gives raw nodes, names not looked up. Their operators:

========================  =====================================================================
``number``                (value, unit), unit one of "", "ratio", "seconds", "gib", "1/s"
``text``, ``bool``        (value,)
``list``                  (node, ...)
``name``                  (dotted name,)
``call``                  (function, node, ...)
``while``, ``where``      (node, condition); only as an argument of a call
``overall``               (node,); only as an argument of a call
``and or not neg``        nodes
``else``                  (x, y)
``== != < <= > >=``       (left, right); likewise ``in``, ``absent`` (not in), ``matches``, ``+ - * /``
``before``, ``after``     (E, F)
``within``                (E, seconds, F)
========================  =====================================================================

lark is imported on the first parse only: a run from the rule cache never needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnoser.rules import units
from diagnoser.rules.model import Node
from diagnoser.values import dataclass, replace

if TYPE_CHECKING:
    from lark import Lark, Token, Tree


#: Parts within parts, and operators of one kind in a row; those who walk an expression call themselves.
MAX_DEPTH = 80


class ExpressionError(ValueError):
    """An expression that cannot be read or makes no sense.

    ``column`` is 1-based in the expression's text; ``expected`` lists what could stand there, ``nearest`` is the most
    similar valid word or "".
    """

    def __init__(self, message: str, column: int = 1, expected: tuple[str, ...] = (), nearest: str = "") -> None:
        self.message = message
        self.column = column
        self.expected = expected
        self.nearest = nearest
        super().__init__(message)

    def __str__(self) -> str:
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        return f"column {self.column}: {self.message}{hint}"


@dataclass(slots=True)
class Spanned:
    """A node and where it stands: offsets into the whole text, brackets around it included.

    ``own`` is where the node itself begins; ``parts`` are the spans of its node arguments.
    """

    node: Node
    start: int
    end: int
    own: int
    parts: tuple[Spanned, ...] = ()


def parse(text: str) -> Node:
    """Return the raw tree of an expression. Raises ExpressionError with the column of the first fault."""
    root = spans(text).node
    # Columns count from the start of the root's text, brackets around the whole included.
    return replace(root, text=text.strip())


def spans(text: str) -> Spanned:
    """Like ``parse``, with the place of every node. Raises ExpressionError."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    from diagnoser.rules.compiling.faults import explain_character, explain_token

    try:
        tree = _parser().parse(text)
    except UnexpectedToken as error:
        raise explain_token(text, error) from None
    except UnexpectedCharacters as error:
        raise explain_character(text, error) from None
    return _build(text, tree.children[0])


def locate(root: Node, node: Node) -> int:
    """Return the 1-based column of ``node`` (found by identity) in the text of ``root``, which ``parse`` made."""
    path = _path(root, node)
    place = spans(root.text)
    for step in path or ():
        place = place.parts[step]
    return place.own + 1


def _path(root: Node, node: Node) -> tuple[int, ...] | None:
    if root is node:
        return ()
    for i, arg in enumerate(arg for arg in root.args if isinstance(arg, Node)):
        below = _path(arg, node)
        if below is not None:
            return (i, *below)
    return None


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = Path(__file__).with_name("expression.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", keep_all_tokens=True, maybe_placeholders=False)


def _build(text: str, tree: Tree[Token] | Token, depth: int = 0) -> Spanned:
    """Turn lark's tree, with every token kept, into nodes."""
    from lark import Tree

    assert isinstance(tree, Tree)
    if depth > MAX_DEPTH:
        raise ExpressionError(f"nested deeper than {MAX_DEPTH}; give parts of it a name under 'symptoms'")
    parts = [_build(text, child, depth + 1) for child in tree.children if isinstance(child, Tree)]
    tokens = [child for child in tree.children if not isinstance(child, Tree)]
    # Every construct begins and ends with a token or a part.
    first, last = tree.children[0], tree.children[-1]
    start = parts[0].start if isinstance(first, Tree) else int(first.start_pos or 0)
    end = parts[-1].end if isinstance(last, Tree) else int(last.end_pos or 0)
    if tree.data == "group":
        # The brackets belong to the parent's text, not to the node's own.
        return Spanned(parts[0].node, start, end, parts[0].own, parts[0].parts)
    op, args = _SHAPES[str(tree.data)](tokens, parts, start)
    return Spanned(Node(op, args, text[start:end]), start, end, start, tuple(parts))


Shape = Callable[["list[Token]", list[Spanned], int], tuple[str, tuple[Any, ...]]]


def _nodes(parts: list[Spanned]) -> tuple[Node, ...]:
    return tuple(part.node for part in parts)


def _number(tokens: list[Token], _: list[Spanned], start: int) -> tuple[str, tuple[Any, ...]]:
    try:
        return "number", units.literal(str(tokens[0]))
    except units.UnitError as error:
        raise ExpressionError(str(error), start + 1, tuple(units.SUFFIXES), error.nearest) from None


def _string(tokens: list[Token], _: list[Spanned], __: int) -> tuple[str, tuple[Any, ...]]:
    quote, body = tokens[0][0], tokens[0][1:-1]
    # Only the quote is escaped; other backslashes stay, so that regular expressions read as they are.
    return "text", (body.replace("\\" + quote, quote),)


def _unary(tokens: list[Token], parts: list[Spanned], start: int) -> tuple[str, tuple[Any, ...]]:
    if tokens[0] == "+":
        raise ExpressionError("a number needs no '+' in front", start + 1)
    if tokens[0] == "-" and parts[0].node.op == "number":
        value, unit = parts[0].node.args
        # Keep the part list and the arguments alike: a negative literal is a node with a node inside.
        return "neg", (Node("number", (value, unit), parts[0].node.text),)
    return ("not" if tokens[0] == "not" else "neg"), _nodes(parts)


_SHAPES: dict[str, Shape] = {
    "number": _number,
    "text": _string,
    "boolean": lambda tokens, parts, start: ("bool", (tokens[0] == "true",)),
    "name": lambda tokens, parts, start: ("name", (str(tokens[0]),)),
    "call": lambda tokens, parts, start: ("call", (str(tokens[0]), *_nodes(parts))),
    "list": lambda tokens, parts, start: ("list", _nodes(parts)),
    "overall": lambda tokens, parts, start: ("overall", _nodes(parts)),
    "modified": lambda tokens, parts, start: (str(tokens[0]), _nodes(parts)),
    "binary": lambda tokens, parts, start: (str(tokens[0]), _nodes(parts)),
    "absent": lambda tokens, parts, start: ("absent", _nodes(parts)),
    "within": lambda tokens, parts, start: ("within", _nodes(parts)),
    "otherwise": lambda tokens, parts, start: ("else", _nodes(parts)),
    "unary": _unary,
}
