"""Which version wrote a log that does not say so: read off the set of arguments in its dump.

SGLang prints no version at all, but each release prints all of its arguments, and nearly every one adds or drops some.
The names on a metrics page bound the version in the same way, more loosely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.model import Fact, Run
from diagnoser.tables.table import Origin

#: A dump with fewer arguments says too little (a dump cut by the log's start).
ENOUGH = 25

#: Share of the arguments that may disagree: a fork, or a release between two that were read.
TOLERANCE = 0.12

#: Argument to the first and last release that have it, as positions in the list of releases.
Lives = Mapping[str, tuple[int, int]]


def infer_version(run: Run, versions: Sequence[str], lives: Lives) -> str:
    """Return the release whose arguments fit the run's dump best, the newest of equals, "" when none fits well.

    What a release has and the dump lacks counts like what the dump has and the release lacks. The answer also becomes
    the fact ``version.inferred``, so that the report can say how the version is known.
    """
    known = [name for name in run.arguments if name in lives]
    if len(known) < ENOUGH:
        return ""
    # Changes of the count of disagreements from one release to the next, then summed up.
    steps = [0] * (len(versions) + 1)
    printed = set(known)
    for name, (first, last) in lives.items():
        if name in printed:
            steps[0] += 1
            steps[first] -= 1
            steps[last + 1] += 1
        else:
            steps[first] += 1
            steps[last + 1] -= 1
    best, fewest, count = "", len(known), 0
    for version, step in zip(versions, steps, strict=False):
        count += step
        if count <= fewest:
            best, fewest = version, count
    if fewest > TOLERANCE * len(known):
        return ""
    first_known = run.arguments[known[0]]
    run.facts["version.inferred"] = Fact("version.inferred", best, first_known.origin, first_known.excerpt, "observed")
    return best


def bound_version(run: Run, versions: Sequence[str], lives: Lives) -> None:
    """Give the run the facts ``version.oldest`` and ``version.newest``: the releases with every metric it exposes.

    A page that no single release can have written (a fork, an exporter that renames) bounds nothing.
    """
    known = [lives[name] for name in run.exposed if name in lives]
    if not known:
        return
    oldest, newest = max(first for first, _ in known), min(last for _, last in known)
    if oldest > newest:
        return
    origin = run.first or Origin("", 0)
    for name, at in (("version.oldest", oldest), ("version.newest", newest)):
        run.facts[name] = Fact(name, versions[at], origin, "", "observed")
