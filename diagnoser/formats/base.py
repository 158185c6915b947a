"""What a dialect module offers: recognising its own lines and reading its statistics."""

from __future__ import annotations

from typing import Protocol

from diagnoser.tables.table import Group
from diagnoser.values import dataclass


@dataclass(slots=True)
class Head:
    """What a dialect reads off the first line of a record.

    ``text`` is the message without the prefix. ``month`` to ``second`` give the printed time; ``year`` is None when the
    format prints none; a clock-only format (SGLang 0.2) leaves ``month`` None too. ``second`` may be fractional.
    """

    dialect: str
    kind: str
    text: str
    level: str = ""
    process: str = ""
    ranks: Group = ()
    where: str = ""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int = 0
    second: float = 0.0

    def at(self, year: str | None, month: str, day: str, hour: str, minute: str, second: str) -> Head:
        """Set the time as the line prints it, the second with its fraction; return the head."""
        self.year, self.month, self.day = int(year) if year else None, int(month), int(day)
        self.hour, self.minute, self.second = int(hour), int(minute), float(second)
        return self


class Dialect(Protocol):
    """A module in this folder. ``SAMPLES`` are (line, expected Head fields) pairs: the module's own test."""

    NAME: str
    ORDER: int  # dialects are asked in this order; the first that answers owns the line
    SAMPLES: list[tuple[str, dict[str, object]]]

    def head(self, text: str) -> Head | None:
        """Parse the first line of a record; None when this dialect did not write it."""


#: No server prints a larger figure; one such number, or an infinite one, would spoil every sum.
MOST = 1e15


@dataclass(slots=True)
class StatsLine:
    """A statistics line taken apart: printed label to number (percentages as ratios, True/False as 1/0).

    Numbers beyond ``MOST`` are left out, as if their field had not been printed.
    """

    group: Group
    values: dict[str, float]
    form: str = ""  # e.g. "v0", "v1", "prefill", "decode"

    def __post_init__(self) -> None:
        numbers = self.values.values()
        if numbers and (max(numbers) > MOST or min(numbers) < -MOST):
            self.values = {label: value for label, value in self.values.items() if abs(value) <= MOST}
