"""One line read alone, as a line in the middle of a log, and again with other digits in it."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from diagnoser.envelopes import Peeler
from diagnoser.formats.records import RecordReader
from diagnoser.model import Line, Record


class Reading(NamedTuple):
    """A line as the envelopes give it, and the record it is."""

    line: Line
    record: Record


def read(raw: bytes) -> Reading | None:
    """Read one line; None when it is not one whole record."""
    peeler = Peeler()
    lines = list(peeler.lines([("", 1, raw)]))
    if len(lines) != 1 or peeler.repairs["joined pieces"]:
        return None
    reader = RecordReader()
    found = [*reader.feed(lines[0]), *reader.flush()]
    return Reading(lines[0], found[0]) if len(found) == 1 else None


def same(one: Reading, other: Reading, text: str) -> bool:
    """Whether the other is what the first is but for its times and, in place of its own, this text."""
    mine, theirs = one.record, other.record
    return (
        theirs.text == text
        and (one.line.stream, one.line.envelope) == (other.line.stream, other.line.envelope)
        and (one.line.time is None) == (other.line.time is None)
        and _kept(mine) == _kept(theirs)
    )


_kept = attrgetter("kind", "dialect", "level", "process", "ranks", "where", "time_known")


def put(line: bytes, spans: Iterable[tuple[int, int]], digits: bytes) -> bytes:
    """Put digits in place of some parts of a line, given in order."""
    made, at = b"", 0
    for start, end in spans:
        made += line[at:start] + digits
        at = end
    return made + line[at:]
