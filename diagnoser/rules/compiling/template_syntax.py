"""The syntax of event templates: text to pieces, and what is refused."""

from __future__ import annotations

from diagnoser.patterns import lazily
from diagnoser.values import dataclass

KINDS = ("text", "int", "float", "word", "rest", "quoted", "gib")
#: Name of a field that is matched and not kept; it may stand several times.
NAMELESS = "_"
_NAME = lazily(r"[A-Za-z_]\w*")
#: Marks of a line's ends, for messages of one common word: "{^}Killed{$}".
EDGES = {"^": "^", "$": "$"}


class TemplateError(ValueError):
    """A template that cannot be used. ``column`` is 1-based in the template's text."""

    def __init__(self, text: str, column: int) -> None:
        super().__init__(text)
        self.text = text
        self.column = column


@dataclass(slots=True, frozen=True)
class Piece:
    """One part of a template. ``kind``: literal, choice, edge, open, close or the kind of a field.

    ``text`` is the literal's text or the field's name; a choice has its ``words`` and, when it is a field, a name.
    """

    kind: str
    text: str
    column: int
    words: tuple[str, ...] = ()


def split(text: str) -> list[Piece]:
    """Split into literals, fields, choices and the ends of optional parts."""
    optional = _optional_brackets(text)
    pieces: list[Piece] = []
    literal: list[str] = []
    start = at = 0

    def flush() -> None:
        if literal:
            pieces.append(Piece("literal", "".join(literal), start + 1))
            literal.clear()

    while at < len(text):
        char, pair = text[at], text[at : at + 2]
        if pair in ("{{", "}}"):
            literal.append(char)
            at += 2
            continue
        if char == "\n":
            raise TemplateError(
                "a template is matched line by line; write the one line that identifies the event", at + 1
            )
        if char == "}":
            raise TemplateError("'}' without '{'; write '}}' for a literal brace", at + 1)
        if char == "{" or at in optional:
            flush()
            if char == "{":
                end = text.find("}", at)
                if end < 0:
                    raise TemplateError("'{' is never closed; write '{{' for a literal brace", at + 1)
                pieces.append(_field(text[at + 1 : end], at + 1))
                at = end + 1
            else:
                pieces.append(Piece("open" if char == "[" else "close", "", at + 1))
                at += 1 if char == "[" else 2
            start = at
            continue
        literal.append(char)
        at += 1
    flush()
    return pieces


def _optional_brackets(text: str) -> frozenset[int]:
    """Positions of the brackets of ``[...]?`` parts; every other bracket is literal."""
    stack: list[int] = []
    found: list[int] = []
    for at, char in enumerate(text):
        if char == "[":
            stack.append(at)
        elif char == "]" and stack:
            opened = stack.pop()
            if text[at + 1 : at + 2] == "?":
                found += (opened, at)
    return frozenset(found)


def _field(inside: str, column: int) -> Piece:
    if inside in EDGES:
        return Piece("edge", inside, column)
    name, colon, kind = inside.partition(":")
    if "|" in inside:
        named = _NAME.fullmatch(name) is not None and colon != ""
        words = tuple((kind if named else inside).split("|"))
        if "" in words:
            raise TemplateError("an alternative is empty; write '[...]?' for an optional part", column)
        return Piece("choice", name if named else "", column, words)
    if not _NAME.fullmatch(name):
        raise TemplateError(f"'{name}' is no field name: letters, digits and '_'; '{{{{' is a literal brace", column)
    if not colon:
        kind = "text"
    if kind not in KINDS:
        raise TemplateError(f"unknown type '{kind}' of field '{name}'; one of {', '.join(KINDS)}", column)
    return Piece(kind, name, column)


def is_field(piece: Piece) -> bool:
    """Whether a piece gives a field."""
    return piece.text not in ("", NAMELESS) and (piece.kind in KINDS or piece.kind == "choice")


def refuse(pieces: list[Piece]) -> None:
    """Refuse what would be ambiguous or slow: doubled names, nested options, two open-ended fields in a row."""
    seen: set[str] = set()
    inside = False
    before = ""
    for index, piece in enumerate(pieces):
        after = pieces[index + 1 :]
        if piece.kind == "text" and is_last(after) and any(other.kind != "close" for other in after):
            raise TemplateError(
                f"nothing tells where '{piece.text}' ends when the optional part is missing", piece.column
            )
        if is_field(piece):
            if piece.text in seen:
                raise TemplateError(f"field '{piece.text}' appears twice", piece.column)
            seen.add(piece.text)
        if piece.kind in ("text", "word", "rest") and before in ("text", "word"):
            raise TemplateError(f"nothing tells where the field before '{piece.text}' ends", piece.column)
        if piece.kind == "open" and inside:
            raise TemplateError("an optional part inside an optional part", piece.column)
        if piece.kind in ("open", "close"):
            inside = piece.kind == "open"
            continue
        if before == "rest":
            raise TemplateError("nothing may follow a ':rest' field", piece.column)
        before = piece.kind


def is_last(after: list[Piece]) -> bool:
    """Whether nothing that must be there follows: only optional parts and the end of the one around."""
    inside = False
    for piece in after:
        if piece.kind in ("open", "close"):
            inside = piece.kind == "open"
        elif not inside:
            return False
    return True
