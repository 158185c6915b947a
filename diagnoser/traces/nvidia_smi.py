"""``nvidia-smi --query-gpu=… --format=csv``: one row for each GPU and moment, any columns in any order.

Columns are named by a header line or, where ``noheader`` left it out, by the command line if that was kept with the
output. The table of a bare ``nvidia-smi`` has a reader of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence, phrase
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Group, Places
from diagnoser.traces._cells import CellError, number, split
from diagnoser.traces._gpus import COLUMNS, TEXT, Cards, reasons
from diagnoser.traces._moments import moment
from diagnoser.traces.base import Wanted

NAME = "nvidia-smi"
ORDER = 20
KINDS = ("csv",)
SAMPLES = [
    (
        "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
        "2026/11/29 10:00:00.123, 0, 97 %, 70123 MiB\n2026/11/29 10:00:00.125, 1, [N/A], 70123 MiB\n",
        2,
    ),
    ("utilization.gpu [%], power.draw [W]\n97, 350.12\n96, [Not Supported]\n", 2),
    ("name, temperature.gpu, pstate\nNVIDIA L4, 61, P0\n", 2),
    ("$ nvidia-smi --query-gpu=index,clocks.sm --format=csv,noheader,nounits\n0, 1980\n1, 1410\n", 2),
]

_HEAD = re.compile(r"([a-z][a-z0-9_.]*)(?:\s*\[([^\]]*)\])?")
_QUERY = re.compile(r"--query-gpu[= ]([a-z0-9_.,]+)")
_KNOWN = re.compile(
    r"(?:utilization|memory|power|temperature|clocks\w*|ecc|fan|encoder|pcie|remapped_rows|enforced)\.\w|pstate\Z"
)
#: What tells cards apart, the best first.
_IDENTITY = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "pci.bus", "serial", "gpu_serial")
_NAMES = ("name", "gpu_name")
#: Columns that hold no number to judge by.
_TEXTS = frozenset({
    *_IDENTITY, *_NAMES, "timestamp", "count", "pstate", "driver_version", "vbios_version", "display_mode",
    "display_active", "display_attached", "persistence_mode", "accounting.mode", "compute_mode", "compute_cap",
    "ecc.mode.current", "ecc.mode.pending", "mig.mode.current", "mig.mode.pending", "power.management",
    "driver_model.current", "driver_model.pending", "inforom.img", "inforom.oem", "inforom.ecc", "inforom.pwr",
    "gom.current", "gom.pending", "pci.domain", "pci.device", "pci.device_id", "pci.sub_device_id", "addressing_mode",
})  # fmt: skip
_LOST = ("[gpu is lost]", "[gpu requires reset]")
#: Columns whose every value but 0 is a sign, and those that are told with it.
_SIGN = re.compile(r"_reasons\.|^lost$|^ecc\.errors\.uncorrected|^remapped_rows\.failure")
_BESIDE = re.compile(r"clocks\.(?:current\.)?sm|temperature\.gpu|power\.draw|power\.limit")
#: Without any name for cards: a row that follows this soon is the next card's, seconds; and the most cards.
_SAME_MOMENT = 0.05
_MOST_CARDS = 16

_FEWER = phrase("{count} cells under {columns} columns: {text}")
_MORE = phrase("{count} cells under {columns} columns (a decimal comma?): {text}")


def recognise(head: str) -> bool:
    """Tell a header of nvidia-smi's columns, its command line, or rows that begin with its times or hold its units."""
    lines = [line for line in head.splitlines() if line.strip()][:12]
    return any(_columns(line) is not None for line in lines) or bool(lines and _bare_row(lines[0]))


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each row; name and memory of the GPU where all rows agree."""
    table = _Reading(source.name)
    for part, line, raw in source.raw_lines():
        yield from table.take(part, line, raw.decode("utf-8", "replace").replace("\0", "").strip("\ufeff \t\r\n"))
    yield from table.cards.close()


def _columns(line: str) -> tuple[str, list[tuple[str, str]]] | None:
    """Return the separator and the names and units of a header or a command line; None when it is neither."""
    query = _QUERY.search(line)
    if query is not None:
        return ",", [(name, "") for name in query[1].strip(",").split(",")][:COLUMNS]
    for separator in (",", ";", "\t"):
        heads = [_HEAD.fullmatch(cell.strip().strip('"')) for cell in line.split(separator)]
        columns = [(head[1], head[2] or "") for head in heads if head is not None]
        if len(columns) == len(heads) and any(_KNOWN.match(name) for name, _ in columns):
            return separator, columns[:COLUMNS]
    return None


def _bare_row(line: str) -> bool:
    """Tell a row without a header: nvidia-smi's own form of time, or a cell with one of its units."""
    cells = [cell.strip() for cell in line.split(",")]
    stamped = re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", cells[0]) is not None
    return len(cells) > 1 and (stamped or any(re.fullmatch(r"\d+(?:\.\d+)? (?:%|MiB|W|MHz)", one) for one in cells))


class _Reading:
    def __init__(self, source: str) -> None:
        self.cards = Cards(NAME, source)
        self._separator = ","
        self._names: list[tuple[str, str]] = []
        self._unnamed = False
        self._last: float | None = None
        self._ordinal = 0

    def take(self, part: str, line: int, text: str) -> Iterator[Observation]:
        if not text:
            return
        found = None if text[0].isdigit() else _columns(text)  # no column's name begins with a digit
        if found is not None:
            self._separator, self._names = found
            return
        if not self._names:
            if not self._unnamed:
                self._unnamed = True
                told = Sentence(
                    "no column names: run nvidia-smi without noheader, or put its command line before the rows"
                )
                self.cards.fault(part, line, told)
            return
        cells = split(text, self._separator)
        if len(cells) != len(self._names):
            pattern = _MORE if len(cells) > len(self._names) else _FEWER
            told = Sentence(pattern, count=len(cells), columns=len(self._names), text=f"{text[:60]!r}")
            self.cards.fault(part, line, told)
            return
        yield from self._row(part, line, text, {name: cell for (name, _), cell in zip(self._names, cells, strict=True)})

    def _row(self, part: str, line: int, text: str, cells: dict[str, str]) -> Iterator[Observation]:
        values: dict[str, float] = {}
        for name, unit in self._names:
            if name in _TEXTS:
                continue
            try:
                value = number(cells[name], unit or _unit(name))
            except CellError as error:
                self.cards.fault(part, line, Sentence("{one}: {other}", one=name, other=error))
                continue
            if value is not None:
                values[name] = value
        for name in [one for one in values if one.endswith("_reasons.active")]:
            values = {**reasons(values.pop(name), name.removesuffix(".active")), **values}
        if any(cell.lower() in _LOST for cell in cells.values()):
            values["lost"] = 1.0
        stamp = cells.get("timestamp", "")
        time = moment(stamp.replace("/", "-")) if stamp else None
        group = self._group(cells, time)
        for name in _NAMES:
            if cells.get(name) and not cells[name].startswith("["):
                self.cards.fact("name", cells[name], part, line, text)
        if values.get("memory.total"):
            self.cards.fact("memory.total", values["memory.total"], part, line, text)
        if values:
            yield self.cards.row(part, line, text, time, group, values, _signs(cells, values, group, line))

    def _group(self, cells: dict[str, str], time: float | None) -> Group:
        for name in _IDENTITY:
            if cells.get(name) and not cells[name].startswith("["):
                return (("gpu", cells[name][:48]),)
        together = time is not None and self._last is not None and 0 <= time - self._last < _SAME_MOMENT
        self._ordinal = (self._ordinal + 1) % _MOST_CARDS if together else 0
        self._last = time
        return (("gpu", str(self._ordinal)),)


def _signs(cells: dict[str, str], values: dict[str, float], group: Group, line: int) -> Places | None:
    """Say a sign of trouble with its column's name and what belongs to it: in a wide row of numbers nobody finds it."""
    found = [name for name, value in values.items() if value and _SIGN.search(name)]
    if not found:
        return None
    beside = [f"{name} {cells[name]}" for name in cells if _BESIDE.match(name)][:4]
    card = f"gpu {group[0][1]}:"
    shown = {name: f"{card} {name.split('_reasons.')[-1]} {cells.get(name, 'active')}" for name in found}
    return {name: (line, ", ".join([text, *beside])[:TEXT]) for name, text in shown.items()}


def _unit(name: str) -> str:
    """Return the unit in which nvidia-smi prints a column whose header does not tell."""
    if name.startswith("utilization.") or name == "fan.speed":
        return "%"
    return "MiB" if name.startswith("memory.") else ""
