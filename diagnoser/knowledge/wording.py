"""Wordings as sequences of words and gaps, and how well one could be the other.

Rule templates and the wordings read from sources write placeholders differently, and either may hold a value where
the other has a placeholder. So both become tokens, and two wordings agree when one line could match both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum


class Gap(Enum):
    """A placeholder, by what it can stand for."""

    TEXT = "text"
    WORD = "word"  # no blanks
    NUMBER = "number"  # no letters


Token = str | Gap

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_OURS = re.compile(
    r"(?P<literal>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<optional>\[(?:[^\[\]]|\[[^\[\]]*\])*\]\?)",
)
#: ``{name}``, ``{a.b!r:>10.2f}``, ``{...}``, ``{a|b}``, ``%s``, ``%.2fs``, and a bare ``...``.
_THEIRS = re.compile(r"\{(?P<field>[^{}\"]*)\}|%(?P<percent>[-+]?[\d.]*[sdrfgi])(?=m?s\b|\W|\Z)|\.\.\.")
_NUMERIC = frozenset("dfgeEi%x")


def rule_tokens(text: str) -> list[Token]:
    """Return the tokens of a template of a rule file (docs/rule-language.md); optional parts are gaps."""
    tokens: list[Token] = []
    at = 0
    for hit in _OURS.finditer(text):
        tokens += _TOKEN.findall(text[at : hit.start()])
        at = hit.end()
        if hit["literal"]:
            tokens.append(hit["literal"][0])
            continue
        kind = (hit["field"] or "").partition(":")[2]
        number = kind in ("int", "float")
        tokens.append(Gap.NUMBER if number else Gap.WORD if kind == "word" else Gap.TEXT)
    return tokens + _TOKEN.findall(text[at:])


def source_tokens(text: str) -> list[Token]:
    """Return the tokens of a wording as the catalogue writes it."""
    tokens: list[Token] = []
    at = 0
    for hit in _THEIRS.finditer(text):
        tokens += _TOKEN.findall(text[at : hit.start()])
        at = hit.end()
        spec = hit["percent"] or (hit["field"] or "").partition(":")[2]
        tokens.append(Gap.NUMBER if spec and spec[-1] in _NUMERIC else Gap.TEXT)
    return tokens + _TOKEN.findall(text[at:])


def one_word_gaps(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with every gap for any text narrowed to one without blanks."""
    return [Gap.WORD if token is Gap.TEXT else token for token in tokens]


def literal_size(tokens: Sequence[Token]) -> int:
    """Return how many characters, blanks aside, are fixed."""
    return sum(len(token) for token in tokens if not isinstance(token, Gap) and not token.isspace())


def shared(ours: Sequence[Token], theirs: Sequence[Token]) -> int:
    """Return how many fixed characters of ``ours`` (blanks aside) stand in ``theirs`` in the best common line.

    The line must match the whole of ``ours`` and some stretch of ``theirs``; words of ours at the ends and beside
    gaps may be parts of longer ones. -1 when there is no such line. Time grows with the product of the lengths.
    """
    width = len(theirs)
    row = [0] * (width + 1)  # row[j]: best so far, everything of ours so far matched, theirs read up to j
    for i, token in enumerate(ours):
        below = [-1] * (width + 1)
        if isinstance(token, Gap):
            for j in range(width + 1):
                below[j] = row[j]  # the gap is empty, or ends here
                if j and below[j - 1] > below[j] and _can_hold(token, theirs[j - 1]):
                    below[j] = below[j - 1]
        else:
            gain = 0 if token.isspace() else len(token)
            starts, ends = _open(ours, i - 1), _open(ours, i + 1)
            for j in range(width):
                other = theirs[j]
                if isinstance(other, Gap):
                    if row[j] >= 0 and _can_hold(other, token):
                        below[j] = max(below[j], row[j])
                    below[j + 1] = max(below[j + 1], below[j])
                elif row[j] >= 0 and (
                    other == token or (starts and other.endswith(token)) or (ends and other.startswith(token))
                ):
                    below[j + 1] = max(below[j + 1], row[j] + gain)
        # A gap of theirs may also stand for nothing, or end after what it took.
        for j in range(width):
            if isinstance(theirs[j], Gap) and below[j] > below[j + 1]:
                below[j + 1] = below[j]
        row = below
    return max(row)


def most_shared(ours: Sequence[Token], theirs: frozenset[Token]) -> int:
    """Return what `shared` cannot exceed, quickly; ``theirs`` is the set of the tokens."""
    size = 0
    for i, token in enumerate(ours):
        if not isinstance(token, Gap) and not token.isspace():
            possible = token in theirs or _open(ours, i - 1) or _open(ours, i + 1)
            size += len(token) if possible else 0
    return size


def _open(tokens: Sequence[Token], i: int) -> bool:
    """Tell whether a word next to place ``i`` may be a part of a longer one: at the ends and beside gaps."""
    return not 0 <= i < len(tokens) or isinstance(tokens[i], Gap)


def _can_hold(gap: Gap, token: Token) -> bool:
    if isinstance(token, Gap) or gap is Gap.TEXT:
        return True
    if gap is Gap.WORD:
        return not token.isspace()
    return not any(char.isalpha() for char in token)
