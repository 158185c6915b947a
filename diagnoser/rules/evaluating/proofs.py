"""What made an expression true: event lines, the most telling sample rows, the place where a fact stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from diagnoser.model import Event
from diagnoser.rules.evaluating import logic, windows
from diagnoser.rules.evaluating.eventcalc import Fields
from diagnoser.rules.evaluating.parts import Part
from diagnoser.rules.evaluating.rowproofs import FLIPPED, telling
from diagnoser.rules.evaluating.value import MOST_PROOFS, UNKNOWN, Proof, Value
from diagnoser.rules.evaluating.vector import Undecided
from diagnoser.rules.functions import CONDITIONAL
from diagnoser.rules.model import Node

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator


def prove(evaluator: Evaluator, node: Node) -> tuple[Proof, ...]:
    """Return at most MOST_PROOFS lines that made a true expression true, the most telling first."""
    found: dict[tuple[str, str, int, str], Proof] = {}
    for proof in Prover(evaluator).condition(node):
        # A dump holds many arguments on one line; a message or row is one proof whatever asks for it.
        excerpt = proof.text if proof.kind == "fact" else ""
        found.setdefault((proof.kind, proof.source, proof.line, excerpt), proof)
    return tuple(found.values())[:MOST_PROOFS]


def _interleave(lists: Iterable[Sequence[Proof]]) -> list[Proof]:
    """Take the best of each side first, so that no side crowds out the others."""
    return [proof for row in zip_longest(*lists) for proof in row if proof is not None]


def _counts_only(node: Node) -> bool:
    """Whether a condition only asks for enough samples: its lines say how many, and nothing of the cause."""
    return node.op in logic.ORDER and node.args[0].op in ("spread", "aggregate") and node.args[0].args[0] == "samples"


class Prover:
    """Walks a true expression and collects proofs."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._open: set[str] = set()

    def condition(self, node: Node) -> list[Proof]:
        """Return the proofs of a condition that is true."""
        op = node.op
        if op in ("and", "or"):
            sides = sorted((arg for arg in node.args if self._evaluator.value(arg) is True), key=_counts_only)
            return _interleave([self.condition(side) for side in sides])
        if op == "not":
            return self._facts(node.args[0])
        if op == "symptom":
            return self._symptom(node.args[0])
        if op in ("before", "after", "within"):
            return _interleave([self._operand(node.args[0]), self._operand(node.args[-1])])
        if op in logic.ORDER:
            left, right = node.args
            level = self._evaluator.value(right), self._evaluator.value(left)
            return _interleave([self._operand(left, op, level[0]), self._operand(right, FLIPPED[op], level[1])])
        if op == "survived":
            return self._survived(node)
        return self._operand(node)

    def _symptom(self, name: str) -> list[Proof]:
        if name in self._open or name not in self._evaluator.symptoms:
            return []
        self._open.add(name)
        try:
            return self.condition(self._evaluator.symptoms[name])
        finally:
            self._open.discard(name)

    def _operand(self, node: Node, op: str = "", level: Value = UNKNOWN) -> list[Proof]:
        """Return the lines that a value comes from; ``op`` and ``level`` say what it was compared with."""
        if node.op in ("aggregate", "ranked"):
            return self._rows(node, op, level)
        if node.op == "spread":
            return self._evaluator.spreads.prove(node)
        if node.op in ("event", "events", "eventfield"):
            return self._events(node)
        if node.op in ("fact", "isset", "arg", "argset", "knob"):
            return self._facts(node)
        if node.op == "symptom":
            return self._symptom(node.args[0])
        if node.op == "else":
            left, right = node.args
            return self._operand(left if self._evaluator.answer(left).known else right, op, level)
        if node.op == "if":
            branch = node.args[1 if self._evaluator.value(node.args[0]) is True else 2]
            return self._operand(branch, op, level)
        return _interleave([self._operand(arg) for arg in node.args if isinstance(arg, Node)])

    def _facts(self, node: Node) -> list[Proof]:
        """Return where the facts and arguments in an expression stand; symptoms are not opened."""
        if node.op not in ("fact", "isset", "arg", "argset", "knob"):
            return _interleave([self._facts(arg) for arg in node.args if isinstance(arg, Node)])
        fact = self._evaluator.lookups.source(node.op, node.args[0])
        # What was worked out of the run has no line that says it.
        if fact is None or not fact.excerpt.strip():
            return []
        return [Proof("fact", fact.origin.source, fact.origin.line, None, fact.excerpt, {}, fact.state)]

    def _events(self, node: Node) -> list[Proof]:
        """Return the first occurrence, and the last or the one with the largest field."""
        events = self._evaluator.events
        name, where = node.args[0], None
        if node.op != "event":
            name, where = node.args[1].args[0], node.args[-1] if node.op == "eventfield" else node.args[2]
        log = events.log(name)
        found = events.matching(log, where) if log is not None else []
        if log is None or not found:
            return []
        picked = [found[0], found[-1]]
        if node.op == "eventfield" and node.args[0] in ("max", "min", "last"):
            picked = [_extreme(found, node.args[2], node.args[0]), found[0]]
        note = f"{log.count} times" if log.count > 1 else ""
        return [event_proof(picked[0], note), event_proof(picked[1])]

    def _survived(self, node: Node) -> list[Proof]:
        log = self._evaluator.events.log(node.args[0].args[0])
        if log is None or log.last is None:
            return []
        proofs = [event_proof(log.last)]
        for rows in self._evaluator.samples.rows:
            row = self._evaluator.events.survivor(rows, log.last)
            if row is not None:
                return [*proofs, *telling([Part(rows, [row], [1.0])], [[0]])]
        return proofs

    def _rows(self, node: Node, op: str, level: Value) -> list[Proof]:
        """Return the first, the most extreme and the last row of those that speak for the condition."""
        samples = self._evaluator.samples
        inner = node.args[1] if node.op == "ranked" else node
        name, subject = inner.args[0], inner.args[1]
        try:
            parts = samples.ranking(node) if node.op == "ranked" else samples.parts(node)
        except Undecided:
            return []
        if name in ("longest", "sustained"):
            best = windows.longest(parts)
            return telling([best.part], [range(best.first, best.last + 1)], subject) if best else []
        if name == "gap":
            silence = windows.gap(parts, self._evaluator.run.ended, inner.args[4], inner.args[3] is not None)
            if silence is None:
                return []
            around = range(silence.at, min(silence.at + 2, len(silence.part.index)))
            return telling([silence.part], [around])
        if name in CONDITIONAL:
            return telling(parts, [[i for i, value in enumerate(part.values) if value] for part in parts], subject)
        wanted: list[Sequence[int]] = [range(len(part.values)) for part in parts]
        if op in logic.ORDER and isinstance(level, int | float) and name not in ("sum", "samples", "rate"):
            holds = logic.ORDER[op]
            speaking = [[i for i, value in enumerate(part.values) if holds(value, level)] for part in parts]
            if any(speaking):
                wanted = [*speaking]
        elif name == "sum":
            # A row that adds nothing proves nothing.
            wanted = [[i for i, value in enumerate(part.values) if value] for part in parts]
        if name in ("max", "min") and not op:
            return telling(parts, wanted, None, "<" if name == "min" else ">", extreme_first=True)
        return telling(parts, wanted, None, op)


def _extreme(events: Sequence[Event], field: str, name: str) -> Event:
    """Return the event with the largest (smallest, last) value of a field."""
    if name == "last":
        return events[-1]
    sign = -1.0 if name == "min" else 1.0

    def size(event: Event) -> float:
        value = logic.number(Fields(event).get(field, UNKNOWN))
        return float("-inf") if value is UNKNOWN else sign * value

    return max(events, key=size)


def event_proof(event: Event, note: str = "") -> Proof:
    """Return an event as a proof."""
    return Proof("event", event.origin.source, event.origin.line, event.time, event.text, dict(event.ranks), note)
