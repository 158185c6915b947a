"""From the lines of a block that have known shapes to the gap that stands for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from diagnoser.gap import Gap, Rows, Seen
from diagnoser.model import EventLog
from diagnoser.skimming.blocks import Block
from diagnoser.skimming.kept import Records, Spans, Texts
from diagnoser.skimming.layouts import Shape

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
    gap.longest, gap.as_long = block.widest(at, stop)
    if gap.answered:
        gap.answered_at = answered_at - at
        gap.answered_time = block.time(at, answered_at, before)
    gap.events = [_seen(name, found_events, gap, stretch) for name, found_events in events.items()]
    gap.rows = [_rows(group, found_rows, stretch) for group, found_rows in parts.items()]
    return gap, frozenset(tags), last


def _together(found: Sequence[_Part]) -> Any:
    """Return the lines of several shapes in the order of the log."""
    return found[0][0] if len(found) == 1 else np.sort(np.concatenate([lines for lines, *_ in found]))


def _owners(some: Any, found: Sequence[_Part]) -> Any:
    """Return which of several shapes each of some lines has."""
    owners = np.zeros(len(some), np.int64)
    for owner, (lines, *_) in enumerate(found[1:], 1):
        places = np.minimum(lines.searchsorted(some), len(lines) - 1)
        owners[lines[places] == some] = owner
    return owners


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
    texts = Texts([shape for _, shape, _ in found], owners, Spans.of(block, every))
    return Rows(group, every - at, times, parts, texts)


def _seen(name: str, found: list[_Part], gap: Gap, stretch: _Stretch) -> Seen:
    """Put the lines with one event, of several shapes, in the order of the log."""
    every = _together(found)
    times = stretch.times[every - stretch.at]
    some = every if len(every) <= EventLog.KEEP else np.append(every[: EventLog.KEEP], every[-1])
    at = some - stretch.at
    parts = [(shape, fields) for _, shape, fields in found]
    spans = Spans.of(stretch.block, some)
    record = Records(gap.source, at + gap.line, parts, _owners(some, found), stretch.times[at], spans)
    known = times[times == times][: EventLog.TIMES]
    return Seen(name, len(every), at, known, {one.ranks for _, one, _ in found}, record)
