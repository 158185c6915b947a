"""Event template text -> a ready Template: literal anchor, regex text and typed fields."""

from __future__ import annotations

import re
from dataclasses import dataclass

from diagnoser.rules.model import Place, Template

#: Shortest literal piece the scanner can use as a prefilter, in characters without blanks at the ends.
SHORTEST_ANCHOR = 6

_NAME = re.compile(r"[A-Za-z_]\w*")
#: Thousands commas count only in whole groups, so that "1, 2" and "[1,2,4]" are not swallowed.
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
_PATTERNS = {
    "int": rf"[-+]?{_DIGITS}",
    "float": rf"[-+]?(?:{_DIGITS}(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+|(?:[nN]a[nN]|inf)\b)",
    "gib": rf"[-+]?{_DIGITS}(?:\.\d+)?\s?(?:[KMGT]i?B|[Bb]ytes|B)\b",
    "word": r"\S{1,400}?",
    "text": r".{0,400}?",
    "rest": r".*",
}
#: A lazy field at the very end has nothing to stop at, so it runs on: to the next blank or the end of the line.
_LAST = {"word": r"\S{1,400}", "text": r".*"}
#: What a field becomes for the type checker and `convert`.
_KINDS = {"rest": "text", "quoted": "text"}
#: Marks of a line's ends, for messages of one common word: "{^}Killed{$}".
_EDGES = {"^": "^", "$": "$"}
KINDS = ("text", "int", "float", "word", "rest", "quoted", "gib")

_UNITS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class TemplateError(ValueError):
    """A template that cannot be used. ``column`` is 1-based in the template's text."""

    def __init__(self, text: str, column: int) -> None:
        super().__init__(text)
        self.text = text
        self.column = column


@dataclass(slots=True, frozen=True)
class _Piece:
    """One part of a template. ``kind``: literal, choice, edge, open, close or the kind of a field.

    ``text`` is the literal's text or the field's name; a choice has its ``words`` and, when it is a field, a name.
    """

    kind: str
    text: str
    column: int
    words: tuple[str, ...] = ()


def parse_template(text: str, engine: str = "any", *, versions: str = "", place: Place | None = None) -> Template:
    """Compile ``text`` for ``engine``; raises TemplateError with the column of what is wrong."""
    pieces = _pieces(text)
    _check(pieces)
    return Template(
        engine=engine,
        text=text,
        anchor=_anchor(pieces),
        pattern=_pattern(pieces),
        converters=tuple((p.text, _type(p)) for p in pieces if _is_field(p)),
        versions=versions,
        place=place or Place("", 0),
    )


def convert(kind: str, text: str) -> int | float | str:
    """Value of a field's text: int, float, GiB as float, or the text itself without blanks at the ends."""
    if kind == "int":
        return int(text.replace(",", ""))
    if kind == "float":
        return float(text.replace(",", ""))
    if kind == "gib":
        return _gib(text)
    return text.strip()


def _gib(text: str) -> float:
    """Size in GiB. Engines print "GB" and "MB" for what they divided by powers of 1024, so both spellings mean that."""
    number, unit = text.rstrip("ibytesB"), text.lstrip("-+0123456789., ")
    if unit[:1] in "KMGT":
        number = number.rstrip("KMGT")
    return float(number.strip().replace(",", "")) * 1024.0 ** (_UNITS.get(unit[:1].upper(), 0) - 3)


def _pieces(text: str) -> list[_Piece]:
    """Split into literals, fields, choices and the ends of optional parts."""
    optional = _optional_brackets(text)
    pieces: list[_Piece] = []
    literal: list[str] = []
    start = at = 0

    def flush() -> None:
        if literal:
            pieces.append(_Piece("literal", "".join(literal), start + 1))
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
                pieces.append(_Piece("open" if char == "[" else "close", "", at + 1))
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


def _field(inside: str, column: int) -> _Piece:
    if inside in _EDGES:
        return _Piece("edge", inside, column)
    name, colon, kind = inside.partition(":")
    if "|" in inside:
        named = _NAME.fullmatch(name) is not None and colon != ""
        words = tuple((kind if named else inside).split("|"))
        if "" in words:
            raise TemplateError("an alternative is empty; write '[...]?' for an optional part", column)
        return _Piece("choice", name if named else "", column, words)
    if not _NAME.fullmatch(name):
        raise TemplateError(f"'{name}' is no field name: letters, digits and '_'; '{{{{' is a literal brace", column)
    if not colon:
        kind = "text"
    if kind not in KINDS:
        raise TemplateError(f"unknown type '{kind}' of field '{name}'; one of {', '.join(KINDS)}", column)
    return _Piece(kind, name, column)


def _is_field(piece: _Piece) -> bool:
    return piece.kind in KINDS or (piece.kind == "choice" and piece.text != "")


def _type(piece: _Piece) -> str:
    """Type of a field's value; a choice among numbers is a number."""
    if piece.kind == "choice":
        return "int" if all(word.removeprefix("-").isdecimal() for word in piece.words) else "word"
    return _KINDS.get(piece.kind, piece.kind)


def _check(pieces: list[_Piece]) -> None:
    """Refuse what would be ambiguous or slow: doubled names, nested options, two open-ended fields in a row."""
    seen: set[str] = set()
    inside = False
    before = ""
    for piece in pieces:
        if _is_field(piece):
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


def _anchor(pieces: list[_Piece]) -> str:
    """Longest literal outside optional parts: present in every matching line.

    What all words of a choice begin with belongs to the literal before it: `HTTP/1.1" {code:400|404}` is looked for
    as `HTTP/1.1" 40`, so that the far more frequent successes cost nothing.
    """
    best = ""
    inside = False
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        if piece.kind in ("open", "close"):
            inside = piece.kind == "open"
        elif piece.kind == "literal" and not inside:
            shared = _shared_start(after.words) if after is not None and after.kind == "choice" else ""
            if len((piece.text + shared).strip()) > len(best.strip()):
                best = piece.text + shared
    if len(best.strip()) < SHORTEST_ANCHOR:
        text = f"no fixed piece of at least {SHORTEST_ANCHOR} characters outside '[...]?' to search for"
        raise TemplateError(text, 1)
    return best


def _shared_start(words: tuple[str, ...]) -> str:
    """Return what all words begin with."""
    first, last = min(words), max(words)
    return next((first[:at] for at in range(len(first)) if not last.startswith(first[: at + 1])), first)


def _pattern(pieces: list[_Piece]) -> str:
    out: list[str] = []
    for index, piece in enumerate(pieces):
        # A field also counts as last when only closing brackets of an optional part follow.
        last = all(p.kind == "close" for p in pieces[index + 1 :])
        if piece.kind == "literal":
            out.append(re.escape(piece.text))
        elif piece.kind == "choice":
            group = f"(?P<{piece.text}>" if piece.text else "(?:"
            out.append(group + "|".join(re.escape(word) for word in piece.words) + ")")
        elif piece.kind == "edge":
            out.append(_EDGES[piece.text])
        elif piece.kind == "open":
            out.append("(?:")
        elif piece.kind == "close":
            out.append(")?")
        elif piece.kind == "quoted":
            # The regex package lets both alternatives share one group name.
            out.append(rf"(?:'(?P<{piece.text}>[^'\n]{{0,400}})'|\"(?P<{piece.text}>[^\"\n]{{0,400}})\")")
        else:
            body = _LAST.get(piece.kind, _PATTERNS[piece.kind]) if last else _PATTERNS[piece.kind]
            out.append(f"(?P<{piece.text}>{body})")
    return "".join(out)
