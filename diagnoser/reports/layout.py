"""Text measured in terminal cells: width, cutting, padding and wrapping."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator


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
    """Break prose at blanks; a word longer than a line is broken hard, since nothing may leave the page."""
    width = max(8, width)
    out: list[str] = []
    current = ""
    for word in text.split():
        candidate = f"{current} {word}" if current else word
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
