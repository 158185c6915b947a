"""Time filters as people write them: a moment in the log's own clock, or a stretch back from its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from diagnoser.patterns import lazily
from diagnoser.values import dataclass

_RELATIVE = lazily(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_HALF_A_YEAR = timedelta(days=183)
#: Logs without a year lie in a year up to this one (formats/clock.py).
_NOMINAL = 2010
_FORMS = (
    ("%Y-%m-%dT%H:%M:%S", "full"),
    ("%Y-%m-%d %H:%M:%S", "full"),
    ("%Y-%m-%dT%H:%M", "full"),
    ("%Y-%m-%d %H:%M", "full"),
    ("%Y-%m-%d", "full"),
    ("%m-%d %H:%M:%S", "day"),
    ("%m-%d %H:%M", "day"),
    ("%H:%M:%S", "clock"),
    ("%H:%M", "clock"),
)


@dataclass(slots=True, frozen=True)
class Bound:
    """One end of a filter. ``back`` is seconds before the log's end; otherwise ``moment`` with the parts it names."""

    back: float | None = None
    moment: datetime | None = None
    form: str = "full"

    def resolve(self, end: float | None) -> float | None:
        """Return seconds since the epoch in the log's clock; ``end`` is the log's last time (None: it has no times).

        A moment without a date is the last such moment before the log's end; one without a year takes the log's.
        """
        if end is None:
            return None
        if self.back is not None:
            return end - self.back
        assert self.moment is not None
        last = datetime.fromtimestamp(end, UTC)
        form = self.form if last.year > _NOMINAL or self.form != "full" else _shorter(self.moment, last)
        if form == "full":
            return self.moment.timestamp()
        if form == "day":
            # 29 February exists in the nominal year of a yearless log but not in every year.
            try:
                moment = self.moment.replace(year=last.year)
            except ValueError:
                moment = self.moment.replace(year=last.year, day=28)
            # "12-31" of a log that ends in January was last year.
            if moment - last > _HALF_A_YEAR:
                moment = moment.replace(year=last.year - 1, day=min(moment.day, 28 if moment.month == 2 else 31))
            return moment.timestamp()
        moment = last.replace(hour=self.moment.hour, minute=self.moment.minute, second=self.moment.second)
        return (moment if moment <= last else moment - timedelta(days=1)).timestamp()


def _shorter(moment: datetime, last: datetime) -> str:
    """Return what of a moment can be compared with a log without a year, or with nothing but the time of day."""
    days = abs(moment.timetuple().tm_yday - last.timetuple().tm_yday)
    return "clock" if last.timetuple().tm_yday <= 3 and 3 < days < 360 else "day"


def parse_bound(text: str) -> Bound:
    """Read "15m", "2h", "10:00", "07-12 10:00:03" or "2026-11-29 10:00". Raises ValueError that lists the forms."""
    text = text.strip()
    hit = _RELATIVE.fullmatch(text)
    if hit:
        return Bound(back=float(hit.group(1)) * _SECONDS[hit.group(2)])
    for pattern, form in _FORMS:
        # A leap year stands in, so that 02-29 can be read before the log's year is known.
        candidate = f"2000-{text}" if form == "day" else text
        try:
            moment = datetime.strptime(candidate, f"%Y-{pattern}" if form == "day" else pattern)
        except ValueError:
            continue
        return Bound(moment=moment.replace(tzinfo=UTC), form=form)
    raise ValueError(
        f"cannot read the time {text!r}: expected 15m or 2h (back from the log's end), 10:00, 07-12 10:00:03 or "
        "2026-11-29 10:00"
    )
