"""The shape of a line: what stands still in it, where numbers are, what they mean. Found by reading it with others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from diagnoser.envelopes import epoch
from diagnoser.patterns import lazily
from diagnoser.skimming.reads import read
from diagnoser.skimming.trials import Value
from diagnoser.table import Group
from diagnoser.values import dataclass

#: Longest line that is learnt, but for requests.
LONGEST = 700
# What ends a string of JSON or changes what it says, once its harmless escapes are gone.
_BREAKING = lazily(rb"[\\\"\x00-\x1f]")
_SAFE_ESCAPES = (rb"\\", rb"\"", rb"\/", rb"\t", rb"\u0026", rb"\u003c", rb"\u003e")
# What Ray puts behind a line that many actors wrote.
_RAY = b" across cluster]"
#: How much of a line may follow a request's end: what an envelope puts behind it.
TAIL = 200


@dataclass(slots=True)
class Shape:
    """What all lines of a shape have in common. ``kind`` to ``ranks`` are those of their records.

    ``stream`` and ``envelope`` are the peeler's; ``wrapped`` says whether the envelope tells a time. ``tag`` is the
    writer's prefix; ``answered`` requests got 200; ``text`` is where a record's text begins in the line, -1 where
    that is not always the same.
    """

    kind: str
    dialect: str
    level: str
    tag: str
    stream: str
    envelope: str
    wrapped: bool
    answered: bool = False
    process: str = ""
    ranks: Group = ()
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    text: int = -1

    def text_of(self, line: bytes) -> str:
        """Return the text of a line's record."""
        if self.text >= 0:
            return line[self.text :].decode("utf-8", "replace")
        found = read(line)
        return "" if found is None else found.record.text


@dataclass(slots=True)
class Layout:
    """A line that is always the same but for its numbers, which are counted from 0.

    ``fixed``: those that stand still, with their digits. ``stamp``: the first of the time that the line prints, -1 for
    none; ``dated`` says whether that is a year. ``outer``: of the envelope's time, the number of the hour, when the day
    began, and the number of the fraction, -1 for none.
    """

    shape: Shape
    key: bytes
    fixed: tuple[tuple[int, bytes], ...] = ()
    stamp: int = -1
    dated: bool = False
    outer: tuple[int, float, int] | None = None
    group: Group = ()
    values: tuple[Value, ...] = ()


@dataclass(slots=True)
class Request:
    """A line that quotes what a user sent: how it begins, how it ends, whether it is a string of JSON."""

    shape: Shape
    head: re.Pattern[bytes]
    tail: re.Pattern[bytes]
    quoted: bool

    def times(self, data: bytes, begin: int, stop: int, clean: bool = False) -> tuple[bytes, float | None] | None:
        """Return the time that a line prints and its envelope's, None for a line of another shape.

        ``clean``: nothing ``strange`` is in any of these lines.
        """
        head = self.head.match(data, begin, stop)
        if head is None:
            return None
        after = head.end()
        tail = self.tail.search(data, max(after, stop - TAIL), stop)
        if tail is None or ((self.quoted or not clean) and breaks(data[after : tail.start()], self.quoted)):
            return None
        outer = None
        if self.shape.wrapped:
            outer = epoch((head if "outer" in self.head.groupindex else tail)["outer"].decode())
            if outer is None:
                return None
        return head["stamp"], outer


def strange(data: bytes) -> bool:
    """Whether some lines have bytes that send a line another way, wherever they stand."""
    return _RAY in data or b"\x1b" in data or b"\r" in data or b"\0" in data


def breaks(words: bytes, quoted: bool) -> bool:
    """Whether what a user sent sends the line another way."""
    if not quoted or _RAY in words:
        return strange(words)
    for escape in _SAFE_ESCAPES:
        if b"\\" not in words:
            break
        words = words.replace(escape, b"")
    return _BREAKING.search(words) is not None
