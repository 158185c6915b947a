"""A block of lines taken apart: which line has which known shape, when, and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from diagnoser.formats.clock import ZONE_STEP
from diagnoser.skimming.forks import OUTER, OWN, Fork, Hit, Leaf, Told, Walk, some
from diagnoser.skimming.found import Found, fraction_of, readable
from diagnoser.skimming.layouts import RAY, REQUEST_END, TAIL, Layout, Request, breaks
from diagnoser.skimming.shapes import Shapes
from diagnoser.skimming.words import Words
from diagnoser.values import dataclass

NAN = float("nan")


@dataclass(slots=True, frozen=True)
class Now:
    """What the clock of a stream says: the date that lines print, when that day began, and what is known of it.

    ``shift`` is that clock minus the one of the envelope, both in seconds.
    """

    date: tuple[int, int, int]
    midnight: float
    known: str
    shift: float


class Block:
    """Whole lines. ``misfits`` are those of no known shape or another day, behind them the number of lines.

    ``own``: when each line was written, by its own time or else by its envelope's, NaN where it tells none or is a
    misfit. ``words`` are used again for other blocks. ``base``: how far into what is cut the block begins.
    """

    def __init__(self, data: bytes, shapes: Shapes, now: Now, words: Words, base: int = 0) -> None:
        self.data = data
        self.base = base
        self.shapes = shapes
        self.now = now
        words.hold(data)
        self._clean = words.plain and RAY not in data
        self._ends = words.ends
        self.count = count = len(self._ends)
        self._starts = np.concatenate(([0], self._ends[:-1] + 1))
        self.own = np.full(count, NAN)
        self.found: list[Found] = []
        self._fit = np.zeros(count, bool)
        requests = self._lines(Walk(words))
        self.requests = np.sort(np.concatenate(requests)) if requests else np.zeros(0, np.int64)
        self.misfits = [*np.flatnonzero(~self._fit).tolist(), count]
        self.known = np.flatnonzero(self.own == self.own)

    @cached_property
    def sizes(self) -> Any:
        """Bytes of each line without its line break."""
        return self._ends - self._starts

    def _lines(self, walk: Walk) -> list[Any]:
        """Find the lines of known shapes; return those that are requests, by their shapes."""
        every, found = self.shapes.every, []
        head, tails = self.shapes.on(self.now.date, lambda: _forks(every, self.now.date))
        for hit in walk.hits(head, np.arange(self.count), self._starts):
            one = every[hit.place]
            if isinstance(one, Layout):
                self._take(one, hit)
                continue
            found += [self._take(one, whole) for whole in self._whole(walk, one, hit, tails[hit.place])]
        return found

    def _whole(self, walk: Walk, request: Request, head: Hit, tail: Fork) -> Iterator[Hit]:
        """Yield those of some lines that go on as a request does, whatever its user wrote, and end as one."""
        stops = self._ends[head.lines]
        at = stops - len(request.tail.chunks[0].text)
        if request.tail.numbers:
            # The length of an envelope's time is not always the same.
            find = self.data.rfind
            where = zip(head.at.tolist(), stops.tolist(), strict=True)
            at = np.array([find(REQUEST_END, max(begin, stop - TAIL), stop) for begin, stop in where], np.int64)
        fits = at >= head.at
        if request.quoted or not self._clean:
            for number in np.flatnonzero(fits).tolist():
                fits[number] = not breaks(self.data[head.at[number] : at[number]], request.quoted)
        chosen = np.flatnonzero(fits)
        return walk.hits(tail, head.lines[chosen], at[chosen], some(head.told, chosen))

    def _take(self, one: Layout | Request, hit: Hit) -> Any:
        """Take the lines of a shape that belong to the day at hand and whose numbers can be read; return them."""
        fits, times = self._fitting(one, hit.told)
        lines, told = hit.lines, hit.told
        if fits is not None and not fits.all():
            chosen = np.flatnonzero(fits)
            lines, times = lines[chosen], None if times is None else times[chosen]
            told = some(told, chosen)
        if len(lines):
            self._fit[lines] = True
            if times is not None:
                self.own[lines] = times
            self.found.append(Found(one, lines, told))
        return lines

    def _fitting(self, one: Layout | Request, told: Told) -> tuple[Any, Any]:
        """Tell which lines of a shape can be taken (None: all), and their times (None: they tell none)."""
        now = self.now
        fits = times = outer = None
        for value in one.values if isinstance(one, Layout) else ():
            fits = _both(fits, readable(value, told))
        if one.outer is not None:
            midnight, fraction = one.outer
            outer = midnight + told[OUTER][0]
            if fraction >= 0:
                outer = outer + fraction_of(fraction, told)
            times = outer + now.shift
        if OWN in told:
            times = now.midnight + told[OWN][0]
            if outer is not None:
                fits = _both(fits, _shift(times, outer) == now.shift)
        return fits, times

    def line(self, number: int) -> bytes:
        """Return a line without its line break."""
        return self.data[self._starts[number] : self._ends[number]]

    def spans(self, numbers: Any) -> tuple[Any, Any]:
        """Return where some lines begin and end."""
        return self._starts[numbers], self._ends[numbers]

    def lines(self, at: int, stop: int) -> list[bytes]:
        """Return some lines in a row, one at least."""
        return self.data[self._starts[at] : self._ends[stop - 1]].split(b"\n")

    @cached_property
    def _clear(self) -> Any:
        """Which lines have as many characters as bytes."""
        clear = np.zeros(self.count, bool)
        for found in self.found:
            clear[found.lines] = found.shape.clear
        return clear

    def widest(self, at: int, stop: int) -> tuple[int, int]:
        """Return how many bytes the longest of some lines has, and how many lines have as many."""
        sizes = self.sizes[at:stop]
        longest = int(sizes.max())
        return longest, int(np.count_nonzero(sizes == longest))

    def before(self, at: int, stop: int, room: int) -> int:
        """Return the first of some lines that may have other characters and has that many bytes, else ``stop``."""
        longer = np.flatnonzero((self.sizes[at:stop] >= room) & ~self._clear[at:stop])
        return at + int(longer[0]) if len(longer) else stop

    def until(self, stop: int) -> int:
        """Return how many bytes the lines before one have."""
        return int(self._ends[stop - 1]) + 1 if stop else 0

    def last_request(self, at: int, stop: int) -> int:
        """Return the last request among some lines, ``stop`` where there is none."""
        place = int(self.requests.searchsorted(stop))
        last = int(self.requests[place - 1]) if place else -1
        return last if last >= at else stop

    def span(self, at: int, stop: int) -> tuple[float | None, float | None, float | None]:
        """Return the earliest, the latest and the last of the times that some lines tell, None for none."""
        first, behind = self.known.searchsorted((at, stop))
        told = self.own[self.known[first:behind]]
        return (float(told.min()), float(told.max()), float(told[-1])) if len(told) else (None, None, None)

    def times(self, at: int, stop: int, before: float | None) -> Any:
        """Return the times of some lines: one that tells none carries the last, NaN where there was none."""
        own = self.own[at:stop]
        last = np.maximum.accumulate(np.where(own == own, np.arange(stop - at), -1))
        return np.where(last < 0, NAN if before is None else before, own[last])

    def time(self, at: int, line: int, before: float | None) -> float | None:
        """Return the time of one line as ``times`` from ``at`` on has it, None for none."""
        place = int(self.known.searchsorted(line, "right"))
        last = int(self.known[place - 1]) if place else -1
        return float(self.own[last]) if last >= at else before


def _forks(every: Sequence[Layout | Request], date: tuple[int, int, int]) -> tuple[Fork, dict[int, Fork]]:
    """Return what may stand at the start of a line, and at the end of each request."""
    heads, tails = [], {}
    for place, one in enumerate(every):
        if isinstance(one, Layout):
            heads.append(Leaf(place, one.form, one.wanted))
        else:
            heads.append(Leaf(place, one.head, one.wanted, open=True))
            tails[place] = Fork([Leaf(place, one.tail, one.wanted)], date)
    return Fork(heads, date), tails


def _both(one: Any, other: Any) -> Any:
    """Return what fits both ways; None is all."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _shift(own: Any, outer: Any) -> Any:
    """Return how far a clock is ahead of an envelope's, as ``formats.clock`` has it."""
    return np.rint((own - outer) / ZONE_STEP) * ZONE_STEP
