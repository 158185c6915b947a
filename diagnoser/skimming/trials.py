"""What the numbers of a line mean: found out by putting others in their places and asking its readers again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from diagnoser.formats.base import StatsLine
from diagnoser.model import Record
from diagnoser.values import dataclass, replace

#: An event by its name, with what it says.
Event = tuple[str, Mapping[str, Any]]

#: Digits that are put into a line to see what they change.
TRIALS = (b"0", b"12", b"100", b"0987654321")


@dataclass(slots=True)
class Value:
    """A label's number: the one ``whole`` among all numbers of a line, those behind its point, what divides it."""

    label: str
    whole: int
    fraction: int = -1
    divisor: float = 1.0
    constant: float = 0.0


class Asked(Protocol):
    """What the rooms that read single lines say of a record."""

    def stats(self, record: Record) -> StatsLine | None:
        """Take a statistics record apart."""

    def events(self, record: Record) -> Sequence[Event] | None:
        """Return the events in a record; None when one of them does more than be counted."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where a text holds a literal with digits that rules look for, whatever the digits are."""


def changed(text: str, free: Mapping[int, tuple[int, int]], digits: bytes) -> str:
    """Return a text with other digits in place of some of its numbers."""
    return _put(text, free, dict.fromkeys(free, digits))


def _put(text: str, free: Mapping[int, tuple[int, int]], changes: Mapping[int, bytes]) -> str:
    made, at = "", 0
    for number, (start, end) in free.items():
        made += text[at:start] + (changes[number].decode() if number in changes else text[start:end])
        at = end
    return made + text[at:]


def events_of(record: Record, free: Mapping[int, tuple[int, int]], asked: Asked) -> Sequence[Event] | None:
    """Return the events of all lines of a shape; None when a rule may look for a number that is free."""
    found = asked.events(record)
    if found is None:
        return None
    for start, end in asked.spans(record.text):
        if any(start < last and first < end for first, last in free.values()):
            return None
    for digits in TRIALS:
        if asked.events(replace(record, text=changed(record.text, free, digits))) != found:
            return None
    return found


def values_of(
    record: Record,
    told: StatsLine,
    free: Mapping[int, tuple[int, int]],
    stats: Callable[[Record], StatsLine | None],
) -> list[Value] | None:
    """Find out which number of a record's text feeds which label: change one after the other and see what changes."""
    text = record.text

    def tried(changes: dict[int, bytes]) -> StatsLine | None:
        return stats(replace(record, text=_put(text, free, changes)))

    feeds: dict[str, list[int]] = {label: [] for label in told.values}
    for number, (start, end) in free.items():
        other = tried({number: b"7" if text[start:end] != "7" else b"5"})
        if other is None or other.group != told.group or list(other.values) != list(told.values):
            return None
        for label, value in other.values.items():
            if value != told.values[label]:
                feeds[label].append(number)
    values = []
    for label, numbers in feeds.items():
        if not numbers:
            values.append(Value(label, -1, constant=told.values[label]))
        elif len(numbers) == 1:
            values.append(Value(label, numbers[0]))
        elif len(numbers) == 2 and text[free[numbers[0]][1] : free[numbers[1]][0]] == ".":
            values.append(Value(label, *numbers))
        else:
            return None
    for made in TRIALS:
        trial = dict.fromkeys(free, made)
        other = tried(trial)
        if other is None or other.group != told.group or list(other.values) != list(told.values):
            return None
        if not all(_settled(value, trial, other.values[value.label]) for value in values):
            return None
    return values


def _settled(value: Value, trial: dict[int, bytes], found: float) -> bool:
    """Whether a value's number makes what was found; settles what it is divided by on the first trial that tells."""
    if value.whole < 0:
        return found == value.constant
    digits = trial[value.whole]
    made = float(digits if value.fraction < 0 else digits + b"." + trial[value.fraction])
    if made / value.divisor == found:
        return True
    value.divisor = 100.0
    return made / 100.0 == found
