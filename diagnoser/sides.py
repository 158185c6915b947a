"""Comparing from Python and from the commands: each side's inputs, or its saved reports, to one comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import diagnoser
from diagnoser.api import Session
from diagnoser.comparing import saved
from diagnoser.comparing.sides import compare_reports
from diagnoser.contracts.comparison import Comparison
from diagnoser.contracts.findings import Report
from diagnoser.judging.loading import Knowledge
from diagnoser.language import ENGLISH, Say
from diagnoser.options import Name, Options
from diagnoser.sources import Source

#: What a side may be: inputs of `diagnose`, saved reports among them, or reports at hand.
Sided = Name | Report | Iterable[Name | Report]


def compare(before: Sided, after: Sided, *, options: Options = Options()) -> Comparison:  # noqa: B008 - frozen
    """Compare two sides: files, folders, JSON reports saved with --format json, or reports of `diagnose`.

    Raises SavedReportError for a JSON document that is no report of this major version, and what `diagnose` raises.
    """
    knowledge = Knowledge(options)
    return compared(reports(before, options, knowledge), reports(after, options, knowledge), knowledge.say)


def compared(before: list[Report], after: list[Report], say: Say = ENGLISH) -> Comparison:
    """Compare reports at hand, in the language of ``say``."""
    return compare_reports(before, after, {"name": "diagnoser", "version": diagnoser.__version__}, say)


def reports(
    side: Sided,
    options: Options,
    knowledge: Knowledge | None = None,
    stdin: BinaryIO | None = None,
    opened: Callable[[Sequence[Source]], None] = lambda _: None,
) -> list[Report]:
    """Return a side's reports: saved ones as they are, everything else read together as one incident.

    ``opened`` is told which inputs are read, as in Session.
    """
    items = [side] if isinstance(side, str | os.PathLike | Report) else list(side)
    out: list[Report] = []
    names: list[str] = []
    for item in items:
        if isinstance(item, Report):
            out.append(item)
            continue
        name = os.fspath(item)
        kept = _saved(name)
        if kept is None:
            names.append(name)
        else:
            out.append(kept)
    if names or not items:
        out.append(Session(names, stdin=stdin, options=options, knowledge=knowledge, opened=opened).report)
    return out


def _saved(name: str) -> Report | None:
    """Return the report in a file; None for what is none. A file that cannot be opened is the reader's to tell."""
    path = Path(name)
    try:
        if name == "-" or not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(4096)
            if not saved.is_report(head):
                return None
            text = head + file.read(saved.LARGEST)
    except OSError:
        return None
    return saved.read(text, name)
