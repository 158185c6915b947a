"""Texts in the reader's language: a table from the English texts, English itself where the table has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

#: The language that the rules and this program are written in.
ORIGINAL = "en"

_NOTHING: Mapping[str, str] = {}


def key(text: str) -> str:
    """Return a text as tables name it: how its lines are broken is no part of what it says."""
    return " ".join(text.split())


class Sentence(str):
    """An English sentence that knows what it was made of, so that it can be said again in another language.

    It is written where something is found out, far from where anybody knows the reader; everywhere between it is text.
    Whole numbers in it have commas.
    """

    pattern: str
    parts: dict[str, Any]

    def __new__(cls, pattern: str, **parts: Any) -> Self:
        """Fill the holes of a pattern."""
        kept = {name: _kept(part) for name, part in parts.items()}
        self = super().__new__(cls, _filled(pattern, kept))
        self.pattern, self.parts = pattern, kept
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process with its parts."""
        return _made, (self.pattern, self.parts)


def _kept(part: Any) -> str | int:
    """Return what of a part can be said again: the sentence that an error was raised with, another's own words."""
    if isinstance(part, Exception) and part.args and isinstance(part.args[0], Sentence):
        return part.args[0]
    return part if isinstance(part, str | int) else str(part)


def _made(pattern: str, parts: dict[str, Any]) -> Sentence:
    return Sentence(pattern, **parts)


def _filled(pattern: str, parts: Mapping[str, Any]) -> str:
    whole = {name: f"{value:,}" if isinstance(value, int) else value for name, value in parts.items()}
    return pattern.format(**whole)


class Say:
    """Says an English text in one language. Holes such as ``{count}`` are filled after that, by ``format``."""

    __slots__ = ("_table", "language")

    def __init__(self, language: str = ORIGINAL, table: Mapping[str, str] = _NOTHING) -> None:
        self.language = language
        self._table = table

    def __call__(self, text: str) -> str:
        """Return the translation, the English text where there is none."""
        return (self._table.get(key(text)) or text) if self._table else text

    def pair(self, one: str, other: str) -> str:
        """Join two texts as "one: other" is written in this language."""
        return self("{one}: {other}").format(one=one, other=other)

    def again(self, text: str) -> str:
        """Say a sentence in this language, and the sentences in it; other text stays as it is."""
        if not self._table or not isinstance(text, Sentence):
            return text
        parts = {name: self.again(value) if isinstance(value, str) else value for name, value in text.parts.items()}
        return _filled(self(text.pattern), parts)

    def english(self, text: str) -> str:
        """Return the English text behind one without holes: log lines are English, whatever the report is."""
        return next((english for english, said in self._table.items() if said == text), text)


#: Everything as it is written.
ENGLISH = Say()


def phrase(text: str) -> str:
    """Mark a text that is said later, such as one of a table: what collects the texts to translate looks for it."""
    return text
