"""All shapes that are known: by what stands still in their lines, in the order they were met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnoser.skimming.layouts import Layout, Request


class Shapes:
    """What was learnt of one engine's stream."""

    def __init__(self) -> None:
        self.every: list[Layout | Request] = []
        # What was made of them, by the day; shared with copies until there are more shapes.
        self._days: dict[tuple[int, int, int], Any] = {}
        self._places: dict[tuple[bytes, ...], int] = {}

    def copy(self) -> Shapes:
        """Return the same shapes, to which others can be added without changing these."""
        made = Shapes()
        made.every, made._places = list(self.every), dict(self._places)
        made._days = self._days
        return made

    @property
    def wrapped(self) -> bool:
        """Whether all lines of these shapes have a time of their envelope."""
        return all(one.shape.wrapped for one in self.every)

    def __len__(self) -> int:
        return len(self.every)

    def add(self, found: Layout | Request) -> bool:
        """Add a shape; tell whether it is new. Of one whose lines look the same the newer counts: it may be day."""
        known = self._places.get(found.key)
        if known is None:
            self._places[found.key] = len(self.every)
            self.every.append(found)
        elif self.every[known] == found:
            return False
        else:
            self.every[known] = found
        self._days = {}
        return True

    def on(self, date: tuple[int, int, int], make: Callable[[], Any]) -> Any:
        """Return what ``make`` makes of these shapes on a day; it is made anew when either is another."""
        if date not in self._days:
            self._days.clear()
            self._days[date] = make()
        return self._days[date]
