"""Texts of rules with ``{expression:format}`` placeholders: taken apart here, filled by whoever has the values."""

from __future__ import annotations

from diagnoser.knowledge.words import hint
from diagnoser.patterns import lazily
from diagnoser.values import dataclass

#: Formats by name; ``.0f`` to ``.9f`` besides.
FORMATS = ("int", "id", "percent", "duration", "gib", "rate", "story")
_DECIMALS = lazily(r"\.\d+f")
_WORD = lazily(r"[.\w]+")


@dataclass(slots=True, frozen=True)
class Placeholder:
    """One ``{expression:format}``; ``format`` is "" when none is written. ``column`` is the expression's, 1-based."""

    expression: str
    format: str
    column: int


class TextError(ValueError):
    """A text whose braces cannot be read. ``column`` is 1-based in the text."""

    def __init__(self, text: str, column: int) -> None:
        super().__init__(text)
        self.text = text
        self.column = column


def split(text: str) -> list[str | Placeholder]:
    """Take a text apart into plain pieces and placeholders; ``{{`` and ``}}`` are literal braces."""
    parts: list[str | Placeholder] = []
    plain: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in "{}" and text[at : at + 2] == char * 2:
            plain.append(char)
            at += 2
        elif char == "{":
            end = _closing(text, at + 1)
            if plain:
                parts.append("".join(plain))
                plain.clear()
            parts.append(_placeholder(text[at + 1 : end], at + 2))
            at = end + 1
        elif char == "}":
            raise TextError("'}' without '{'; write '}}' for a literal brace", at + 1)
        else:
            plain.append(char)
            at += 1
    if plain:
        parts.append("".join(plain))
    return parts


def placeholders(text: str) -> list[Placeholder]:
    """Return only the placeholders of a text."""
    return [part for part in split(text) if isinstance(part, Placeholder)]


def _closing(text: str, start: int) -> int:
    """Position of the brace that ends a placeholder; braces inside quoted words do not count."""
    quoted = False
    for at in range(start, len(text)):
        if text[at] == '"':
            quoted = not quoted
        elif text[at] == "}" and not quoted:
            return at
    raise TextError("'{' is never closed; write '{{' for a literal brace", start)


def _placeholder(inside: str, column: int) -> Placeholder:
    expression, colon, form = inside.rpartition(":")
    if not colon or '"' in form:
        expression, form = inside, ""
    form = form.strip()
    if form and form not in FORMATS and not _DECIMALS.fullmatch(form):
        words = f"{', '.join(FORMATS)}, .1f{hint(form, FORMATS)}"
        at = column + len(expression) + 1
        raise TextError(
            f"'{form}' is no format; known: {words}" if _WORD.fullmatch(form) else "no format after ':'", at
        )
    if not expression.strip():
        raise TextError("an empty '{}'; write '{{' for a literal brace", column)
    return Placeholder(expression.strip(), form, column + len(expression) - len(expression.lstrip()))
