"""The table of a bare ``nvidia-smi``: two lines for each card, once or again and again under ``watch`` or ``-l``.

Its figures stand under the names of ``nvidia-smi --query-gpu``, so that both outputs are one writer. Layouts of drivers
384 to 595: with one or two blanks before a column's bar, with and without a line about MIG.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Group
from diagnoser.traces._cells import CellError, number
from diagnoser.traces._gpus import Cards, kept, others, printed_moment
from diagnoser.traces.base import Wanted

NAME = "nvidia-smi-table"
ORDER = 23
KINDS = ("printed",)
SAMPLES = [
    (
        "Sun Nov 29 10:00:00 2026       \n"
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "|=========================================+========================+======================|\n"
        "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |\n"
        "| N/A   34C    P0             113W / 700W |   72000MiB / 81559MiB  |     97%      Default |\n"
        "|   1  ERR!                          ERR! |   00000000:2A:00.0 Off |                    0 |\n"
        "| N/A   35C    P0              N/A / 700W |   72000MiB / 81559MiB  |     96%      Default |\n",
        4,
    ),
    (
        "| NVIDIA-SMI 570.133.20             Driver Version: 570.133.20     CUDA Version: 12.8     |\n"
        "|   5  NVIDIA A100-SXM4-80GB          On  |   00000000:90:00.0 Off |                 ERR! |\n"
        "| ERR! ERR!  ERR!            ERR! /  ERR! |       4MiB /  81920MiB |    ERR!         ERR! |\n",
        2,
    ),
]

_WRITER = "nvidia-smi"
#: Characters of a line; the table has ninety.
_WIDE = 400
_TITLE = re.compile(r"\|\s*NVIDIA-SMI \d")
_CARD = re.compile(
    r"\|\s*(\d{1,3})\s+(\S.*?)\s+(?:On|Off|N/A|ERR!)\s*\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:\S+\s+\S+\s*\|\s*(\S+)\s*\|"
)
_STATE = re.compile(
    r"\|\s*\S+\s+(\S+)\s+\S+\s+(\S+)\s*/\s*(\S+?)\s*\|\s*(\S+?)\s*/\s*(\S+?)\s*\|\s*(\S+)\s+\S.*\|"
)  # fan, temperature, P-state, power / limit | memory / total | busy, compute mode
_COLUMNS = (
    ("temperature.gpu", "C"), ("power.draw", "W"), ("power.limit", "W"), ("memory.used", "MiB"),
    ("memory.total", "MiB"), ("utilization.gpu", "%"),
)  # fmt: skip
#: A process that computes; with and without the columns of MIG. The name may be cut or hold blanks.
_PROCESS = re.compile(r"\|\s*(\d{1,3})(?:\s+\S+\s+\S+)?\s+\d+\s+(?:M\+)?C(?:\+G)?\s+\S.*?\s(\d+)MiB\s*\|")
#: Of temperature, power, limit and load, so many that cannot be read mean that nothing of the card can: one alone is a
#: broken fan or sensor.
_ERRORS = 3
#: Cards and moments whose processes are told.
_MOST = 4096
_LOST = re.compile(r"GPU is lost|GPU requires reset|Unable to determine the device handle for GPU ?(\S*)")


def recognise(head: str) -> bool:
    """By the table's own title."""
    return any(_TITLE.match(line) for line in head.splitlines()[:40])


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each card and time; name and memory of the GPU where all cards agree."""
    cards = Cards(_WRITER, source.name)
    time: float | None = None
    card: tuple[str, str, str, str] | None = None  # index, name, uncorrectable errors, the line
    processes: dict[tuple[str, str, float | None], list[tuple[float, int, str]]] = {}
    for part, line, raw in source.raw_lines():
        text = raw.decode("utf-8", "replace").replace("\0", "").strip()[:_WIDE]
        if (date := printed_moment(text)) is not None:
            time = date
        elif (first := _CARD.match(text)) is not None:
            card = (first[1], first[2], first[3], text)
        elif card is not None and (state := _STATE.match(text)) is not None:
            index, name, errors, above = card
            card = None
            values, wrong = _values(state.groups(), errors)
            for told in wrong:
                cards.fault(part, line, told)
            if name != "ERR!" and not name.endswith("..."):  # a long name is cut: it may be any of several cards
                cards.fact("name", name, part, line - 1, above)
            if "memory.total" in values:
                cards.fact("memory.total", values["memory.total"], part, line, text)
            if values:
                yield cards.row(part, line, text, time, _group(index), values)
        elif (lost := _LOST.search(text)) is not None:
            yield cards.row(part, line, text, time, _group((lost[1] or "?").rstrip(":")), {"lost": 1.0})
        elif (process := _PROCESS.match(text)) is not None:
            where = (part, process[1], time)
            if where in processes or len(processes) < _MOST:
                kept(processes.setdefault(where, []), (float(process[2]) * 2.0**-10, line, text))
    for (part, index, when), held in processes.items():
        if (more := others(held)) is not None:
            yield cards.row(part, more[1], more[2], when, _group(index), {"memory.others": more[0]})
    yield from cards.close()


def _group(index: str) -> Group:
    return (("gpu", index[:48]),)


def _values(cells: tuple[str, ...], errors: str) -> tuple[dict[str, float], list[str]]:
    """Return the figures of a card by the names of ``--query-gpu``, and what could not be read."""
    values: dict[str, float] = {}
    wrong: list[str] = []
    if sum(cell == "ERR!" for cell in cells) >= _ERRORS:
        return {"lost": 1.0}, wrong
    named = [*zip(_COLUMNS, cells, strict=True), (("ecc.errors.uncorrected.volatile.total", "errs"), errors)]
    for (name, unit), cell in named:
        if cell in ("Off", "On"):  # ECC is switched off
            continue
        try:
            value = number(cell, unit)
        except CellError as error:
            wrong.append(f"{name}: {error}")
            continue
        if value is not None:
            values[name] = value
    return values, wrong
