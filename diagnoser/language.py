"""Texts in the reader's language: a table from the English texts, English itself where the table has none."""

from __future__ import annotations

from collections.abc import Mapping

#: The language that the rules and this program are written in.
ORIGINAL = "en"

_NOTHING: Mapping[str, str] = {}


def key(text: str) -> str:
    """Return a text as tables name it: how its lines are broken is no part of what it says."""
    return " ".join(text.split())


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

    def english(self, text: str) -> str:
        """Return the English text behind one without holes: log lines are English, whatever the report is."""
        return next((english for english, said in self._table.items() if said == text), text)


#: Everything as it is written.
ENGLISH = Say()


def phrase(text: str) -> str:
    """Mark a text that is said later, such as one of a table: what collects the texts to translate looks for it."""
    return text
