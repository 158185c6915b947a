"""The events under a page of ``kubectl describe pod``, where they were copied without the page above them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._described import event_of
from diagnoser.traces._kube_events import Happening, tell_event
from diagnoser.traces._kube_words import message_of, name_of
from diagnoser.traces.base import Wanted

NAME = "kubectl-event-list"
ORDER = 23
KINDS = ("kubectl",)
SAMPLES = [
    (
        "Events:\n  Type     Reason     Age                From               Message\n"
        "  ----     ------     ----               ----               -------\n"
        "  Normal   Scheduled  13m                default-scheduler  Successfully assigned prod/llm-0 to gpu-7\n"
        "  Normal   Killing    3m (x3 over 11m)   kubelet            Container vllm failed startup probe, will be "
        "restarted\n",
        1,
    ),
    (
        "Type     Reason   Age   From     Message\n"
        "  ----     ------   ----  ----     -------\n"
        "  Warning  BackOff  71s (x9 over 9m)  kubelet  Back-off restarting failed container vllm in pod "
        "llm-0_prod(0f6d2c1e-5d0b-4a57-9c61-8f8a4c5b2d90)\n",
        1,
    ),
]

_HEADING = re.compile(r"\A\s*(?:Events:\s*\n\s*)?Type\s+Reason\s+Age\s+From\s+Message\b")
#: Which pod it is about, as far as a message says so.
_POD = re.compile(r"uccessfully assigned [\w.-]{1,253}/([\w.-]{1,253}) to |in pod ([a-z0-9][a-z0-9.-]{0,252})")
_UNNAMED = "unnamed"
_MOST_ROWS = 10_000


def recognise(head: str) -> bool:
    """Tell the list by its headings."""
    return _HEADING.match(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what every row says, all of one pod. Ages are told from a moment that is not named: no times."""
    rows: list[tuple[str, str, int, str, int]] = []
    for _, number, raw in source.raw_lines():
        row = event_of(raw[:65_536].decode("utf-8", "replace").rstrip("\r").expandtabs(8), number)
        if row is not None and len(rows) < _MOST_ROWS:
            rows.append(row)
    named = (hit[1] or hit[2] for *_, message, _ in rows if (hit := _POD.search(message)))
    pod = name_of(next(named, _UNNAMED))
    for type_, reason, times, message, line in rows:
        said = tell_event(Happening("Pod", pod, "", type_, reason, message_of(message), None, times, line), source.name)
        yield from said.said if said is not None else ()
