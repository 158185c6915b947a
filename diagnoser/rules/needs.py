"""What input would decide an unknown expression, in the reader's language; inside it is a short English text."""

from __future__ import annotations

from collections.abc import Iterable

from diagnoser.language import ENGLISH, Say, phrase

#: How the need of a condition begins whose pattern ran out of time on a text.
QUICKER = "a quicker pattern than "

#: How a need begins that names a series, a condition or an expression, and its sentence.
_WITH = {
    "statistics lines with ": phrase("statistics lines with {what}"),
    "a metrics page with ": phrase("a metrics page with {what}"),
    "samples while ": phrase("samples while {what}"),
    "a number as ": phrase("a number as {what}"),
    QUICKER: phrase("a quicker pattern than {what}"),
}


def quicker(condition: str) -> frozenset[str]:
    """Return what a condition needs whose pattern ran out of time on the text of a log."""
    return frozenset({QUICKER + condition[:80]})


def listed(needs: Iterable[str], say: Say = ENGLISH) -> str:
    """Name inputs in one order, whatever the language."""
    return say(", ").join(said(need, say) for need in sorted(needs))


def said(need: str, say: Say) -> str:
    """Say one need."""
    for head, sentence in _WITH.items():
        if need.startswith(head):
            # Expressions hold "and" too, but no table has their parts.
            return say(sentence).format(what=_joined(need.removeprefix(head).split(" and "), say))
    return say(need)


def _joined(names: list[str], say: Say) -> str:
    told = say(names[0])
    for name in names[1:]:
        told = say("{one} and {other}").format(one=told, other=say(name))
    return told
