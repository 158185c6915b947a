"""Wordings of the catalogue (`rules/catalog/`) written as event templates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Wording(Protocol):
    """One historical wording of a message. ``optional`` lists the pieces that may be missing, in their brackets."""

    @property
    def text(self) -> str:
        """The wording as the catalogue writes it."""

    @property
    def anchor(self) -> str:
        """Its longest constant piece, "" when not known."""

    @property
    def optional(self) -> Sequence[str]:
        """Pieces that may be missing."""

    @property
    def versions(self) -> str:
        """Releases that print it."""


class Messages(Protocol):
    """What rules need of the catalogue of messages."""

    def ids(self, engine: str) -> Sequence[str]:
        """Return every message id of an engine; empty when it has no catalogue."""

    def wordings(self, engine: str, message: str) -> Sequence[Wording]:
        """Return every wording of one message."""


@dataclass(slots=True, frozen=True)
class NoMessages:
    """An empty catalogue."""

    def ids(self, engine: str) -> Sequence[str]:
        """Return nothing."""
        return ()

    def wordings(self, engine: str, message: str) -> Sequence[Wording]:
        """Return nothing."""
        return ()


_PLACE = re.compile(
    r"\{(?P<name>[A-Za-z_]\w*)(?:![rsa])?(?::(?P<spec>[^{}|]*))?\}"  # {name:.2f}, {name!r}
    r"|%(?P<percent>[-+]?[\d.]*[sdrfg])(?!\w)"  # %s, %.2f
    r"|\{(?P<choice>[^{}\"]*\|[^{}\"]*)\}"  # {Prefill|Decode}, {(detail)|}
    r"|\{(?P<vague>\.\.\.|[\w -]+)\}"  # {...}, {pool state}
)


def as_template(wording: Wording, kinds: Mapping[str, str]) -> str:
    """Return a wording in the template syntax of rules; ``kinds`` types the placeholders that do not tell."""
    text = _anchor_line(wording.text, wording.anchor)
    spans = _optional_spans(text, wording.optional)
    out: list[str] = []
    names: set[str] = set()
    at, before = 0, ""
    for hit in _PLACE.finditer(text):
        literal = _literal(text, at, hit.start(), spans)
        out.append(literal)
        piece = _piece(hit, kinds, names)
        # Two open-ended placeholders in a row cannot be told apart; the first stands for both.
        if not (before.startswith("{") and not literal and piece.startswith("{") and "|" not in piece):
            out.append(piece)
            before = piece
        at = hit.end()
    out.append(_literal(text, at, len(text), spans))
    return "".join(out)


def _anchor_line(text: str, anchor: str) -> str:
    """Return the printed line that holds the anchor: templates are matched line by line."""
    lines = re.split(r"\n|\\n", text)
    return next((line for line in lines if anchor and anchor in line), max(lines, key=len))


def _optional_spans(text: str, optional: Sequence[str]) -> dict[int, str]:
    """Return the positions of the brackets around optional pieces with what to write there."""
    spans: dict[int, str] = {}
    for piece in optional:
        start = text.find(piece)
        if start >= 0:
            spans[start], spans[start + len(piece) - 1] = "[", "]?"
    return spans


def _literal(text: str, start: int, end: int, spans: Mapping[int, str]) -> str:
    """Return fixed text with its braces doubled and its optional brackets marked."""
    doubled = {"{": "{{", "}": "}}"}
    return "".join(spans.get(at) or doubled.get(text[at], text[at]) for at in range(start, end))


def _piece(hit: re.Match[str], kinds: Mapping[str, str], names: set[str]) -> str:
    """Return a placeholder as a field, a choice or an optional part."""
    if (choice := hit["choice"]) is not None:
        words = [word for word in choice.split("|") if word]
        body = words[0] if len(words) == 1 else "{" + "|".join(words) + "}"
        return f"[{body}]?" if len(words) < choice.count("|") + 1 else body
    name = hit["name"] or "value"
    spec = hit["spec"] or hit["percent"] or ""
    unique, number = name, 2
    while unique in names:
        unique, number = f"{name}_{number}", number + 1
    names.add(unique)
    kind = kinds.get(name) or {"d": "int", "f": "float", "g": "float"}.get(spec[-1:], "text")
    return f"{{{unique}:{kind}}}"
