"""What one collector has of the logs that it was fed; of several collectors it goes together in any grouping."""

from __future__ import annotations

from itertools import chain

from diagnoser.evidence.hosts import MOST_HOST
from diagnoser.model import Record, Run
from diagnoser.values import dataclass


@dataclass(slots=True)
class Taken:
    """Runs that are over, what hosts said (with the input it stands in), and the inputs in which one did."""

    runs: list[Run]
    heard: list[tuple[str, Record]]
    of_hosts: set[str]


def merged(*taken: Taken) -> Taken:
    """Return what is in all of them, in their order. Associative; nothing at all is neutral, and none is changed."""
    return Taken(
        [run for one in taken for run in one.runs],
        list(chain.from_iterable(one.heard for one in taken))[:MOST_HOST],
        set().union(*(one.of_hosts for one in taken)),
    )
