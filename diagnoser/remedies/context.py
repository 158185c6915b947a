"""What a remedy is judged against: one run, its evaluator, and what its engine's version has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from diagnoser.knowledge.catalog import UNRESOLVED, Catalog
from diagnoser.knowledge.records import Flag
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.model import Run
from diagnoser.rules.model import Node
from diagnoser.values import dataclass


class Judged(Protocol):
    """What judging an expression gives: a truth, a number, a text, or something else for "unknown"."""

    @property
    def value(self) -> Any: ...  # noqa: D102


class Judge(Protocol):
    """Evaluates expressions over one run."""

    def result(self, node: Node) -> Judged: ...  # noqa: D102


@dataclass(slots=True, frozen=True)
class Context:
    """One run. ``render`` fills the placeholders of a rule's text, in the language of ``say``."""

    run: Run
    judge: Judge
    catalog: Catalog
    vocabulary: Vocabulary
    render: Callable[[str], str]
    say: Say = ENGLISH

    @property
    def engine(self) -> str:
        """The run's engine, "" when it is not known."""
        return self.run.engine

    @property
    def version(self) -> str | None:
        """The engine's version, None when it is not known; the oldest one that the metrics page fits."""
        oldest = self.run.facts.get("version.oldest")
        return self.run.version or (str(oldest.value) if oldest is not None else None)


@dataclass(slots=True, frozen=True)
class Setting:
    """What a flag is now. ``value`` is None when it is not known; ``state`` as in ``model.Fact``, "" when unknown.

    ``asked`` is what the operator set where the engine runs with something else.
    """

    value: Any = None
    state: str = ""
    asked: Any = None

    @property
    def text(self) -> str | None:
        """Say it as "256 (default)"; None when nothing is known."""
        if self.value is None:
            return "default" if self.state == "default" else None
        value = shown(self.value)
        if self.asked is not None:
            return f"{value} ({shown(self.asked)} set)"
        return f"{value} ({self.state})" if self.state in ("set", "default") else value


def setting(context: Context, flag: Flag) -> Setting:
    """Find a flag's current value: the fact behind its knob, its argument in a dump, or the version's default."""
    run = context.run
    asked = run.arguments.get(flag.dest) or run.arguments.get(flag.name.lstrip("-").replace("-", "_"))
    fact = next((run.facts[name] for name in _facts(context, flag) if name in run.facts), None)
    if fact is not None and fact.value is not None:
        if asked is not None and asked.state == "set" and asked.value is not None:
            return Setting(fact.value, "set", None if same(asked.value, fact.value) else asked.value)
        return Setting(fact.value, fact.state)
    if asked is not None:
        return Setting(asked.value, "default" if asked.value is None else asked.state)
    if not run.arguments:
        return Setting()
    # Engines that print what differs from the defaults say by silence that this one does not.
    default = context.catalog.default(context.engine, flag.name, context.version)
    return Setting(None if default is UNRESOLVED else default, "default")


def _facts(context: Context, flag: Flag) -> list[str]:
    """Return the facts that tell a flag's value: two knobs may be one flag in one of the engines."""
    spelled = {spelling.name for spelling in flag.spellings}
    knobs = context.vocabulary.knobs.values()
    return [knob.fact for knob in knobs if knob.fact and not spelled.isdisjoint(knob.flags.get(context.engine, ()))]


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same on a command line."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
    return str(one) == str(other)


def shown(value: Any) -> str:
    """Write a value for people and for command lines alike."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
