"""All shapes that are known: by the key of their lines, and those of requests in the order they were met."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from diagnoser.skimming.layouts import Layout, Request


class Shapes:
    """Layouts in the order they were learnt. ``number`` tells the one that lines with a key have."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._layouts: list[Layout] = []
        self._numbers: dict[bytes, int] = {}
        self.number = self._numbers.get

    @property
    def wrapped(self) -> bool:
        """Whether all lines of these shapes have a time of their envelope."""
        return all(one.shape.wrapped for one in chain[Layout | Request](self._layouts, self.requests))

    def __len__(self) -> int:
        return len(self._layouts) + len(self.requests)

    def __iter__(self) -> Iterator[tuple[int, Layout]]:
        return iter(enumerate(self._layouts))

    def add(self, found: Layout | Request) -> bool:
        """Add a layout; tell whether it is new. Of one whose lines look the same the newer counts: it may be day."""
        if isinstance(found, Request):
            if any(
                one.head.pattern == found.head.pattern and one.tail.pattern == found.tail.pattern
                for one in self.requests
            ):
                return False
            self.requests.append(found)
            return True
        known = self._numbers.get(found.key)
        if known is None:
            self._numbers[found.key] = len(self._layouts)
            self._layouts.append(found)
            return True
        new = self._layouts[known] != found
        self._layouts[known] = found
        return new
