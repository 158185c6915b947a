"""What this room asks of rooms that it does not know: finding events in a record, taking records apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from diagnoser.evidence.facts import Dump
from diagnoser.formats.base import StatsLine
from diagnoser.model import Record


class Spec(Protocol):
    """What this room needs to know of an event (``rules.model.EventSpec``)."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def role(self) -> str: ...  # noqa: D102
    @property
    def phase(self) -> str: ...  # noqa: D102
    @property
    def generic(self) -> bool: ...  # noqa: D102
    @property
    def sets(self) -> tuple[tuple[str, Any], ...]: ...  # noqa: D102


#: One event found in a record: event, template, typed fields, the matched line and its number in the record.
Match = tuple[Spec, Any, dict[str, Any], str, int]


class Matcher(Protocol):
    """Finds events in a record for a given engine (``rules.matching.matcher.Matcher``)."""

    def match(self, record: Record, engine: str) -> Sequence[Match]: ...  # noqa: D102
    def spans(self, text: str) -> list[tuple[int, int]]: ...  # noqa: D102


class Readers(Protocol):
    """What the formats room offers beyond records."""

    def stats(self, record: Record) -> StatsLine | None: ...  # noqa: D102
    def dump(self, record: Record) -> Dump | None: ...  # noqa: D102
    def engine(self, record: Record) -> str: ...  # noqa: D102
