"""Containers as ``docker inspect`` and ``podman inspect`` print them: how they ended, and what they were started with.

They are told in the sentences that Kubernetes' pods are told in: an end is an end, whoever runs the container.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._kube_documents import Thing, text, things
from diagnoser.traces._kube_words import Sayings, message_of, name_of, number, when
from diagnoser.traces._launch import launch
from diagnoser.traces.base import Wanted

NAME = "docker-inspect"
ORDER = 22
KINDS = ("json",)
SAMPLES = [
    (
        '[{"Id": "4f1c", "Path": "vllm", "Args": ["serve", "m", "--max-num-seqs", "64"], "State": {"Status": "exited",'
        ' "Running": false, "OOMKilled": true, "ExitCode": 137, "StartedAt": "2026-11-29T10:00:00Z",'
        ' "FinishedAt": "2026-11-29T10:04:00Z"}, "Name": "/llm-1", "RestartCount": 2,'
        ' "Config": {"Image": "vllm/vllm-openai:v0.16.0"},'
        ' "HostConfig": {"Memory": 8589934592, "ShmSize": 67108864}}]\n',
        8,
    ),
]

#: Bytes read of one input.
_MOST = 8 << 20
_GIB = 2.0**30
_STATE = re.compile(r'"OOMKilled"\s*:\s*(?:true|false)')


def recognise(head: str) -> bool:
    """Tell the state of containers from other JSON."""
    return '"State"' in head and _STATE.search(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what every container in it says of its server and of its end."""
    for one in things(source.name, source.content(_MOST).decode("utf-8", "replace").lstrip("\ufeff")):
        if isinstance(one, Problem):
            yield one
        elif isinstance(one.get("State"), dict):
            yield from _tell(one, source.name).said


def _tell(thing: Thing, source: str) -> Sayings:
    name = name_of(text(thing.get("Name")).lstrip("/")) or name_of(thing.get("Id"))[:12] or "?"
    out = Sayings(source, name)
    image = message_of(thing.get("Config", "Image"))
    given = thing.get("Args")
    begun = launch(image, [text(thing.get("Path"))], [one for one in given or () if isinstance(one, str)])
    at = thing.line("Config", "Image")
    if begun.engine:
        out.claim("engine", begun.engine, at, f"image {image}")
    if begun.version:
        out.claim("image.version", begun.version, at, f"image {image}")
    for flag, value, element in begun.flags:
        told = f"container args: {flag}" + ("" if isinstance(value, bool) else f" {value}")
        out.claim(flag, value, thing.line("Args", max(element - 1, 0)), told, begun.engine)
    for key, claimed in (("Memory", "limits.memory"), ("ShmSize", "shm")):
        size = thing.get("HostConfig", key)
        if isinstance(size, int) and size > 0:  # 0 is no limit
            out.claim(claimed, size / _GIB, thing.line("HostConfig", key), f"{key} {size}")
    restarts = number(thing.get("RestartCount"), 0)
    out.claim("restarts", restarts, thing.line("RestartCount"), f"RestartCount {restarts}")
    _ended(thing, name, out)
    return out


def _ended(thing: Thing, name: str, out: Sayings) -> None:
    state = thing.get("State")
    code, killed = state.get("ExitCode"), state.get("OOMKilled") is True
    if not isinstance(code, int) or isinstance(code, bool) or (state.get("Running") is True and not killed):
        return
    start, finish = when(state.get("StartedAt")), when(state.get("FinishedAt"))
    if finish is None or finish <= 0:  # year 1: it has not ended yet
        return
    # The one before was killed where it runs again.
    code = 137 if killed and state.get("Running") is True else code
    reason = "OOMKilled" if killed else "Error" if code else "Completed"
    ran = f", ran {finish - start:.0f} s" if start is not None and finish >= start else ""
    told = f"container {name} of pod {name} terminated: reason {reason}, exit code {code}{ran}"
    out.say(told, thing.line("State", "OOMKilled"), "end", finish, "ERROR" if code else "INFO")
