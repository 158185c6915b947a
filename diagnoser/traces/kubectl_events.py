"""The table of ``kubectl get events`` (and ``kubectl events``): when last seen, type, reason, object, message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._kube_events import Happening, tell_event
from diagnoser.traces._kube_words import message_of, name_of
from diagnoser.traces.base import Wanted

NAME = "kubectl-events"
ORDER = 22
KINDS = ("kubectl",)
SAMPLES = [
    (
        "LAST SEEN   TYPE      REASON             OBJECT      MESSAGE\n"
        "3m12s       Warning   FailedScheduling   pod/llm-0   0/5 nodes are available: 5 Insufficient nvidia.com/gpu.\n"
        "2m          Normal    Scheduled          pod/llm-1   Successfully assigned prod/llm-1 to gpu-7\n",
        1,
    ),
    (
        "NAMESPACE   LAST SEEN   TYPE      REASON   OBJECT      SUBOBJECT              SOURCE           MESSAGE   "
        "     FIRST SEEN   COUNT   NAME\n"
        "prod        1s          Warning   Evicted  pod/llm-0                          kubelet, gpu-7   low on disk"
        "   1s           1       llm-0.17\n",
        1,
    ),
]

_HEADING = re.compile(r"[A-Z]+(?: [A-Z]+)?")
#: ``71s (x6 over 3m21s)`` of ``kubectl events``.
_TIMES = re.compile(r"\(x(\d+) over")
_KINDS = {"pod": "Pod", "pods": "Pod", "node": "Node", "nodes": "Node"}
_TOLD = 3
_CONTAINER = re.compile(r"spec\.(?:initC|ephemeralC|c)ontainers\{([^}]{1,253})\}")


def recognise(head: str) -> bool:
    """Tell the table by its headings."""
    first = head.lstrip().split("\n", 1)[0]
    return all(word in first for word in ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"))


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what every row of the table says. Ages are told from a moment that the table does not name: no times."""
    columns: dict[str, tuple[int, int | None]] = {}
    faults = 0
    for name, number, raw in source.raw_lines():
        line = raw[:65_536].decode("utf-8", "replace").rstrip("\r").expandtabs(8)
        if not line.strip():
            continue
        if "LAST SEEN" in line and "REASON" in line and "MESSAGE" in line:
            columns = _columns(line)
            continue
        happening = _happening(_cells(line, columns), number)
        if happening is None:
            faults += 1
            if faults <= _TOLD:
                yield Problem(name, number, Sentence("no row of a table of events"))
            continue
        said = tell_event(happening, source.name)
        yield from said.said if said is not None else ()


def _columns(heading: str) -> dict[str, tuple[int, int | None]]:
    """Return where each column begins and ends: cells are padded to the width of the widest."""
    starts = [(hit.start(), hit[0]) for hit in _HEADING.finditer(heading)]
    ends: list[int | None] = [start for start, _ in starts[1:]]
    return {title: (start, end) for (start, title), end in zip(starts, [*ends, None], strict=True)}


def _cells(line: str, columns: dict[str, tuple[int, int | None]]) -> dict[str, str]:
    """Cut a row by the columns; by blanks where it does not keep to them (a table that was pasted or cut)."""
    cells = {title: line[start:end].strip() for title, (start, end) in columns.items()}
    if cells.get("TYPE") in ("Normal", "Warning") and "/" in cells.get("OBJECT", ""):
        return cells
    hit = re.match(r"\s*(?:\S+\s+)??(\S+(?: \(x\d+ over \S+\))?)\s+(Normal|Warning)\s+(\S+)\s+(\S+/\S+)\s+(.*)", line)
    return dict(zip(("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"), hit.groups(), strict=True)) if hit else {}


def _happening(cells: dict[str, str], number: int) -> Happening | None:
    if cells.get("TYPE") not in ("Normal", "Warning"):
        return None
    kind, _, name = cells.get("OBJECT", "").partition("/")
    times = _TIMES.search(cells.get("LAST SEEN", ""))
    counted = times[1] if times else cells.get("COUNT", "")
    container = _CONTAINER.match(cells.get("SUBOBJECT", ""))
    return Happening(
        _KINDS.get(kind.lower(), kind),
        name_of(name),
        name_of(container[1]) if container else "",
        cells["TYPE"],
        name_of(cells.get("REASON", "")),
        message_of(cells.get("MESSAGE", "")),
        None,
        int(counted[:9]) if counted.isdecimal() else 1,
        number,
    )
