"""What a reader of traces offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from diagnoser.observations import Observation
from diagnoser.sources import Source

#: Whether any rule knows a metric of this name (in ``metricref.key`` spelling): the others need not be parsed.
Wanted = Callable[[str], bool]


class Reader(Protocol):
    """A module in this folder.

    ``NAME`` is the writer, the file's name with hyphens: the key under ``log:`` of series.yaml, ``args:`` of facts.yaml
    and of event templates. ``KINDS`` are what ``sources.kinds`` may have taken the input for. ``SAMPLES`` are the
    module's own test: (content, number of observations that it gives).
    """

    NAME: str
    ORDER: int  # readers are asked in this order; the first that recognises the input owns it
    KINDS: tuple[str, ...]
    SAMPLES: Sequence[tuple[str | bytes, int]]

    def recognise(self, head: str) -> bool:
        """Whether the first 64 KiB of an input are this module's."""

    def read(self, source: Source, wanted: Wanted) -> Iterator[Observation]:
        """Read the input to its end. What cannot be read is a ``Problem``; the rest still counts. Never raises."""
