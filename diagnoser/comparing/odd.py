"""The odd one out: which rank or replica differs from all its peers, by the median of the others and their spread."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.comparing.configuration import NEUTRAL
from diagnoser.contracts.comparison import Odd
from diagnoser.contracts.findings import Finding, RunReport

#: Fewer others than this, and nobody knows who is the odd one.
PEERS = 3
#: Deviations from the others' median, in standard deviations as the median absolute deviation estimates them.
FAR = 5.0
_SIGMA = 1.4826
#: And at least so much, as a share of the others' median and in the figure's own unit.
LEAST_SHARE = 0.2
_LEAST = {"ratio": 0.1, "requests": 2.0, "events": 2.0, "tokens/s": 10.0, "seconds": 0.02, "tokens/step": 0.3}
#: Where so large a part of all stands out there is no odd one, but two camps.
_CAMP = 0.25

_PERCENTILE = "p50"


def odd(runs: Sequence[RunReport], findings: Sequence[Finding]) -> list[Odd]:
    """Return what stands out among the ranks of each run, and among replicas; nothing in most reports."""
    out: list[Odd] = []
    names = _names(runs)
    for run in runs:
        lead = f"{names[run.id]} " if len(runs) > 1 else ""
        rows = {rank: dict(values) for rank, values in run.ranks.items()}
        out += [_of(run, found, f"{lead}{found[0]}") for found in _standing_out(rows, _units(run))]
    peers = _replicas(runs)
    for likes in dict.fromkeys(map(_likes, peers)):
        out += _among([run for run in peers if _likes(run) == likes], findings, names)
    return out


def _of(run: RunReport, found: tuple[str, str, float, float, int], who: str) -> Odd:
    _, name, value, others, peers = found
    row = run.figures.get(name)
    title, unit = (row.title, row.unit) if row is not None else (name, "")
    return Odd(who, "figure", name, title, unit, value, others, peers)


def _among(runs: Sequence[RunReport], findings: Sequence[Finding], names: Mapping[int, str]) -> list[Odd]:
    by_name = {str(run.id): run for run in runs}
    figures: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    for run in runs:
        rows = {row.name: row.median for row in run.figures.values() if row.loaded >= 10}
        for spread in run.spreads.values():
            # Clients time one of them: what the servers themselves say is alike.
            value = (spread.served or spread).percentiles.get(_PERCENTILE, [None])[0]
            if value is not None:
                rows[f"{spread.name}.{_PERCENTILE}"] = value
                units[f"{spread.name}.{_PERCENTILE}"] = spread.unit
        figures[str(run.id)] = rows
        units |= _units(run)
    out = []
    for found in _standing_out(figures, units):
        one = _of(by_name[found[0]], found, names[int(found[0])])
        one.unit = one.unit or units.get(one.name, "")
        out.append(one)
    if len(runs) > PEERS:
        out += _configured(runs, names)
        ids = {run.id for run in runs}
        for finding in findings:
            inside = ids & set(finding.runs)
            if finding.severity != "info" and len(inside) == 1:
                (who,) = inside
                out.append(Odd(names[who], "finding", finding.id, finding.title, "", True, False, len(runs) - 1))
    return out


def _standing_out(
    rows: Mapping[str, Mapping[str, float]], units: Mapping[str, str]
) -> list[tuple[str, str, float, float, int]]:
    """Yield (who, figure, value, median of the others, number of others)."""
    out = []
    for name in dict.fromkeys(name for values in rows.values() for name in values):
        known = {who: values[name] for who, values in rows.items() if name in values}
        if len(known) <= PEERS:
            continue
        ordered = sorted(known.values())
        # With one value less the middle moves by one place at most: a few middles serve all.
        distances: dict[float, list[float]] = {}
        far = []
        for who, value in known.items():
            middle = _median_without(ordered, value)
            if middle not in distances:
                distances[middle] = sorted(abs(other - middle) for other in ordered)
            scatter = _SIGMA * _median_without(distances[middle], abs(value - middle))
            least = max(LEAST_SHARE * abs(middle), _LEAST.get(units.get(name, ""), 0.0))
            if abs(value - middle) > max(FAR * scatter, least):
                far.append((who, name, value, middle, len(known) - 1))
        if len(far) <= max(1, _CAMP * len(known)):
            out += far
    return out


def _configured(runs: Sequence[RunReport], names: Mapping[int, str]) -> list[Odd]:
    """Return what a replica is set to and all others are not."""
    if not all(run.settings for run in runs):
        return []
    out = []
    peers = len(runs) - 1
    versions = Counter(run.engine_version for run in runs)
    every = dict.fromkeys(name for run in runs for name in run.settings)
    values = {name: Counter(_value(run, name) for run in runs) for name in every if name not in NEUTRAL}
    # All others are of one mind, and this one is alone with its value.
    divided = {name for name, counts in values.items() if len(counts) == 2 and min(counts.values()) == 1}
    for run in runs:
        version = run.engine_version
        told = next((other for other in versions if other != version), "")
        if version and told and len(versions) == 2 and versions[version] == 1:
            out.append(_odd_setting(names[run.id], "engine version", version, told, peers))
        for name in dict.fromkeys([*run.settings, *every]) if divided else ():
            if name not in divided or values[name][own := _value(run, name)] > 1:
                continue
            others = next(other for other in values[name] if other != own)
            flag = next((one.settings[name].flag for one in (run, *runs) if name in one.settings), "") or name
            out.append(_odd_setting(names[run.id], flag, own, others, peers))
    return out


def _odd_setting(who: str, name: str, value: Any, others: Any, peers: int) -> Odd:
    return Odd(who, "configuration", name, name, "", value, others, peers)


def _value(run: RunReport, name: str) -> str:
    return str(run.settings[name].value) if name in run.settings else "not set"


def _replicas(runs: Sequence[RunReport]) -> list[RunReport]:
    """Return the last lifetime of each server: earlier starts of one stream are no peers of it."""
    last: dict[tuple[str, str], RunReport] = {}
    for run in runs:
        if not run.engine.endswith("-router"):
            last[run.stream, run.sources[0] if run.sources else ""] = run
    return list(last.values())


def _likes(run: RunReport) -> tuple[str, str]:
    """Return what replicas of each other have in common."""
    return run.engine, str(run.facts.get("model.name") or "")


def _names(runs: Sequence[RunReport]) -> dict[int, str]:
    """Return what tells the runs apart: the writer, else the input, with the run's number where that is not enough."""
    names = {run.id: run.stream or (run.sources[0] if run.sources else "") for run in runs}
    counted = list(names.values())
    return {
        id_: name if name and counted.count(name) == 1 else f"run {id_ + 1}" + (f" ({name})" if name else "")
        for id_, name in names.items()
    }


def _units(run: RunReport) -> dict[str, str]:
    return {row.name: row.unit for row in run.figures.values()}


def _median_without(ordered: Sequence[float], value: float) -> float:
    """Return the median of all but one of some numbers in order."""
    gone, count = bisect_left(ordered, value), len(ordered) - 1
    half = count // 2

    def at(place: int) -> float:
        return ordered[place if place < gone else place + 1]

    return at(half) if count % 2 else (at(half - 1) + at(half)) / 2
