"""Events in expressions: whether, how often, when, in which order, with which fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from diagnoser.language import phrase
from diagnoser.model import Event, EventLog, Run
from diagnoser.rules.evaluating import windows
from diagnoser.rules.evaluating.aggregates import TIMES
from diagnoser.rules.evaluating.logic import both, number
from diagnoser.rules.evaluating.raising import PLACES, raised
from diagnoser.rules.evaluating.rounds import rounds
from diagnoser.rules.evaluating.rows import Rows
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, Value, unknown
from diagnoser.rules.functions import PERCENTILE
from diagnoser.rules.model import EventSpec, Node
from diagnoser.rules.nodes import walk

#: What would decide an event that was not seen.
START = phrase("the start of the log")
ENGINE_LOG = phrase("the engine's log")

#: The fact that every pod has that was read, and the writer of its events.
POD = "pod.name"
PLATFORM = frozenset(("kubernetes",))

#: A server that goes on this long after an event has survived it, seconds.
SURVIVAL = 5.0
#: A request that was answered; formats that read access lines may add it.
ANSWERED = "http.ok"

#: Evaluates a condition with the fields of one event.
Holds = Callable[[Node, Mapping[str, Any]], Value]


class Fields(Mapping[str, Any]):
    """An event's fields, the implicit ones included; its stack is looked at when somebody asks for a place in it."""

    def __init__(self, event: Event) -> None:
        implicit = {"phase": event.phase, "text": event.text, "process": event.process, "alone": event.alone}
        self._plain = {**implicit, **event.fields}
        self._text = event.text

    def __getitem__(self, name: str) -> Any:
        if name in PLACES and name not in self._plain:
            self._plain |= raised(self._text)
        return self._plain[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)


class Events:
    """The events of one run, by the names that expressions use."""

    def __init__(self, run: Run, specs: Mapping[str, EventSpec], holds: Holds, rows: Sequence[Rows]) -> None:
        self._run = run
        self._specs = specs
        self._holds = holds
        self._rows = rows

    def log(self, name: str) -> EventLog | None:
        """Return the occurrences of an event, None when it was not seen."""
        log = self._run.events.get(name)
        return log if log is not None and log.count else None

    def seen(self, name: str) -> Answer:
        """Return whether an event was seen; unknown when the log could not show it."""
        if self.log(name) is not None:
            return Answer(True)
        spec = self._specs.get(name)
        if self._run.records == 0:
            # Where a pod was read, what it does not say of itself did not happen.
            told = POD in self._run.facts and spec is not None and {one.engine for one in spec.templates} <= PLATFORM
            return Answer(False) if told else unknown(ENGINE_LOG)
        if spec is not None and spec.phase == "startup" and not self._run.complete_start:
            return unknown(START)
        return Answer(False)

    def matching(self, log: EventLog, where: Node | None) -> list[Event]:
        """Return the kept occurrences (the first 512 and the last) that meet a condition."""
        kept = [*log.kept]
        if log.last is not None and log.count > len(kept):
            kept.append(log.last)
        return kept if where is None else [event for event in kept if self._holds(where, Fields(event)) is True]

    def calculate(self, node: Node) -> Answer:
        """Return the value of an ``events`` node: count, rounds, peak, rate, time, lasttime, ranks."""
        name, event, where, length = node.args
        seen = self.seen(event.args[0])
        if seen.value is UNKNOWN:
            return seen
        log = self.log(event.args[0])
        if log is None:
            return unknown() if name in ("time", "lasttime") else Answer(0)
        note = _note(log, where)
        if name == "count":
            return Answer(self._count(log, where), note=note)
        if name == "rounds":
            return Answer(rounds(self.matching(log, where), self._count(log, where)), note=note)
        if name == "ranks":
            return Answer(_ranks(log, self.matching(log, where)), note=note)
        times: Sequence[float] = log.times
        if where is not None or not times:
            times = [found.time for found in self.matching(log, where) if found.time is not None]
        if name == "peak":
            known = bool(times) or (where is not None and bool(log.times))
            return Answer(windows.most_within(times, length), note=note) if known else unknown(TIMES)
        if not times:
            return unknown() if where is not None and log.times else unknown(TIMES)
        if name == "time":
            return Answer(min(times), note=note)
        last = log.last.time if where is None and log.last is not None else None
        return Answer(max(times) if last is None else max(last, max(times)), note=note)

    def rate(self, node: Node, loaded: Answer) -> Answer:
        """Return occurrences while serving per second of loaded time."""
        _, event, where, _ = node.args
        seen = self.seen(event.args[0])
        if seen.value is not True:
            return seen if seen.value is UNKNOWN else Answer(0.0)
        if not loaded.known or not loaded.value:
            return unknown(*(loaded.needs or {TIMES}))
        log = self._run.events[event.args[0]]
        count = log.phases.get("serving", 0) if where is None else self._count(log, where)
        return Answer(count / loaded.value, note=_note(log, where))

    def _count(self, log: EventLog, where: Node | None) -> int:
        if where is None:
            return log.count
        if _only_phase(where):
            return sum(n for phase, n in log.phases.items() if self._holds(where, {"phase": phase}) is True)
        return len(self.matching(log, where))

    def field(self, node: Node) -> Answer:
        """Return the value of an ``eventfield`` node: first, last, min, max, sum, mean or a percentile of a field."""
        name, event, field, where = node.args
        seen = self.seen(event.args[0])
        if seen.value is not True:
            return seen if seen.value is UNKNOWN else unknown()
        log = self._run.events[event.args[0]]
        values = [
            value
            for found in self.matching(log, where)
            if (value := Fields(found).get(field)) is not None and value == value
        ]
        if not values:
            return unknown()
        if name in ("first", "last"):
            return Answer(values[0 if name == "first" else -1])
        note = "" if log.count <= EventLog.KEEP else f"of the first {EventLog.KEEP}"
        return Answer(_summary(name, [value for value in map(number, values) if value is not UNKNOWN]), note=note)

    def order(self, node: Node) -> Answer:
        """Return the value of ``before``, ``after`` and ``within``."""
        left, right = node.args[0].args[0], node.args[-1].args[0]
        one, two = self.seen(left), self.seen(right)
        needs = one.needs | two.needs
        if node.op == "within":
            return self._within(left, right, node.args[1], Answer(both(one.value, two.value), needs))
        if one.value is not True or two.value is UNKNOWN:
            return Answer(
                one.value if one.value is not True else UNKNOWN, needs if one.value is not False else one.needs
            )
        if two.value is False:
            return Answer(True)
        first, second = self._run.events[left].first, self._run.events[right].first
        assert first is not None and second is not None
        return Answer(first.seq < second.seq if node.op == "before" else first.seq > second.seq)

    def _within(self, left: str, right: str, length: float, seen: Answer) -> Answer:
        if seen.value is not True:
            return Answer(seen.value, seen.needs if seen.value is UNKNOWN else frozenset())
        one, two = self._run.events[left].times, self._run.events[right].times
        return Answer(windows.near(one, two, length)) if one and two else unknown(TIMES)

    def survived(self, name: str) -> Answer:
        """Return whether the server went on generating or answering after the last occurrence."""
        seen = self.seen(name)
        log = self.log(name)
        if log is None or log.last is None:
            return seen
        answered = self.log(ANSWERED)
        if answered is not None and answered.last is not None and answered.last.seq > log.last.seq:
            return Answer(True)
        if any(self.survivor(rows, log.last) is not None for rows in self._rows):
            return Answer(True)
        if self._rows or answered is not None or self._run.end in ("crash", "killed", "cut"):
            return Answer(False)
        return unknown("statistics lines")

    def survivor(self, rows: Rows, event: Event) -> int | None:
        """Return the first row that shows work after an event; by time, else by line of one source."""
        table = rows.table
        working = [table.columns[name] for name in ("gen.tps", "requests.running") if name in table.columns]
        for row, time in enumerate(table.time):
            if event.time is not None and time == time:
                later = time > event.time + SURVIVAL
            else:
                later = table.source[row] == event.origin.source and table.line[row] > event.origin.line
            if later and any(column[row] > 0 for column in working):
                return row
        return None


def _only_phase(where: Node) -> bool:
    """Whether a condition looks at nothing of an event but its phase: then its count is exact."""
    return {node.args[0] for node in walk(where) if node.op == "field"} == {"phase"}


def _note(log: EventLog, where: Node | None) -> str:
    exact = where is None or _only_phase(where) or log.count <= EventLog.KEEP
    return "" if exact else f"of the first {EventLog.KEEP}"


def _ranks(log: EventLog, events: Iterable[Event]) -> int:
    """How many different ranks, or processes where lines carry no rank."""
    found = list(events)
    ranks = {event.ranks for event in found if event.ranks}
    if len(found) >= len(log.kept):
        # Nothing was filtered: ranks beyond the kept occurrences are known too.
        ranks |= {rank for rank in log.ranks if rank}
    processes = {event.process for event in found if event.process}
    return max(len(ranks), len(processes), int(bool(found)))


def _summary(name: str, values: list[float]) -> Value:
    if not values:
        return UNKNOWN
    percent = PERCENTILE.match(name)
    if percent:
        return sorted(values)[max(math.ceil(len(values) * int(percent[1]) / 100) - 1, 0)]
    if name in ("min", "max"):
        return min(values) if name == "min" else max(values)
    total = math.fsum(values)
    return total / len(values) if name == "mean" else total
