"""Which input a need is about, and what that input costs: an option is cheaper than a page, a page than a profile."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from diagnoser.language import ENGLISH, Say
from diagnoser.model import Run
from diagnoser.rules.evaluating.aggregates import TIMES
from diagnoser.rules.evaluating.eventcalc import ENGINE_LOG, START
from diagnoser.rules.evaluating.lookup import ARGUMENTS, ASKED, NAMED_GPU
from diagnoser.rules.evaluating.missing import (
    BEHIND,
    BESIDE,
    LONGER,
    METRICS,
    RESTART,
    SECOND,
    STATISTICS,
    TIMED,
    WHOLE_LOG,
)
from diagnoser.rules.evaluating.spreads import REQUESTS
from diagnoser.rules.needs import QUICKER, joined, listed, reasons

METRICS_PAGE = "metrics"
#: The source of what no input tells.
IMPOSSIBLE = "none"

#: What an input costs the person who is asked for it: only the order counts.
COSTS: Mapping[str, int] = {
    "option": 0,  # a word more on the command line
    "log": 1,  # the same log from its start
    "statistics": 2,
    METRICS_PAGE: 3,
    "behind": 3,
    "load": 4,  # the same input for longer, and in a state that may never come
    "gpu": 5,
    "": 6,
    "requests": 7,
    "bench": 7,
    "profile": 8,
    "restart": 9,  # a server that is started anew with another flag
    "version": 10,
}

#: How needs begin, and what they are about. The first that fits counts.
_BEGINNINGS = (
    (("statistics lines of ", "metrics of "), "version"),
    ((STATISTICS,), "statistics"),
    ((RESTART, "a run without "), "restart"),
    ((METRICS, SECOND, TIMED), METRICS_PAGE),
    (("samples ", "a longer window", "more samples"), "load"),
    ((BEHIND,), "behind"),
    ((NAMED_GPU, ASKED["slo"]), "option"),
    ((BESIDE["gpu"], "GPU telemetry"), "gpu"),
    ((BESIDE["bench"], "a benchmark result", ASKED["bench"]), "bench"),
    ((BESIDE["profile"], "a profile"), "profile"),
    ((REQUESTS, ASKED["tail"], ASKED["goodput"]), "requests"),
    ((START, ENGINE_LOG, TIMES, WHOLE_LOG), "log"),
)


def source_of(need: str, run: Run) -> str:
    """Return the input that a need is about; what nobody knows better is a source of its own."""
    if reasons((need,)) or need.startswith(QUICKER):
        return IMPOSSIBLE
    for beginnings, source in _BEGINNINGS:
        if need.startswith(beginnings):
            # A run without a log is asked for its log once: it has the start, the arguments and the statistics lines.
            return "log" if source == "statistics" and not run.lines else source
    if need.startswith(ARGUMENTS) or not run.complete_start:
        return "log"
    return need


def named(source: str, needs: Collection[str], run: Run, say: Say = ENGLISH) -> str:
    """Say what is asked of one source, in the reader's language, as one input."""
    if source == "log" and not run.lines:
        return say(WHOLE_LOG)
    for whole in _WHOLE.get(source, ()):
        if whole in needs:
            return say(whole)
    if source == "log" and not run.complete_start:
        return say(START)
    asked = joined(needs)
    if source == "load" and len(asked) > 1:
        return say(LONGER)
    if source == "log" and len(asked) > 1:
        whats = {what for need in asked for what in need.partition(" with ")[2].split(" and ")}
        return listed((f"{START} with {' and '.join(sorted(whats))}",), say)
    return listed(asked, say)


#: What takes in everything else that may be asked of a source.
_WHOLE: Mapping[str, tuple[str, ...]] = {
    "log": (START, ARGUMENTS, TIMES),
    "statistics": (STATISTICS,),
    METRICS_PAGE: (SECOND, METRICS, TIMED),
}
