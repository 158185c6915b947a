"""Rows copied out of Kibana's Discover table: ``Aug 1, 2025 @ 10:00:00.728    text``."""

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import MONTHS, epoch
from diagnoser.patterns import lazily

NAME = "kibana"
ORDER = 55
FIRST = "JFMASOND"
HEAD = rf"(?:{'|'.join(MONTHS)}) \d{{1,2}}, \d{{4}} @ \d\d:\d\d:\d\d"
SAMPLES: list[Sample] = [
    ("Aug 1, 2026 @ 10:00:00.728    [2026-08-01 10:00:00 TP0] x", "[2026-08-01 10:00:00 TP0] x", 1785578400.728, ""),
    ("Dec 31, 2026 @ 23:59:59.000\tINFO 12-31 23:59:59 [x.py:1] y", "INFO 12-31 23:59:59 [x.py:1] y", 1798761599.0,
     ""),
]  # fmt: skip

_LINE = lazily(r"(\w{3}) (\d{1,2}), (\d{4}) @ (\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:\t| {1,8}|\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line; the time is that of the browser's zone."""
    match = _LINE.match(text)
    if match is None or match[1] not in MONTHS:
        return None
    time = epoch(f"{match[3]}-{MONTHS.index(match[1]) + 1:02}-{int(match[2]):02}T{match[4]}Z")
    return Peeled(text[match.end() :], time)
