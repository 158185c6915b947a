"""What a pod is told to run: its server's container, image, arguments, limits, shared memory and probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.traces._kube_documents import Thing, text
from diagnoser.traces._kube_words import Sayings, message_of, name_of, number, quantity
from diagnoser.traces._launch import Launch, launch
from diagnoser.values import dataclass

#: Resources that are whole GPUs.
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
_GIB = 2.0**30
#: What container runtimes give as /dev/shm where the pod mounts nothing there.
DEFAULT_SHM_GIB = 0.0625
_MOST_CONTAINERS = 100


@dataclass(slots=True, frozen=True)
class Server:
    """The container of a pod that is the server, or may be; ``index`` is its place in ``spec.containers``."""

    pod: str
    container: str
    index: int
    launch: Launch

    @property
    def stream(self) -> str:
        """Pod and container, as envelopes write them."""
        return f"{self.pod}/{self.container}"


def server_of(thing: Thing, alone: bool) -> Server | None:
    """Return the container that serves: one that names an engine, else one with GPUs.

    Of a pod that is ``alone`` in its input and has one container it is that one.
    """
    pod = name_of(thing.get("metadata", "name"))
    found: list[tuple[int, Server]] = []
    for index in range(min(count(thing, "spec", "containers"), _MOST_CONTAINERS)):
        at = ("spec", "containers", index)
        command, args = (_texts(thing.get(*at, key)) for key in ("command", "args"))
        read = launch(text(thing.get(*at, "image")), command, args)
        rank = 0 if read.engine in ("vllm", "sglang") else 1 if read.engine else 2 if _gpus(thing, index) else 3
        found.append((rank, Server(pod, name_of(thing.get(*at, "name")), index, read)))
    if not found:
        return None
    rank, best = min(found, key=lambda item: item[0])
    return best if rank < 3 or (alone and len(found) == 1) else None


def tell_spec(thing: Thing, server: Server, out: Sayings) -> None:
    """Claim what the pod's specification says of the server's container."""
    _launched(thing, server, out)
    _resources(thing, server, out)
    _probes(thing, server, out)


def _launched(thing: Thing, server: Server, out: Sayings) -> None:
    at = ("spec", "containers", server.index)
    image = message_of(thing.get(*at, "image"))
    out.claim("name", server.pod, thing.line("metadata", "name"), f"pod {server.pod}")
    if server.launch.engine:
        out.claim("engine", server.launch.engine, thing.line(*at, "image"), f"image {image}")
    if image:
        out.claim("image", image, thing.line(*at, "image"), f"image {image}")
    if server.launch.version:
        out.claim("image.version", server.launch.version, thing.line(*at, "image"), f"image {image}")
    if node := name_of(thing.get("spec", "nodeName")):
        out.claim("node", node, thing.line("spec", "nodeName"), f"node {node}")
    commands = count(thing, *at, "command")
    for flag, value, element in server.launch.flags:
        key, index = ("command", element) if element < commands else ("args", element - commands)
        excerpt = f"{flag} {value}" if not isinstance(value, bool) else flag
        out.claim(flag, value, thing.line(*at, key, index), f"container {key}: {excerpt}", server.launch.engine)


def _resources(thing: Thing, server: Server, out: Sayings) -> None:
    at = ("spec", "containers", server.index)
    for key, scale in (("memory", _GIB), ("cpu", 1.0)):
        limit = thing.get(*at, "resources", "limits", key)
        amount = quantity(limit)
        if amount:
            excerpt = f"limit {key} {limit}"
            out.claim(f"limits.{key}", amount / scale, thing.line(*at, "resources", "limits", key), excerpt)
    if gpus := _gpus(thing, server.index):
        key = next(iter(gpus))
        out.claim("limits.gpu", sum(gpus.values()), thing.line(*at, "resources", "limits", key), f"limit {key}")
    _shared_memory(thing, server, out)


def _gpus(thing: Thing, index: int) -> dict[str, int]:
    limits = thing.get("spec", "containers", index, "resources", "limits")
    amounts = {key: quantity(limits[key]) for key in _GPUS if key in limits} if isinstance(limits, Mapping) else {}
    return {key: int(amount) for key, amount in amounts.items() if amount}


def _shared_memory(thing: Thing, server: Server, out: Sayings) -> None:
    at = ("spec", "containers", server.index)
    for index in range(count(thing, *at, "volumeMounts")):
        mount = (*at, "volumeMounts", index)
        if text(thing.get(*mount, "mountPath")).rstrip("/") == "/dev/shm":
            volume = thing.get(*mount, "name")
            for number_ in range(count(thing, "spec", "volumes")):
                place = ("spec", "volumes", number_)
                size = thing.get(*place, "emptyDir", "sizeLimit")
                if thing.get(*place, "name") == volume and (amount := quantity(size)):
                    line = thing.line(*place, "emptyDir", "sizeLimit")
                    out.claim("shm", amount / _GIB, line, f"/dev/shm: emptyDir, sizeLimit {size}")
            return
    # A pod that was cut before its status may have been cut before its mounts.
    if isinstance(thing.get("status"), Mapping) and thing.get("spec", "hostIPC") is not True:
        line = thing.line(*at, "volumeMounts")
        out.claim("shm", DEFAULT_SHM_GIB, line, f"container {server.container}: no volume is mounted at /dev/shm")


def _probes(thing: Thing, server: Server, out: Sayings) -> None:
    for probe in ("startup", "liveness"):
        at = ("spec", "containers", server.index, f"{probe}Probe")
        set_ = thing.get(*at)
        if not isinstance(set_, Mapping):
            continue
        delay, period = number(set_.get("initialDelaySeconds"), 0), number(set_.get("periodSeconds"), 10) or 10
        failures = number(set_.get("failureThreshold"), 3) or 3
        told = f"{probe}Probe: initialDelaySeconds {delay}, periodSeconds {period}, failureThreshold {failures}"
        out.claim(f"{probe}.seconds", delay + period * failures, thing.line(*at), told)
        out.claim(f"{probe}.period", period, thing.line(*at), told)


def count(thing: Thing, *path: str | int) -> int:
    """Return the length of a list in an object, 0 where there is none."""
    value = thing.get(*path)
    return len(value) if isinstance(value, list) else 0


def _texts(value: Any) -> list[str]:
    return [one if isinstance(one, str) else str(one) for one in value] if isinstance(value, list) else []
