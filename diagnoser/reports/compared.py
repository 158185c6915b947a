"""What differs between two sides in words: the texts and cells that the pages for people share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnoser.comparison import Comparison, Difference, FigureChange, Odd, Side
from diagnoser.reports.safe import line
from diagnoser.reports.summary import ENGINES
from diagnoser.reports.units import number, plural, quantity

#: A value of a flag may be a pasted file.
_VALUE = 60
#: Fewer resolved differences than this are told in full.
RESOLVED = 8


def verdict(comparison: Comparison) -> str:
    """Return the answer in one line, by which figure."""
    return f"{comparison.verdict}: {line(comparison.by)}" if comparison.by else comparison.verdict


def side(one: Side) -> str:
    """Return what was compared of a side."""
    engine = f"{ENGINES.get(one.engine, line(one.engine)) or 'unknown engine'} {line(one.version)}".strip()
    runs = "" if one.of == 1 else f", {one.runs} of {plural(one.of, 'run')}"
    first = line(one.inputs[0]) if one.inputs else "nothing"
    more = f" and {len(one.inputs) - 1} more" if len(one.inputs) > 1 else ""
    return f"{first}{more}: {engine}{runs}"


def value(told: Any) -> str:
    """Return a flag's value, bounded."""
    if told is None:
        return "not set"
    text = line(f"{told:.6g}" if isinstance(told, float) else str(told))
    return text if len(text) <= _VALUE else text[: _VALUE - 1] + "…"


def kinds(comparison: Comparison) -> Iterator[tuple[str, list[Difference]]]:
    """Yield the differences in configuration under a heading each."""
    for kind, title in (
        ("parameter", "changed"),
        ("resolved", "follows, or measured at start"),
        ("neutral", "no matter"),
    ):
        found = [one for one in comparison.configuration if one.kind == kind]
        if found:
            yield title, found


def cells(one: FigureChange) -> tuple[str, str, str, str, str]:
    """Return title, before, after, change and what it means."""
    title = line(one.title) + {"tokens/s": " tok/s", "events/min": " /min"}.get(one.unit, "")
    amounts = ["-" if value is None else quantity(value, one.unit) for value in (one.before, one.after)]
    change = "" if one.change is None else f"{one.change * 100:+,.0f} %"
    return title, amounts[0], amounts[1], change, means(one)


def means(one: FigureChange) -> str:
    """Say whether a change is shown, and why not."""
    if one.state == "unknown":
        return f"cannot tell: {line(one.reason)}"
    if one.state == "same":
        return "identical" if one.reason == "identical" else "no difference shown"
    return f"{one.means or one.state}, shown"


def samples(one: FigureChange) -> str:
    """Return both sample sizes: 44 / 38, worth 20 / 17."""
    return " / ".join(f"{count:,}" for count in one.samples)


def stands_out(one: Odd) -> str:
    """Say in one sentence who stands out by what."""
    who, peers = line(one.who), plural(one.peers, "peer")
    if one.kind == "finding":
        return f"{who}: {line(one.name)} ({line(one.title)}), in none of its {peers}"
    if one.kind == "configuration":
        return f"{who}: {line(one.name)} {value(one.value)}, {value(one.others)} in all {peers}"
    told = [quantity(v, one.unit) if isinstance(v, int | float) else value(v) for v in (one.value, one.others)]
    unit = " tok/s" if one.unit == "tokens/s" else ""
    return f"{who}: {line(one.title)} {told[0]}{unit}, median of its {peers} {told[1]}{unit}"


def seconds(told: float | None) -> str:
    """Return a phase of the start; seconds as they are, so that small changes show."""
    return "-" if told is None else f"{number(told)} s"
