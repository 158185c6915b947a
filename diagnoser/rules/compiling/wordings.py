"""Wordings of the catalogue (`rules/catalog/`) written as event templates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnoser.knowledge.records import MessageTemplate
from diagnoser.rules.compiling.template_syntax import NAMELESS

_PLACE = re.compile(
    r"\{(?P<name>[A-Za-z_]\w*)(?:![rsa])?(?::(?P<spec>[^{}|]*))?\}"  # {name:.2f}, {name!r}
    r"|%(?P<percent>[-+]?[\d.]*[sdrfg])(?=m?s\b|\W|\Z)"  # %s, %.2f, with or without a unit of time behind (%ss)
    r"|\{(?P<choice>[^{}\"]*\|[^{}\"]*)\}"  # {Prefill|Decode}, {(detail)|}
    r"|\{(?P<vague>\.\.\.|[\w -]+)\}"  # {...}, {pool state}
)

#: Last letter of a Python format -> type of the field.
_SPECS = {"d": "int", "f": "float", "g": "float"}


def as_template(wording: MessageTemplate, kinds: Mapping[str, str], wanted: Sequence[str] = ()) -> str:
    """Return a wording in the template syntax of rules.

    ``kinds`` types the placeholders that do not tell. Of a message of several lines the one that holds a ``wanted``
    text is taken, else the most telling one: templates are matched line by line.
    """
    text = _one_line(wording.text, wanted)
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


def kept(wordings: Sequence[MessageTemplate], match: Sequence[str], drop: Sequence[str]) -> list[MessageTemplate]:
    """Return the wordings that hold one of ``match`` (any, when empty) and none of ``drop``."""
    return [
        wording
        for wording in wordings
        if (not match or any(text in wording.text for text in match)) and not any(text in wording.text for text in drop)
    ]


def typed(wordings: Sequence[MessageTemplate]) -> dict[str, str]:
    """Return the placeholders that some wording formats as a number: a number then in every wording."""
    kinds: dict[str, str] = {}
    for wording in wordings:
        for hit in _PLACE.finditer(wording.text):
            kind = _SPECS.get((hit["spec"] or "")[-1:])
            if hit["name"] and kind and kinds.get(hit["name"]) != "float":
                kinds[hit["name"]] = kind
    return kinds


def _one_line(text: str, wanted: Sequence[str]) -> str:
    lines = re.split(r"\n|\\n", text)
    chosen = [line for line in lines if any(words in line for words in wanted)]
    return max(chosen or lines, key=_longest_literal)


def _longest_literal(line: str) -> int:
    return max(len(piece.strip()) for piece in _PLACE.sub("\0", line).split("\0"))


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
    kind = kinds.get(hit["name"]) or _SPECS.get((hit["spec"] or hit["percent"] or "")[-1:], "text")
    name = hit["name"] or NAMELESS
    unique, number = name, 2
    while unique in names:
        unique, number = f"{name}_{number}", number + 1
    if name != NAMELESS:
        names.add(unique)
    return f"{{{unique}:{kind}}}"
