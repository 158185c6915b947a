"""``nvidia-smi --query-compute-apps=… --format=csv``: one row for each process on a card, once or again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._cells import CellError, number, split
from diagnoser.traces._gpus import Cards, kept, others
from diagnoser.traces._moments import moment
from diagnoser.traces.base import Wanted

NAME = "nvidia-smi-apps"
ORDER = 19
KINDS = ("csv",)
SAMPLES = [
    (
        "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "2026/11/29 10:00:00.123, GPU-6d0c, 188214, VLLM::EngineCore, 70120 MiB\n"
        "2026/11/29 10:00:00.123, GPU-6d0c, 201977, /opt/conda/bin/python, 8460 MiB\n",
        1,
    ),
    ("pid, used_memory [MiB]\n4120, 70120 MiB\n", 1),
]

_WRITER = "nvidia-smi"
_HEAD = re.compile(r"(?:timestamp|gpu_\w+|pid|process_name|name|used_(?:gpu_)?memory)(?:\s*\[\w+\])?")
#: What tells cards apart, the best first.
_CARD = ("gpu_uuid", "gpu_bus_id", "gpu_serial", "gpu_name")
#: Cards and moments whose processes are told.
_MOST = 4096


def recognise(head: str) -> bool:
    """By the columns: processes, and what each has of a card's memory."""
    return any(_columns(line) for line in head.splitlines()[:12])


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a ``Measure`` for each card and moment: what the processes beside the largest hold."""
    cards = Cards(_WRITER, source.name)
    names: list[str] = []
    held: dict[tuple[str, str, float | None], list[tuple[float, int, str]]] = {}
    for part, line, raw in source.raw_lines():
        text = raw.decode("utf-8", "replace").replace("\0", "").strip("\ufeff \t\r\n")
        if found := _columns(text):
            names = found
            continue
        cells = split(text, ",") if text and names else []
        if not cells:
            continue
        if len(cells) != len(names):
            cards.fault(part, line, Sentence("{one}: {other}", one=len(names), other=repr(text[:60])))
            continue
        row = dict(zip(names, cells, strict=True))
        try:
            used = number(row.get("used_gpu_memory", row.get("used_memory", "")), "MiB")
        except CellError as error:
            cards.fault(part, line, Sentence("{one}: {other}", one="used_memory", other=error))
            continue
        stamp = row.get("timestamp", "")
        card = next((row[name] for name in _CARD if row.get(name)), "0")
        where = (part, card[:48], moment(stamp.replace("/", "-")) if stamp else None)
        if used is not None and (where in held or len(held) < _MOST):
            kept(held.setdefault(where, []), (used, line, text))
    for (part, card, when), processes in held.items():
        if (more := others(processes)) is not None:
            yield cards.row(part, more[1], more[2], when, (("gpu", card),), {"memory.others": more[0]})
    yield from cards.close()


def _columns(line: str) -> list[str]:
    """Return the names of a header; nothing when the line is none."""
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    if not all(_HEAD.fullmatch(cell) for cell in cells):
        return []
    names = [cell.partition("[")[0].strip() for cell in cells]
    return names if any(name.startswith("used_") for name in names) else []
