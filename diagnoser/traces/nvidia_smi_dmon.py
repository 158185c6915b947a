"""``nvidia-smi dmon``: columns under ``# gpu …`` lines that come again now and then, with date and time on request."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._cells import CellError, number
from diagnoser.traces._gpus import COLUMNS, Cards
from diagnoser.traces._moments import moment
from diagnoser.traces.base import Wanted

NAME = "nvidia-smi-dmon"
ORDER = 21
KINDS = ("csv",)
SAMPLES = [
    (
        "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n"
        "# Idx      W      C      C      %      %    MHz    MHz\n"
        "    0    365     44      -     95      0  12481   2415\n"
        "    1    362     45      -     95      0  12481   2422\n",
        2,
    ),
    (
        "#Date       Time        gpu   pwr gtemp    sm  dbecc\n#YYYYMMDD   HH:MM:SS    Idx     W     C     %   errs\n"
        " 20260102   19:12:31      0    37    19     0      -\n",
        1,
    ),
    ("#Time        gpu  rxpci  txpci\n#HH:MM:SS    Idx   MB/s   MB/s\n 23:59:59      0    100     20\n", 1),
]

HEADER = re.compile(r"#\s*(?:Date\s+)?(?:Time\s+)?gpu(?:\s+[a-z0-9_]+)+\s*\Z")
_UNITS = re.compile(r"#\s*(?:YYYYMMDD\s+)?(?:HH:MM:SS\s+)?Idx\s")
#: Columns that are percentages where the line of units is missing.
_PERCENT = frozenset({"sm", "mem", "enc", "dec", "jpg", "ofa", "pviol", "smutil", "mmaact", "dram", "gract", "smocc"})
_DAY = 86400.0
_TIME = re.compile(r"(\d\d?):(\d\d):(\d\d)")


def recognise(head: str) -> bool:
    """Tell a line of column names that begins with ``# gpu``, ``#Date`` or ``#Time``."""
    return any(HEADER.match(line.strip()) for line in head.splitlines()[:40])


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each row."""
    table = _Reading(source.name)
    for part, line, raw in source.raw_lines():
        yield from table.take(part, line, raw.decode("utf-8", "replace").replace("\0", "").strip())
    yield from table.cards.close()


class _Reading:
    def __init__(self, source: str) -> None:
        self.cards = Cards(NAME, source)
        self._names: list[str] = []
        self._units: list[str] = []
        self._clock = 0.0

    def take(self, part: str, line: int, text: str) -> Iterator[Observation]:
        if HEADER.match(text):
            names = text.lstrip("# ").split()[:COLUMNS]
            if names != self._names:
                self._names, self._units = names, []
            return
        if _UNITS.match(text) and self._names:
            self._units = text.lstrip("# ").split()
            return
        if not text or text.startswith("#"):
            return
        cells = text.split()
        if len(cells) != len(self._names):
            told = Sentence(
                "{count} cells under {columns} columns: {text}",
                count=len(cells),
                columns=len(self._names),
                text=f"{text[:60]!r}",
            )
            self.cards.fault(
                part, line, told if self._names else Sentence("no column names before {text}", text=f"{text[:60]!r}")
            )
            return
        row = dict(zip(self._names, cells, strict=True))
        units = self._units if len(self._units) == len(self._names) else [_unit(name) for name in self._names]
        values: dict[str, float] = {}
        for name, unit in zip(self._names, units, strict=True):
            if name in ("Date", "Time", "gpu"):
                continue
            try:
                value = number(row[name], unit)
            except CellError as error:
                self.cards.fault(part, line, Sentence("{one}: {other}", one=name, other=error))
                continue
            if value is not None:
                values[name] = value
        if values:
            yield self.cards.row(part, line, text, self._time(row), (("gpu", row["gpu"][:48]),), values)

    def _time(self, row: dict[str, str]) -> float | None:
        """Return the time of a row; a time of day without its date counts from an unknown day, on past midnight."""
        if "Time" not in row:
            return None
        if "Date" in row:
            return moment(f"{row['Date'].replace('/', '-')} {row['Time']}")
        found = _TIME.fullmatch(row["Time"])
        if found is None:
            return None
        time = int(found[1]) * 3600.0 + int(found[2]) * 60.0 + int(found[3])
        time += _DAY * max(0, math.ceil((self._clock - _DAY / 2 - time) / _DAY))
        self._clock = time
        return time


def _unit(name: str) -> str:
    if name in _PERCENT:
        return "%"
    return "MB" if name in ("fb", "bar1", "ccpm", "rxpci", "txpci") else ""
