"""Tables in the text that ``nsys stats`` writes, one after the other: as CSV, or in columns over a ruler of dashes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

from diagnoser.values import dataclass

#: A report is read by one script from one file: ``Processing [a.sqlite] with [/…/reports/cuda_api_sum.py]...``.
_PROCESSING = re.compile(r"\s*Processing \[([^\]]{1,4096})\] with \[[^\]]{1,4096}\]")
_RULER = re.compile(r"\s*-{2,}(?:\s+-{2,})+\s*\Z")
_FIRST = ("Time (%)", "Time(%)", "Start (")
_MOST_COLUMNS = 64


@dataclass(slots=True)
class Row:
    """One row: its place, its cells by column name, and the file that the report was made of ("" where nobody says).

    ``table`` numbers the tables of the input.
    """

    part: str
    line: int
    text: str
    cells: dict[str, str]
    table: int
    file: str


def rows(lines: Iterable[tuple[str, int, str]]) -> Iterator[Row]:
    """Yield every row of every table in (part, number, text) lines; what stands around tables is passed over."""
    reading = _Reading()
    for part, number, text in lines:
        if (row := reading.take(part, number, text)) is not None:
            yield row


class _Reading:
    def __init__(self) -> None:
        self._file = ""
        self._table = 0
        self._before = ""
        self._header: Sequence[str] = ()
        self._separator = ""
        self._ends: list[tuple[int, int]] = []

    def take(self, part: str, number: int, text: str) -> Row | None:
        before, self._before = self._before, text
        if not text.strip():
            self._header = ()
        elif (found := _PROCESSING.match(text)) is not None:
            self._file, self._header = found[1], ()
        elif _RULER.match(text):
            self._ruled(before, text)
        elif text.lstrip(' "').startswith(_FIRST) and (separator := _separator(text)):
            self._begin(_split(text, separator), separator)
        elif self._header:
            cells = _split(text, self._separator) if self._separator else self._cut(text)
            return self._row(part, number, text, cells)
        return None

    def _begin(self, header: Sequence[str], separator: str) -> None:
        self._header = [name.strip() for name in header[:_MOST_COLUMNS]]
        self._separator = separator
        self._table += 1

    def _ruled(self, header: str, ruler: str) -> None:
        spans = [found.span() for found in re.finditer("-+", ruler)][:_MOST_COLUMNS]
        # Numbers stand at the right of their column, so a wide one begins before its dashes.
        self._ends = [(spans[at - 1][1] if at else 0, end) for at, (_, end) in enumerate(spans)]
        self._begin(self._cut(header), "")

    def _cut(self, text: str) -> list[str]:
        last = len(self._ends) - 1
        return [text[start : None if at == last else end].strip() for at, (start, end) in enumerate(self._ends)]

    def _row(self, part: str, number: int, text: str, cells: list[str]) -> Row:
        wanted = len(self._header)
        if len(cells) > wanted:  # a name with commas that nobody quoted
            cells[wanted - 1 :] = [self._separator.join(cells[wanted - 1 :])]
        cells += [""] * (wanted - len(cells))
        return Row(part, number, text, dict(zip(self._header, cells, strict=False)), self._table, self._file)


def _separator(text: str) -> str:
    return next((one for one in ",\t" if text.count(one) >= 3), "")


def _split(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:
        return text.split(separator)
