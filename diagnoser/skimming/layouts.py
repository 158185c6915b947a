"""The shape of a line: what stands still in it, where numbers are, what they mean. Found by reading it with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnoser.patterns import lazily
from diagnoser.skimming.forms import Form
from diagnoser.skimming.reads import read
from diagnoser.skimming.trials import Value
from diagnoser.tables.table import Group
from diagnoser.values import dataclass

#: Longest line that is learnt, but for requests.
LONGEST = 700
# What ends a string of JSON or changes what it says, once its harmless escapes are gone.
_BREAKING = lazily(rb"[\\\"\x00-\x1f]")
_SAFE_ESCAPES = (rb"\\", rb"\"", rb"\/", rb"\t", rb"\u0026", rb"\u003c", rb"\u003e")
#: What Ray puts behind a line that many actors wrote.
RAY = b" across cluster]"
#: How much of a line may follow a request's end: what an envelope puts behind it.
TAIL = 200
#: What an engine says before a request's text, and behind it.
ASKS = b"Received request "
REQUEST = lazily(rb"([A-Za-z0-9_-]{1,100}+): (?:prompt|params): ")
REQUEST_END = b"lora_request: None."


@dataclass(slots=True)
class Shape:
    """What all lines of a shape have in common. ``kind`` to ``ranks`` are those of their records.

    ``stream`` and ``envelope`` are the peeler's; ``wrapped`` says whether the envelope tells a time. ``tag`` is the
    writer's prefix; ``answered`` requests got 200; ``text`` is where a record's text begins in the line, -1 where
    that is not always the same. ``clear``: each byte of a line is one character that the reader sees.
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
    clear: bool = False

    def text_of(self, line: bytes) -> str:
        """Return the text of a line's record."""
        if self.text >= 0:
            return line[self.text :].decode("utf-8", "replace")
        found = read(line)
        return "" if found is None else found.record.text


@dataclass(slots=True)
class Layout:
    """A line that is always the same but for its numbers, which are counted from 0.

    ``outer``: of the envelope's time, when the day began, and which number the fraction is, -1 for none; None where no
    envelope tells one. ``key`` is that of all days.
    """

    shape: Shape
    form: Form
    key: tuple[bytes, ...]
    outer: tuple[float, int] | None = None
    group: Group = ()
    values: tuple[Value, ...] = ()

    @property
    def wanted(self) -> frozenset[int]:
        """The numbers that are read."""
        return wanted_of(self.values, self.outer)


@dataclass(slots=True)
class Request:
    """A line that quotes what a user sent: how it begins, how it ends, whether it is a string of JSON.

    Its envelope's time, as a layout has it, is in the head or in the tail.
    """

    shape: Shape
    head: Form
    tail: Form
    quoted: bool
    key: tuple[bytes, ...]
    outer: tuple[float, int] | None = None

    @property
    def wanted(self) -> frozenset[int]:
        """The numbers that are read."""
        return wanted_of((), self.outer)


def wanted_of(values: Iterable[Value], outer: tuple[float, int] | None) -> frozenset[int]:
    """Return the numbers that are read: those of values, and the fraction of an envelope's time."""
    found = {outer[1]} if outer is not None else set()
    for value in values:
        found |= {value.whole, value.fraction}
    return frozenset(found - {-1})


def breaks(words: bytes, quoted: bool) -> bool:
    """Whether what a user sent sends the line another way."""
    if RAY in words:
        return True
    if not quoted:
        return b"\x1b" in words or b"\r" in words or b"\0" in words
    for escape in _SAFE_ESCAPES:
        if b"\\" not in words:
            break
        words = words.replace(escape, b"")
    return _BREAKING.search(words) is not None
