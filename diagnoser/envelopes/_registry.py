"""Finds the envelope modules of this folder and joins their heads into one expression per first character."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Protocol, cast

import diagnoser.envelopes as folder
from diagnoser.envelopes._ansi import LOST_FIRST, LOST_HEAD
from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME
from diagnoser.listing import modules


class Envelope(Protocol):
    """A module in this folder."""

    NAME: str
    ORDER: int  # heads are tried in this order; the first that matches says which envelope a line has
    FIRST: str  # the characters that such a line can begin with
    HEAD: str  # when it begins with TIME, the time is matched once for all envelopes that do
    SAMPLES: Sequence[Sample]
    peel: Callable[[str], Peeled | None]


#: Stands for a colour code without its ESC byte, which is no envelope but hides one.
LOST = "lost"


class Heads:
    """The heads of all envelopes that share a first character; group N of a match is ``owners[N - 1]``."""

    def __init__(self, expression: str, owners: Sequence[Envelope | str]) -> None:
        self._expression = expression
        self._owners = owners

    @functools.cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        """Match a line's beginning. Compiled on first use: one log begins its lines in one or two ways of twenty."""
        compiled = re.compile(self._expression)
        if compiled.groups != len(self._owners):
            names = (owner if isinstance(owner, str) else owner.NAME for owner in self._owners)
            raise TypeError(f"a HEAD of {', '.join(names)} has capturing groups; write (?:...)")
        return compiled.match

    def owner(self, text: str) -> Envelope | str | None:
        """Tell the envelope of a line, ``LOST``, or None."""
        found = self.match(text)
        return None if found is None else self._owners[cast(int, found.lastindex) - 1]


@functools.cache
def envelopes() -> tuple[Envelope, ...]:
    """Import every module of the folder that has no leading underscore, in ``ORDER``."""
    names = [name for name in modules(folder.__path__) if not name.startswith("_")]
    found = [_check(importlib.import_module(f"{folder.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda envelope: envelope.ORDER))


@functools.cache
def _restorers() -> tuple[Callable[[str], str | None], ...]:
    return tuple(one.restored for one in envelopes() if hasattr(one, "restored"))


def restored(text: str) -> str | None:
    """Return a line that lost the beginning of its envelope with another in its place; None where none is known."""
    return next((whole for restore in _restorers() if (whole := restore(text)) is not None), None)


@functools.cache
def by_first() -> dict[str, Heads]:
    """Map a line's first character to the heads that can begin so."""
    made: dict[tuple[str, ...], Heads] = {}
    table: dict[str, Heads] = {}
    for first in sorted({char for envelope in envelopes() for char in envelope.FIRST} | set(LOST_FIRST)):
        candidates = [envelope for envelope in envelopes() if first in envelope.FIRST]
        lost = first in LOST_FIRST
        key = (*(envelope.NAME for envelope in candidates), LOST * lost)
        if key not in made:
            made[key] = _heads(candidates, lost)
        table[first] = made[key]
    return table


def _heads(candidates: Sequence[Envelope], lost: bool) -> Heads:
    timed = [envelope for envelope in candidates if envelope.HEAD.startswith(TIME)]
    others = [envelope for envelope in candidates if envelope not in timed]
    owners: list[Envelope | str] = [*timed, *others]
    branches = [f"({envelope.HEAD})" for envelope in others]
    if timed:
        branches.insert(0, TIME + "(?:" + "|".join(f"({envelope.HEAD[len(TIME) :]})" for envelope in timed) + ")")
    if lost:
        branches.append(f"({LOST_HEAD})")
        owners.append(LOST)
    return Heads("|".join(branches), owners)


def _check(module: ModuleType) -> Envelope:
    missing = [name for name in ("NAME", "ORDER", "FIRST", "HEAD", "SAMPLES", "peel") if not hasattr(module, name)]
    if missing:
        raise TypeError(f"{module.__name__} is no envelope: it lacks {', '.join(missing)}")
    return cast(Envelope, module)
