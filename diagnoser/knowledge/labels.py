"""From the label that a statistics line prints to the series it feeds."""

from __future__ import annotations

import re
from collections.abc import Mapping

_CACHE_LIMIT = 1024


class LabelMap:
    """Maps a printed label to the names of the series it feeds; a label nobody names feeds none.

    A spelling may hold ``{any}``, which stands for one word without blanks. Call it: ``map("token usage")``.
    """

    __slots__ = ("_exact", "_found", "_patterns")

    def __init__(self, spellings: Mapping[str, tuple[str, ...]]) -> None:
        self._exact: dict[str, list[str]] = {}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        self._found: dict[str, tuple[str, ...]] = {}
        for series, labels in spellings.items():
            for label in labels:
                if "{any}" in label:
                    pieces = (re.escape(piece) for piece in label.split("{any}"))
                    self._patterns.append((re.compile(r"\S+".join(pieces)), series))
                else:
                    self._exact.setdefault(label, []).append(series)

    def __call__(self, label: str) -> tuple[str, ...]:
        """Return the names of the series that ``label`` feeds, in the order of the vocabulary file."""
        found = self._found.get(label)
        if found is None:
            names = dict.fromkeys(self._exact.get(label, ()))
            names |= dict.fromkeys(series for pattern, series in self._patterns if pattern.fullmatch(label))
            found = tuple(names)
            # Labels come from a log, which may hold any number of different ones.
            if len(self._found) < _CACHE_LIMIT:
                self._found[label] = found
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """Every exact label, for prefilters. Labels with ``{any}`` are not among them."""
        return tuple(self._exact)
