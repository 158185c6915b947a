"""Lines of a log that nobody looks at one by one, because nothing happens in them: told of together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diagnoser.model import Record
from diagnoser.tables.table import Group
from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Rows:
    """Statistics lines of one group in a row: ``at`` counts from the gap's first line, times are NaN where unknown.

    ``parts``: for each shape of line the rows it fills, numbers by label. ``texts`` gives what gives some rows' lines.
    """

    group: Group
    at: Any
    time: Any
    parts: Sequence[tuple[Any, Mapping[str, Any]]]
    texts: Callable[[Any], list[Callable[[], str]]]


@dataclass(slots=True)
class Seen:
    """One event in a gap, so often. Of the first of them and the last ``at`` tells where, ``record`` what it says.

    ``at`` counts from the gap's first line, and ``record`` takes a place in it. ``times`` are those known, in order;
    both are arrays of numpy.
    """

    name: str
    count: int
    at: Any
    times: Any
    ranks: set[Group]
    record: Callable[[int], tuple[Record, Mapping[str, Any]]]


@dataclass(slots=True)
class Gap:
    """Lines in a row in which nothing happens: access lines, complete requests, statistics. They are counted.

    ``line`` is the first one's number, ``count`` how many there are, ``first``, ``last`` their first and last time.
    ``answered`` requests got 200, the last in line ``answered_at`` of the gap, at ``answered_time``. ``envelopes``
    counts lines by what they were wrapped in; ``wrapped``: all had a time of its. ``longest`` lines have so many bytes,
    and ``as_long`` of them do; where a terminal may have broken lines, those are characters too.
    """

    source: str
    line: int
    count: int
    stream: str = ""
    first: float | None = None
    last: float | None = None
    time_known: str = ""
    answered: int = 0
    answered_at: int = -1
    answered_time: float | None = None
    levels: dict[str, int] = field(default_factory=dict)
    envelopes: dict[str, int] = field(default_factory=dict)
    wrapped: bool = True
    longest: int = 0
    as_long: int = 0
    rows: list[Rows] = field(default_factory=list)
    events: list[Seen] = field(default_factory=list)
    kind: str = "gap"
