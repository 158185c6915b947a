"""What Kubernetes says of pods: dealt to the runs of each pod, and runs of its own where no log tells of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from diagnoser.evidence import residue
from diagnoser.evidence.events import add_event, event_of
from diagnoser.evidence.lifetime import Lifetime
from diagnoser.evidence.lives import RAN, about, ended, names
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Fact, Record, Run
from diagnoser.observations import Claim
from diagnoser.patterns import lazily
from diagnoser.values import dataclass, field

WRITER = "kubernetes"

#: Pods followed, and records kept of each.
MOST_PODS, MOST_RECORDS = 2_000, 500

_ENGINES = lazily("vllm|sglang")
_GPUS = ".com/gpu"
#: The words of a kill by a probe.
_KILLED = "is killed by its "

#: From an engine's flag to the name that its dumps have for it.
Dest = Callable[[str, str], str]


def plain_dest(engine: str, flag: str) -> str:
    """Return a flag's name in dumps, where no catalogue tells it."""
    return flag.lstrip("-").replace("-", "_")


class Matcher(Protocol):
    """Finds events in a record (``rules.matching.matcher.Matcher``)."""

    def match(self, record: Record, engine: str) -> Sequence[Any]: ...  # noqa: D102


@dataclass(slots=True)
class _Pod:
    """Everything told of one pod; ``claims`` by (writer, name), the first of each."""

    name: str
    records: dict[str, tuple[str, Record]] = field(default_factory=dict)
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)

    def told(self, name: str) -> Any:
        claim = self.claims.get((WRITER, name))
        return None if claim is None else claim.value

    @property
    def engine(self) -> str:
        return str(self.told("engine") or "")

    @property
    def known(self) -> bool:
        """Whether the pod itself was read, rather than events that name it."""
        return (WRITER, "name") in self.claims


class Pods:
    """Collects what is said of pods and nodes; ``attach`` deals it out."""

    def __init__(self, vocabulary: Vocabulary, matcher: Matcher, dest: Dest, engine: str = "") -> None:
        self._vocabulary = vocabulary
        self._matcher = matcher
        self._dest = dest
        self._engine = engine
        self._pods: dict[str, _Pod] = {}
        self._nodes: list[tuple[str, Record]] = []

    def take(self, one: Record | Claim, source: str) -> None:
        """Take one sentence or fact. Of what is said twice (a pod in two files) the first counts."""
        if isinstance(one, Record) and one.where == "node":
            if len(self._nodes) < MOST_RECORDS:
                self._nodes.append((source, one))
            return
        name = one.stream.split("/", 1)[0]
        if name not in self._pods and len(self._pods) >= MOST_PODS:
            return
        pod = self._pods.setdefault(name, _Pod(name))
        if isinstance(one, Claim):
            pod.claims.setdefault((one.writer, one.name), one)
        elif len(pod.records) < MOST_RECORDS:
            pod.records.setdefault(one.text, (source, one))

    def attach(self, runs: list[Run]) -> None:
        """Give every run what is said of its pod; add a run for a server's pod that no log is of."""
        logged = list(runs)
        told = [pod for pod in self._pods.values() if self._counts(pod, logged)]
        for source, record in self._nodes:
            for pod in told:
                if pod.told("node") and record.stream == f"node/{pod.told('node')}":
                    pod.records.setdefault(record.text, (source, record))
        for pod in told:
            own = self._runs_of(pod, logged, told)
            for run in own:
                self._claim(run, pod)
            last = max((r for _, r in pod.records.values() if r.where == "end" and r.time), key=_time, default=None)
            left = [one for one in pod.records.values() if not self._deal(*one, own, last)]
            troubled = any(record.level != "INFO" and self._matcher.match(record, pod.engine) for _, record in left)
            if troubled or (pod.known and not logged):
                runs.append(self._new_run(pod, left))

    def _counts(self, pod: _Pod, runs: Sequence[Run]) -> bool:
        """Whether a pod is a server's.

        One that only events name has an engine, GPUs or a log, bears an engine's name, or is the only one.
        """
        if pod.known or pod.engine or len(self._pods) == 1 or any(names(run, pod.name) for run in runs):
            return True
        return bool(_ENGINES.search(pod.name)) or any(_GPUS in record.text for _, record in pod.records.values())

    @staticmethod
    def _runs_of(pod: _Pod, runs: Sequence[Run], told: Sequence[_Pod]) -> list[Run]:
        """Return the runs of a pod: those that bear its name; of logs without a name all, if there is one pod."""
        fitting = [run for run in runs if not pod.engine or run.engine in ("", pod.engine)]
        named = [run for run in fitting if names(run, pod.name)]
        if named or len(told) > 1:
            return named
        return [run for run in fitting if "/" not in run.stream]

    def _claim(self, run: Run, pod: _Pod) -> None:
        """Fill in what no log told: facts under Kubernetes' names, and the launch under the engine's."""
        run.engine = run.engine or pod.engine
        if "pod.name" not in run.facts and pod.records:
            _, record = next(iter(pod.records.values()))
            run.facts["pod.name"] = Fact("pod.name", pod.name, record.origin, record.text[:300], "observed")
        wanted = self._vocabulary.arg_map(WRITER)
        flags = self._vocabulary.arg_map(run.engine)
        for (writer, name), claim in pod.claims.items():
            if writer == WRITER:
                for fact in wanted.get(name, ()):
                    run.facts.setdefault(fact, Fact(fact, claim.value, claim.origin, claim.excerpt, "observed"))
            elif writer == run.engine:
                argument = self._dest(writer, name)
                set_ = Fact(argument, claim.value, claim.origin, claim.excerpt, "set")
                run.arguments.setdefault(argument, set_)
                for fact in flags.get(argument, ()):
                    run.facts.setdefault(fact, Fact(fact, claim.value, claim.origin, claim.excerpt, "set"))
        version = pod.claims.get((WRITER, "image.version"))
        if version is not None and "engine.version" not in run.facts and run.engine == pod.engine:
            for fact in ("engine.version", "version.image"):
                run.facts[fact] = Fact(fact, version.value, version.origin, version.excerpt, "observed")

    def _deal(self, source: str, record: Record, runs: Sequence[Run], end: Record | None) -> bool:
        """Give a sentence to the run that it is about; False when it is about none of them.

        A probe's kill that tells no time is that of the life that ``end`` ended.
        """
        killed = record.time is None and _KILLED in record.text and end is not None
        run = about(end if end is not None and killed else record, runs)
        if run is not None:
            self._keep(source, record, run)
        return run is not None

    def _keep(self, source: str, record: Record, run: Run) -> None:
        life = Lifetime(run, 0)
        life.phase = "serving" if run.ready is not None else "startup"
        life.seq = run.records
        matches = self._matcher.match(record, run.engine)
        for spec, _, fields, _, offset in matches:
            add_event(run, event_of(life, record, spec.name, fields, offset))
        if not matches and record.level in ("WARNING", "ERROR", "CRITICAL"):
            residue.keep(run, record, record.level, event_of(life, record, "", {}, 0))
        if record.where == "end" and run.end in ("running", "cut"):
            run.end = ended(record.text) or run.end
        if source not in run.sources:
            run.sources.append(source)
        run.parts.setdefault(source, len(run.parts))

    def _new_run(self, pod: _Pod, said: Sequence[tuple[str, Record]]) -> Run:
        """Make the run of a pod that no log is of: how it began nobody saw."""
        first = next((claim.origin for claim in pod.claims.values()), None) or said[0][1].origin
        stream = next((one.stream for one in pod.claims.values()), said[0][1].stream if said else pod.name)
        run = Run(id=0, stream=stream.rstrip("/"), engine=pod.engine or self._engine, first=first, last=first)
        run.complete_start = False
        run.sources.append(first.source)
        run.parts[first.source] = 0
        run.end = "running" if pod.told("ready") is True else "cut"
        self._claim(run, pod)
        for _, record in said:
            if (hit := RAN.search(record.text)) is not None and hit[2] != "0":
                run.end = ended(record.text) or run.end
                if record.time is not None and (run.ended is None or record.time > run.ended):
                    run.started, run.ended = record.time - float(hit[3] or 0), record.time
                    run.time_known = "full"
        for source, record in said:
            self._keep(source, record, run)
        return run


def _time(record: Record) -> float:
    return record.time or 0.0
