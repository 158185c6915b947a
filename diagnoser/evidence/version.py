"""Which version wrote a log that does not say so: read off the set of arguments in its dump.

SGLang prints no version at all, but each release prints all of its arguments, and nearly every one adds or drops some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diagnoser.model import Fact, Run

#: A dump with fewer arguments says too little (old releases, a dump cut by the log's start).
ENOUGH = 25

#: How many arguments may disagree: a fork or a point release between two that were read.
TOLERANCE = 4

Lives = Callable[[str, str, str], bool | None]


def infer_version(run: Run, versions: Sequence[str], lives: Lives) -> str:
    """Return the newest release whose arguments fit the run's dump best, "" when none fits well.

    ``lives(engine, argument, version)`` is the catalogue's answer, None for arguments it does not know. The answer
    also becomes the fact ``version.inferred`` so that the report can say how it is known.
    """
    names = [name for name, fact in run.arguments.items() if fact.state != "foreign"]
    if len(names) < ENOUGH:
        return ""
    best, best_misses = "", TOLERANCE + 1
    present = set(names)
    for version in versions:
        misses = sum(1 for name in present if lives(run.engine, name, version) is False)
        if misses <= best_misses:
            best, best_misses = version, misses
    if not best:
        return ""
    first = run.arguments[names[0]]
    run.facts["version.inferred"] = Fact("version.inferred", best, first.origin, first.excerpt, "observed")
    return best
