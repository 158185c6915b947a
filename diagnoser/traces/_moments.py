"""Moments written into file names and comments: ISO 8601 in its many spellings, and seconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ISO = re.compile(
    r"(?<!\d)(20\d\d)-?(\d\d)-?(\d\d)[T_ -]?(\d\d)[:_-]?(\d\d)(?:[:_-]?(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s?(Z|UTC|[+-]\d\d:?\d\d)?(?!\d)"
)
#: 2017 to 2033 in seconds, milliseconds, microseconds, nanoseconds.
_EPOCH = re.compile(r"(?<!\d)(1[5-9]\d{8})(\d{9}|\d{6}|\d{3})?(?:\.(\d+))?(?!\d)")


def moment(text: str) -> float | None:
    """Return the first moment that a text names, in seconds since the epoch; None when it names none.

    A time without a zone is taken for UTC.
    """
    for found in _ISO.finditer(text):
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        try:
            when = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC)
        except ValueError:
            continue
        return when.timestamp() + float(f"0.{fraction or 0}") - _offset(zone)
    epoch = _EPOCH.search(text)
    if epoch is not None:
        seconds, finer, fraction = epoch.groups()
        return float(f"{seconds}.{finer or fraction or 0}")
    return None


def _offset(zone: str | None) -> float:
    if not zone or zone[0] not in "+-":
        return 0.0
    hours, minutes = zone[1:3], zone[-2:]
    return (-1 if zone[0] == "-" else 1) * (int(hours) * 3600.0 + int(minutes) * 60.0)
