"""What readers of GPU tables share: rows as measurements, faults told a few times, facts that all cards agree on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Claim, Measure
from diagnoser.tables.table import Group, Origin, Places

#: Longest line kept as proof, characters; columns of one table.
TEXT = 400
COLUMNS = 256
#: Faulty lines that are told one by one.
TOLD = 3
#: Cards of one machine differ by this share of memory at most while they are of one kind.
ALIKE = 0.02

#: Bits of the clock event reasons (once: throttle reasons), as in nvml.h; with the names that nvidia-smi gives them.
REASONS = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}


_DATE = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\b")
#: Processes that are told of one card: more than any has.
_MOST_PROCESSES = 1024
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Cards:
    """Rows of one table of GPU figures; ``close`` gives the facts and faults once the table is read."""

    def __init__(self, writer: str, source: str) -> None:
        self._writer, self._source = writer, source
        self._problems: list[Problem] = []
        self._faults = 0
        self._told: dict[str, dict[object, tuple[Origin, str]]] = {}

    def row(
        self,
        part: str,
        line: int,
        text: str,
        time: float | None,
        group: Group,
        values: Mapping[str, float],
        places: Places | None = None,
    ) -> Measure:
        """Return one row of one card as a measurement."""
        return Measure(self._writer, "gpu", Origin(part, line), time, text.strip()[:TEXT], dict(values), group, places)

    def fact(self, name: str, value: object, part: str, line: int, text: str) -> None:
        """Remember what a row tells of a card."""
        told = self._told.setdefault(name, {})
        if len(told) < COLUMNS:
            told.setdefault(value, (Origin(part, line), text.strip()[:TEXT]))

    def fault(self, part: str, line: int, text: str) -> None:
        """Remember what could not be read."""
        self._faults += 1
        if self._faults <= TOLD:
            self._problems.append(Problem(part, line, text))

    def close(self) -> Iterator[Claim | Problem]:
        """Yield facts that every row agrees on, then the faults."""
        for name, told in self._told.items():
            if _one(list(told)):
                value, (origin, text) = next(iter(told.items()))
                yield Claim(self._writer, name, value, origin, text)
        yield from self._problems
        if self._faults > TOLD:
            yield Problem(
                self._source, None, Sentence("{count} more lines could not be read", count=self._faults - TOLD)
            )


def reasons(mask: float, prefix: str) -> dict[str, float]:
    """Return the flags of a mask of clock event reasons under nvidia-smi's names for them."""
    return {f"{prefix}.{name}": float(bool(int(mask) & bit)) for bit, name in REASONS.items()}


def kept(processes: list[tuple[float, int, str]], one: tuple[float, int, str]) -> None:
    """Keep a process of a card, as long as there are no more than any card has."""
    if len(processes) < _MOST_PROCESSES:
        processes.append(one)


def others(processes: list[tuple[float, int, str]]) -> tuple[float, int, str] | None:
    """Return what the processes beside the largest hold of one card, with the place of the next largest; GiB."""
    if not processes:
        return None
    largest, *rest = sorted(processes, reverse=True)
    line, text = rest[0][1:] if rest else largest[1:]
    return sum(used for used, _, _ in rest), line, text


def printed_moment(text: str) -> float | None:
    """Return the time that nvidia-smi writes over what it prints; None where there is none.

    Sun Nov 29 10:00:00 2026: in the local time of the machine, taken for UTC as everywhere.
    """
    found = _DATE.match(text)
    if found is None:
        return None
    month, day, hour, minute, second, year = found.groups()
    try:
        when = datetime(int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    return when.timestamp()


def _one(values: list[object]) -> bool:
    """Whether all cards are of one kind."""
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) == len(values):
        return max(numbers) - min(numbers) <= ALIKE * max(numbers)
    return len(values) == 1
