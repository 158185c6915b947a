"""From a run and a checked expression to true, false, a value, or unknown with what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.model import Run
from diagnoser.rules.evaluating.aggregates import Samples
from diagnoser.rules.evaluating.eventcalc import Events
from diagnoser.rules.evaluating.lookup import Lookups
from diagnoser.rules.evaluating.missing import Lives, Missing
from diagnoser.rules.evaluating.operators import EVALUATE, calculate
from diagnoser.rules.evaluating.spreads import Spreads
from diagnoser.rules.evaluating.value import NOTHING, UNKNOWN, Answer, Result, Trace, Value, unknown
from diagnoser.rules.model import EventSpec, Node, RuleBase
from diagnoser.values import dataclass


@dataclass(slots=True, frozen=True)
class Options:
    """What a run does not know of itself: earlier runs of its stream, what became of flags, the language of texts.

    ``lives`` tells which versions have a metric or a field of the statistics lines.
    """

    restarts: int = 0
    story: Callable[[str], str] = str
    say: Say = ENGLISH
    lives: Lives = lambda kind, name: None


_BARE = Options()


class Evaluator:
    """Evaluates checked expressions over one run; whatever cannot change is computed at most once.

    ``base`` is a rule base or just its symptoms. ``causes`` holds the truth of causes that expressions name: inference
    fills it in order; a cause that is not in it is unknown.
    """

    def __init__(
        self, run: Run, base: RuleBase | Mapping[str, Node], vocabulary: Vocabulary, options: Options = _BARE
    ) -> None:
        self.run = run
        self.symptoms: Mapping[str, Node] = base.symptoms if isinstance(base, RuleBase) else base
        specs: Mapping[str, EventSpec] = base.events if isinstance(base, RuleBase) else {}
        self.derived: Mapping[str, Node] = base.derived if isinstance(base, RuleBase) else {}
        self.causes: dict[str, Value] = {}
        self.story, self.say = options.story, options.say
        self._fields: Mapping[str, Any] = {}
        self._symptom_answers: dict[str, Answer] = {}
        # By identity, with the node, so that no other node can get it: hashing an expression looks into all of it.
        self._answers: dict[int, tuple[Node, Answer]] = {}
        # Counts what may be different next time: fields of the event at hand, causes that are not decided yet.
        self._moving = 0
        self.missing = Missing(run, vocabulary, options.lives)
        self.samples: Samples = Samples(run, self.answer, self.missing.series, lambda: self.lookups.loaded)
        self.lookups: Lookups = Lookups(run, vocabulary, self.samples.served, options.restarts)
        self.events: Events = Events(run, specs, self.with_fields, self.samples.served)
        self.spreads: Spreads = Spreads(run.spreads, self.answer, self.missing.series)

    def result(self, node: Node) -> Result:
        """Return the value of a checked expression, what it needs when unknown, and the proof when true."""
        from diagnoser.rules.evaluating.proofs import prove

        answer = self.answer(node)
        proof = prove(self, node) if answer.value is True else ()
        return Result(answer.value, NOTHING if answer.known else answer.needs, proof, node)

    def value(self, node: Node) -> Value:
        """Return only the value."""
        return self.answer(node).value

    def symptom(self, name: str) -> Result:
        """Return the result of a symptom. Raises KeyError when there is none of that name."""
        return self.result(self.symptoms[name])

    def trace(self, node: Node) -> Trace:
        """Return how the expression got its value, symptoms opened up."""
        from diagnoser.rules.evaluating.trace import trace

        return trace(self, node)

    def answer(self, node: Node) -> Answer:
        """Return value and needs of any checked node."""
        met = self._answers.get(id(node))
        if met is not None:
            return met[1]
        moving = self._moving
        found = EVALUATE.get(node.op, calculate)(self, node)
        if self._moving == moving:
            self._answers[id(node)] = node, found
        return found

    def symptom_answer(self, name: str) -> Answer:
        """Return the memoised answer of a symptom; unknown when it depends on itself."""
        known = self._symptom_answers.get(name)
        if known is None:
            self._symptom_answers[name] = unknown()
            try:
                known = self.answer(self.symptoms[name])
            except KeyError:
                known = unknown()
            self._symptom_answers[name] = known
        return known

    def cause(self, name: str) -> Answer:
        """Return the truth of a cause as far as inference got."""
        self._moving += 1
        return Answer(self.causes.get(name, UNKNOWN))

    def field(self, name: str) -> Answer:
        """Return a field of the event at hand; a field that this spelling of the message lacks is unknown."""
        self._moving += 1
        value = self._fields.get(name)
        return unknown() if value is None else Answer(value)

    def with_fields(self, node: Node, fields: Mapping[str, Any]) -> Value:
        """Return the value of an expression over the fields of one event."""
        before, self._fields = self._fields, fields
        moving = self._moving
        try:
            return self.answer(node).value
        finally:
            self._fields, self._moving = before, moving
