"""A record that an event was found in becomes the event that is kept: its place, its time and what it looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diagnoser.evidence.asked import Match, Spec
from diagnoser.evidence.lifetime import FRAMES, Lifetime
from diagnoser.model import Event, EventLog, Record, Run
from diagnoser.tables.table import Origin

#: Excerpt of a record kept with an event.
TEXT = 4000
#: Roles of events that only report what another line says.
_ECHOES = FRAMES | {"wrapper", "consequence", "fatal", "stop"}


def event_of(
    life: Lifetime, record: Record, name: str, fields: dict[str, Any], offset: int, alone: bool = False
) -> Event:
    """Return the event that the record's line ``offset`` tells, at the point that the lifetime has reached."""
    line = min(record.origin.line + offset, max(record.last_line, record.origin.line))
    text = line_first(record.text, offset) if offset else record.text
    return Event(
        name,
        Origin(record.origin.source, line),
        record.time,
        text[:TEXT],
        fields,
        record.ranks,
        record.process,
        life.phase,
        life.seq,
        alone,
    )


def alone(event: Spec, matches: Sequence[Match]) -> bool:
    """Tell whether an event that names no cause is all that was found in a record."""
    return event.generic and all(spec.generic or spec.role in _ECHOES for spec, *_ in matches)


def line_first(text: str, offset: int) -> str:
    """Put the line that matched first, then the record's first line and what stood above the match.

    Of a long stack the frames nearest to the exception stay: they tell where it happened.
    """
    lines = text.split("\n")
    line, above = lines[min(offset, len(lines) - 1)], lines[:offset]
    room = TEXT - len(line) - 1
    kept: list[str] = []
    for other in reversed(above[1:]):
        room -= len(other) + 1
        if room < len(above[0]):
            break
        kept.append(other)
    return "\n".join([line, *above[:1], *reversed(kept)])


def add_event(run: Run, event: Event) -> None:
    """Put an event into the run's log of that name."""
    log = run.events.get(event.name)
    if log is None:
        log = run.events[event.name] = EventLog(event.name)
    log.add(event)
