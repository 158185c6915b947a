"""Log times and durations for people: the log's own clock, without a year where the log has none."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(time: float | None, known: str = "full") -> str | None:
    """ISO 8601 without zone; "07-12 10:00:03" for yearless logs; "10:00:03" for clock-only ones; None for no time."""
    if time is None or time != time:
        return None
    try:
        moment = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return None  # beyond the calendar: an envelope may say anything
    if known == "clock":
        return moment.strftime("%H:%M:%S")
    if known == "yearless":
        return moment.strftime("%m-%d %H:%M:%S")
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def duration(seconds: float) -> str:
    """Write seconds: 6 us, 350 ms, 4.2 s, 45 s, 2 min 10 s, 41 min, 3 d 2 h. No seconds from five minutes on."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < 0.0005:
        return f"{seconds * 1e6:.0f} us"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole >= 300:
        whole = round(whole / 60) * 60
    for big, size, small, unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= big:
            count, rest = divmod(whole, big)
            return f"{count} {size} {rest // small} {unit}" if rest // small else f"{count} {size}"
    return f"{whole} s"
