"""What scraping needs of the world outside: the engine reads no clock and starts no threads of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class World(Protocol):
    """The clock, waiting, and doing several things at once; tests bring one of their own."""

    def now(self) -> float:
        """Return the time of day in seconds since the epoch."""

    def passed(self) -> float:
        """Return seconds on a clock that nobody sets and that goes on while the machine sleeps."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""

    def together(self, jobs: Sequence[Callable[[], T]], seconds: float) -> list[T | None]:
        """Do all jobs at the same time; None stands for one that was not done in time."""

    def tell(self, text: str) -> None:
        """Show how far the work is, to a person who waits; "" when it is done."""
