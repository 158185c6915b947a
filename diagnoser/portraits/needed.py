"""Which further input would decide what is unknown: the one that can, in the words of the rule or of what it lacks."""

from __future__ import annotations

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.model import Run
from diagnoser.rules.evaluating.deciding import Decider, Decision
from diagnoser.rules.evaluating.eventcalc import ENGINE_LOG
from diagnoser.rules.evaluating.sourcing import named
from diagnoser.rules.model import Rule
from diagnoser.rules.needs import listed, reasons
from diagnoser.values import dataclass

#: Kinds of inputs as rules call them, where tables call their medium otherwise.
_KINDS = {"log": "statistics"}
#: Where no one input decides.
_TOGETHER = phrase("{inputs} together")


@dataclass(slots=True, frozen=True)
class Want:
    """What would decide an undecided rule: an input, or why there is none.

    ``needs`` and ``reason`` are said in the reader's language; one of them may be "". ``applies`` is False where the
    rule is about something that this server does not do. ``decides``: "either" where the input tells it whichever way
    it comes out, "false" where it can only rule it out, "true" where it can only show it, "" for a rule's own words.
    """

    needs: str
    reason: str = ""
    applies: bool = True
    decides: str = ""


def wanted(rule: Rule, decider: Decider, say: Say = ENGLISH) -> Want:
    """Say what would decide a rule that is unknown. Its texts are in the reader's language already."""
    evaluator = decider.evaluator
    for why, node in rule.not_applicable:
        if evaluator.value(node) is True:
            return Want("", say("not applicable: {reason}").format(reason=why), applies=False)
    needs, run = evaluator.answer(rule.when).needs, evaluator.run
    if needs and reasons(needs) == needs:
        return Want("", listed(needs, say))
    if rule.needs and not rule.asks and (run.lines or ENGINE_LOG not in needs):
        # What no expression knows: other machines' logs, stacks, what Kubernetes holds.
        return Want(rule.needs)
    found = decider.fewest(rule.when)
    if found is None:
        return Want(rule.needs or listed(needs - reasons(needs), say))
    return Want(together(found, run, say), decides=_decides(found))


def _decides(found: Decision | None) -> str:
    if found is None:
        return ""
    return "either" if found.true and found.false else "true" if found.true else "false"


def together(found: Decision, run: Run, say: Say = ENGLISH) -> str:
    """Name the inputs of a decision: one, or those that decide it only together."""
    told = list(dict.fromkeys(named(source, needs, run, say) for source, needs in found.asked))
    if len(told) == 1:
        return told[0]
    last = say("{one} and {other}").format(one=say(", ").join(told[:-1]), other=told[-1])
    return say(_TOGETHER).format(inputs=last)


def given(run: Run) -> set[str]:
    """Return the kinds of inputs that a run was read from."""
    media = {table.medium for table in run.tables.values()}
    media |= {one.medium for found in run.spreads.values() for one in found}
    kinds = {_KINDS.get(medium, medium) for medium in media}
    return kinds | ({"log"} if run.lines else set())
