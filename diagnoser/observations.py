"""What readers of traces give: rows of numbers, distributions, facts and scrapes, in their writer's own words."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from diagnoser.model import Problem, Record
from diagnoser.tables.spread import Spread
from diagnoser.tables.table import Group, Origin, Places
from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Measure:
    """A row of numbers that is no line of a log: a second of a GPU, one benchmark, one profile.

    ``writer`` is the program that wrote it, ``values`` maps its own labels to numbers: ``log:`` of series.yaml says
    under the writer's name which series they are. ``places`` tells the line of each label where it has one of its own.
    """

    writer: str
    medium: str
    origin: Origin
    time: float | None
    text: str
    values: Mapping[str, float]
    group: Group = ()
    places: Places | None = None


@dataclass(slots=True)
class Scatter:
    """How a quantity spread over requests, under the writer's own label; see ``Measure``."""

    writer: str
    label: str
    spread: Spread


@dataclass(slots=True)
class Claim:
    """Something that a run is, under the writer's own name for it: ``args:`` of facts.yaml says which fact.

    ``stream`` is the pod and container that it is told of, "" where it is told of whatever ran.
    """

    writer: str
    name: str
    value: Any
    origin: Origin
    excerpt: str
    stream: str = ""


@dataclass(slots=True)
class Exposed:
    """One sample line of a metrics page; ``line`` is 0 where no file holds it."""

    labels: Mapping[str, str]
    value: float
    line: int
    text: str


#: Labels that keep servers apart where one page holds several (a federated page, a Prometheus server).
SERVER_LABELS = ("pod", "instance", "replica")


def server_of(labels: Mapping[str, str]) -> str:
    """Return the name of the server that a sample was scraped from, "" where no label tells it."""
    return next((labels[label] for label in SERVER_LABELS if labels.get(label)), "")


@dataclass(slots=True)
class Page:
    """One scrape of a server's metrics: sample lines by metric name, of the metrics that rules know.

    ``time`` is that of the scrape, None where nothing in page or name tells it; ``modified`` is the file's own.
    ``server`` is the address that was scraped, "" for a file. ``counters`` are the names that the page declares to be
    counters. ``others`` counts sample lines of metrics that no rule knows. ``cut`` pages lack a part.
    """

    source: str
    server: str
    time: float | None
    samples: dict[str, list[Exposed]]
    counters: frozenset[str] = frozenset()
    modified: float | None = None
    others: int = 0
    cut: bool = False


@dataclass(slots=True)
class Requests:
    """Requests one by one, so that several objectives can be asked of each: columns of one length.

    ``columns`` are "ttft", "tpot", "e2e" (seconds), "prompt", "output" (tokens) and "start" (seconds, from any
    moment) of the requests that succeeded, NaN where one has none. ``duration`` is that of the whole measurement, None
    where nothing tells it. ``failed`` requests met no objective.
    """

    writer: str
    medium: str
    origin: Origin
    text: str
    columns: Mapping[str, array[float]]
    duration: float | None
    failed: int

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(slots=True)
class Gathered:
    """An input that is no file: what an address gave, already read. ``name`` is the address without its secrets."""

    name: str
    kind: str
    lines: int = 0
    bytes: int = 0
    pages: list[Page] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


#: What a reader of traces gives: each is evidence for the same rules as the lines of a log.
Observation = Measure | Scatter | Claim | Requests | Page | Record | Problem
