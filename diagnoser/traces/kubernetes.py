"""Kubernetes objects as ``kubectl get -o json`` and ``-o yaml`` print them: pods and events, alone or in lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._kube_documents import Thing, things
from diagnoser.traces._kube_events import of_object, tell_event
from diagnoser.traces._kube_words import name_of
from diagnoser.traces._pod import other_containers, pods, tell
from diagnoser.traces.base import Wanted

NAME = "kubernetes"
ORDER = 20
KINDS = ("json", "yaml")
SAMPLES = [
    (
        '{"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "FailedScheduling",\n'
        ' "message": "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",\n'
        ' "involvedObject": {"kind": "Pod", "name": "llm-0"}, "lastTimestamp": "2026-11-29T10:00:00Z"}\n',
        1,
    ),
    (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: llm-0\nspec:\n  containers:\n  - name: vllm\n"
        "    image: vllm/vllm-openai:v0.9.2\n    args: [--model, m, --max-num-seqs, '256']\n",
        6,
    ),
]

#: Bytes read of one input.
MOST = 32 << 20
_MARK = re.compile(r"(?m)(?:^|[{,\s])\"?apiVersion\"?:\s*\"?(?:v1|events\.k8s\.io/v1(?:beta1)?)\b")
_KIND = re.compile(r"(?m)(?:^|[{,\s-])\"?kind\"?:\s*\"?(?:Pod|Event|List|PodList|EventList)\b")


def recognise(head: str) -> bool:
    """Tell objects of the core API from other JSON and YAML."""
    return _MARK.search(head) is not None and _KIND.search(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what every pod with a server in it, and every event, says."""
    found: list[Thing] = []
    for one in things(source.name, source.content(MOST).decode("utf-8", "replace").lstrip("\ufeff")):
        if isinstance(one, Problem):
            yield one
        else:
            found.append(one)
    others: dict[str, set[str]] = {}
    for thing, server in pods(found):
        others[server.pod] = other_containers(thing, server)
        yield from tell(thing, server, source.name).said
    known = {name_of(thing.get("metadata", "name")) for thing in found if thing.kind == "Pod"}
    for thing in found:
        if thing.kind != "Event":
            continue
        happening = of_object(thing)
        if happening.kind == "Pod" and happening.name in known and happening.name not in others:
            continue  # a pod without a server in it
        said = tell_event(happening, source.name, others.get(happening.name, ()))
        yield from said.said if said is not None else ()
