"""Which further input would decide what is unknown: what the rules miss, in the fewest inputs that hold it."""

from __future__ import annotations

from collections.abc import Iterable

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.model import Run
from diagnoser.rules.aggregates import TIMES
from diagnoser.rules.eventcalc import ENGINE_LOG, START
from diagnoser.rules.lookup import ARGUMENTS, METRICS, STATISTICS
from diagnoser.rules.needs import listed

#: All that only a log tells: a run without one needs the log, and not four things that are in it.
WHOLE_LOG = phrase("the engine's log from its start")

_IN_LOG = (ARGUMENTS, START, ENGINE_LOG, TIMES)


def inputs(said: str, needs: Iterable[str], run: Run, say: Say = ENGLISH) -> str:
    """Return the inputs that would decide a rule, "" when nothing names any. ``said`` are the rule's own words.

    A run known by its metrics is asked for its log once; a run known by its log for what the log does not have.
    """
    if said and (run.lines or ENGINE_LOG not in set(needs)):
        return said
    missing = set(needs)
    if not run.lines:
        logged = {need for need in missing if need in _IN_LOG or need.startswith(STATISTICS)}
        # Statistics lines tell what metrics pages do: where a page is there and lacks them, the log has them.
        if logged:
            missing = (missing - logged - {METRICS}) | {WHOLE_LOG}
    return listed(missing, say)
