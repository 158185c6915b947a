"""Values of expressions: a number, a truth, a text … or unknown, with what would decide it and what proves it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NoReturn

from diagnoser.rules.model import Node
from diagnoser.values import dataclass, field


class Unknown(Enum):
    """The type of UNKNOWN: not observed, which is neither true nor false."""

    UNKNOWN = "unknown"

    def __bool__(self) -> NoReturn:
        raise TypeError("unknown is neither true nor false: compare with `is True` or `is UNKNOWN`")

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown.UNKNOWN

#: bool, float, str, list, Version, None (an argument printed as None) or UNKNOWN.
Value = Any

#: Proofs kept per result.
MOST_PROOFS = 6

NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True, frozen=True)
class Answer:
    """A value and the short texts of what input would decide it; ``needs`` is empty for a known value.

    ``note`` tells how far the value can be trusted ("of the first 512").
    """

    value: Value
    needs: frozenset[str] = NOTHING
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether the value is not UNKNOWN."""
        return self.value is not UNKNOWN


def unknown(*needs: str) -> Answer:
    """Return an unknown answer that these inputs would decide."""
    return Answer(UNKNOWN, frozenset(needs))


@dataclass(slots=True, frozen=True)
class Proof:
    """One line of evidence. ``kind``: "event", "sample" or "fact"; ``time`` None where the log has none.

    ``medium`` is where a sample comes from (table.MEDIA).
    """

    kind: str
    source: str
    line: int
    time: float | None
    text: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = ""
    medium: str = "log"


@dataclass(slots=True, frozen=True)
class Result:
    """The value of an expression over one run.

    ``needs`` says what would decide it when it is UNKNOWN, ``proof`` what made it true (at most MOST_PROOFS lines, the
    most telling first; empty unless the value is True).
    """

    value: Value
    needs: frozenset[str]
    proof: tuple[Proof, ...]
    node: Node

    @property
    def true(self) -> bool:
        """Whether it is known to hold."""
        return self.value is True

    @property
    def unknown(self) -> bool:
        """Whether it could not be decided."""
        return self.value is UNKNOWN


@dataclass(slots=True, frozen=True)
class Trace:
    """How an expression got its value: its text, the value as text, and its parts, for ``--why`` and ``--why-not``."""

    text: str
    value: str
    children: tuple[Trace, ...] = ()
    needs: frozenset[str] = NOTHING
    note: str = ""
