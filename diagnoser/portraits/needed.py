"""Which further input would decide what is unknown: what the rules miss, in the fewest inputs that hold it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.model import Run
from diagnoser.rules.aggregates import TIMES
from diagnoser.rules.evaluate import Evaluator
from diagnoser.rules.eventcalc import ENGINE_LOG, START
from diagnoser.rules.lookup import ARGUMENTS
from diagnoser.rules.missing import LONGER, METRICS, STATISTICS
from diagnoser.rules.model import Rule
from diagnoser.rules.needs import dated, joined, listed, reasons
from diagnoser.values import dataclass

#: All that only a log tells: a run without one needs the log, and not four things that are in it.
WHOLE_LOG = phrase("the engine's log from its start")

_IN_LOG = (START, ENGINE_LOG, TIMES)
#: Kinds of inputs as rules call them, where tables call their medium otherwise.
_KINDS = {"log": "statistics"}


@dataclass(slots=True, frozen=True)
class Want:
    """What would decide an undecided rule: inputs, or why there are none.

    ``needs`` and ``reason`` are said in the reader's language; one of them may be "". ``applies`` is False where the
    rule is about something that this server does not do.
    """

    needs: str
    reason: str = ""
    applies: bool = True


def wanted(rule: Rule, evaluator: Evaluator, say: Say = ENGLISH) -> Want:
    """Say what would decide a rule that is unknown. Its texts are in the reader's language already."""
    for why, node in rule.not_applicable:
        if evaluator.value(node) is True:
            return Want("", say("not applicable: {reason}").format(reason=why), applies=False)
    needs, run = evaluator.answer(rule.when).needs, evaluator.run
    asked = inputs(rule.needs, rule.asks, needs, run, say)
    return Want("", asked) if needs and reasons(needs) == needs else Want(asked)


def inputs(said: str, asks: Collection[str], needs: Iterable[str], run: Run, say: Say = ENGLISH) -> str:
    """Return the inputs that would decide a rule, why none would where there are none, "" when nothing names any.

    ``said`` are the rule's own words, ``asks`` the kinds of inputs in them: where one is given, or this version's would
    not do, it is told what is lacking.
    A run known by its metrics is asked for its log once; a run known by its log for what the log does not have.
    """
    missing = set(needs)
    again = not given(run).isdisjoint(asks) or (bool(asks) and dated(missing))
    if missing and reasons(missing) == missing:
        return listed(missing, say)
    if said and not again and (run.lines or ENGINE_LOG not in missing):
        return said
    missing -= reasons(missing)
    if not run.lines:
        logged = {need for need in missing if need in _IN_LOG or need.startswith((STATISTICS, ARGUMENTS))}
        # Statistics lines tell what metrics pages do: where a page is there and lacks them, the log has them.
        if logged:
            missing = (missing - logged - {METRICS}) | {WHOLE_LOG}
    return listed(joined(missing), say) or (say(LONGER) if again else "")


def given(run: Run) -> set[str]:
    """Return the kinds of inputs that a run was read from."""
    media = {table.medium for table in run.tables.values()}
    media |= {one.medium for found in run.spreads.values() for one in found}
    kinds = {_KINDS.get(medium, medium) for medium in media}
    return kinds | ({"log"} if run.lines else set())
