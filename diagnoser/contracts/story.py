"""What happened over time, for pages that draw it: curves, marked moments, shaded stretches, lines around evidence.

No part of the JSON contract: it is made from the same evidence, and only for a format that asks for it.
"""

from __future__ import annotations

from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Curve:
    """One line of a chart, a value (None: nothing was printed) for each of the chart's times."""

    title: str
    values: list[float | None]


@dataclass(slots=True)
class Chart:
    """Curves over the same times, in the unit of their series. ``part`` names the series where the title has several.

    ``times`` are seconds since the epoch in the log's own clock; numbers of rows where the log tells no time
    (``timed``). ``kind``: "line", or "bars" for what is counted in each stretch. ``limit`` is what caps it.
    """

    name: str
    title: str
    unit: str
    medium: str
    kind: str
    timed: bool
    times: list[float]
    curves: list[Curve]
    limit: float | None = None
    part: str = ""


@dataclass(slots=True)
class Shade:
    """The stretch of time in which a finding was seen, in seconds as ``Chart.times``."""

    finding: str
    severity: str
    start: float
    end: float


@dataclass(slots=True)
class Moment:
    """Something that happened, once or often: the first time stands for it.

    ``kind``: "start", "ready", "stop", "end", "preemption", "error", "unknown" (no rule knows it) or "note".
    ``stamp`` is ``time`` as the log tells it. ``times`` are those to mark in a chart: all of them, thinned.
    """

    kind: str
    name: str
    time: float | None
    stamp: str | None
    last: str | None
    count: int
    source: str
    line: int
    text: str
    startup: bool = False
    times: list[float] = field(default_factory=list)


@dataclass(slots=True)
class RunStory:
    """One server lifetime. ``clock`` tells "full", "yearless", "clock" or "": how much of a time the log prints."""

    run: int
    clock: str
    charts: list[Chart]
    shades: list[Shade]
    moments: list[Moment]


#: Lines of an input around a piece of evidence: number and text without its envelope.
Lines = list[tuple[int, str]]


@dataclass(slots=True)
class Story:
    """The stories of the runs in their order, and the lines around evidence by input and line."""

    runs: list[RunStory]
    around: dict[tuple[str, int], Lines]
