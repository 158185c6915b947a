"""What ``nvidia-smi -q`` prints: the figures of each card under headings, once or again and again with ``-l``.

Its figures stand under the names of ``nvidia-smi --query-gpu``, so that all outputs of the tool are one writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Group, Places
from diagnoser.traces._cells import CellError, number
from diagnoser.traces._gpus import TEXT, Cards, kept, others, printed_moment
from diagnoser.traces.base import Wanted

NAME = "nvidia-smi-report"
ORDER = 24
KINDS = ("printed",)
SAMPLES = [
    (
        "==============NVSMI LOG==============\n\n"
        "Timestamp                                 : Mon Dec 22 14:06:40 2025\n"
        "Attached GPUs                             : 2\n"
        "GPU 00000000:18:00.0\n"
        "    Product Name                          : NVIDIA A100-SXM4-80GB\n"
        "    Clocks Event Reasons\n"
        "        HW Slowdown                       : Active\n"
        "            HW Thermal Slowdown           : Active\n"
        "    Temperature\n"
        "        GPU Current Temp                  : 92 C\n"
        "GPU 00000000:2A:00.0\n"
        "    Product Name                          : NVIDIA A100-SXM4-80GB\n"
        "    Temperature\n"
        "        GPU Current Temp                  : 61 C\n",
        3,
    ),
]

_WRITER = "nvidia-smi"
_WIDE = 400
_TITLE = re.compile(r"=+NVSMI LOG=+")
_CARD = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:\S+\s*\Z")
_ENTRY = re.compile(r"( *)(\S.*?)\s*:(?: (.*))?\Z")
_LOST = re.compile(r"GPU is lost|GPU requires reset|Unable to determine the device handle")
#: Depth of headings that is read; deeper ones are none of this tool's.
_DEEPEST = 8
#: (heading, key) in lower case: the column of ``--query-gpu``. Older drivers say throttle for event.
_FIGURES = {
    ("fb memory usage", "used"): ("memory.used", "MiB"),
    ("fb memory usage", "total"): ("memory.total", "MiB"),
    ("utilization", "gpu"): ("utilization.gpu", "%"),
    ("utilization", "memory"): ("utilization.memory", "%"),
    ("temperature", "gpu current temp"): ("temperature.gpu", "C"),
    ("temperature", "memory current temp"): ("temperature.memory", "C"),
    ("power readings", "power draw"): ("power.draw", "W"),
    ("power readings", "power limit"): ("power.limit", "W"),
    ("power readings", "default power limit"): ("power.default_limit", "W"),
    ("gpu power readings", "power draw"): ("power.draw", "W"),
    ("gpu power readings", "average power draw"): ("power.draw", "W"),
    ("gpu power readings", "instantaneous power draw"): ("power.draw.instant", "W"),
    ("gpu power readings", "current power limit"): ("power.limit", "W"),
    ("gpu power readings", "default power limit"): ("power.default_limit", "W"),
    ("clocks", "sm"): ("clocks.sm", "MHz"),
    ("max clocks", "sm"): ("clocks.max.sm", "MHz"),
    ("remapped rows", "remapping failure occurred"): ("remapped_rows.failure", ""),
}
#: The reasons that are told of, whatever the heading is called and however deep they stand.
_REASONS = {
    "sw power cap": "sw_power_cap",
    "hw slowdown": "hw_slowdown",
    "hw thermal slowdown": "hw_thermal_slowdown",
    "hw power brake slowdown": "hw_power_brake_slowdown",
    "sw thermal slowdown": "sw_thermal_slowdown",
}
_REASONS_UNDER = ("clocks event reasons", "clocks throttle reasons")


def recognise(head: str) -> bool:
    """By the title that stands over each look."""
    return any(_TITLE.fullmatch(line.strip()) for line in head.splitlines()[:40])


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each card and look; name and memory of the GPU where all cards agree."""
    cards = Cards(_WRITER, source.name)
    card: _Card | None = None
    time: float | None = None
    count = 0
    for part, line, raw in source.raw_lines():
        text = raw.decode("utf-8", "replace").replace("\0", "").rstrip()[:_WIDE]
        if _TITLE.fullmatch(text.strip()):
            yield from card.rows(cards) if card else ()
            card, count = None, 0
        elif _CARD.match(text):
            yield from card.rows(cards) if card else ()
            card = _Card(count, time, part, line, text)
            count += 1
        elif card is None:
            entry = _ENTRY.match(text)
            if entry is not None and entry[2] == "Timestamp":
                time = printed_moment(entry[3] or "")
        else:
            card.take(line, text, cards)
    yield from card.rows(cards) if card else ()
    yield from cards.close()


class _Card:
    """One card of one look: its figures, and the lines where they stand."""

    def __init__(self, count: int, time: float | None, part: str, line: int, text: str) -> None:
        self._group: Group = (("gpu", str(count)),)
        self._time, self._part, self._line, self._text = time, part, line, text
        self._values: dict[str, float] = {}
        self._places: Places = {}
        self._headings: list[tuple[int, str]] = []
        self._processes: list[tuple[float, int, str]] = []
        self._process = ""

    def take(self, line: int, text: str, cards: Cards) -> None:
        """Read one line under the card's own."""
        if _LOST.search(text):
            self._put("lost", 1.0, line, text)
            return
        entry = _ENTRY.match(text)
        deep = len(text) - len(text.lstrip())
        while self._headings and self._headings[-1][0] >= deep:
            self._headings.pop()
        if entry is None:
            if text.strip() and len(self._headings) < _DEEPEST:
                self._headings.append((deep, text.strip().lower()))
            return
        key, cell = entry[2].lower(), entry[3] or ""
        under = [heading for _, heading in self._headings]
        if key == "product name":
            cards.fact("name", cell, self._part, line, text)
        elif "processes" in under or key in ("process id", "used gpu memory"):
            self._of_process(key, cell, line)
        elif key in _REASONS and under and under[0] in _REASONS_UNDER:
            self._figure(f"clocks_event_reasons.{_REASONS[key]}", "", cell, line, text, cards)
            self._headings.append((deep, key))  # the kinds of a slowdown stand below it
        elif under and under[:2] == ["ecc errors", "volatile"] and "uncorrectable" in key:
            self._figure("ecc.errors.uncorrected.volatile.total", "", cell, line, text, cards, add=True)
        elif under and (named := _FIGURES.get((under[0], key))) is not None and len(under) == 1:
            self._figure(*named, cell, line, text, cards)

    def _figure(
        self, name: str, unit: str, cell: str, line: int, text: str, cards: Cards, *, add: bool = False
    ) -> None:
        try:
            value = number(cell, unit)
        except CellError as error:
            cards.fault(self._part, line, f"{name}: {error}")
            return
        if value is not None:
            self._put(name, value + (self._values.get(name, 0.0) if add else 0.0), line, text)

    def _of_process(self, key: str, cell: str, line: int) -> None:
        if key == "process id":
            self._process = cell
        elif key == "used gpu memory":
            try:
                used = number(cell, "MiB")
            except CellError:
                return
            if used is not None:
                kept(self._processes, (used, line, f"process {self._process[:16]}: {cell}"))

    def _put(self, name: str, value: float, line: int, text: str) -> None:
        self._values[name] = value
        self._places = {**self._places, name: (line, f"gpu {self._group[0][1]}: {' '.join(text.split())}"[:TEXT])}

    def rows(self, cards: Cards) -> Iterator[Observation]:
        """Yield the card's row; what further processes hold is one figure of it."""
        if (more := others(self._processes)) is not None:
            value, line, text = more
            self._put("memory.others", value, line, text)
        if self._values.get("memory.total"):
            line, text = self._places["memory.total"]
            cards.fact("memory.total", self._values["memory.total"], self._part, line, text)
        if self._values:
            yield cards.row(
                self._part, self._line, self._text, self._time, self._group, self._values, dict(self._places)
            )
