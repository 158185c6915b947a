"""What an output format offers and what it is told about the place it writes to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from diagnoser.findings import Report
from diagnoser.language import ENGLISH, Say


class RenderOptions(NamedTuple):
    """How to write. Formats for machines ignore all of it; nothing here changes what is said to be true.

    ``width`` in terminal cells; ``color`` and ``unicode`` tell what the receiver can show; ``verbose`` asks for all
    evidence and every figure; ``unrecognised`` for every unknown message instead of the first few. ``say`` puts the
    fixed phrases of a page into the reader's language: ``say("{count} more").format(count=n)``.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True
    verbose: bool = False
    unrecognised: bool = False
    say: Say = ENGLISH


class Format(Protocol):
    """A module of this folder with these names is an output format."""

    NAME: str
    DESCRIPTION: str

    def render(self, report: Report, options: RenderOptions) -> str:
        """Return the whole report, ending in a newline."""
