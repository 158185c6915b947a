"""What a Prometheus server is asked: selectors, the step, and requests within its limits. Nothing is asked here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from diagnoser.knowledge.metricref import COUNTERS, key
from diagnoser.timefilter import Bound
from diagnoser.values import dataclass

#: Points of one series that a Prometheus server gives in one answer at most (web/api/v1: "exceeded maximum resolution
#: of 11,000 points per timeseries").
POINTS = 11_000

#: Samples that are kept of one server: a wider step is taken where there would be more.
SAMPLES = 500_000

#: Steps that show a course; a long time is looked at more coarsely.
STEPS = 360

#: Seconds between scrapes where nothing tells: kube-prometheus and most examples scrape every 15 s or 30 s.
INTERVAL = 15.0

#: Characters of names in one selector: proxies refuse addresses beyond 8 KB or so.
ROOM = 3000

#: Metrics that programs of every kind have.
GENERIC = ("process_", "python_", "http_", "go_", "up", "scrape_")

_CONDITION = re.compile(r'\s*([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')\s*(?:,|\Z)')
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")


@dataclass(slots=True, frozen=True)
class Asking:
    """What an address asks of a Prometheus server: label conditions, from when to when, and the step in seconds."""

    matches: tuple[str, ...]
    since: Bound
    until: Bound | None = None
    step: float | None = None

    def span(self, now: float) -> tuple[float, float]:
        """Return beginning and end in seconds since the epoch."""
        end = now if self.until is None else self.until.resolve(now)
        assert end is not None
        start = self.since.resolve(end)
        assert start is not None
        return min(start, end), end


def conditions(text: str) -> str:
    """Return the inside of a selector such as ``{job="vllm"}``; the braces may be missing. Raises ValueError."""
    body = text.strip()
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1]
    rest, found = body.strip(), []
    while rest:
        one = _CONDITION.match(rest)
        if one is None or one[1] == "__name__":
            raise ValueError(f'match={text}: expected label conditions such as {{job="vllm"}}')
        found.append(f"{one[1]}{one[2]}{one[3]}")
        rest = rest[one.end() :].strip()
    return ",".join(found)


def selector(names: Sequence[str], match: str) -> str:
    """Return the selector of these metrics under these conditions."""
    name = f'__name__=~"{"|".join(names)}"' if names else '__name__!=""'
    return f"{{{name},{match}}}" if match else f"{{{name}}}"


def readable(names: Iterable[object]) -> list[str]:
    """Return the names that can stand in a selector as they are."""
    return sorted({name for name in names if isinstance(name, str) and _NAME.fullmatch(name)})


def batches(names: Sequence[str], room: int = ROOM) -> list[tuple[str, ...]]:
    """Deal names into as few requests as their lengths allow."""
    out: list[list[str]] = []
    left = 0
    for name in names:
        if not out or left < len(name) + 1:
            out.append([])
            left = room
        out[-1].append(name)
        left -= len(name) + 1
    return [tuple(batch) for batch in out]


def probes(names: Sequence[str]) -> list[str]:
    """Choose for each writer one metric with few series: its samples' times are those of the scrapes."""
    chosen: dict[str, str] = {}
    for name in names:
        writer = key(name).partition("_")[0]
        # A level per server: requests running are told by every engine under a name with "num_" in it.
        rank = (name.endswith(COUNTERS), "num_" not in name, len(name), name)
        before = chosen.get(writer)
        if before is None or rank < (before.endswith(COUNTERS), "num_" not in before, len(before), before):
            chosen[writer] = name
    return list(chosen.values())


def step_of(span: float, interval: float | None, series: int, asked: float | None) -> float:
    """Return the step: what was asked for, or the scrape interval, but wide enough for ``SAMPLES`` in all."""
    least = span * max(series, 1) / SAMPLES
    if asked is not None:
        return max(asked, least)
    interval = interval or INTERVAL
    wanted = max(least, span / STEPS, interval)
    return math.ceil(round(wanted / interval, 6)) * interval


def widened(span: float, series: int, finest: float | None) -> bool:
    """Whether there are so many series that the step is wider than ``finest``, which was asked for or is the usual."""
    return span * series / SAMPLES > (finest or INTERVAL)


def chunks(start: float, end: float, step: float, points: int = POINTS) -> list[tuple[float, float]]:
    """Cut a time into requests of so many points; no point is asked for twice."""
    total = math.floor((end - start) / step + 1e-9) + 1
    out = []
    for first in range(0, total, points):
        last = min(first + points, total) - 1
        out.append((start + first * step, start + last * step))
    return out


def interval_of(times: Iterable[Sequence[float]]) -> float | None:
    """Return the usual distance between samples of a series in seconds; None where no series has two."""
    gaps = sorted(b - a for one in times for a, b in pairwise(one) if b > a)
    return max(round(gaps[len(gaps) // 2], 1), 0.1) if gaps else None
