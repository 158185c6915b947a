"""Text measured in terminal cells: width, cutting, padding and wrapping."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

#: Marks that no line begins with, and those that no line ends with.
_CLOSING = frozenset(
    "\u3001\u3002\uff0c\uff1b\uff1a\uff1f\uff01\uff09\u300b\u300d\u300f\u3011\u201d\u2019\u2026,.;:?!)]}%\"'/"
)
_OPENING = frozenset("\uff08\u300a\u300c\u300e\u3010\u201c\u2018([{\"'/")


def cells(text: str) -> int:
    """How many terminal cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.category(char)[0] == "M":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, mark: str = "…") -> str:
    """Return the start of a text, with a mark where something was cut off."""
    if cells(text) <= width:
        return text
    return head(text, width - len(mark)) + mark


def cut_left(text: str, width: int, mark: str = "…") -> str:
    """Return the end of a text: what tells two long paths apart."""
    if cells(text) <= width:
        return text
    return mark + head(text[::-1], width - len(mark))[::-1]


def head(text: str, width: int) -> str:
    """As much of a text's start as fits."""
    if text.isascii():
        return text[: max(0, width)]
    used = 0
    for i, char in enumerate(text):
        used += _cells(char)
        if used > width:
            return text[:i]
    return text


def pad(text: str, width: int) -> str:
    """Fill up with blanks on the right."""
    return text + " " * (width - cells(text))


def pad_left(text: str, width: int) -> str:
    """Fill up with blanks on the left."""
    return " " * (width - cells(text)) + text


def wrap(text: str, width: int) -> list[str]:
    """Break prose at blanks and between CJK characters; a longer word is broken hard: nothing may leave the page."""
    width = max(8, width)
    out: list[str] = []
    current = ""
    for word, joint in _words(text):
        candidate = f"{current}{joint}{word}" if current else word
        if cells(candidate) <= width:
            current = candidate
            continue
        if current:
            out.append(current)
        *full, current = _broken(word, width)
        out.extend(full)
    if current or not out:
        out.append(current)
    return out


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield what may not be broken, and what joins it to the piece before: a blank, or nothing after a CJK character.

    A line neither begins with a closing mark nor ends with an opening one.
    """
    for word in text.split():
        if word.isascii():
            yield word, " "
            continue
        start, joint = 0, " "
        for at in range(1, len(word)):
            before, after = word[at - 1], word[at]
            if (_wide(before) or _wide(after)) and after not in _CLOSING and before not in _OPENING:
                yield word[start:at], joint
                start, joint = at, ""
        yield word[start:], joint


def _wide(char: str) -> bool:
    return char > "\u2e7f" and _cells(char) == 2


def _broken(word: str, width: int) -> Iterator[str]:
    start = used = 0
    for i, char in enumerate(word):
        size = _cells(char)
        if used + size > width:
            yield word[start:i]
            start, used = i, 0
        used += size
    yield word[start:]


def flow(items: Iterable[str], width: int, joint: str) -> list[str]:
    """Join items by ``joint``, breaking lines between items where possible and inside one only when it is too long."""
    out: list[str] = []
    current = ""
    for item in items:
        candidate = f"{current}{joint}{item}" if current else item
        if cells(candidate) <= width:
            current = candidate
            continue
        if current:
            out.append(current)
        *full, current = wrap(item, width)
        out.extend(full)
    return [*out, current] if current else out
