"""From the lines of a block that have known shapes to the gap that stands for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.formats.skipping import SkippingReader
from diagnoser.model import Gap, Record, Rows, Seen
from diagnoser.skimming.columns import Block
from diagnoser.skimming.layouts import REQUEST_END, Layout, RequestLayout
from diagnoser.table import Origin


class Lines:
    """The lines of a block, with those that are whole requests."""

    def __init__(
        self, block: Block, layouts: Sequence[RequestLayout], strange: bool, date: tuple[int, int, int]
    ) -> None:
        import numpy as np

        self.np = np
        self.block = block
        #: Requests by line: seconds since midnight and the number of their layout.
        self.requests: dict[int, tuple[int, int]] = {}
        self.layouts = layouts
        self._seconds: dict[bytes, int] = {}
        self.date = date
        known = block.shape >= 0
        day = b"%02d-%02d" % date[1:]
        if layouts and not strange:
            for line in np.flatnonzero(~known).tolist():
                told = self._request(int(block.starts[line]), int(block.ends[line]), day)
                if told is not None:
                    self.requests[line] = told
                    known[line] = True
        self._misfits = [*np.flatnonzero(~known).tolist(), block.count]
        self._request_lines = np.fromiter(self.requests, np.int64, len(self.requests))
        self._next = 0

    def _request(self, start: int, end: int, day: bytes) -> tuple[int, int] | None:
        data = self.block.data
        if not data.endswith(REQUEST_END, start, end):
            return None
        for number, layout in enumerate(self.layouts):
            head = layout.head.match(data, start, end)
            if head is not None:
                today, clock = head.groups()
                if today != day:
                    return None
                second = self._seconds.get(clock)
                if second is None:
                    second = self._seconds[clock] = int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:])
                return second, number
        return None

    def misfit(self, at: int) -> int:
        """Return the next line from ``at`` on that must be read; the number of lines where there is none."""
        while self._misfits[self._next] < at:
            self._next += 1
        return self._misfits[self._next]

    def longest(self, at: int, stop: int) -> int:
        """Return the bytes of the longest of some lines, no fewer than its characters."""
        return int((self.block.ends[at:stop] - self.block.starts[at:stop]).max())

    def last_request(self, at: int, stop: int) -> int:
        """Return the last request among some lines, ``stop`` where there is none."""
        place = int(self.np.searchsorted(self._request_lines, stop))
        last = int(self._request_lines[place - 1]) if place else -1
        return last if last >= at else stop

    def requests_of(self, at: int, stop: int) -> Any:
        """Return the requests among some lines."""
        first, last = self.np.searchsorted(self._request_lines, (at, stop))
        return self._request_lines[first:last]


def gap_of(
    source: str, number: int, lines: Lines, at: int, stop: int, reader: SkippingReader
) -> tuple[Gap, frozenset[tuple[str, bool]], float | None]:
    """Make the gap of the lines from ``at`` to before ``stop``, the first of which has this number in its source."""
    np, block = lines.np, lines.block
    midnight, known, before = reader.clock()
    gap = Gap(source, number, stop - at)
    tags: set[tuple[str, bool]] = set()
    # The time of each line that prints one, and of each access line that got 200.
    times = np.full(stop - at, np.nan)
    answered = np.zeros(stop - at, bool)
    events: dict[str, list[tuple[Any, Layout, Any]]] = {}
    parts: dict[Any, list[tuple[Any, Any]]] = {}
    shapes = block.shape[at:stop]
    for layout_number, layout in enumerate(block.layouts):
        of_shape = np.flatnonzero(shapes == layout_number)
        if not len(of_shape):
            continue
        tags.add((layout.tag, layout.dialect == "vllm"))
        if layout.clock:
            times[of_shape] = midnight + block.clock(of_shape + at, layout)
        if layout.level:
            gap.levels[layout.level] = gap.levels.get(layout.level, 0) + len(of_shape)
        if layout.answered:
            answered[of_shape] = True
        for name, fields in layout.events:
            events.setdefault(name, []).append((of_shape, layout, fields))
        if layout.kind == "stats":
            parts.setdefault(layout.group, []).append((of_shape, layout))
    for line in lines.requests_of(at, stop).tolist():
        second, layout_number = lines.requests[line]
        tags.add((lines.layouts[layout_number].tag, True))
        times[line - at] = midnight + second
    timed = np.flatnonzero(times == times)
    last = before
    if len(timed):
        gap.first, gap.last = float(times[timed].min()), float(times[timed].max())
        gap.time_known = known
        last = float(times[timed[-1]])
    gap.answered = int(answered.sum())
    if gap.answered:
        gap.answered_at = int(np.flatnonzero(answered)[-1])
        earlier = timed[timed <= gap.answered_at]
        gap.answered_time = float(times[earlier[-1]]) if len(earlier) else before
    for name, with_event in events.items():
        gap.events.append(_seen(name, with_event, gap, lines, at, times, timed, before))
    for group, found in parts.items():
        gap.rows.append(_rows(group, found, lines, at, times, timed, before))
    return gap, frozenset(tags), last if len(timed) else None


def _rows(group: Any, found: list[tuple[Any, Any]], lines: Lines, at: int, times: Any, timed: Any, before: Any) -> Rows:
    """Put statistics lines of one group, of several shapes, in the order of the log."""
    np, block = lines.np, lines.block
    every = np.sort(np.concatenate([of_shape for of_shape, _ in found]))
    offsets = np.zeros(block.count + 1, np.int64)
    values = []
    for of_shape, layout in found:
        offsets[of_shape + at] = layout.text
        values.append((np.searchsorted(every, of_shape), block.values(of_shape + at, layout)))

    def text(row: int) -> str:
        line = int(every[row]) + at
        return block.data[int(block.starts[line] + offsets[line]) : int(block.ends[line])].decode("utf-8", "replace")

    return Rows(group, every, _carried(np, every, times, timed, before), values, text)


def _seen(
    name: str,
    found: list[tuple[Any, Layout, Any]],
    gap: Gap,
    lines: Lines,
    at: int,
    times: Any,
    timed: Any,
    before: Any,
) -> Seen:
    """Put the lines with one event, of several shapes, in the order of the log."""
    np, block = lines.np, lines.block
    every = np.concatenate([of_shape for of_shape, _, _ in found])
    whose = np.repeat(np.arange(len(found)), [len(of_shape) for of_shape, _, _ in found])
    order = np.argsort(every)
    every, whose = every[order], whose[order]
    carried = _carried(np, every, times, timed, before)
    # Not the gap itself: what refers to itself stays in memory until somebody looks for it.
    source, first = gap.source, gap.line

    def record(number: int) -> tuple[Record, Mapping[str, Any]]:
        line, (_, layout, fields) = int(every[number]) + at, found[int(whose[number])]
        text = block.data[int(block.starts[line]) + layout.text : int(block.ends[line])].decode("utf-8", "replace")
        time = float(carried[number])
        place = first + int(every[number])
        made = Record(
            Origin(source, place), text, layout.kind, layout.dialect, layout.level, time if time == time else None,
            process=layout.process, ranks=layout.ranks, last_line=place,
        )  # fmt: skip
        return made, fields

    return Seen(name, every, carried, {layout.ranks for _, layout, _ in found}, record)


def _carried(np: Any, every: Any, times: Any, timed: Any, before: float | None) -> Any:
    """Return the times of some lines: one that prints none carries the last one."""
    place = np.searchsorted(timed, every, side="right")
    return np.append(np.nan if before is None else before, times[timed])[place]
