"""Numbers, spans and log times for people."""

from __future__ import annotations

from datetime import datetime

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.patterns import lazily
from diagnoser.times import duration

_SUFFIXES = {"watts": "W", "celsius": "C", "MHz": "MHz", "GiB/s": "GiB/s"}
_ON, _OFF = phrase("on"), phrase("off")
_STAMP = lazily(r"(?:(?:(\d{4})-)?(\d\d)-(\d\d)[T ])?(\d\d):(\d\d):(\d\d)")
_DATE = lazily(r"\b(?:\d{4}-)?\d\d-\d\d[T ](?=\d\d:\d\d)")


def number(value: float) -> str:
    """1,890 or 37.5 or 0.042: three significant digits are enough to judge by."""
    if value != value:
        return "-"
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def percent(ratio: float) -> str:
    """97 %; one decimal where rounding would say 0 or 100 and lie."""
    share = ratio * 100
    whole = round(share)
    return f"{share:.1f} %" if whole in (0, 100) and abs(share - whole) >= 0.05 else f"{whole} %"


def quantity(value: float, unit: str, say: Say = ENGLISH) -> str:
    """Return a number in its unit as a person writes it."""
    if unit == "ratio":
        return percent(value)
    if unit == "seconds":
        return duration(value)
    if unit == "gib":
        return f"{number(value)} GiB"
    if unit in _SUFFIXES:
        return f"{number(value)} {_SUFFIXES[unit]}"
    if unit == "flag":
        return say(_ON if value >= 0.5 else _OFF)
    return number(value)


def stretch(least: float, most: float | None, unit: str) -> str:
    """Return a range as a person writes it: 40-60 ms, 750 ms-1 s; above 10 s where it has no end."""
    low = quantity(least, unit)
    if most is None:
        return f"> {low}"
    high = quantity(most, unit)
    if low == high:
        return high
    number_of, _, of = low.rpartition(" ")
    if not least:
        return f"0-{high}"
    return f"{number_of}-{high}" if of and high.endswith(f" {of}") and " " not in number_of else f"{low}-{high}"


def amount(value: float, limits: list[float | None] | None, unit: str, say: Say = ENGLISH) -> str:
    """Return a value, or all that it may be (least, most; None for no end) where only that is known."""
    if limits is None or limits[0] is None:
        return quantity(value, unit, say)
    return stretch(limits[0], limits[1], unit)


def size(count: int) -> str:
    """3.4 MB; powers of ten, as files are listed."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def plural(count: int, one: str, many: str = "", say: Say = ENGLISH) -> str:
    """Return "1 line" or "2 lines"; tables of other languages name them "{count} line" and "{count} lines"."""
    return say(f"{{count}} {one if count == 1 else many or one + 's'}").format(count=f"{count:,}")


def clock(stamp: str | None) -> str:
    """Return the time of day of a log time, empty when there is none."""
    found = _STAMP.search(stamp or "")
    return ":".join(found.group(4, 5, 6)) if found else ""


def day(stamp: str | None) -> str:
    """Return the date of a log time as the log wrote it, empty for clock-only logs."""
    found = _STAMP.search(stamp or "")
    if not found or not found.group(2):
        return ""
    year, month, date = found.group(1, 2, 3)
    return f"{year}-{month}-{date}" if year else f"{month}-{date}"


def elapsed(start: str | None, end: str | None) -> float | None:
    """Seconds between two log times of one log; None when one is missing."""
    first, last = _moment(start), _moment(end)
    if first is None or last is None:
        return None
    seconds = (last - first).total_seconds()
    # A log without a year or a date may pass midnight or New Year.
    if seconds < 0:
        seconds += 86400 if not day(start) else 366 * 86400
    return seconds if seconds >= 0 else None


def span(start: str | None, end: str | None, dash: str = "-") -> str:
    """Return "07-12 10:00:03 - 10:41:20 (41 min)" as far as the times are known."""
    if not start or not end:
        return start or end or ""
    first = f"{day(start)} {clock(start)}".strip()
    last = clock(end) if day(start) == day(end) else f"{day(end)} {clock(end)}".strip()
    seconds = elapsed(start, end)
    return f"{first} {dash} {last}" + (f" ({duration(seconds)})" if seconds is not None else "")


def short_window(text: str) -> str:
    """Drop the date from a window's times when it is the same in all: the head of the report has it."""
    dates = set(_DATE.findall(text))
    return _DATE.sub("", text) if len(dates) == 1 else text


def _moment(stamp: str | None) -> datetime | None:
    found = _STAMP.search(stamp or "")
    if not found:
        return None
    # A leap year stands in for the year that a log does not print, as everywhere in this program.
    year, month, date, hour, minute, second = (int(part) if part else 0 for part in found.groups())
    try:
        return datetime(year or 2000, month or 1, date or 1, hour, minute, second)
    except ValueError:
        return None
