"""Runs built by hand, in virtual time, and the names that tests of expressions use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnoser.knowledge.vocabulary import FactSpec, Knob, Series, Vocabulary
from diagnoser.model import Event, EventLog, Fact, Run
from diagnoser.rules.compiling.check import Names, check
from diagnoser.rules.compiling.expression import parse
from diagnoser.rules.evaluating.evaluate import Evaluator, Options
from diagnoser.rules.evaluating.value import Value
from diagnoser.rules.model import EventSpec, Node, RuleBase
from diagnoser.tables.table import NAN, Group, Origin, Table

SERIES = {
    "requests.running": ("requests", "gauge"),
    "requests.waiting": ("requests", "gauge"),
    "requests.swapped": ("requests", "gauge"),
    "kv.usage": ("ratio", "gauge"),
    "gen.tps": ("tokens/s", "gauge"),
    "preemptions": ("events", "count"),
    "served": ("tokens", "total"),
    "decode.graph": ("flag", "gauge"),
    "ttft": ("seconds", "gauge"),
}
FACTS = {
    "limits.running": FactSpec("limits.running", "limit", "int", "requests", {"vllm": ("max_num_seqs",)}),
    "kv.capacity_tokens": FactSpec("kv.capacity_tokens", "KV capacity", "int", "tokens"),
    "memory.free_gib": FactSpec("memory.free_gib", "free memory", "float", "gib"),
    "gpu.name": FactSpec("gpu.name", "GPU", "text"),
    "graphs.enforce_eager": FactSpec("graphs.enforce_eager", "eager", "bool", "", {"vllm": ("enforce_eager",)}),
}
KNOBS = {
    "running_limit": Knob("running_limit", "running", "limits.running", {"vllm": ("--max-num-seqs",)}),
    "eager": Knob("eager", "eager", "", {"vllm": ("--enforce-eager",)}),
}
VOCABULARY = Vocabulary(
    {
        name: Series(name, name, unit, kind, log={} if name == "ttft" else {"vllm": (name,)})
        for name, (unit, kind) in SERIES.items()
    },
    FACTS,
    KNOBS,
)
KINDS = {name: kind for name, (_, kind) in SERIES.items()}
NAMES = Names(
    series={name: unit for name, (unit, _) in SERIES.items()},
    facts={name: (fact.type, fact.unit) for name, fact in FACTS.items()},
    knobs=frozenset(KNOBS),
    events={
        "kv.retracted": {"reqs": "int", "before": "float", "who": "text"},
        "oom": {"size": "gib"},
        "boot": {},
        "E": {},
        "F": {},
    },
    symptoms={"kv_full", "waiting", "loop"},
    causes={"memory.kv"},
)


def expression(text: str, want: str = "") -> Node:
    """Parse and check."""
    return check(parse(text), NAMES, want)


def table(
    columns: Mapping[str, Iterable[float | None]],
    times: Iterable[float | None] | None = None,
    group: Group = (),
    every: float = 10.0,
    medium: str = "log",
) -> Table:
    """Return a table; rows every ten seconds from 0 unless times are given; None is missing."""
    made = Table(group, KINDS, medium=medium)
    rows = list(zip(*columns.values(), strict=True))
    moments = list(times) if times is not None else [i * every for i in range(len(rows))]
    for i, (row, time) in enumerate(zip(rows, moments, strict=True)):
        values = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        made.append(NAN if time is None else time, Origin("s.log", i + 1), f"row {i}", values)
    return made


def run(*tables: Table, **attributes: Any) -> Run:
    """Return a vLLM run of 1,000 s with these tables."""
    made = Run(0, "", engine="vllm", version="0.9.2", started=0.0, ended=1000.0, records=10)
    made.tables = {one.group: one for one in tables}
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def add_events(made: Run, name: str, *events: Mapping[str, Any]) -> None:
    """Add occurrences; keys: time, seq, phase, process, ranks, text, and fields."""
    log = made.events.setdefault(name, EventLog(name))
    for given in events:
        fields = dict(given)
        seq = fields.pop("seq", 100 + log.count)
        log.add(
            Event(
                name,
                Origin("s.log", seq),
                fields.pop("time", None),
                fields.pop("text", f"{name} {log.count}"),
                fields,
                fields.pop("ranks", ()),
                fields.pop("process", ""),
                fields.pop("phase", "serving"),
                seq,
            )
        )


def add_fact(made: Run, name: str, value: Any, state: str = "observed") -> None:
    made.facts[name] = Fact(name, value, Origin("s.log", 7), f"{name}={value}", state)


def add_argument(made: Run, name: str, value: Any, state: str = "observed") -> None:
    made.arguments[name] = Fact(name, value, Origin("s.log", 3), f"{name}={value}", state)


def base(symptoms: Mapping[str, str] | None = None) -> RuleBase:
    """Return a rule base with symptoms, and the event `boot` printed at start-up only."""
    events = {name: EventSpec(name, "", (), phase="startup" if name == "boot" else "any") for name in NAMES.events}
    return RuleBase(events=events, symptoms={k: expression(v) for k, v in (symptoms or {}).items()})


def evaluator(made: Run, symptoms: Mapping[str, str] | None = None, restarts: int = 0) -> Evaluator:
    return Evaluator(made, base(symptoms), VOCABULARY, Options(restarts))


def value(text: str, made: Run, symptoms: Mapping[str, str] | None = None) -> Value:
    """Evaluate a text over a run."""
    return evaluator(made, symptoms).value(expression(text))
