"""Searching a pattern without losing control over its time, and without a library that most logs do not need."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from diagnoser.patterns import lazily

#: A pattern with one part of any length is quadratic at worst, one with none linear: texts up to so long need no watch,
#: nor the library that can keep one, which takes longer to load than a short log to read.
SHORT, LONG = 1024, 64 << 10

# What repeats something: rather too much is found than too little.
_REPEATS = lazily(r"[*+{]")
# What may be missing, each of which can double the ways to take a text; not what an open bracket is followed by.
_MISSING = lazily(r"(?<!\()\?")
_MOST_MISSING = 4
# A group that is repeated may take a text in as many ways as it has parts.
_GROUPS = lazily(r"\)[*+?{]")
# What means something else in the other library, or may one day: named classes, sets in sets, almost equal texts.
_OTHERWISE = lazily(r"\[\[|--|&&|~~|\|\||\{(?!\d)")
_NAMES = lazily(r"\(\?P<(\w+)>")
# As many open ends as are watched in any case.
_WATCHED = 2


class Search:
    """A pattern as it is searched for. ``open_ended``: how many of its parts may be of any length."""

    __slots__ = ("_bounded", "_free", "_quick", "pattern")

    def __init__(self, pattern: str, open_ended: int) -> None:
        self.pattern = pattern
        names = _NAMES.findall(pattern)
        # Of alternatives several may have a field: for Python's own library a name stands once.
        known = open_ended < _WATCHED and len(set(names)) == len(names)
        self._free = -1 if not known else SHORT if open_ended else LONG
        self._quick: Any = None
        self._bounded: Any = None

    def __call__(self, text: str, start: int, end: int, seconds: float) -> Any:
        """Return the first match in a text, None for none.

        What may take long is looked for between ``start`` and ``end`` alone. Raises TimeoutError after ``seconds``.
        """
        if len(text) <= self._free:
            if self._quick is None:
                self._quick = re.compile(self.pattern).search
            return self._quick(text)
        if self._bounded is None:
            import regex

            self._bounded = regex.compile(self.pattern).search
        return self._bounded(text, start, end, timeout=seconds)


@lru_cache(maxsize=1024)
def search_of(pattern: str) -> Search:
    """Return the search of a regular expression that somebody wrote."""
    if _OTHERWISE.search(pattern):
        return Search(pattern, _WATCHED)
    open_ended = len(_REPEATS.findall(pattern)) + len(_GROUPS.findall(pattern))
    search = Search(pattern, open_ended + len(_MISSING.findall(pattern)) // (_MOST_MISSING + 1) * _WATCHED)
    try:
        re.compile(pattern)
    except (re.error, RecursionError):  # one that only the other library understands
        return Search(pattern, _WATCHED)
    return search
