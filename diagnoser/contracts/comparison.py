"""What differs between two sides as data: the public JSON contract of `diagnose compare`, version 1."""

from __future__ import annotations

from typing import Any

from diagnoser.values import dataclass, field

COMPARISON_VERSION = "1.1"


@dataclass(slots=True)
class Side:
    """One side: its inputs, and the runs of it that were compared, out of how many."""

    inputs: list[str]
    engine: str
    version: str
    runs: int
    of: int
    started: str | None
    ended: str | None


@dataclass(slots=True)
class Difference:
    """One difference in what the server is.

    ``kind``: "parameter" (somebody changed it: a flag, a version, a GPU, a model), "resolved" (follows from something
    else, or measured at start: the KV cache's size), "neutral" (a port, a name: no part of an experiment).
    ``before`` or ``after`` is None where the flag is not set there.
    """

    name: str
    kind: str
    before: Any
    after: Any


@dataclass(slots=True)
class FigureChange:
    """One figure on both sides. ``change`` is a share of the value before, None where that is 0 or either is not known.

    ``state``: "higher", "lower" (shown to be), "same" (no difference shown) or "unknown" (cannot tell); ``means``:
    "better", "worse" or "" where the figure has no good direction. ``samples`` and ``blocks`` are (before, after):
    lines or requests, and the independent stretches that they are worth. ``p`` is the probability of a difference in
    ranks this large between stretches of one and the same level, None where it was not computed. ``bounds`` are, for
    before and for after, [least, most] of a percentile that was read off a histogram: where in it the value lies nobody
    knows (most: None where it has no end). None for a value that is known, and before 1.1.
    """

    name: str
    title: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    state: str
    means: str
    reason: str
    samples: list[int]
    blocks: list[float]
    p: float | None
    bounds: list[list[float | None] | None] = field(default_factory=lambda: [None, None])


@dataclass(slots=True)
class FindingChange:
    """``change``: "gained", "lost" or "severity"; severities are None where the finding is not there."""

    id: str
    title: str
    change: str
    before: str | None
    after: str | None


@dataclass(slots=True)
class BootChange:
    """A phase of the start, seconds. One start a side: nothing is claimed about chance."""

    name: str
    title: str
    before: float | None
    after: float | None


@dataclass(slots=True)
class NewMessage:
    """WARNING or ERROR lines of a shape that only the later side has and no rule knows."""

    template: str
    level: str
    count: int
    source: str
    line: int
    text: str


@dataclass(slots=True)
class Comparison:
    """What differs between two sides, and what follows from it.

    ``verdict``: "better", "worse", "mixed", "no difference shown" or "cannot tell"; ``by`` says by which figure or why.

    ``attribution``: "attributable", "not attributable" or "nothing differs", with its ``attribution_text``; ``load``:
    "same", "differs" or "unknown", with its ``load_text``.
    """

    schema_version: str
    tool: dict[str, str]
    verdict: str
    by: str
    attribution: str
    attribution_text: str
    load: str
    load_text: str
    before: Side
    after: Side
    configuration: list[Difference] = field(default_factory=list)
    figures: list[FigureChange] = field(default_factory=list)
    findings: list[FindingChange] = field(default_factory=list)
    boot: list[BootChange] = field(default_factory=list)
    messages: list[NewMessage] = field(default_factory=list)


@dataclass(slots=True)
class Odd:
    """A rank or replica that stands out. ``kind``: "figure", "configuration" or "finding"; ``peers`` are its likes.

    ``value`` is its own, ``others`` the median of its peers or what all of them have.
    """

    who: str
    kind: str
    name: str
    title: str
    unit: str
    value: Any
    others: Any
    peers: int
