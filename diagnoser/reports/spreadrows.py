"""Distributions as rows of a table, for every report for people: what a histogram tells is a range, not a number."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.contracts.figurerows import SpreadRow, exact
from diagnoser.contracts.findings import RunReport
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports.units import amount, plural, quantity, stretch
from diagnoser.values import dataclass

PERCENTILES = ("p50", "p90", "p99")

#: Who told a distribution, for people.
_TELLERS = {"metrics": phrase("metrics"), "bench": phrase("clients")}
#: The distribution that counts tokens and not requests.
_TOKENS = "latency.itl"
#: The one that has all of the time at the HTTP server in it.
_WHOLE = "latency.e2e"


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
            yield Shown(say("in front of it"), told, _front(row, say), True)
        if row.front is not None and row.mean is not None:
            note = say("engine and HTTP server, without the network")
            yield Shown(say("with HTTP"), [_between(row, row.front), "", "", ""], note, True)


def _front(row: SpreadRow, say: Say) -> str:
    """Say what is in front of the engine, and how much of it the server knows of."""
    if row.served is None or row.served.front is None:
        return say("transport and HTTP front end")
    time = quantity(row.served.front, row.unit)
    return say("network and HTTP, {time} of it in the server").format(time=time)


def _between(row: SpreadRow, front: float) -> str:
    """Return a mean with the HTTP server's time: how much of that was before the first token nobody knows."""
    least, most = row.mean or 0.0, (row.mean or 0.0) + front
    return (
        quantity(most, row.unit) if row.name == _WHOLE or exact(most, least, most) else stretch(least, most, row.unit)
    )


def percentile(row: SpreadRow, label: str) -> str:
    """Return a percentile for people, a range where it is not known well enough for a number; "" for none."""
    value = row.percentiles.get(label, [None])[0]
    return "" if value is None else amount(value, row.range(label), row.unit)


def _cells(row: SpreadRow, none: str) -> list[str]:
    mean = none if row.mean is None else quantity(row.mean, row.unit)
    return [mean, *(percentile(row, label) or none for label in PERCENTILES)]


def _made_of(row: SpreadRow, say: Say) -> str:
    counted = plural(row.count, "token", say=say) if row.name == _TOKENS else plural(row.count, "request", say=say)
    teller = say(_TELLERS[row.medium]) if row.medium in _TELLERS else row.medium
    return say("{requests}, {teller}").format(requests=counted, teller=teller)
