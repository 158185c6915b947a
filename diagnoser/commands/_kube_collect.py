"""Collecting one incident: pods and their owner, events, logs of every container, metrics; what fails is noted."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnoser.commands import _kube_bundle
from diagnoser.commands._errors import CommandError
from diagnoser.commands._kube_bundle import Bundle
from diagnoser.commands._kube_metrics import Metrics
from diagnoser.commands._kube_target import Container, Target, containers_of, is_name, nearest, selector_of
from diagnoser.commands._kubectl import Kubectl, Ran
from diagnoser.traces._kube_documents import reach

#: Pods of one incident.
MOST_PODS = 32
#: Calls at once, and the seconds and bytes of one.
_TOGETHER = 4
_GET, _LOG = 30.0, 60.0
_MOST_OBJECTS, MOST_LOG = 32 << 20, 32 << 20
#: Lines of the end of a log that is too large.
_TAIL = 20_000
_KINDS = (
    "pod", "deploy", "deployment", "statefulset", "sts", "replicaset", "daemonset", "job", "leaderworkerset", "lws",
    "service", "raycluster",
)  # fmt: skip
_RIGHTS = "needed are get and list of pods, get of pods/log; for more also events and pods/proxy"


class Collector:
    """Asks for everything about one target. ``found`` pods and their ``namespace`` are known after ``pods``."""

    def __init__(
        self, kubectl: Kubectl, target: Target, namespace: str | None, only: str | None, bundle: Bundle
    ) -> None:
        self._kubectl, self._target, self._only, self._bundle = kubectl, target, only, bundle
        self._place = [f"--namespace={namespace}"] if namespace else []
        self.namespace = namespace or "default"
        self.found: list[dict[str, Any]] = []
        self._owner: dict[str, Any] | None = None

    def pods(self) -> None:
        """Find the pods. Raises CommandError when there is nothing to collect from."""
        asked, target = ["get", *self._place, "--output=json"], self._target
        if target.selector:
            listed = self._asked([*asked, "pods", f"--selector={target.selector}"])
        elif target.is_pod:
            listed = self._asked([*asked, "pod", target.name])
        else:
            self._owner = self._asked([*asked, f"{target.kind}/{target.name}"])
            listed = self._asked([*asked, "pods", f"--selector={selector_of(self._owner)}"])
        items: Any = listed.get("items") if "items" in listed else [listed]
        every = items if isinstance(items, list) else []
        self.found = [one for one in every if isinstance(one, dict) and is_name(reach(one, ("metadata", "name")))]
        if not self.found:
            raise CommandError(self._nobody())
        own = reach(self.found[0], ("metadata", "namespace"))
        self.namespace = own if is_name(own) else self.namespace
        self._place = [f"--namespace={self.namespace}"]
        for one in self.found[MOST_PODS:]:
            name = str(reach(one, ("metadata", "name")))
            self._bundle.miss(
                f"pod {name}", f"more than {MOST_PODS} pods", self._words("logs", name, "--all-containers")
            )
        del self.found[MOST_PODS:]
        things = [self._owner] if self._owner is not None else []
        self._bundle.add("pods.json", _kube_bundle.document(_listed([*things, *self.found])))

    def containers(self) -> list[Container]:
        """Return all containers, of the name asked for alone where one was."""
        every = [one for pod in self.found for one in containers_of(pod)]
        kept = [one for one in every if self._only in (None, one.name)]
        if not kept:
            from diagnoser.knowledge.words import hint

            names = sorted({one.name for one in every})
            raise CommandError(f"-c {self._only}: no such container{hint(str(self._only), names) or ''}"
                               f" (there are {', '.join(names)})")  # fmt: skip
        return kept

    def events(self) -> None:
        """Keep the events of the pods and of what owns them."""
        arguments = ["get", *self._place, "--output=json", "events"]
        ran = self._kubectl.run([*arguments, "--request-timeout=25s"], _GET, _MOST_OBJECTS)
        items = reach(_parsed(ran.out), ("items",)) if ran.ok else None
        if not isinstance(items, list):
            why = ran.told or "the answer is no JSON"
            self._bundle.miss("events", why, self._words("get", "events", "--sort-by=.lastTimestamp"))
            return
        own = [one for one in items if isinstance(one, dict) and self._mine(one)]
        if own:
            self._bundle.add("events.json", _kube_bundle.document(_listed(own)))

    def logs(self, containers: Sequence[Container], say: Callable[[str], None]) -> None:
        """Keep the logs of containers, those before a restart first."""
        jobs: list[tuple[Container, bool]] = []
        for one in containers:
            if not one.started:
                if one.waits != "no status":
                    self._bundle.miss(f"log of {one.pod}/{one.name}", f"it has not started: {one.waits}", "")
                continue
            jobs += [(one, True)] if one.restarted else []
            jobs.append((one, False))
        with ThreadPoolExecutor(_TOGETHER) as pool:
            for at in range(0, len(jobs), _TOGETHER):
                say(f"logs: {at} of {len(jobs)}")
                part = jobs[at : at + _TOGETHER]
                try:
                    done = list(pool.map(self._log, part))
                except BaseException:
                    self._kubectl.stop()
                    raise
                for (one, previous), data in zip(part, done, strict=True):
                    if data:
                        name = f"{one.pod}/{one.name}{'.previous' if previous else ''}.log"
                        self._bundle.add(name, _kube_bundle.masked_log(data))

    def metrics(self, get: Callable[[int, str, bool], bytes]) -> Metrics:
        """Return what scrapes the pods' servers."""
        return Metrics(self._kubectl, self.namespace, self._bundle, get)

    def _log(self, job: tuple[Container, bool]) -> bytes:
        one, previous = job
        arguments = ["logs", *self._place, one.pod, f"--container={one.name}", "--timestamps", "--prefix"]
        arguments += ["--previous"] if previous else []
        what = f"{'previous ' if previous else ''}log of {one.pod}/{one.name}"
        ran = self._kubectl.run([*arguments, f"--limit-bytes={MOST_LOG}"], _LOG, MOST_LOG + (64 << 10))
        data = ran.out
        if not ran.ok:
            rest = f" (the first {len(data):,} bytes are there)" if data else ""
            self._bundle.miss(what, f"{ran.told}{rest}", shlex.join(self._kubectl.words(*arguments)))
        elif len(data) >= MOST_LOG - (64 << 10):
            tail = self._kubectl.run([*arguments, f"--tail={_TAIL}"], _LOG, MOST_LOG)
            left, data = _continued(data, tail.out if tail.ok else b"")
            if left:
                why = f"larger than {MOST_LOG >> 20} MiB: its beginning and its last {_TAIL:,} lines are there"
                self._bundle.miss(f"middle of the {what}", why, shlex.join(self._kubectl.words(*arguments)))
        return data

    def _asked(self, arguments: Sequence[str]) -> dict[str, Any]:
        ran = self._kubectl.run([*arguments, "--request-timeout=25s"], _GET, _MOST_OBJECTS)
        if not ran.ok:
            raise CommandError(self._refused(ran))
        parsed = _parsed(ran.out)
        if not isinstance(parsed, dict):
            raise CommandError(f"{ran.by_hand}: the answer is no JSON")
        return parsed

    def _refused(self, ran: Ran) -> str:
        """Say why the pods cannot be had, and what would help."""
        told, more = f"kubectl: {ran.told}", ""
        if ran.failure == "not found":
            listed = self._kubectl.run(
                ["get", *self._place, "--output=name", "pods,deployments,statefulsets"], _GET, 1 << 20
            )
            more = nearest(self._target.name, listed.out.decode("utf-8", "replace").split())
        elif ran.failure == "no such kind":
            from diagnoser.knowledge.words import hint

            more = hint(self._target.kind, _KINDS)
        elif ran.failure == "no context":
            listed = self._kubectl.run(["config", "get-contexts", "--output=name"], _GET, 1 << 20)
            names = listed.out.decode("utf-8", "replace").split()
            more = f"; --context takes one of {', '.join(names[:20])}" if names else "; there is no context at all"
        elif ran.failure == "forbidden":
            more = f"; {_RIGHTS}"
        return f"{told}{more}\ntry: {ran.by_hand}"

    def _nobody(self) -> str:
        replicas = reach(self._owner, ("spec", "replicas")) if self._owner is not None else None
        why = f" (spec.replicas is {replicas})" if replicas is not None else ""
        return f"{self._target} has no pods{why}\ntry: {self._words('describe', str(self._target))}"

    def _mine(self, event: Mapping[str, Any]) -> bool:
        name = str(reach(event, ("involvedObject", "name")) or "")
        own = {str(reach(one, ("metadata", "name"))) for one in self.found}
        nodes = {str(reach(one, ("spec", "nodeName"))) for one in self.found}
        if name in own or name in nodes:
            return True
        # A ReplicaSet of a Deployment, a Job of a CronJob: the owner's name and a hash.
        return bool(self._owner) and (name == self._target.name or name.startswith(f"{self._target.name}-"))

    def _words(self, *arguments: str) -> str:
        return shlex.join(self._kubectl.words(*arguments, *self._place))


def _continued(head: bytes, tail: bytes) -> tuple[bool, bytes]:
    """Put the beginning and the end of a log together: whether lines between are missing, and the text.

    Lines carry ``[pod/…] TIME``, so that those which both hold are told by their times.
    """
    head = head[: head.rfind(b"\n") + 1]
    last = head[head.rfind(b"\n", 0, -1) + 1 :].split(b" ", 2)[1:2]
    lines = tail.splitlines(keepends=True)
    newer = [line for line in lines if last and line.split(b" ", 2)[1:2] > last]
    return len(newer) == len(lines), head + b"".join(newer)


def _listed(items: Sequence[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def rounds(length: float, every: float, started: float) -> Iterator[float]:
    """Yield the moments of ``time.monotonic()`` for the scrapes after the first: those that are past are left out."""
    count = max(1, round(length / every))
    for number in range(1, count + 1):
        if number == count or started + number * every > time.monotonic():
            yield started + number * every
