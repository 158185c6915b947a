"""The nearest valid word, for error messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the word most like ``word``, or None when nothing comes close (``cutoff``: 0 anything, 1 equal)."""
    from difflib import get_close_matches  # only an error message needs it

    known = sorted(words)
    lower = {known_word.lower(): known_word for known_word in reversed(known)}
    found = get_close_matches(word.lower(), lower, n=1, cutoff=cutoff)
    return lower[found[0]] if found else None


def hint(word: str, words: Iterable[str]) -> str:
    """Return ``"; did you mean X?"`` or an empty string."""
    found = nearest(word, words)
    return f"; did you mean {found}?" if found else ""
