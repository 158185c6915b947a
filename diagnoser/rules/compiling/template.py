"""Event template text -> a ready Template: literal anchor, regex text and typed fields."""

from __future__ import annotations

import re

from diagnoser.rules.compiling.template_syntax import EDGES, Piece, TemplateError, is_field, is_last, refuse, split
from diagnoser.rules.model import Place, Template

__all__ = ["TemplateError", "convert", "parse_template"]

#: Shortest literal piece the scanner can use as a prefilter, in characters without blanks at the ends.
SHORTEST_ANCHOR = 6

#: Thousands commas count only in whole groups, so that "1, 2" and "[1,2,4]" are not swallowed.
_DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,8}(?!\d)|\d{1,40})"
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
_UNITS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse_template(text: str, engine: str = "any", *, versions: str = "", place: Place | None = None) -> Template:
    """Compile ``text`` for ``engine``; raises TemplateError with the column of what is wrong."""
    pieces = split(text)
    refuse(pieces)
    return Template(
        engine=engine,
        text=text,
        anchor=_anchor(pieces),
        pattern=_pattern(pieces),
        converters=tuple((p.text, _type(p)) for p in pieces if is_field(p)),
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


def _type(piece: Piece) -> str:
    """Type of a field's value; a choice among numbers is a number."""
    if piece.kind == "choice":
        return "int" if all(word.removeprefix("-").isdecimal() for word in piece.words) else "word"
    return _KINDS.get(piece.kind, piece.kind)


def _anchor(pieces: list[Piece]) -> str:
    """Longest literal outside optional parts: present in every matching line.

    What all words of a choice begin with belongs to the literal before it: `HTTP/1.1" {code:400|404}` is looked for
    as `HTTP/1.1" 40`, so that the far more frequent successes cost nothing.
    """
    best = ""
    inside = False
    for piece, after in zip(pieces, [*pieces[1:], None], strict=False):
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


def _pattern(pieces: list[Piece]) -> str:
    out: list[str] = []
    for index, piece in enumerate(pieces):
        last = is_last(pieces[index + 1 :])
        group = f"(?P<{piece.text}>" if is_field(piece) else "(?:"
        if piece.kind == "literal":
            out.append(re.escape(piece.text))
        elif piece.kind == "choice":
            out.append(group + "|".join(re.escape(word) for word in piece.words) + ")")
        elif piece.kind == "edge":
            out.append(EDGES[piece.text])
        elif piece.kind == "open":
            out.append("(?:")
        elif piece.kind == "close":
            out.append(")?")
        elif piece.kind == "quoted":
            # The regex package lets both alternatives share one group name.
            out.append(rf"(?:'{group}[^'\n]{{0,400}})'|\"{group}[^\"\n]{{0,400}})\")")
        else:
            body = _LAST.get(piece.kind, _PATTERNS[piece.kind]) if last else _PATTERNS[piece.kind]
            out.append(f"{group}{body})")
    return "".join(out)
