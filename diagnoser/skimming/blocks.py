"""A block of lines taken apart: which line has which known shape, when, and the numbers in them."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from diagnoser.formats.clock import ZONE_STEP
from diagnoser.skimming.digits import MOST_DIGITS, Digits
from diagnoser.skimming.found import Found
from diagnoser.skimming.layouts import LONGEST, Layout, strange
from diagnoser.skimming.shapes import Shapes
from diagnoser.values import dataclass

#: A line of no known shape, and one of a request.
_UNKNOWN, _ASKED = -1, -2
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
    misfit.
    """

    def __init__(self, data: bytes, shapes: Shapes, now: Now) -> None:
        self.data = data
        self.shapes = shapes
        self.now = now
        self._ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        self.count = count = len(self._ends)
        starts = np.concatenate(([0], self._ends[:-1] + 1))
        self.sizes = self._ends - starts
        self._starts = starts
        self.own = np.full(count, NAN)
        self.found: list[Found] = []
        self._stamps: dict[bytes, int] = {}
        kinds = np.full(count, _UNKNOWN)
        self._templates(kinds)
        self._requests(kinds)
        self.misfits = [*np.flatnonzero(kinds == _UNKNOWN).tolist(), count]
        self.requests = np.flatnonzero(kinds == _ASKED)
        self.known = np.flatnonzero(self.own == self.own)

    def _templates(self, kinds: Any) -> None:
        """Find the lines that are one of the layouts but for their numbers."""
        lines, data, ends = np.arange(self.count), self.data, self._ends
        if self.shapes.requests and (self.sizes > LONGEST).any():
            # What users sent is most of such a log, and nothing there is looked for.
            short = self.sizes <= LONGEST
            lines = np.flatnonzero(short)
            data = b"".join(self._stretches(short))
            ends = np.cumsum(self.sizes[lines] + 1) - 1
        if not len(lines):
            return
        digits = Digits(data, ends)
        number = np.fromiter(map(self.shapes.number, digits.keys, repeat(_UNKNOWN)), np.int64, len(lines))
        number[digits.odd] = _UNKNOWN
        for place, layout in self.shapes:
            which = np.flatnonzero(number == place)
            if not len(which):
                continue
            firsts = digits.first[which]
            fits, times = self._fitting(layout, digits, firsts)
            if not fits.all():
                which, firsts, times = which[fits], firsts[fits], times[fits]
            found = lines[which]
            kinds[found] = place
            self.own[found] = times
            self.found.append(Found(layout, found, digits, firsts))

    def _stretches(self, short: Any) -> list[bytes]:
        """Return the short lines, as many in one piece as stand together."""
        edges = np.flatnonzero(np.diff(short.astype(np.int8), prepend=0, append=0))
        begins, stops = self._starts[edges[::2]].tolist(), (self._ends[edges[1::2] - 1] + 1).tolist()
        return [self.data[begin:stop] for begin, stop in zip(begins, stops, strict=True)]

    def _fitting(self, layout: Layout, digits: Digits, firsts: Any) -> tuple[Any, Any]:
        """Tell which lines with a layout's key are of that layout, and their times, NaN where they tell none."""
        fits = np.ones(len(firsts), bool)
        times = np.full(len(firsts), NAN)
        for number, figures in layout.fixed:
            fits &= digits.are(firsts + number, figures)
        for value in layout.values:
            if value.whole >= 0:
                size = digits.sizes[firsts + value.whole]
                fits &= (size if value.fraction < 0 else size + digits.sizes[firsts + value.fraction]) <= MOST_DIGITS
        now = self.now
        if layout.outer is not None:
            number, midnight, fraction = layout.outer
            second, valid = _clock(digits, firsts + number)
            fits &= valid
            outer = midnight + second
            if fraction >= 0:
                fits &= digits.sizes[firsts + fraction] <= MOST_DIGITS
                outer += digits.fraction(firsts + fraction)
            times = outer + now.shift
        if layout.stamp >= 0:
            at = firsts + layout.stamp
            if layout.dated:
                fits &= digits.are(at, b"%04d" % now.date[0])
                at += 1
            fits &= digits.are(at, b"%02d" % now.date[1]) & digits.are(at + 1, b"%02d" % now.date[2])
            second, valid = _clock(digits, at + 2)
            fits &= valid
            own = now.midnight + second
            if layout.outer is not None:
                fits &= _shift(own, outer) == now.shift
            times = own
        return fits, times

    def _requests(self, kinds: Any) -> None:
        """Find the lines that are whole requests, whatever their users wrote."""
        shapes = self.shapes.requests
        if not shapes:
            return
        found: list[list[int]] = [[] for _ in shapes]
        unknown = np.flatnonzero(kinds == _UNKNOWN)
        clean = not strange(self.data)
        begins, stops = self._starts[unknown].tolist(), self._ends[unknown].tolist()
        for line, begin, stop in zip(unknown.tolist(), begins, stops, strict=True):
            for place, one in enumerate(shapes):
                told = one.times(self.data, begin, stop, clean)
                time = None if told is None else self._request_time(*told)
                if time is not None:
                    self.own[line] = time
                    kinds[line] = _ASKED
                    found[place].append(line)
                    break
        self.found += [Found(one, np.array(lines)) for one, lines in zip(shapes, found, strict=True) if lines]

    def _request_time(self, stamp: bytes, outer: float | None) -> float | None:
        """Return the time of a request's line, None for one of another day."""
        second = self._stamps.get(stamp)
        if second is None:
            second = self._stamps[stamp] = _second(stamp, self.now.date)
        own = self.now.midnight + second
        return None if second < 0 or (outer is not None and _shift(own, outer) != self.now.shift) else own

    def line(self, number: int) -> bytes:
        """Return a line without its line break."""
        return self.data[self._starts[number] : self._ends[number]]

    def each(self, numbers: Any) -> list[bytes]:
        """Return some lines."""
        data, spans = self.data, zip(self._starts[numbers].tolist(), self._ends[numbers].tolist(), strict=True)
        return [data[start:end] for start, end in spans]

    def lines(self, at: int, stop: int) -> list[bytes]:
        """Return some lines in a row, one at least."""
        return self.data[self._starts[at] : self._ends[stop - 1]].split(b"\n")

    def before(self, at: int, stop: int, room: int) -> int:
        """Return the first of some lines that has that many bytes, ``stop`` where none has."""
        longer = np.flatnonzero(self.sizes[at:stop] >= room)
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


def _second(stamp: bytes, date: tuple[int, int, int]) -> int:
    """Return the seconds since midnight that a time without a year tells, -1 on another day."""
    hour, minute, second = int(stamp[6:8]), int(stamp[9:11]), int(stamp[12:])
    if stamp[:5] != b"%02d-%02d" % date[1:] or hour > 23 or minute > 59 or second > 59:
        return -1
    return hour * 3600 + minute * 60 + second


def _clock(digits: Digits, hours: Any) -> tuple[Any, Any]:
    """Return the seconds since midnight that three numbers each tell, and whether they are a time of day."""
    valid = np.ones(len(hours), bool)
    second: Any = 0
    for place, least in enumerate((24, 60, 60)):
        told = digits.read(hours + place)
        valid &= (digits.sizes[hours + place] == 2) & (told < least)
        second = second * 60 + told
    return second, valid


def _shift(own: Any, outer: Any) -> Any:
    """Return how far a clock is ahead of an envelope's, as ``formats.clock`` has it."""
    return np.rint((own - outer) / ZONE_STEP) * ZONE_STEP
