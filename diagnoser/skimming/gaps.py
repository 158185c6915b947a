"""From the lines of a block that have known shapes to the gap that stands for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from diagnoser.model import Gap, Record, Rows, Seen
from diagnoser.skimming.blocks import Block
from diagnoser.skimming.layouts import Shape
from diagnoser.tables.table import Origin

#: Lines of one shape, in order, and what an event in each of them says, or the numbers in them.
_Part = tuple[Any, Shape, Mapping[str, Any]]


class _Stretch:
    """Lines of a block from ``at`` to before ``stop``; before them it was the time ``before``."""

    def __init__(self, block: Block, at: int, stop: int, before: float | None) -> None:
        self.block = block
        self.at, self.stop = at, stop
        self.before = before

    @cached_property
    def times(self) -> Any:
        """The time of each line, NaN for none: one that tells none carries the last one."""
        return self.block.times(self.at, self.stop, self.before)

    def time(self, line: int) -> float | None:
        """Return the time of one line."""
        return self.block.time(self.at, line, self.before)


def gap_of(
    source: str, number: int, block: Block, at: int, stop: int, before: float | None
) -> tuple[Gap, frozenset[tuple[str, bool]], float | None]:
    """Make the gap of the lines from ``at`` to before ``stop``, the first of which has this number in its source.

    ``before`` them it was that time. Beside the gap: who wrote its lines, with vLLM's formatter or not, and its last
    time.
    """
    gap = Gap(source, number, stop - at)
    stretch = _Stretch(block, at, stop, before)
    tags: set[tuple[str, bool]] = set()
    answered_at = -1
    events: dict[str, list[_Part]] = {}
    parts: dict[Any, list[_Part]] = {}
    for found in block.found:
        first, behind = found.between(at, stop)
        if first == behind:
            continue
        shape, lines = found.shape, found.lines[first:behind]
        tags.add((shape.tag, shape.dialect == "vllm"))
        gap.stream = shape.stream
        gap.wrapped = gap.wrapped and shape.wrapped
        gap.envelopes[shape.envelope] = gap.envelopes.get(shape.envelope, 0) + len(lines)
        if shape.level:
            gap.levels[shape.level] = gap.levels.get(shape.level, 0) + len(lines)
        if shape.answered:
            gap.answered += len(lines)
            answered_at = max(answered_at, int(lines[-1]))
        for name, fields in shape.events:
            events.setdefault(name, []).append((lines, shape, fields))
        if shape.kind == "stats":
            values = {label: column[first:behind] for label, column in found.values.items()}
            parts.setdefault(found.group, []).append((lines, shape, values))
    gap.first, gap.last, last = block.span(at, stop)
    if last is not None:
        gap.time_known = block.now.known
    if gap.answered:
        gap.answered_at = answered_at - at
        gap.answered_time = stretch.time(answered_at)
    gap.events = [_seen(name, found_events, gap, stretch) for name, found_events in events.items()]
    gap.rows = [_rows(group, found_rows, stretch) for group, found_rows in parts.items()]
    return gap, frozenset(tags), last


def _together(found: Sequence[_Part]) -> Any:
    """Return the lines of several shapes in the order of the log."""
    return found[0][0] if len(found) == 1 else np.sort(np.concatenate([lines for lines, *_ in found]))


def _shape_of(line: int, found: Sequence[_Part]) -> tuple[Shape, Mapping[str, Any]]:
    """Return the shape of a line, and what comes with it."""
    for lines, shape, more in found:
        place = int(lines.searchsorted(line))
        if place < len(lines) and lines[place] == line:
            return shape, more
    raise KeyError(line)


def _rows(group: Any, found: list[_Part], stretch: _Stretch) -> Rows:
    """Put statistics lines of one group, of several shapes, in the order of the log."""
    block, at = stretch.block, stretch.at
    told = np.zeros(stretch.stop - at, bool)
    for lines, *_ in found:
        told[lines - at] = True
    every = np.flatnonzero(told) + at
    # Which of the rows each line is.
    number = np.cumsum(told) - 1
    parts: list[tuple[Any, Mapping[str, Any]]] = [(number[lines - at], values) for lines, _, values in found]
    times = block.own[every]
    if (times != times).any():
        times = stretch.times[every - at]

    owners = np.zeros(len(every), np.int64)
    for owner, (places, _) in enumerate(parts):
        owners[places] = owner

    def texts(rows: Any) -> list[Callable[[], str]]:
        # Not the block: a few of its lines are kept for as long as the log is read.
        made = zip(owners[rows].tolist(), block.each(every[rows]), strict=True)
        return [partial(found[owner][1].text_of, line) for owner, line in made]

    return Rows(group, every - at, times, parts, texts)


def _seen(name: str, found: list[_Part], gap: Gap, stretch: _Stretch) -> Seen:
    """Put the lines with one event, of several shapes, in the order of the log."""
    every = _together(found)
    # Not the gap itself: what refers to itself stays in memory until somebody looks for it.
    source, first, at = gap.source, gap.line, stretch.at

    def record(number: int) -> tuple[Record, Mapping[str, Any]]:
        line = int(every[number])
        shape, fields = _shape_of(line, found)
        place = first + line - at
        made = Record(
            Origin(source, place), shape.text_of(stretch.block.line(line)), shape.kind, shape.dialect, shape.level,
            stretch.time(line), process=shape.process, ranks=shape.ranks, stream=shape.stream, last_line=place,
        )  # fmt: skip
        return made, fields

    def times(most: int) -> list[float]:
        told = stretch.times[every - at] if most > 0 else every[:0]
        return [float(time) for time in told[told == told][:most]]

    ranks = {one.ranks for _, one, _ in found}
    return Seen(name, len(every), lambda number: int(every[number]) - at, times, ranks, record)
