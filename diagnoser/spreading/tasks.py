"""What a worker does: reads a log, judges a run. Everything it needs comes with the task."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import diagnoser
from diagnoser.inference import Cause
from diagnoser.judging.judge import Judgement, judge
from diagnoser.judging.loading import Knowledge
from diagnoser.judging.settling import context, settle
from diagnoser.model import Run
from diagnoser.options import Options
from diagnoser.portraits.portrait import Portrait, portrait
from diagnoser.ranking import Sighting
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.evaluating.value import UNKNOWN
from diagnoser.session.portions import Kit, Portion, Window, kit, read_log
from diagnoser.skimming import foreseen
from diagnoser.skimming.ahead import Place
from diagnoser.skimming.foreseen import Found
from diagnoser.sources import Source
from diagnoser.sources.names import is_remote
from diagnoser.sources.part import Part
from diagnoser.values import dataclass, replace

#: What settling a run may change; tables, events and spreads stay as they were read.
_SETTLED = ("engine", "version", "facts", "arguments", "assumed", "exposed")


@dataclass(slots=True, frozen=True)
class Order:
    """What all tasks of a diagnosis have in common."""

    version: str
    options: Options
    window: Window | None
    inputs: int

    def packed(self) -> bytes:
        """Return it as every task carries it."""
        return pickle.dumps(self)


@dataclass(slots=True)
class Verdict:
    """What judging gave: verdicts, sightings with the rule's id for the rule, and what the report says of the run."""

    settled: dict[str, Any]
    causes: list[Cause]
    sightings: list[Sighting]
    portrait: Portrait


class WrongVersionError(Exception):
    """The worker has another version of this program than whoever gives out the tasks."""


@lru_cache(maxsize=2)
def _equipped(packed: bytes) -> tuple[Order, Knowledge, Kit]:
    """Load what tasks need, once for all of a diagnosis."""
    order: Order = pickle.loads(packed)
    if order.version != diagnoser.__version__:
        raise WrongVersionError(f"the worker has diagnoser {diagnoser.__version__}, not {order.version}")
    knowledge = _knowledge(pickle.dumps(order.options))
    return order, knowledge, replace(kit(knowledge, order.options), inputs=order.inputs)


@lru_cache(maxsize=1)
def _knowledge(options: bytes) -> Knowledge:
    """Load the rules, once for reading and judging."""
    return Knowledge(pickle.loads(options))


def read(packed: bytes, name: str, parts: Sequence[tuple[str, str]]) -> Portion:
    """Read a log of one or several files, given as (name for evidence, path or address)."""
    order, _, own = _equipped(packed)
    source = Source([_part(shown, where) for shown, where in parts])
    source.name = name
    return read_log(source, own, order.window)


def look(packed: bytes, seed: bytes, source: str, number: int, piece: bytes | Place) -> Found:
    """Look for the gaps in some lines of a log that somebody else reads. Raises OSError where they cannot be read."""
    _, _, own = _equipped(packed)
    if isinstance(piece, Place):
        with Path(piece.path).open("rb") as file:
            file.seek(piece.at)
            piece = file.read(piece.size)
    return foreseen.look(seed, own.collector().meaning, source, number, piece)


def _part(name: str, where: str) -> Part:
    if not is_remote(where):
        return Part(name, path=Path(where))
    from diagnoser.sources import remote

    return remote.part(where)


def judged(packed: bytes, run: Run, restarts: int) -> Verdict:
    """Settle and judge one run."""
    order, knowledge, _ = _equipped(packed)
    settle(run, knowledge, order.options)
    found = judge(run, knowledge.base, knowledge.vocabulary, order.options.inference, context(run, knowledge, restarts))
    return Verdict(
        {name: getattr(run, name) for name in _SETTLED},
        found.causes,
        [replace(one, rule=one.rule.id) for one in found.sightings],  # type: ignore[arg-type]
        portrait(found, knowledge),
    )


def accepted(verdict: Verdict, run: Run, knowledge: Knowledge, restarts: int) -> Judgement:
    """Make the judgement of a run that a worker judged; what else is asked of it is evaluated here."""
    for name, value in verdict.settled.items():
        setattr(run, name, value)
    evaluator = Evaluator(run, knowledge.base, knowledge.vocabulary, context(run, knowledge, restarts))
    evaluator.causes.update({one.id: UNKNOWN if one.holds is None else one.holds for one in verdict.causes})
    rules = knowledge.base.rules
    sightings = [replace(one, rule=rules[one.rule]) for one in verdict.sightings]  # type: ignore[index]
    return Judgement(run, evaluator, verdict.causes, sightings)
