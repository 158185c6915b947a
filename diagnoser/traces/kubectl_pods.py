"""The table of ``kubectl get pods``: how many containers are ready, the state in one word, restarts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from diagnoser.observations import Observation
from diagnoser.patterns import lazily
from diagnoser.sources import Source
from diagnoser.traces._kube_words import Sayings, name_of
from diagnoser.traces._pod import CREATE, PULL
from diagnoser.traces.base import Wanted
from diagnoser.values import dataclass

NAME = "kubectl-pods"
ORDER = 24
KINDS = ("kubectl",)
SAMPLES = [
    (
        "NAME                     READY   STATUS             RESTARTS         AGE\n"
        "llm-6c9f7d5b8d-4kzpn     0/1     CrashLoopBackOff   14 (2m11s ago)   63m\n",
        4,
    ),
    (
        "NAMESPACE   NAME    READY   STATUS      RESTARTS   AGE    IP            NODE\n"
        "prod        llm-0   0/1     OOMKilled   2          3d2h   10.244.3.29   gpu-node-3\n",
        4,
    ),
]

_HEADING = re.compile(r"\s*(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b")
_ROW = lazily(
    r"\s*(?:(?P<space>\S{1,253})\s+)?(?P<pod>[a-z0-9][a-z0-9.-]{0,252})\s+(?P<ready>\d{1,3})/(?P<all>\d{1,3})\s+"
    r"(?P<status>[A-Za-z][\w:/.-]{0,62})\s+(?P<restarts>\d{1,9})\s+\S"
)
#: Names of which people call a server of models, where the table has others too.
_SERVER = lazily(r"sglang|llm")
_MOST_ROWS = 10_000


@dataclass(slots=True)
class _Row:
    """One pod. ``state`` is the word of the table, ``whole`` whether all its containers are ready."""

    pod: str
    state: str
    whole: bool
    restarts: int
    line: int


def recognise(head: str) -> bool:
    """Tell the table by its headings."""
    return _HEADING.match(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what the table says of the pods that serve. Ages are told from a moment that it does not name: no times."""
    rows: list[_Row] = []
    for _, number, raw in source.raw_lines():
        hit = _ROW.match(raw[:4096].decode("utf-8", "replace"))
        if hit is not None and len(rows) < _MOST_ROWS:
            whole = int(hit["ready"]) >= int(hit["all"])
            rows.append(_Row(name_of(hit["pod"]), hit["status"], whole, int(hit["restarts"]), number))
    for row in _serving(rows):
        yield from _tell(row, source.name).said


def _serving(rows: Sequence[_Row]) -> list[_Row]:
    """Return the pods of servers: those called so, or all where the table is of one workload."""
    named = [row for row in rows if _SERVER.search(row.pod)]
    workloads = {row.pod.split("-")[0] for row in rows}
    return named or (list(rows) if len(workloads) == 1 else [])


def _tell(row: _Row, source: str) -> Sayings:
    """Say what the state means, in the words in which a Pod object is told."""
    out = Sayings(source, row.pod)
    first, _, inner = row.state.partition(":")
    subject = f"container {row.pod} of pod {row.pod}"
    if first == "Init":
        subject, first = f"init container unnamed of pod {row.pod}", inner
    out.claim("name", row.pod, row.line, f"pod {row.pod}")
    out.claim("restarts", row.restarts, row.line, f"RESTARTS {row.restarts}")
    if row.state not in ("Completed", "Terminating"):
        out.claim("ready", row.whole, row.line, f"READY {'all' if row.whole else 'not all'}")
    if first == "CrashLoopBackOff":
        out.say(f"{subject} waits to be restarted: {first}: no message", row.line, "state", None, "ERROR")
    elif first in PULL:
        out.say(f"{subject} cannot pull its image: {first}: no message", row.line, "state", None, "ERROR")
    elif first in CREATE:
        out.say(f"{subject} cannot be created: {first}: no message", row.line, "state", None, "ERROR")
    elif first == "OOMKilled" and not inner:
        # The kernel kills with SIGKILL: 128 + 9.
        out.say(f"{subject} terminated: reason OOMKilled, exit code 137", row.line, "end", None, "ERROR")
    elif first == "Evicted":
        out.say(f"pod {row.pod} evicted: no message", row.line, "end", None, "ERROR")
    elif first == "UnexpectedAdmissionError" or re.match("OutOf[a-z]", first):
        out.say(f"pod {row.pod} refused by the node: {first}: no message", row.line, "state", None, "ERROR")
    return out
