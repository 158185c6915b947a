"""Metrics pages as the input of promtool's unit tests: one value of every series for each step of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, floor, isfinite
from typing import NamedTuple

from diagnoser.knowledge.metricref import COUNTERS

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+\d+)?\s*\Z")
_TIME = re.compile(r"# (\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)")


class Scrape(NamedTuple):
    """One page: when it was taken (seconds since the epoch) and its samples, ``name{labels}`` to value."""

    time: float
    samples: Mapping[str, float]


def pages(lines: Iterable[str]) -> list[Scrape]:
    """Part lines into pages at comments that tell a time; lines before the first of them are left out."""
    found: list[tuple[float, dict[str, float]]] = []
    for line in lines:
        if told := _TIME.match(line):
            moment = datetime.fromisoformat(told[1]).replace(tzinfo=UTC)
            found.append((moment.timestamp(), {}))
        elif found and not line.startswith("#"):
            found[-1][1].update(samples([line]))
    return [Scrape(*one) for one in found]


def samples(lines: Iterable[str]) -> dict[str, float]:
    """Return the samples of one page; what is none is left out."""
    out = {}
    for line in lines:
        if line.startswith("#") or not (hit := _SAMPLE.match(line.strip())):
            continue
        try:
            out[f"{hit[1]}{{{(hit[2] or '').rstrip(',')}}}"] = float(hit[3])
        except ValueError:
            continue
    return out


def input_series(
    scrapes: Sequence[Scrape], start: float, end: float, interval: int, server: str, wanted: Iterable[str] | None = None
) -> list[dict[str, str]]:
    """Return the values of every series from ``start`` to ``end``.

    Counters grow evenly between two pages, levels stay until the next page tells another. A series is there from the
    first page that has it. ``server`` are labels such as ``instance="a"``; ``wanted`` are names of metrics.
    """
    names = None if wanted is None else frozenset(wanted)
    keys = dict.fromkeys(key for one in scrapes for key in one.samples)
    out = []
    for key in keys:
        name, _, labels = key[:-1].partition("{")
        if names is not None and name not in names:
            continue
        told = [(one.time, one.samples[key]) for one in scrapes if key in one.samples and isfinite(one.samples[key])]
        steps = range(floor((end - start) / interval) + 1)
        values = [_at(told, start + step * interval, name.endswith(COUNTERS)) for step in steps]
        text = " ".join("_" if value is None else f"{value:.10g}" for value in values)
        out.append({"series": f"{name}{{{','.join(filter(None, (labels, server)))}}}", "values": text})
    return out


def _at(told: Sequence[tuple[float, float]], time: float, grows: bool) -> float | None:
    before = [one for one in told if one[0] <= time]
    if not before:
        return None
    when, value = before[-1]
    if not grows or len(before) == len(told):
        return value
    later, more = told[len(before)]
    # A counter that fell began anew with its server.
    return value if more < value else value + (more - value) * (time - when) / (later - when)


def resampled(scrapes: Sequence[Scrape], interval: int) -> list[str]:
    """Return the lines of pages as a server that is asked every ``interval`` seconds would have given them."""
    start, end = scrapes[0].time, scrapes[-1].time
    series = input_series(scrapes, start, end, interval, "")
    out = []
    for step in range(floor((end - start) / interval) + 1):
        out.append(f"# {datetime.fromtimestamp(start + step * interval, UTC):%Y-%m-%d %H:%M:%S}")
        for one in series:
            value = one["values"].split()[step]
            out += [] if value == "_" else [f"{one['series'].removesuffix('{}')} {value}"]
    return out


def rounded(seconds: float, interval: int) -> int:
    """Return a length of time, rounded up to a step."""
    return ceil(seconds / interval) * interval
