"""Log times for people: the log's own clock, without a year where the log has none."""

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
