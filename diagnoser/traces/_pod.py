"""A pod to how its server fares and how it ended: the sentences of one Pod object, beside what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnoser.traces._kube_documents import Thing, text
from diagnoser.traces._kube_words import Sayings, message_of, name_of, number, when
from diagnoser.traces._last_words import last_words
from diagnoser.traces._pod_spec import Server, count, server_of, tell_spec

#: Waiting reasons of the kubelet for an image that does not come.
PULL = {
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
    "RegistryUnavailable", "SignatureValidationFailed",
}  # fmt: skip
CREATE = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CreatePodSandboxError"}


def pods(found: Sequence[Thing]) -> Iterator[tuple[Thing, Server]]:
    """Yield the pods among objects that hold a server, each with it."""
    listed = [thing for thing in found if thing.kind == "Pod"]
    for thing in listed:
        if (server := server_of(thing, alone=len(listed) == 1)) is not None:
            yield thing, server


def tell(thing: Thing, server: Server, source: str) -> Sayings:
    """Say everything about the server's pod that a rule may ask for."""
    out = Sayings(source, server.stream)
    tell_spec(thing, server, out)
    _pod_status(thing, server, out)
    status = _status(thing, "containerStatuses", server.container)
    if status is not None:
        _container_status(thing, status, server, out)
    _init_status(thing, server, out)
    return out


def _pod_status(thing: Thing, server: Server, out: Sayings) -> None:
    pod, reason = f"pod {server.pod}", text(thing.get("status", "reason"))
    said = message_of(thing.get("status", "message")) or "no message"
    line = thing.line("status", "reason")
    if reason in ("Evicted", "Preempting", "Preempted"):
        out.say(f"{pod} evicted: {said}", line, "end", None, "ERROR")
    elif reason == "UnexpectedAdmissionError" or re.match("OutOf[a-z]", reason):
        out.say(f"{pod} refused by the node: {name_of(reason)}: {said}", line, "state", None, "ERROR")
    elif reason == "NodeLost":
        out.say(f"node of {pod} is not ready: {said}", line, "state", None, "ERROR")
    for index in range(count(thing, "status", "conditions")):
        at = ("status", "conditions", index)
        if thing.get(*at, "type") != "PodScheduled" or str(thing.get(*at, "status")) != "False":
            continue
        if thing.get(*at, "reason") == "Unschedulable":
            told = message_of(thing.get(*at, "message")) or "no message"
            out.say(f"{pod} unschedulable: {told}", thing.line(*at, "message"), "state", _since(thing, at), "ERROR")


def _since(thing: Thing, at: tuple[str | int, ...]) -> float | None:
    return when(thing.get(*at, "lastTransitionTime"))


def _container_status(thing: Thing, at: tuple[str | int, ...], server: Server, out: Sayings) -> None:
    subject = f"container {server.container} of pod {server.pod}"
    restarts = number(thing.get(*at, "restartCount"), 0)
    out.claim("restarts", restarts, thing.line(*at, "restartCount"), f"restartCount {restarts}")
    out.claim("ready", thing.get(*at, "ready") is True, thing.line(*at, "ready"), f"ready: {thing.get(*at, 'ready')}")
    for key in ("lastState", "state"):
        _ended(thing, (*at, key, "terminated"), subject, out)
    _waits(thing, (*at, "state", "waiting"), subject, out)


def _ended(thing: Thing, at: tuple[str | int, ...], subject: str, out: Sayings) -> None:
    ended = thing.get(*at)
    if not isinstance(ended, Mapping):
        return
    reason, code = name_of(ended.get("reason")) or "unknown", ended.get("exitCode")
    begun, finished = when(ended.get("startedAt")), when(ended.get("finishedAt"))
    # Of a pod that is being deleted the container is stopped, at last by force.
    stopped = thing.get("metadata", "deletionTimestamp") is not None and reason != "OOMKilled"
    if stopped or not isinstance(code, int) or isinstance(code, bool):
        return
    ran = f", ran {finished - begun:.0f} s" if begun is not None and finished is not None and finished >= begun else ""
    line = thing.line(*at, "reason")
    level = "INFO" if code == 0 else "ERROR"
    out.say(f"{subject} terminated: reason {reason}, exit code {code}{ran}", line, "end", finished, level)
    if code:
        out.said.extend(last_words(ended.get("message"), thing.line(*at, "message"), finished, out))


def _waits(thing: Thing, at: tuple[str | int, ...], subject: str, out: Sayings) -> None:
    reason, said = name_of(thing.get(*at, "reason")), message_of(thing.get(*at, "message")) or "no message"
    line = thing.line(*at, "reason")
    if reason == "CrashLoopBackOff":
        out.say(f"{subject} waits to be restarted: {reason}: {said}", line, "state", None, "ERROR")
    elif reason in PULL:
        out.say(f"{subject} cannot pull its image: {reason}: {said}", line, "state", None, "ERROR")
    elif reason in CREATE:
        out.say(f"{subject} cannot be created: {reason}: {said}", line, "state", None, "ERROR")


def _init_status(thing: Thing, server: Server, out: Sayings) -> None:
    """Init containers run before the server; native sidecars (``restartPolicy: Always``) beside it."""
    kept = {
        name_of(thing.get("spec", "initContainers", index, "name"))
        for index in range(count(thing, "spec", "initContainers"))
        if thing.get("spec", "initContainers", index, "restartPolicy") != "Always"
    }
    for index in range(count(thing, "status", "initContainerStatuses")):
        at = ("status", "initContainerStatuses", index)
        name = name_of(thing.get(*at, "name"))
        if name not in kept:
            continue
        for state in ("state", "lastState"):
            code = thing.get(*at, state, "terminated", "exitCode")
            if thing.get(*at, "state", "terminated", "exitCode") != 0 and isinstance(code, int) and code != 0:
                # Not the server's death: another wording than a container's.
                reason = name_of(thing.get(*at, state, "terminated", "reason")).replace("OOMKilled", "OutOfMemory")
                told = f"init container {name} of pod {server.pod} failed: reason {reason}, exit code {code}"
                finished = when(thing.get(*at, state, "terminated", "finishedAt"))
                out.say(told, thing.line(*at, state, "terminated", "exitCode"), "state", finished, "ERROR")
                break
        _waits_for_image(thing, (*at, "state", "waiting"), f"init container {name} of pod {server.pod}", out)


def _waits_for_image(thing: Thing, at: tuple[str | int, ...], subject: str, out: Sayings) -> None:
    if name_of(thing.get(*at, "reason")) in PULL:
        _waits(thing, at, subject, out)


def _status(thing: Thing, key: str, container: str) -> tuple[str | int, ...] | None:
    places = ((("status", key, index)) for index in range(count(thing, "status", key)))
    return next((at for at in places if name_of(thing.get(*at, "name")) == container), None)


def other_containers(thing: Thing, server: Server) -> set[str]:
    """Return the names of the pod's containers that are not the server."""
    names = {
        name_of(thing.get("spec", key, index, "name"))
        for key in ("containers", "initContainers", "ephemeralContainers")
        for index in range(count(thing, "spec", key))
    }
    return names - {server.container}
