"""What an output format offers and what it is told about the place it writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from diagnoser.contracts.findings import Report
from diagnoser.language import ENGLISH, Say

if TYPE_CHECKING:
    from diagnoser.contracts.story import Story


class RenderOptions(NamedTuple):
    """How to write. Formats for machines ignore all of it; nothing here changes what is said to be true.

    ``width`` in terminal cells; ``color`` and ``unicode`` tell what the receiver can show; ``verbose`` asks for all
    evidence and every figure; ``unrecognised`` for every unknown message instead of the first few. ``story`` is
    given to formats that have a true ``STORY``: what happened over time, and the lines around the evidence. ``brief``
    asks for one line a finding. ``say`` puts the fixed phrases of a page into the reader's language:
    ``say("{count} more").format(count=n)``.

    For formats that build servers read: ``fail_on`` is the severity from which on a finding fails the job ("never":
    none does), ``exit_code`` what the process will return, ``folder`` the working directory.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True
    verbose: bool = False
    unrecognised: bool = False
    story: Story | None = None
    brief: bool = False
    fail_on: str = "critical"
    exit_code: int | None = None
    folder: str = ""
    say: Say = ENGLISH


class Format(Protocol):
    """A module of this folder with these names is an output format.

    Formats are written to be handed on, so ``reports.render`` redacts what they are given. One that says
    ``REDACT = False`` gets the report as it is, with secrets masked where it shows them.
    """

    NAME: str
    DESCRIPTION: str

    def render(self, report: Report, options: RenderOptions) -> str:
        """Return the whole report, ending in a newline."""
