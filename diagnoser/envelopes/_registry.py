"""Finds the envelope modules of this folder and joins their heads into one expression per first character."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Protocol, cast

import diagnoser.envelopes as folder
from diagnoser.envelopes._ansi import LOST_FIRST, LOST_HEAD
from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME


class Envelope(Protocol):
    """A module in this folder."""

    NAME: str
    ORDER: int  # heads are tried in this order; the first that matches says which envelope a line has
    FIRST: str  # the characters that such a line can begin with
    HEAD: str  # when it begins with TIME, the time is matched once for all envelopes that do
    SAMPLES: Sequence[Sample]
    peel: Callable[[str], Peeled | None]


#: Says which envelope a line has: the envelope, "lost" for a colour without its ESC byte, None for neither.
Tell = Callable[[str], "Envelope | str | None"]

LOST = "lost"


@functools.cache
def envelopes() -> tuple[Envelope, ...]:
    """Import every module of the folder that has no leading underscore, in ``ORDER``."""
    names = sorted(info.name for info in pkgutil.iter_modules(folder.__path__) if not info.name.startswith("_"))
    found = [_check(importlib.import_module(f"{folder.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda envelope: envelope.ORDER))


@functools.cache
def by_first() -> dict[str, Tell]:
    """Map a line's first character to the function that tells its envelope; absent when no envelope begins so."""
    tells: dict[tuple[Envelope, ...], dict[bool, Tell]] = {}
    table: dict[str, Tell] = {}
    for first in sorted({char for envelope in envelopes() for char in envelope.FIRST} | set(LOST_FIRST)):
        candidates = tuple(envelope for envelope in envelopes() if first in envelope.FIRST)
        lost = first in LOST_FIRST
        known = tells.setdefault(candidates, {})
        if lost not in known:
            known[lost] = _tell(candidates, lost)
        table[first] = known[lost]
    return table


def _tell(candidates: Sequence[Envelope], lost: bool) -> Tell:
    """Build the function for lines that any of ``candidates`` may own."""
    timed = [envelope for envelope in candidates if envelope.HEAD.startswith(TIME)]
    others = [envelope for envelope in candidates if envelope not in timed]
    groups: list[Envelope | str] = [*others, *timed]
    branches = [f"({envelope.HEAD})" for envelope in others]
    if timed:
        branches.append(TIME + "(?:" + "|".join(f"({envelope.HEAD[len(TIME) :]})" for envelope in timed) + ")")
    if lost:
        groups.append(LOST)
        branches.append(f"({LOST_HEAD})")
    match = re.compile("|".join(branches)).match

    def tell(text: str) -> Envelope | str | None:
        found = match(text)
        return None if found is None else groups[cast(int, found.lastindex) - 1]

    return tell


def _check(module: ModuleType) -> Envelope:
    missing = [name for name in ("NAME", "ORDER", "FIRST", "HEAD", "SAMPLES", "peel") if not hasattr(module, name)]
    if missing:
        raise TypeError(f"{module.__name__} is no envelope: it lacks {', '.join(missing)}")
    if re.compile(module.HEAD).groups:
        raise TypeError(f"{module.__name__}.HEAD has capturing groups; write (?:...)")
    return cast(Envelope, module)
