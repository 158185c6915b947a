"""What a report tells of one run in numbers: figures over time, distributions, settings, objectives."""

from __future__ import annotations

from typing import Any

from diagnoser.values import dataclass, field

#: A figure that may be off by more than this share of it is told as a range.
SURE = 0.1


def exact(value: float, least: float, most: float | None) -> bool:
    """Whether a value stands for all that it may be, or only the range tells the truth."""
    return most is not None and max(value - least, most - value) <= SURE * abs(value)


@dataclass(slots=True)
class FigureRow:
    """One key figure of a run over time. ``points`` are means of equal time slices, None where nothing was printed.

    ``blocks`` are means over up to 24 stretches of equal length of the ``loaded`` samples alone, in order: what two
    runs are compared by. Of what is counted per line they are events per minute. None of both in reports before 1.1.
    """

    name: str
    title: str
    unit: str
    median: float
    max: float
    min: float
    samples: int
    points: list[float | None]
    loaded: int = 0
    blocks: list[float] = field(default_factory=list)


@dataclass(slots=True)
class SpreadRow:
    """How a latency, or a length in tokens, spreads over requests.

    ``percentiles`` maps "p50", "p90" and "p99" to [value, low, high]: by chance alone another such load would give
    from ``low`` to ``high``, None where too few requests tell. ``bounds`` maps those that were read off a histogram to
    [least, most]: where in it the percentile of these very requests lies nobody knows (most: None where it has no end).
    ``served`` is what the server's own histogram says where the requests themselves told the row, and ``outside`` the
    seconds that the mean request spent in front of the engine: None where both did not count the same requests. None of
    the three in reports before 1.3. ``front`` are the seconds by which the HTTP server measured the mean request longer
    than its engine did, before the first token and after the last; None where it does not tell, and before 1.5.
    """

    name: str
    title: str
    unit: str
    medium: str
    count: int
    mean: float | None
    percentiles: dict[str, list[float | None]]
    bounds: dict[str, list[float | None]] = field(default_factory=dict)
    served: SpreadRow | None = None
    outside: float | None = None
    front: float | None = None

    def range(self, label: str) -> list[float | None] | None:
        """Return all that a percentile may be; None where it is known well enough for a number, or not at all."""
        value, limits = self.percentiles.get(label, [None])[0], self.bounds.get(label)
        if value is None or limits is None or limits[0] is None or exact(value, limits[0], limits[1]):
            return None
        return limits


@dataclass(slots=True)
class Setting:
    """One argument of the server that is not known to be its default; ``facts`` are what the vocabulary reads from it.

    ``state``: "set" by the operator, or "observed": printed, and nobody knows whether it was set or worked out.
    """

    flag: str
    value: Any
    state: str
    facts: list[str]


@dataclass(slots=True)
class Objective:
    """How an objective is met. ``name``: "ttft", "tpot", "itl", "e2e", or "goodput" for all of them at once.

    ``limit`` in seconds (None for goodput), ``share`` of ``samples`` that meet it; None where only a few percentiles
    were kept. ``bounds`` are the least and the most that it can be, by those or by the bucket around the limit.
    ``rate``: requests per second that meet all. ``medium`` is what measured it: "metrics", "bench". ``failed`` requests
    count among the samples of goodput.
    """

    name: str
    title: str
    limit: float | None
    share: float | None
    samples: int
    rate: float | None
    medium: str
    source: str
    line: int
    bounds: list[float] = field(default_factory=lambda: [0.0, 1.0])
    failed: int = 0
