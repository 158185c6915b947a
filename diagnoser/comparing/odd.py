"""The odd one out: which rank or replica differs from all its peers, by the median of the others and their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.comparing.configuration import NEUTRAL
from diagnoser.comparison import Odd
from diagnoser.findings import Finding, RunReport

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
    for engine in dict.fromkeys(run.engine for run in peers):
        out += _among([run for run in peers if run.engine == engine], findings, names)
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
            value = spread.percentiles.get(_PERCENTILE, [None])[0]
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
        for run in runs:
            out += _configured(run, [other for other in runs if other is not run], names[run.id])
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
        far = []
        for who, value in known.items():
            others = [other for peer, other in known.items() if peer != who]
            middle = _median(others)
            scatter = _SIGMA * _median([abs(other - middle) for other in others])
            least = max(LEAST_SHARE * abs(middle), _LEAST.get(units.get(name, ""), 0.0))
            if abs(value - middle) > max(FAR * scatter, least):
                far.append((who, name, value, middle, len(others)))
        if len(far) <= max(1, _CAMP * len(known)):
            out += far
    return out


def _configured(run: RunReport, others: Sequence[RunReport], who: str) -> list[Odd]:
    """Return what this replica is set to and all others are not."""
    if not run.settings or not all(other.settings for other in others):
        return []
    out = []
    if run.engine_version and len({other.engine_version for other in others}) == 1 != (
        run.engine_version == others[0].engine_version
    ):
        told = others[0].engine_version
        if told:
            out.append(_odd_setting(who, "engine version", run.engine_version, told, len(others)))
    names = dict.fromkeys(name for one in (run, *others) for name in one.settings)
    for name in names:
        values = [_value(other, name) for other in others]
        if name not in NEUTRAL and len(set(values)) == 1 and values[0] != (own := _value(run, name)):
            flag = next((one.settings[name].flag for one in (run, *others) if name in one.settings), "") or name
            out.append(_odd_setting(who, flag, own, values[0], len(others)))
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


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
