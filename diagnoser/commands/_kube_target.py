"""What `kubectl diagnose-llm` is pointed at: names that may be passed on, selectors of owners, containers and ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnoser.commands._errors import CommandError
from diagnoser.traces._kube_documents import reach
from diagnoser.traces._launch import launch
from diagnoser.values import dataclass

#: Names of the API: none begins with a hyphen, so none is taken for an option.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9.]{0,126}")
_SELECTOR = re.compile(r"[A-Za-z0-9!(][\w./,=!() -]{0,1000}")
_PODS = ("pod", "pods", "po")
#: Owners without a selector of their own, by the label that their controllers put on pods.
_LABELS = {
    "LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/name",
    "RayCluster": "ray.io/cluster",
    "InferenceService": "serving.kserve.io/inferenceservice",
}
#: The ports of engines that nobody moved.
_PORTS = {"vllm": 8000, "sglang": 30000}
_MOST_PORTS = 5


@dataclass(slots=True, frozen=True)
class Target:
    """What was asked for: a pod, an owner of pods, or a selector."""

    kind: str
    name: str
    selector: str = ""

    @property
    def is_pod(self) -> bool:
        """Whether it is one pod by name."""
        return self.kind in _PODS

    def __str__(self) -> str:
        if self.selector:
            return f"-l {self.selector}"
        return self.name if self.is_pod else f"{self.kind}/{self.name}"


def target_of(word: str | None, selector: str | None) -> Target:
    """Read POD, KIND/NAME or a selector. Raises CommandError for anything else."""
    if (word is None) == (selector is None):
        raise CommandError("name a pod, an owner such as deploy/NAME, or a selector: -l app=llm (one of them)")
    if selector is not None:
        if not _SELECTOR.fullmatch(selector):
            raise CommandError(f"-l {selector}: no label selector; expected one such as app=llm,tier!=test")
        return Target("pods", "", selector)
    kind, slash, name = (word or "").rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _KIND.fullmatch(kind)):
        raise CommandError(f"'{word}' is neither POD nor KIND/NAME, such as llm-0 or deploy/llm")
    return Target(kind.lower() or "pod", name)


def checked_name(option: str, name: str | None) -> str | None:
    """Return a name of the API. Raises CommandError for what cannot be one."""
    if name is not None and not _NAME.fullmatch(name):
        raise CommandError(f"{option} {name}: no name; expected small letters, digits, '-' and '.'")
    return name


def is_name(value: Any) -> bool:
    """Whether a value of the API is a name: what is none is never passed on, nor made a file's name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def selector_of(owner: Mapping[str, Any]) -> str:
    """Return the selector of an owner's pods. Raises CommandError where nothing tells it."""
    kind, name = str(owner.get("kind")), str(reach(owner, ("metadata", "name")))
    if kind in _LABELS:
        return f"{_LABELS[kind]}={name}"
    given = reach(owner, ("spec", "selector"))
    if isinstance(given, Mapping):
        nested = "matchLabels" in given or "matchExpressions" in given
        labels = given.get("matchLabels") if nested else given
        terms = [f"{key}={value}" for key, value in labels.items()] if isinstance(labels, Mapping) else []
        terms += [_term(one) for one in _listed(given, "matchExpressions")] if nested else []
        if terms:
            return ",".join(terms)
    scale = reach(owner, ("status", "selector"))
    if isinstance(scale, str) and scale:
        return scale
    raise CommandError(f"{kind} {name} does not tell which pods are its own; name them: -l app=llm")


def _term(one: Mapping[str, Any]) -> str:
    listed = one.get("values")
    key, values = one.get("key"), ",".join(map(str, listed if isinstance(listed, list) else ()))
    forms = {
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "Exists": f"{key}",
        "DoesNotExist": f"!{key}",
    }
    return forms.get(str(one.get("operator")), f"{key}")


@dataclass(slots=True, frozen=True)
class Container:
    """A container of a pod: which logs there can be, and where its server may show metrics."""

    pod: str
    name: str
    started: bool
    restarted: bool
    waits: str
    ports: tuple[int, ...] = ()
    tls: bool = False


def containers_of(pod: Mapping[str, Any]) -> Iterator[Container]:
    """Yield the containers of a pod, those that run before the others first."""
    name = str(reach(pod, ("metadata", "name")))
    engines = [one for one in _listed(pod, "spec", "containers") if _engine(one)[0]]
    for group, statuses in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        told = {str(one.get("name")): one for one in _listed(pod, "status", statuses)}
        for one in _listed(pod, "spec", group):
            if not is_name(one.get("name")):
                continue
            state = told.get(str(one.get("name")), {})
            waiting = reach(state, ("state", "waiting"))
            reason = reach(state, ("state", "waiting", "reason"))
            restarted = bool(state.get("restartCount")) or bool(reach(state, ("lastState", "terminated")))
            runs = bool(reach(state, ("state", "running"))) and group == "containers"
            serves = runs and (one in engines or not engines)
            yield Container(
                pod=name,
                name=str(one.get("name")),
                started=restarted or (bool(state.get("state")) and not waiting),
                # Of a container that waits to be restarted the log is that of its last life, with --previous too.
                restarted=restarted and not waiting,
                waits=str(reason or "no status")[:80] if not runs else "",
                ports=tuple(_ports(pod, one))[:_MOST_PORTS] if serves else (),
                tls=serves and _tls(one),
            )


def _engine(container: Mapping[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    given = [container.get(key) for key in ("command", "args")]
    words = [[one for one in some if isinstance(one, str)] if isinstance(some, list) else [] for some in given]
    found = launch(str(container.get("image") or ""), words[0], words[1])
    return found.engine, [(flag, value) for flag, value, _ in found.flags]


def _ports(pod: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[int]:
    engine, flags = _engine(container)
    listed = _listed(container, "ports")
    named = {one["name"]: one.get("containerPort") for one in listed if isinstance(one.get("name"), str)}
    said: list[Any] = [value for flag, value in flags if flag in ("--port", "--prometheus-port")]
    said.append(reach(pod, ("metadata", "annotations", "prometheus.io/port")))
    for probe in ("readinessProbe", "startupProbe", "livenessProbe"):
        port = reach(container, (probe, "httpGet", "port"))
        said.append(named.get(port, port) if isinstance(port, str) else port)
    said += [one.get("containerPort") for one in listed]
    said += [_PORTS[engine]] if engine in _PORTS else list(_PORTS.values())
    seen: set[int] = set()
    for port in said:
        number = int(port) if str(port).isdecimal() and len(str(port)) < 6 else 0
        if 0 < number < 65536 and number not in seen:
            seen.add(number)
            yield number


def _tls(container: Mapping[str, Any]) -> bool:
    schemes = [reach(container, (probe, "httpGet", "scheme")) for probe in ("readinessProbe", "livenessProbe")]
    return "HTTPS" in schemes or any(flag == "--ssl-certfile" for flag, _ in _engine(container)[1])


def _listed(value: Mapping[str, Any], *path: str) -> list[Mapping[str, Any]]:
    found = reach(value, path)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def nearest(name: str, listed: Sequence[str]) -> str:
    """Suggest what exists instead, of lines as ``get -o name`` prints them."""
    from diagnoser.knowledge.words import hint

    short = {one.partition("/")[2]: one for one in listed if "/" in one}
    close = hint(name, short)
    for bare, full in short.items():
        kind = full.partition("/")[0].partition(".")[0]
        if close == f"; did you mean {bare}?" and kind != "pod":
            return f"; did you mean {kind}/{bare}?"
    return close
