"""Facts, arguments, knobs and attributes of a run, and what input would decide the missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from packaging.version import InvalidVersion, Version

from diagnoser.knowledge.vocabulary import ENGINES, TITLES, Vocabulary
from diagnoser.language import phrase
from diagnoser.model import Fact, Run
from diagnoser.rules.evaluating.aggregates import TIMES
from diagnoser.rules.evaluating.eventcalc import ANSWERED, START
from diagnoser.rules.evaluating.missing import METRICS, STATISTICS, shut, switched_off
from diagnoser.rules.evaluating.rows import Rows
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, unknown

ARGUMENTS = phrase("server arguments")
#: Facts that no log tells, by the first word of their names.
ASKED = {
    "slo": phrase("objectives (--slo ttft=500ms,tpot=50ms)"),
    "goodput": phrase("objectives (--slo) and results with every request (vllm bench serve --save-detailed, a CSV)"),
    "bench": phrase("benchmark results at several loads"),
    "tail": phrase(
        "the lengths of requests (a CSV with prompt_tokens and output_tokens, vllm bench serve --save-detailed)"
    ),
}
NAMED_GPU = phrase("the GPU's name (--gpu)")
#: What the name of a GPU tells (gpus.yaml). A roofline also takes weights and memory for KV, which a log's start tells.
_OF_THE_GPU = ("gpu.bandwidth_gbs", "gpu.tflops", "gpu.name")


def loaded_seconds(rows: Iterable[Rows]) -> Answer:
    """Return the seconds under load of the rank that had most of them."""
    tables = list(rows)
    timed = [one for one in tables if one.timed]
    if not timed:
        return unknown(TIMES if tables else STATISTICS)
    return Answer(max(sum(one.pick(one.weights, one.loaded)) for one in timed))


class Lookups:
    """Answers by name over one run."""

    def __init__(self, run: Run, vocabulary: Vocabulary, rows: Sequence[Rows], restarts: int) -> None:
        self._run = run
        self._vocabulary = vocabulary
        self._rows = rows
        self._restarts = restarts

    @cached_property
    def loaded(self) -> Answer:
        """Seconds under load."""
        return loaded_seconds(self._rows)

    def source(self, op: str, name: str) -> Fact | None:
        """Return where a fact, argument or knob was read: op "fact", "isset", "arg", "argset" or "knob"."""
        run = self._run
        if op in ("arg", "argset"):
            return run.arguments.get(name)
        if op == "fact" and name in run.facts:
            return run.facts[name]
        if op == "isset":
            stated = [run.arguments.get(arg) for arg in self._args_of(name)]
            return next((fact for fact in stated if fact is not None), run.facts.get(name))
        if op == "knob":
            knob = self._vocabulary.knobs.get(name)
            if knob is not None and knob.fact in run.facts:
                return run.facts[knob.fact]
            for flag in knob.flags.get(run.engine, ()) if knob is not None else ():
                argument = run.arguments.get(flag.lstrip("-").replace("-", "_"))
                if argument is not None:
                    return argument
        return None

    def value(self, op: str, name: str) -> Answer:
        """Return the value of a ``fact``, ``arg`` or ``knob``."""
        found, run = self.source(op, name), self._run
        if found is not None and not (op == "fact" and found.value is None):
            return Answer(found.value)
        if op != "fact":
            return unknown(ARGUMENTS)
        prefix, spec = name.split(".")[0], self._vocabulary.facts.get(name)
        if prefix in ASKED:
            return unknown(ASKED[prefix])
        if spec is not None and spec.only and run.engine in ENGINES and run.engine != spec.only:
            return unknown(f"{TITLES[run.engine]} has no figure for {spec.title}")
        if name in _OF_THE_GPU or (prefix == "roofline" and _OF_THE_GPU[0] not in run.facts):
            return unknown(NAMED_GPU) if prefix == "gpu" or run.complete_start else unknown(NAMED_GPU, START)
        if spec is not None and spec.args.get(run.engine):
            if run.arguments and run.engine in spec.metric:
                return unknown(self._page(spec.title))
            # There are some: what they lack is this one.
            return unknown(f"{ARGUMENTS} with {spec.title}" if run.arguments and spec.title else ARGUMENTS)
        if not run.complete_start:
            return unknown(START)
        if spec is not None and run.engine in spec.metric:
            return unknown(self._page(spec.title))
        return unknown(f"{START} with {spec.title if spec is not None else name}")

    def _page(self, title: str) -> str:
        run, vocabulary = self._run, self._vocabulary
        return switched_off(run, vocabulary) or shut(run, vocabulary) or f"{METRICS} with {title}"

    def _args_of(self, fact: str) -> Sequence[str]:
        spec = self._vocabulary.facts.get(fact)
        return () if spec is None else spec.args.get(self._run.engine, ())

    def is_set(self, op: str, name: str) -> Answer:
        """Return whether the operator set a fact (op "isset") or an argument ("argset")."""
        run = self._run
        facts = [run.arguments.get(arg) for arg in ((name,) if op == "argset" else self._args_of(name))]
        if op == "isset":
            facts.append(run.facts.get(name))
        states = {fact.state for fact in facts if fact is not None}
        if "set" in states:
            return Answer(True)
        if "default" in states:
            return Answer(False)
        # A dump that tells set from default names everything that was set: what it does not name was not.
        argument = op == "argset" or bool(self._args_of(name))
        if argument and any(fact.state in ("set", "default") for fact in run.arguments.values()):
            return Answer(False)
        return unknown(ARGUMENTS)

    def attribute(self, name: str) -> Answer:
        """Return an attribute of the run (names.RUN)."""
        run = self._run
        if name == "version":
            try:
                return Answer(Version(run.version))
            except InvalidVersion:
                return unknown(phrase("the engine version"))
        if name == "run.served":
            return self._served()
        if name == "run.loaded":
            return self.loaded
        plain: dict[str, Any] = {
            "engine": run.engine,
            "run.end": run.end,
            "run.complete_start": run.complete_start,
            "run.restarts": self._restarts,
            "run.unready_starts": run.unready_starts,
            "run.lines": run.lines,
            "run.errors": run.levels.get("ERROR", 0),
            "run.scrapes": int(
                max((sum(one.table.weight) for one in self._rows if one.table.medium == "metrics"), default=0)
            ),
            "run.stats": int(sum(sum(one.table.weight) for one in self._rows if one.table.medium == "log")),
        }
        if name in plain:
            return Answer(plain[name])
        if name == "run.end_time":
            return _or_needs(run.ended, TIMES)
        if name == "run.ready":
            return _or_needs(run.ready, TIMES if run.started is None else START)
        if name == "run.ready_after" and not run.complete_start:
            return unknown(START)
        end = run.ready if name == "run.ready_after" else run.ended
        return unknown(TIMES) if end is None or run.started is None else Answer(end - run.started)

    def _served(self) -> Answer:
        """Ready or generating at some time."""
        run = self._run
        if run.ready is not None or run.at_work or ANSWERED in run.events:
            return Answer(True)
        for one in self._rows:
            for name in ("gen.tps", "requests.running"):
                if any(value > 0 for value in one.table.columns.get(name, ())):
                    return Answer(True)
        return Answer(False) if run.complete_start or self._rows else unknown(START)


def _or_needs(value: float | None, need: str) -> Answer:
    return Answer(UNKNOWN, frozenset((need,))) if value is None else Answer(value)
