"""Printed times to seconds since the epoch: the year that vLLM leaves out, the date that old SGLang leaves out.

Times are the log's own clock read as UTC. A missing year comes from the envelope, from a dated line of the same
stream, or is the nominal leap year 2000 (so that 29 February exists); it grows by one at New Year. Whichever it is, a
stream keeps it: a dated line that comes late is moved into the nominal year, or the run would last for decades.
"""

from __future__ import annotations

import contextlib
from datetime import date

from diagnoser.formats.base import Head

NOMINAL_YEAR = 2000
_DAY = 86400.0
#: Seconds that zones differ by: quarters of an hour, at most 26 hours.
ZONE_STEP = 900.0
_FARTHEST_ZONE = 26 * 3600.0
_EPOCH = date(1970, 1, 1).toordinal()


def _midnight(year: int, month: int, day: int) -> float:
    """Seconds at the start of a day; a day that the year does not have (29 February) becomes the next one."""
    try:
        return (date(year, month, day).toordinal() - _EPOCH) * _DAY
    except ValueError:
        return (date(year, month, 1).toordinal() - _EPOCH + day - 1) * _DAY


class Clock:
    """The clock of one stream; remembers what earlier lines told about the date."""

    __slots__ = ("_base", "_day", "_hint", "_last", "_month", "_moved", "_shift", "_year", "_year_known", "_zoned")

    def __init__(self) -> None:
        self._last: float | None = None
        self._month = 0
        self._day = 0
        self._year = NOMINAL_YEAR
        self._year_known = False
        self._base = 0.0
        # The log's own clock minus the envelope's: their time zones may differ.
        self._shift = 0.0
        self._zoned = False
        # A time near the beginning, from a line further down; years to take off dates, once nominal ones were given.
        self._hint: float | None = None
        self._moved = 0

    def hint(self, head: Head) -> None:
        """Take a dated line of the same stream in advance, for those without a year before it."""
        if self._hint is None and head.year is not None and head.month is not None and head.day is not None:
            with contextlib.suppress(ValueError):  # month 22 is no date
                self._hint = _midnight(head.year, head.month, head.day)

    def envelope(self, time: float) -> None:
        """Take the envelope's time of such a line in advance: the first line may have lost its own."""
        if self._hint is None:
            self._hint = time

    def foresee_zone(self, head: Head, envelope: float) -> None:
        """Take from a line in advance how far this clock is from the envelope's, for those without a time before it."""
        if self._last is None and not self._zoned and head.hour is not None:
            ahead = Clock()
            ahead.resolve(head, envelope)
            self._shift, self._zoned = ahead.shift, True

    def resolve(
        self, head: Head | None, envelope: float | None, undated: float | None = None
    ) -> tuple[float | None, str]:
        """Time of a record in seconds and what is known of it: "full", "yearless", "clock" or "" (carried forward).

        ``undated``: the time of an envelope that prints no year, in the nominal one. It counts once the stream's own
        lines have told how far their clock is from the envelope's: whose zone it is in, nothing else tells.
        """
        if head is None or head.hour is None:
            if envelope is None:
                if undated is None or not self._month:
                    return self._last, ""
                self._last = self._dressed(undated) + self._shift
                return self._last, "full" if self._year_known else "yearless"
            self._last = envelope + self._shift
            return self._last, "full"
        try:
            if head.month is None or head.day is None:
                base, known = self._clock_only(head, envelope)
            elif head.year is not None:
                year = head.year - self._moved
                if (head.month, head.day, year) != (self._month, self._day, self._year) or not self._year_known:
                    year = self._dated(year, head.month, head.day)
                    self._base = _midnight(year, head.month, head.day)
                    self._month, self._day, self._year = head.month, head.day, year
                base, known = self._base, "full" if self._year_known else "yearless"
            else:
                if (
                    head.month != self._month
                    or head.day != self._day
                    or (envelope is not None and not self._year_known)
                ):
                    self._yearless(head.month, head.day, envelope)
                base, known = self._base, "full" if self._year_known else "yearless"
        except ValueError:
            return self.resolve(None, envelope, undated)
        self._last = base + head.hour * 3600 + head.minute * 60 + head.second
        if envelope is None and undated is not None and self._month:
            envelope = self._dressed(undated)
        if envelope is not None:
            shift = round((self._last - envelope) / ZONE_STEP) * ZONE_STEP
            self._shift = shift if abs(shift) <= _FARTHEST_ZONE else 0.0
        return self._last, known

    @property
    def date(self) -> tuple[int, int, int]:
        """Year (as logs print it), month and day of the last line that printed a day."""
        return self._year + self._moved, self._month, self._day

    def midnight(self) -> tuple[float, str]:
        """Return when that day began, and what is known of times in it."""
        return self._base, "full" if self._year_known else "yearless"

    @property
    def shift(self) -> float:
        """Seconds that this clock is ahead of the envelope's."""
        return self._shift

    def pass_by(self, time: float | None) -> None:
        """Take a time of that day as the last one seen."""
        self._last = self._last if time is None else time

    @property
    def last(self) -> float | None:
        """The last time seen, which lines without one carry on."""
        return self._last

    def _dressed(self, undated: float) -> float:
        """Move a time of the nominal year to where it is nearest to the day of this stream's last dated line."""
        day = date.fromordinal(int(undated // _DAY) + _EPOCH)
        years = [year for year in (self._year - 1, self._year, self._year + 1) if 1 <= year <= 9998]
        midnights = [_midnight(year, day.month, day.day) for year in years]
        return min(midnights, key=lambda start: abs(start - self._base)) + undated % _DAY

    def _dated(self, year: int, month: int, day: int) -> int:
        """Settle the year of a dated line: its own, unless lines before it were given a nominal one."""
        if self._month and not self._year_known and not self._moved:
            near = (self._year - 1, self._year, self._year + 1)
            nominal = min(near, key=lambda one: abs(_midnight(one, month, day) - self._base))
            self._moved, year = year - nominal, nominal
        self._year_known = self._year_known or not self._moved
        return year

    def _yearless(self, month: int, day: int, envelope: float | None) -> None:
        """Choose the year of a new day: the one nearest to what is known, else the running nominal year."""
        anchor = envelope
        if anchor is None:
            anchor = self._last if self._year_known else self._hint
        if anchor is not None:
            guess = date.fromordinal(int(anchor // _DAY) + _EPOCH).year
            years = [year for year in (guess - 1, guess, guess + 1) if 1 <= year <= 9998]
            self._year = min(years, key=lambda year: abs(_midnight(year, month, day) - anchor))
            self._year_known = True
        elif self._month == 12 and month == 1:
            self._year += 1
        elif self._month == 1 and month == 12 and self._year > NOMINAL_YEAR:
            # A line of another process that was overtaken at New Year.
            self._year -= 1
        self._month, self._day = month, day
        self._base = _midnight(self._year, month, day)

    def _clock_only(self, head: Head, envelope: float | None) -> tuple[float, str]:
        """Start of the day of a line that prints hours only: the day that puts it nearest to the last known time."""
        seconds = (head.hour or 0) * 3600 + head.minute * 60 + head.second
        anchor = envelope if envelope is not None else self._last
        if envelope is not None:
            self._year_known = True
        if anchor is None:
            return _midnight(NOMINAL_YEAR, 1, 1), "clock"
        day = anchor // _DAY
        nearest = min((day - 1, day, day + 1), key=lambda start: abs(start * _DAY + seconds - anchor))
        return nearest * _DAY, "full" if self._year_known else "clock"
