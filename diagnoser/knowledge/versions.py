"""Engine versions: reading them as logs print them and placing them among the versions that were read.

The catalogue knows an engine at certain versions only ("read"). A version between two of them is judged by both of its
neighbours; one past either end by the end. So every question about a version becomes one about a `Position`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from diagnoser.patterns import lazily

_VERSION = lazily(r"v?(\d+(?:\.\d+)+(?:[-_.]?(?:a|b|rc)\d*)?(?:[-_.]?post\d*)?(?:[-_.]?dev\d*)?(?:\+[A-Za-z0-9.]+)?)")


class Position(NamedTuple):
    """Indexes of the read versions around a version: equal when it was read itself or lies past an end."""

    low: int
    high: int


def parse_version(text: str) -> Version | None:
    """Read a version as engines print it (``v0.9.2``, ``0.6.3.post1+cu118``, ``0.9.2rc2.dev30+g1a2b3c4``).

    A local part (``+cu118``) says how it was built, not what it can do, and is dropped. None when there is none.
    """
    found = _VERSION.match(text.strip())
    if not found:
        return None
    try:
        return Version(Version(found[1]).public)
    except InvalidVersion:
        return None


class VersionList:
    """The versions of one engine that were read, oldest first."""

    def __init__(self, read: Sequence[str]) -> None:
        self.read = tuple(read)
        self._index = {text: index for index, text in enumerate(self.read)}

    @cached_property
    def _sorted(self) -> list[Version]:
        return [Version(text) for text in self.read]

    @property
    def newest(self) -> str:
        """The newest version read."""
        return self.read[-1]

    @property
    def oldest(self) -> str:
        """The oldest version read."""
        return self.read[0]

    def position(self, text: str) -> Position | None:
        """Place a version; None when the text is no version, or a build that does not know its own.

        ``0.1.dev1+g…`` is what a checkout without tags calls itself: older than anything read and marked dev.
        """
        index = self._index.get(text)
        if index is not None:
            return Position(index, index)
        version = parse_version(text)
        if version is None:
            return None
        index = bisect_left(self._sorted, version)
        last = len(self.read) - 1
        if index > last:
            return Position(last, last)
        if self._sorted[index] == version:
            return Position(index, index)
        if index == 0:
            return None if version.is_devrelease else Position(0, 0)
        return Position(index - 1, index)

    def first_index(self, text: str | None) -> int:
        """Return the index of the first read version at or after ``text``; None means the oldest."""
        if text is None:
            return 0
        index = self._index.get(text)
        return bisect_left(self._sorted, Version(text)) if index is None else index

    def last_index(self, text: str | None) -> int:
        """Return the index of the last read version at or before ``text``; None means the newest."""
        if text is None:
            return len(self.read) - 1
        index = self._index.get(text)
        if index is not None:
            return index
        version = Version(text)
        index = bisect_left(self._sorted, version)
        return index if index < len(self.read) and self._sorted[index] == version else index - 1

    def covers(self, position: Position, first: str | None, last: str | None, absent: Sequence[str] = ()) -> bool:
        """Tell whether both neighbours lie in first..last (inclusive; None is open) and neither in ``absent``."""
        if position.low < self.first_index(first) or position.high > self.last_index(last):
            return False
        return not absent or not {self.read[position.low], self.read[position.high]} & set(absent)


def range_text(versions: VersionList, first: str, last: str | None) -> str:
    """Say a range as people write it: ``0.5.20+``, ``up to 0.10.2``, ``0.9.0 to 0.12.0``; "" for every version read."""
    from_start = versions.first_index(first) == 0
    if last is None:
        return "" if from_start else f"{first}+"
    if from_start:
        return f"up to {last}"
    return first if first == last else f"{first} to {last}"
