"""A page of ``kubectl describe pod`` back to the Pod object that it was printed from, and the events under it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from diagnoser.traces._kube_documents import Steps, Thing
from diagnoser.traces._kube_words import name_of, quantity
from diagnoser.values import dataclass, field

_FIELD = re.compile(r"( *)([^\s:][^:]{0,80}):(?:\s+(.*))?\Z")
_PROBE = re.compile(r"delay=(\d+)s timeout=(\d+)s period=(\d+)s #success=(\d+) #failure=(\d+)")
_MOUNT = re.compile(r"\s*(/\S*) from (\S+) \(")
#: Type, reason, age (``71s (x6 over 3m21s)``), from, message; columns stand two blanks apart.
_EVENT = re.compile(
    r"\s+(Normal|Warning)\s+(\S+)\s+(<[^>]+>|\S+(?: \(x\d+ over \S+\))?)\s+([^\s,]+(?:, \S+)?)\s+(\S.*)\Z"
)
_TIMES = re.compile(r"\(x(\d+) over")
_SECTIONS = {"Containers": "containers", "Init Containers": "initContainers"}
_STATUSES = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}
_STATES = {"Running": "running", "Waiting": "waiting", "Terminated": "terminated"}
_STATE_FIELDS = {"Reason": "reason", "Message": "message", "Started": "startedAt", "Finished": "finishedAt",
                 "Signal": "signal"}  # fmt: skip
_PROBES = {"Liveness": "livenessProbe", "Startup": "startupProbe", "Readiness": "readinessProbe"}


@dataclass(slots=True)
class _Lines:
    """Where each part stands: the line of the longest beginning of a path that was noted."""

    known: dict[Steps, int] = field(default_factory=dict)

    def line(self, path: Steps) -> int:
        for end in range(len(path), -1, -1):
            if path[:end] in self.known:
                return self.known[path[:end]]
        return 1


@dataclass(slots=True)
class Described:
    """One described pod: the object, and its events as (type, reason, times, message, line)."""

    thing: Thing
    events: list[tuple[str, str, int, str, int]]


def event_of(line: str, number: int) -> tuple[str, str, int, str, int] | None:
    """Read one row under ``Events:``: type, reason, times, message, line."""
    hit = _EVENT.match(line)
    if hit is None:
        return None
    times = _TIMES.search(hit[3])
    return hit[1], name_of(hit[2]), int(times[1][:9]) if times else 1, hit[5], number


class Page:
    """Reads one page line by line."""

    def __init__(self, first: int) -> None:
        self.data: dict[str, Any] = {"kind": "Pod", "metadata": {}, "spec": {}, "status": {}}
        self.events: list[tuple[str, str, int, str, int]] = []
        self._lines = _Lines({(): first})
        self._section = ""
        self._at: Steps = ()
        self._status: Steps = ()
        self._inner = ""
        self._state = ""
        self._open: tuple[dict[str, Any], str] | None = None

    def described(self) -> Described:
        """Return what was read so far."""
        return Described(Thing(self.data, self._lines), self.events)

    def take(self, number: int, line: str) -> None:
        """Take one line of the page."""
        indent = len(line) - len(line.lstrip(" "))
        hit = _FIELD.match(line)
        if self._section == "Events" and indent:
            self._event(number, line)
        elif indent == 0 and self._section in _SECTIONS and self._open and not (hit and hit[2] in _ENDS):
            # The message of a container's end may have lines of its own, which begin where they like.
            holder, key = self._open
            holder[key] = f"{holder[key]}\n{line}"[:16_384]
        elif indent == 0:
            self._top(number, hit)
        elif self._section in _SECTIONS:
            self._container(number, line, indent, hit)
        elif self._section == "Volumes":
            self._volume(number, indent, hit)

    def _top(self, number: int, hit: re.Match[str] | None) -> None:
        self._open = None
        if hit is None:
            return
        key, value = hit[2], (hit[3] or "").strip()
        self._section = key
        if key == "Name":
            self._put(("metadata", "name"), value, number)
        elif key == "Node" and value not in ("", "<none>"):
            self._put(("spec", "nodeName"), value.rsplit("/", 1)[0], number)
        elif key in ("Reason", "Message"):
            self._put(("status", key.lower()), value, number)
        elif key == "Status" and value.startswith("Terminating"):
            self._put(("metadata", "deletionTimestamp"), value, number)
        elif key in _SECTIONS:
            self._at = self._status = ()
            self._put(("spec", _SECTIONS[key]), [], number)
            self._put(("status", _STATUSES[_SECTIONS[key]]), [], number)

    def _container(self, number: int, line: str, indent: int, hit: re.Match[str] | None) -> None:
        key, value = (hit[2], (hit[3] or "").strip()) if hit else ("", "")
        if indent == 2 and hit and not value:
            kind = _SECTIONS[self._section]
            self._at = ("spec", kind, len(self.data["spec"][kind]))
            self._status = ("status", _STATUSES[kind], self._at[2])
            self.data["spec"][kind].append({"name": key})
            self.data["status"][_STATUSES[kind]].append({"name": key})
            self._lines.known[self._at] = self._lines.known[self._status] = number
            self._inner = self._state = ""
            self._open = None
        elif not self._at:
            return
        elif indent == 4 and hit:
            self._part(number, key, value)
        elif self._inner in ("command", "args"):
            words = self._spec().setdefault(self._inner, [])
            self._lines.known[(*self._at, self._inner, len(words))] = number
            words.append(line.strip())
        elif self._inner == "volumeMounts" and (mount := _MOUNT.match(line)):
            mounts = self._spec().setdefault("volumeMounts", [])
            mounts.append({"mountPath": mount[1], "name": mount[2]})
        elif self._inner == "limits" and hit:
            self._put((*self._at, "resources", "limits", key), value, number)
        elif self._state:
            self._in_state(number, line, key, value)

    def _part(self, number: int, key: str, value: str) -> None:
        self._inner, self._state, self._open = "", "", None
        if key == "Image":
            self._put((*self._at, "image"), value, number)
        elif key in ("Command", "Args", "Limits", "Mounts"):
            self._inner = "volumeMounts" if key == "Mounts" else key.lower()
            self._lines.known[(*self._at, self._inner)] = number
        elif key in ("State", "Last State") and value in _STATES:
            self._state = "state" if key == "State" else "lastState"
            self._put((*self._status, self._state, _STATES[value]), {}, number)
        elif key == "Ready":
            self._put((*self._status, "ready"), value == "True", number)
        elif key == "Restart Count" and value.isdecimal():
            self._put((*self._status, "restartCount"), int(value[:9]), number)
        elif key in _PROBES and (hit := _PROBE.search(value)):
            names = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
            values = {one: int(two[:9]) for one, two in zip(names, hit.groups(), strict=True)}
            self._put((*self._at, _PROBES[key]), values, number)

    def _in_state(self, number: int, line: str, key: str, value: str) -> None:
        status = self._reach(self._status)
        (state,) = status[self._state].values()
        path = (*self._status, self._state, next(iter(status[self._state])))
        if key == "Exit Code" and value.lstrip("-").isdecimal():
            state["exitCode"] = int(value[:9])
            self._lines.known[(*path, "exitCode")] = number
            self._open = None
        elif key in _STATE_FIELDS and (self._open is None or key != "Reason"):
            state[_STATE_FIELDS[key]] = value
            self._lines.known[(*path, _STATE_FIELDS[key])] = number
            self._open = (state, "message") if key == "Message" else None
        elif self._open:
            self._open[0]["message"] = f"{self._open[0]['message']}\n{line}"[:16_384]

    def _volume(self, number: int, indent: int, hit: re.Match[str] | None) -> None:
        volumes = self.data["spec"].setdefault("volumes", [])
        key, value = (hit[2], (hit[3] or "").strip()) if hit else ("", "")
        if indent == 2 and hit:
            volumes.append({"name": key})
        elif volumes and key == "SizeLimit" and quantity(value) is not None:
            self._put(("spec", "volumes", len(volumes) - 1, "emptyDir", "sizeLimit"), value, number)

    def _event(self, number: int, line: str) -> None:
        if (row := event_of(line, number)) is not None:
            self.events.append(row)

    def _spec(self) -> dict[str, Any]:
        return self._reach(self._at)

    def _reach(self, path: Iterable[str | int]) -> dict[str, Any]:
        value: Any = self.data
        for step in path:
            value = value[step]
        return value  # type: ignore[no-any-return]

    def _put(self, path: Steps, value: Any, number: int) -> None:
        holder: Any = self.data
        for step in path[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        if isinstance(holder, dict):
            holder[path[-1]] = value
        self._lines.known[path] = number


#: Headings after the containers of a page.
_ENDS: Mapping[str, None] = dict.fromkeys(
    ("Containers", "Ephemeral Containers", "Conditions", "Readiness Gates", "Volumes", "QoS Class", "Events", "Name")
)
