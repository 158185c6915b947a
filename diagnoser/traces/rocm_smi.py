"""AMD GPUs: ``rocm-smi … --csv``, a block for each call, and ``amd-smi metric … --csv``, with and without a watch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._cells import CellError, number, split
from diagnoser.traces._gpus import COLUMNS, Cards
from diagnoser.traces._moments import moment
from diagnoser.traces.base import Wanted

NAME = "rocm-smi"
ORDER = 22
KINDS = ("csv",)
SAMPLES = [
    (
        "device,Temperature (Sensor junction) (C),Current Socket Graphics Package Power (W),GPU use (%),"
        "VRAM Total Memory (B),VRAM Total Used Memory (B)\ncard0,61.0,612.0,82,206158430208,152471339008\n"
        "card1,60.0,598.0,79,206158430208,149250113536\n",
        3,
    ),
    (
        "timestamp,gpu,gfx_activity,umc_activity,socket_power,gfx_0_clk,gfx_0_max_clk,hotspot,mem\n"
        "1795946400,0,95,80,1180,2100,2400,78,60\n1795946400,1,0,0,N/A,132,2400,44,24\n",
        2,
    ),
    ("\nWARNING: AMD GPU device(s) is/are in a low-power state.\n\ndevice,GPU use (%)\ncard0,7\n", 1),
]

HEADER = re.compile(
    r"(?:timestamp,)?(?:device,.*(?:GPU use \(%\)|\([CWB]\)|VRAM%|clock speed:)|"
    r"gpu,.*(?:gfx_activity|socket_power|hotspot|used_vram|gfx_0_clk))",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?:card)?(\d+)\Z", re.IGNORECASE)
_UNIT = re.compile(r"\((%|[CWB]|VRAM%)\)\s*\Z")
#: What amd-smi counts without naming the unit: percent, and MB of memory.
_UNITS = {"gfx_activity": "%", "umc_activity": "%", "mm_activity": "%", "total_vram": "MB", "used_vram": "MB"}
_NAMES = ("card series", "card model", "device name", "market_name")
#: Columns that hold no number to judge by.
_TEXTS = re.compile(
    r"(?i)device$|gpu$|timestamp$|card |gpu id|guid|device |subsystem|node id|gfx version|.*level:|xcp$"
)


def recognise(head: str) -> bool:
    """Tell a header of either tool, behind warnings if need be."""
    return any(HEADER.match(line.strip()) for line in head.splitlines()[:20])


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each row; memory of the GPU where all rows agree."""
    table = _Reading(source.name)
    for part, line, raw in source.raw_lines():
        yield from table.take(part, line, raw.decode("utf-8", "replace").replace("\0", "").strip("\ufeff \t\r\n"))
    yield from table.cards.close()


class _Reading:
    def __init__(self, source: str) -> None:
        self.cards = Cards(NAME, source)
        self._names: list[str] = []

    def take(self, part: str, line: int, text: str) -> Iterator[Observation]:
        if not text or text.upper().startswith(("WARNING", "ERROR")):
            return
        cells = split(text)
        if HEADER.match(text):
            self._names = cells[:COLUMNS]
            return
        if not self._names:
            self.cards.fault(part, line, Sentence("no column names before {text}", text=f"{text[:60]!r}"))
            return
        row = dict(zip(self._names, cells, strict=False))
        card = _CARD.match(row.get("device", row.get("gpu", "")))
        if card is None or len(cells) != len(self._names):
            self.cards.fault(
                part,
                line,
                Sentence(
                    "expected {count} cells with a card among them, not {text}",
                    count=len(self._names),
                    text=f"{text[:60]!r}",
                ),
            )
            return
        values: dict[str, float] = {}
        for name in self._names:
            # Lists are figures of parts of a card.
            if _TEXTS.match(name) or row[name].startswith("["):
                continue
            unit = _UNIT.search(name)
            try:
                value = number(row[name], unit[1] if unit else _UNITS.get(name, ""))
            except CellError as error:
                if unit or name in _UNITS:
                    self.cards.fault(part, line, Sentence("{one}: {other}", one=name, other=error))
                continue
            if value is not None:
                values[name] = value
        for name in ("VRAM Total Memory (B)", "total_vram"):
            if values.get(name):
                self.cards.fact("memory.total", values[name], part, line, text)
        for name in self._names:
            if name.lower() in _NAMES and row[name] and not row[name].lower().startswith(("n/a", "0x")):
                self.cards.fact("name", row[name], part, line, text)
                break
        if values:
            time = moment(row["timestamp"]) if row.get("timestamp") else None
            yield self.cards.row(part, line, text, time, (("gpu", card[1]),), values)
