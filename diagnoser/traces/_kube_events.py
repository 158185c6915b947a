"""Events of a cluster to sentences: what the kubelet, the scheduler and the node's guards say of pods and nodes."""

from __future__ import annotations

import re
from collections.abc import Collection

from diagnoser.traces._kube_documents import Thing
from diagnoser.traces._kube_words import Sayings, message_of, name_of, number, when
from diagnoser.traces._launch import of_image
from diagnoser.values import dataclass

#: Streams of what is said of a node rather than of a pod begin so.
NODE = "node/"

_CONTAINER_PATH = re.compile(r"spec\.(?:init|ephemeral)?[cC]ontainers\{([^}]{1,253})\}")
#: Killing: "Container NAME failed liveness probe, will be restarted", before 1.16 "Killing container with id
#: docker://NAME:Container failed liveness probe.. Container will be killed and recreated."
_PROBE_KILL = re.compile(r"failed (startup|liveness) probe", re.IGNORECASE)
_NAMED = re.compile(r"(?:[Cc]ontainer|docker://) ?([a-z0-9][-a-z0-9]{0,62})\b(?: failed|:|\Z| in pod)")
_PROBE = re.compile(r"(Startup|Liveness|Readiness) probe (?:failed|errored)(?:[: ]+)(.*)")
_IMAGE = re.compile(r'image "([^"\s]{1,512})"')
_SCHEDULING = {"FailedScheduling", "FailedBinding"}
_MOUNT = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
_EVICTED = {"Evicted", "Preempted"}
#: The kubelet's own check of what the scheduler decided: UnexpectedAdmissionError, OutOfcpu, OutOfnvidia.com/gpu …
_REFUSED = re.compile(r"UnexpectedAdmissionError\Z|OutOf[a-z]")
_NODE_DOWN = {"NodeNotReady", "NodeLost"}
#: Normal events that say something all the same.
_TOLD_ANYWAY = {"Killing", "Preempted", *_NODE_DOWN}
#: Warnings that say what another event, or the state of the container, says better.
_ECHOES = {"Unhealthy", "Killing", "FailedCreatePodContainer", "FailedSync", "FailedKillPod", "ExceededGracePeriod"}


@dataclass(slots=True, frozen=True)
class Happening:
    """One event: what it is about, and how often it was seen. ``container`` is "" where the form does not tell it."""

    kind: str
    name: str
    container: str
    type: str
    reason: str
    message: str
    time: float | None
    times: int
    line: int


def of_object(thing: Thing) -> Happening:
    """Read an Event object, of the core API or of ``events.k8s.io``."""
    about = "involvedObject" if thing.get("involvedObject") is not None else "regarding"
    series = thing.get("series", "count")
    stamps = (("series", "lastObservedTime"), ("lastTimestamp",), ("deprecatedLastTimestamp",), ("eventTime",),
              ("firstTimestamp",), ("metadata", "creationTimestamp"))  # fmt: skip
    times = (found for path in stamps if (found := when(thing.get(*path))) is not None)
    hit = _CONTAINER_PATH.search(str(thing.get(about, "fieldPath") or "")[:400])
    return Happening(
        name_of(thing.get(about, "kind")),
        name_of(thing.get(about, "name")),
        name_of(hit[1]) if hit else "",
        name_of(thing.get("type")),
        name_of(thing.get("reason")),
        message_of(thing.get("message")) or message_of(thing.get("note")),
        next(times, None),
        max(number(series, 0), number(thing.get("count"), 0), number(thing.get("deprecatedCount"), 0), 1),
        thing.line("message" if thing.get("message") is not None else "reason"),
    )


def tell_event(one: Happening, source: str, others: Collection[str] = ()) -> Sayings | None:
    """Say what an event means; None when it is ordinary, or of a container among ``others`` than the server's."""
    if one.kind == "Node":
        return _of_node(one, source)
    if one.kind != "Pod" or not one.name:
        return None
    container = one.container or _named_in(one.message)
    out = Sayings(source, f"{one.name}/{container}")
    if hit := _IMAGE.search(one.message):
        engine, version = of_image(hit[1])
        if engine and container not in others:
            out.claim("engine", engine, one.line, one.message)
            out.claim("image.version", version, one.line, one.message) if version else None
    if container and container in others:
        return None
    if one.type != "Normal" or one.reason in _TOLD_ANYWAY:
        sentence, level = _sentence(one, container), "ERROR" if one.type != "Normal" else "WARNING"
        if sentence:
            out.say(sentence, one.line, "event", one.time, level)
        elif one.type != "Normal" and one.reason not in _ECHOES:
            subject = f"container {container} of pod {one.name}" if container else f"pod {one.name}"
            told = f"{subject}: {one.reason} ({one.times} times): {one.message}"
            out.say(told, one.line, "event", one.time, level, quoted=True)
    return out if out.said else None


def _named_in(message: str) -> str:
    hit = _NAMED.search(message)
    return hit[1] if hit else ""


def _sentence(one: Happening, container: str) -> str:
    pod = f"pod {one.name}"
    subject = f"container {container} of {pod}" if container else pod
    times, reason, message = f"({one.times} times)", one.reason, one.message or "no message"
    if reason in _SCHEDULING:
        return f"{pod} unschedulable: {message}"
    if reason in _MOUNT:
        return f"{pod} cannot mount {times}: {message}"
    if reason in _EVICTED:
        return f"{pod} evicted: {message}"
    if _REFUSED.match(reason):
        return f"{pod} refused by the node: {reason}: {message}"
    if reason in _NODE_DOWN:
        return f"node of {pod} is not ready: {message}"
    if reason == "Killing" or (reason == "Unhealthy" and _PROBE_KILL.search(message)):
        kill = _PROBE_KILL.search(message)
        return f"{subject} is killed by its {kill[1].lower()} probe {times}" if kill else ""
    if reason == "Unhealthy":
        hit = _PROBE.match(message)
        return f"{subject}: {hit[1].lower()} probe did not pass {times}: {hit[2]}" if hit else ""
    if "ulling image" in message or "pull image" in message or "ErrImage" in message or "ImagePull" in message:
        return f"{subject} cannot pull its image: {reason}: {message}"
    if reason == "BackOff":
        return f"{subject} waits to be restarted: {reason}: {message}"
    return ""


def _of_node(one: Happening, source: str) -> Sayings | None:
    out = Sayings(source, f"{NODE}{one.name}")
    if one.reason in _NODE_DOWN:
        out.say(f"node {one.name} is not ready: {one.message}", one.line, "node", one.time, "ERROR")
    elif one.type == "Warning":
        told = f"node {one.name}: {one.reason} ({one.times} times): {one.message}"
        out.say(told, one.line, "node", one.time, quoted=one.reason != "SystemOOM")
    return out if out.said else None
