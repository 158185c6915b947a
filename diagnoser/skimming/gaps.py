"""From the lines of a block that have known shapes to the gap that stands for them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from diagnoser.envelopes import cleaned
from diagnoser.formats.skipping import SkippingReader
from diagnoser.model import Gap, Record, Rows, Seen
from diagnoser.skimming.blocks import Block
from diagnoser.skimming.layouts import Layout
from diagnoser.table import NAN, Origin

#: Lines of one layout, in order.
_Part = tuple[list[int], Layout, Mapping[str, Any]]


class _Stretch:
    """Lines of a block from ``at`` to before ``stop``, and their times; ``before`` them it was that time."""

    def __init__(self, block: Block, at: int, stop: int, midnight: float, before: float | None) -> None:
        self.block = block
        self.at, self.stop = at, stop
        self.midnight = midnight
        self.before = before

    @cached_property
    def carried(self) -> list[float | None]:
        """The time of each line: one that prints none carries the last one."""
        midnight = self.midnight
        printed = self.block.seconds[self.at : self.stop]
        own: list[float | None] = [None if second is None else midnight + second for second in printed]
        last, found = self.before, []
        for time in own:
            last = last if time is None else time
            found.append(last)
        return found

    def text(self, line: int, start: int) -> str:
        """Return the record's text of a line, which begins there."""
        data = self.block.lines[line]
        if b"\x1b" in data or data.endswith(b"\r"):
            data = cleaned(data.decode("utf-8", "replace")).encode()
        return data[start:].decode("utf-8", "replace")


def gap_of(
    source: str, number: int, block: Block, at: int, stop: int, reader: SkippingReader
) -> tuple[Gap, frozenset[tuple[str, bool]], float | None]:
    """Make the gap of the lines from ``at`` to before ``stop``, the first of which has this number in its source."""
    midnight, known, before = reader.clock()
    gap = Gap(source, number, stop - at)
    stretch = _Stretch(block, at, stop, midnight, before)
    tags: set[tuple[str, bool]] = set()
    answered_at = -1
    events: dict[str, list[_Part]] = {}
    parts: dict[Any, list[tuple[list[int], Layout, dict[str, Any]]]] = {}
    for found in block.found:
        first, behind = found.between(at, stop)
        if first == behind:
            continue
        layout, lines = found.layout, found.lines[first:behind]
        tags.add((layout.tag, layout.dialect == "vllm"))
        if layout.level:
            gap.levels[layout.level] = gap.levels.get(layout.level, 0) + len(lines)
        if layout.answered:
            gap.answered += len(lines)
            answered_at = max(answered_at, lines[-1])
        for name, fields in layout.events:
            events.setdefault(name, []).append((lines, layout, fields))
        if layout.kind == "stats":
            values = {label: column[first:behind] for label, column in found.values().items()}
            parts.setdefault(layout.group, []).append((lines, layout, values))
    printed = [second for second in block.seconds[at:stop] if second is not None]
    last = None
    if printed:
        gap.first, gap.last = midnight + min(printed), midnight + max(printed)
        gap.time_known = known
        last = midnight + printed[-1]
    if gap.answered:
        gap.answered_at = answered_at - at
        gap.answered_time = stretch.carried[answered_at - at]
    gap.events = [_seen(name, found_events, gap, stretch) for name, found_events in events.items()]
    gap.rows = [_rows(group, found_rows, stretch) for group, found_rows in parts.items()]
    return gap, frozenset(tags), last


def _rows(group: Any, found: list[tuple[list[int], Layout, dict[str, Any]]], stretch: _Stretch) -> Rows:
    """Put statistics lines of one group, of several shapes, in the order of the log."""
    block, at = stretch.block, stretch.at
    if len(found) == 1:
        every, layout, values = found[0]
        start = layout.text
        parts: list[tuple[Sequence[int], dict[str, Any]]] = [(range(len(every)), values)]
        starts: Mapping[int, int] = {}
    else:
        every = sorted(chain.from_iterable(lines for lines, _, _ in found))
        place = dict(zip(every, range(len(every)), strict=True))
        parts = [(list(map(place.__getitem__, lines)), values) for lines, _, values in found]
        start = found[0][1].text
        starts = {line: layout.text for lines, layout, _ in found if layout.text != start for line in lines}
    if all(layout.timed for _, layout, _ in found):
        midnight, seconds = stretch.midnight, block.seconds
        times = array("d", [midnight + seconds[line] for line in every])  # type: ignore[operator]
    else:
        carried = stretch.carried
        times = array("d", [NAN if (time := carried[line - at]) is None else time for line in every])

    def text(row: int) -> str:
        line = every[row]
        return stretch.text(line, starts.get(line, start))

    return Rows(group, array("q", [line - at for line in every]), times, parts, text)


def _seen(name: str, found: list[_Part], gap: Gap, stretch: _Stretch) -> Seen:
    """Put the lines with one event, of several shapes, in the order of the log."""
    every = found[0][0] if len(found) == 1 else sorted(chain.from_iterable(lines for lines, _, _ in found))
    # Not the gap itself: what refers to itself stays in memory until somebody looks for it.
    source, first, at = gap.source, gap.line, stretch.at

    def record(number: int) -> tuple[Record, Mapping[str, Any]]:
        line = every[number]
        layout, fields = next(
            (layout, fields)
            for lines, layout, fields in found
            if (place := bisect_left(lines, line)) < len(lines) and lines[place] == line
        )
        number = first + line - at
        made = Record(
            Origin(source, number), stretch.text(line, layout.text), layout.kind, layout.dialect, layout.level,
            stretch.carried[line - at], process=layout.process, ranks=layout.ranks, last_line=number,
        )  # fmt: skip
        return made, fields

    def times(most: int) -> list[float]:
        carried = stretch.carried
        told = [time for line in every if (time := carried[line - at]) is not None] if most > 0 else []
        return told[:most]

    return Seen(name, len(every), lambda number: every[number] - at, times, {one.ranks for _, one, _ in found}, record)
