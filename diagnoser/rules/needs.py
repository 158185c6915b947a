"""What input would decide an unknown expression, in the reader's language; inside it is a short English text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from diagnoser.language import ENGLISH, Say, phrase

#: How the need of a condition begins whose pattern ran out of time on a text.
QUICKER = "a quicker pattern than "

#: Needs that name something: a series, a condition, a version.
_SENTENCES = (
    phrase("statistics lines with {what}"),
    phrase("a metrics page with {what}"),
    phrase("server arguments with {what}"),
    phrase("the start of the log with {what}"),
    phrase("GPU telemetry with {what}"),
    phrase("a benchmark result with {what}"),
    phrase("a profile with {what}"),
    phrase("a longer window with something to count for {what}"),
    phrase("metrics of {engine} from {version} on with {what}"),
    phrase("statistics lines of {engine} from {version} on with {what}"),
    phrase("a run without {flag} (it switches statistics and metrics off)"),
    phrase("a metrics page of a run with {flag} (this one was started without)"),
    phrase("samples while {what}"),
    phrase("a number as {what}"),
    phrase("a quicker pattern than {what}"),
)
#: What no input would decide, and why.
_REASONS = (
    phrase("{engine} has no figure for {what} after {version}"),
    phrase("{engine} has no figure for {what}"),
)
_HOLE = re.compile(r"\\\{(\w+)\\\}")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {one: re.compile(_HOLE.sub(r"(?P<\1>.*)", re.escape(one))) for one in (*_SENTENCES, *_REASONS)}


def _read(need: str) -> tuple[str, Mapping[str, str]]:
    """Return the sentence of a need and what fills it."""
    for sentence, pattern in _patterns().items():
        if found := pattern.fullmatch(need):
            return sentence, found.groupdict()
    return need, {}


def reasons(needs: Iterable[str]) -> set[str]:
    """Return those that are no inputs but why none would help."""
    return {need for need in needs if _read(need)[0] in _REASONS}


def dated(needs: Iterable[str]) -> bool:
    """Whether some input would have to be another version's."""
    return any("version" in _read(need)[1] for need in needs)


def quicker(condition: str) -> frozenset[str]:
    """Return what a condition needs whose pattern ran out of time on the text of a log."""
    return frozenset({QUICKER + condition[:80]})


def listed(needs: Iterable[str], say: Say = ENGLISH) -> str:
    """Name inputs in one order, whatever the language; why none would help only where there are no others."""
    every = set(needs)
    asked = sorted(every - reasons(every)) or sorted(every)
    return say(", ").join(said(need, say) for need in asked)


def joined(needs: Iterable[str]) -> set[str]:
    """Put together what is asked of one input: its name once, with everything that it should have."""
    whats: dict[tuple[str, tuple[tuple[str, str], ...]], set[str]] = {}
    for need in needs:
        sentence, filled = _read(need)
        others = tuple((hole, text) for hole, text in filled.items() if hole != "what")
        # A condition is one text, whatever words are in it.
        whole = sentence.startswith(("samples", "a number", QUICKER)) or not filled
        key = (need if whole else sentence, others)
        whats.setdefault(key, set()).update(() if whole else filled.get("what", "").split(" and "))
    return {
        sentence if not parts else sentence.format(what=" and ".join(sorted(parts)), **dict(others))
        for (sentence, others), parts in whats.items()
    }


def said(need: str, say: Say) -> str:
    """Say one need."""
    sentence, filled = _read(need)
    # Expressions hold "and" too, but no table has their parts.
    told = {hole: _named(text.split(" and "), say) if hole == "what" else text for hole, text in filled.items()}
    return say(sentence).format(**told) if filled else say(need)


def _named(names: list[str], say: Say) -> str:
    told = say(names[0])
    for name in names[1:]:
        told = say("{one} and {other}").format(one=told, other=say(name))
    return told
