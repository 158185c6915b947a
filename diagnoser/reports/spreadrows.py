"""Distributions as rows of a table, for every report for people: what a histogram tells is a range, not a number."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.contracts.figurerows import SpreadRow, exact
from diagnoser.contracts.findings import RunReport
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports.units import plural, quantity, stretch
from diagnoser.values import dataclass

PERCENTILES = ("p50", "p90", "p99")

#: Who told a distribution, for people.
_TELLERS = {"metrics": phrase("metrics"), "bench": phrase("clients")}
#: The distribution that counts tokens and not requests.
_TOKENS = "latency.itl"


@dataclass(slots=True)
class Shown:
    """A row: its ``cells`` are mean and percentiles, "" for none; one that is ``below`` belongs to the row above."""

    title: str
    cells: list[str]
    note: str
    below: bool = False


def rows(run: RunReport, say: Say = ENGLISH, none: str = "-") -> Iterator[Shown]:
    """Yield the rows of a run; below what clients timed the same by the server, and by how much they waited longer."""
    for row in run.spreads.values():
        yield Shown(row.title, _cells(row, none), _made_of(row, say))
        if row.served is not None:
            yield Shown(say("at the engine"), _cells(row.served, none), _made_of(row.served, say), True)
        if row.outside is not None:
            told = [quantity(row.outside, row.unit), "", "", ""]
            yield Shown(say("in front of it"), told, say("transport and HTTP front end"), True)


def percentile(row: SpreadRow, label: str) -> str:
    """Return a percentile for people, a range where it is not known well enough for a number; "" for none."""
    value = row.percentiles.get(label, [None])[0]
    if value is None:
        return ""
    least, most = row.bounds.get(label, [value, value])
    if least is None or exact(value, least, most):
        return quantity(value, row.unit)
    return stretch(least, most, row.unit)


def _cells(row: SpreadRow, none: str) -> list[str]:
    mean = none if row.mean is None else quantity(row.mean, row.unit)
    return [mean, *(percentile(row, label) or none for label in PERCENTILES)]


def _made_of(row: SpreadRow, say: Say) -> str:
    counted = plural(row.count, "token", say=say) if row.name == _TOKENS else plural(row.count, "request", say=say)
    teller = say(_TELLERS[row.medium]) if row.medium in _TELLERS else row.medium
    return say("{requests}, {teller}").format(requests=counted, teller=teller)
