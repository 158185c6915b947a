"""Changes one run of an example as a scene says, by the names that rules use.

A series takes a level (``0.3``), a factor (``x10``), a ramp (``0..40``), levels in turn (``1|9``), levels one after
the other for equal parts of the time (``[0, 9, null]``, or ``0.1*99,5``), ``{ranks: [value, value]}``, each a rank's
own, or ``unknown``; a distribution also ``samples 20`` or ``{count: 20, levels: ...}``. An event takes how many there
are, or ``{times: 3, phase: startup, field: value}`` with ``at``, seconds after the start, ``every``, seconds from one
to the next, ``by``, ``ranks`` for one on each, and ``place``, ``first`` for one before all other messages; or a list
of such. A fact or ``arg.NAME`` takes its value or ``unknown``; ``isset(NAME)`` whether the operator set it. ``rows``
is how many samples there are, ``{times: 8, every: 10}`` how many and how far apart, ``rows gpu`` those of one medium,
``cause ID`` whether a cause holds that a condition asks for.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from typing import Any

from diagnoser.api import Knowledge
from diagnoser.model import Event, EventLog, Fact, Run
from diagnoser.tables.spread import Spread, of_values
from diagnoser.tables.table import NAN, Origin, Table
from diagnoser.values import replace

UNKNOWN = "unknown"
#: Attributes of a run that a scene may change; those that are moments count from the start.
ATTRIBUTES = {
    "engine": "engine", "version": "version", "run.end": "end", "run.complete_start": "complete_start",
    "run.lines": "lines", "run.records": "records", "run.unready_starts": "unready_starts",
}  # fmt: skip
MOMENTS = {"run.ready": "ready", "run.end_time": "ended", "run.started": "started"}
RESTARTS, ERRORS, ROWS, CAUSE = "run.restarts", "run.errors", "rows", "cause "
_RAMP = re.compile(r"(-?[\d.]+)\.\.(-?[\d.]+)\Z")
_NOWHERE = Origin("scene", 1)


def changed(run: Run, but: Mapping[str, Any], knowledge: Knowledge) -> Run:
    """Return a run like another but for what is named. Raises ValueError for a name that nothing has."""
    run = replace(
        run,
        tables=dict(run.tables),
        spreads=dict(run.spreads),
        events=dict(run.events),
        facts=dict(run.facts),
        arguments=dict(run.arguments),
        levels=dict(run.levels),
    )
    series = knowledge.vocabulary.series
    if not run.tables and any(
        name.startswith(ROWS) or (name in series and series[name].kind != "spread") for name in but
    ):
        run.tables["log", ()] = _lines(run)
    for name in sorted(but, key=lambda one: not one.startswith(ROWS)):
        _change(run, name, but[name], knowledge)
    return run


def _change(run: Run, name: str, value: Any, knowledge: Knowledge) -> None:
    series = knowledge.vocabulary.series.get(name)
    if name in ATTRIBUTES:
        setattr(run, ATTRIBUTES[name], value)
    elif name in MOMENTS:
        setattr(run, MOMENTS[name], None if value == UNKNOWN else (run.started or 0.0) + value)
    elif name == ERRORS:
        run.levels["ERROR"] = value
    elif name == RESTARTS or name.startswith(CAUSE):
        pass  # said of what stands beside the run
    elif name.startswith(ROWS):
        of = name.removeprefix(ROWS).strip()
        run.tables = {
            key: _rows(table, value) if of in ("", table.medium) else table for key, table in run.tables.items()
        }
    elif series is not None and series.kind == "spread":
        run.spreads[name] = _spread(run.spreads.get(name, []), value)
    elif series is not None:
        _series(run, name, value, {one: spec.kind for one, spec in knowledge.vocabulary.series.items()})
    elif name in knowledge.base.events:
        _events(run, name, value)
    elif name.startswith("isset("):
        _set(run, name[6:-1], "set" if value else "default", knowledge)
    elif name.startswith("arg."):
        _put(run.arguments, name[4:], value)
    elif name in knowledge.vocabulary.facts or name in knowledge.base.derived:
        _put(run.facts, name, value)
    else:
        raise ValueError(f"no series, event, fact or attribute of a run is named {name}")


def _put(facts: dict[str, Fact], name: str, value: Any) -> None:
    facts.pop(name, None)
    if value != UNKNOWN:
        facts[name] = Fact(name, value, _NOWHERE, f"{name}={value}")


def _set(run: Run, name: str, state: str, knowledge: Knowledge) -> None:
    """Say of a fact and of the arguments that tell it whether the operator set them."""
    spec = knowledge.vocabulary.facts.get(name)
    stated = spec.args.get(run.engine, ()) if spec else ()
    for holder, key in [(run.facts, name), *((run.arguments, one) for one in stated)]:
        if key in holder:
            holder[key] = replace(holder[key], state=state)
    if name not in run.facts:
        run.facts[name] = Fact(name, None, _NOWHERE, name, state)


def _level(value: Any, at: int, of: int, before: float) -> float:
    """Return what row ``at`` of ``of`` is, NaN where it says nothing."""
    if value is None:
        return NAN
    if isinstance(value, str) and "," in value:
        value = [level for one in value.split(",") for level in [float(one.split("*")[0])] * _times(one)]
    if isinstance(value, list):
        return _level(value[at * len(value) // of], at, of, before)
    if isinstance(value, int | float):
        return float(value)
    if value.startswith("x"):
        return before * float(value[1:])
    if "|" in value:
        turns = value.split("|")
        return float(turns[at % len(turns)])
    hit = _RAMP.match(value)
    if hit is None:
        raise ValueError(f"{value!r} is no level, factor, ramp or turn of levels")
    low, high = float(hit[1]), float(hit[2])
    return low + (high - low) * at / max(of - 1, 1)


def _lines(run: Run) -> Table:
    """Return ten statistics lines that say nothing yet."""
    made = Table((), {})
    for at in range(10):
        made.append((run.ready or run.started or 0.0) + 10.0 * at, _NOWHERE, "scene", {})
    return made


def _times(level: str) -> int:
    return int(level.split("*")[1]) if "*" in level else 1


def _series(run: Run, name: str, value: Any, kinds: Mapping[str, str]) -> None:
    if isinstance(value, dict):
        ranks = value["ranks"]
        first = next(iter(run.tables.items()), None)
        for at in range(len(run.tables), len(ranks) if first else 0):
            (medium, _), table = first  # type: ignore[misc]
            group = (("dp", str(at)),)
            run.tables[medium, group] = _copy(table, lambda row, _: row, group)
        for (key, table), one in zip(list(run.tables.items()), ranks, strict=False):
            run.tables[key] = _table(table, name, one, kinds)
    else:
        run.tables = {key: _table(table, name, value, kinds) for key, table in run.tables.items()}


def _table(table: Table, name: str, value: Any, kinds: Mapping[str, str]) -> Table:
    size = len(table)
    new = name not in table.columns
    if new and (value == UNKNOWN or str(value).startswith("x")):
        return table

    def row(values: dict[str, float], at: int) -> dict[str, float]:
        if value == UNKNOWN:
            values.pop(name, None)
        elif new or name in values:
            values[name] = _level(value, at, size, values.get(name, 0.0))
        return {key: level for key, level in values.items() if level == level}

    return _copy(table, row, table.group, {**table.kinds, name: kinds[name]})


def _copy(
    table: Table, row: Callable[[dict[str, float], int], dict[str, float]], group: Any, kinds: Any = None
) -> Table:
    made = Table(group, kinds or table.kinds, table.limit, table.medium)
    columns = table.columns
    for at in range(len(table)):
        values = {key: column[at] for key, column in columns.items() if column[at] == column[at]}
        made.append(table.time[at], Origin(table.source[at], table.line[at]), table.text[at], row(values, at))
    return made


def _rows(table: Table, value: Any) -> Table:
    """Keep as many rows, or repeat the last one."""
    words = value if isinstance(value, dict) else {"times": value}
    made = Table(table.group, table.kinds, table.limit, table.medium)
    size = len(table)
    beat = words.get("every") or (table.time[-1] - table.time[-2] if size > 1 else 10.0)
    for at in range(words["times"] if size else 0):
        old = min(at, size - 1)
        values = {key: column[old] for key, column in table.columns.items() if column[old] == column[old]}
        late = at * beat if "every" in words else max(at - old, 0) * beat
        time = (table.time[0] if "every" in words else table.time[old]) + late
        made.append(time, Origin(table.source[old], table.line[old]), table.text[old], values)
    return made


def _spread(spreads: list[Spread], value: Any) -> list[Spread]:
    if value == UNKNOWN:
        return []
    first = spreads[0] if spreads else Spread("metrics", 100, 0.0, "scene", 1, "scene")
    if isinstance(value, str) and value.startswith("x"):
        factor = float(value[1:])
        return [
            replace(
                one,
                total=one.total * factor,
                values=array("d", [number * factor for number in one.values]) if one.values else (),
                buckets=[(upper * factor, number) for upper, number in one.buckets],
                given={share: number * factor for share, number in one.given.items()},
            )
            for one in spreads
        ]
    if isinstance(value, dict):
        first, value = replace(first, count=value["count"], total=0.0), value["levels"]
    count = max(min(int(first.count), 2000), 1)
    if isinstance(value, str) and value.startswith("samples "):
        wanted = float(value.split()[1])
        part = wanted / first.count if first.count else 1.0
        buckets = [(upper, number * part) for upper, number in first.buckets]
        return [replace(first, count=wanted, total=first.total * part, buckets=buckets)]
    made = of_values([_level(value, at, count, 0.0) for at in range(count)], first.medium, first.source, 1, first.text)
    return [replace(made, count=first.count, total=made.total * first.count / count)] if made else []


def _events(run: Run, name: str, value: Any) -> None:
    run.events.pop(name, None)
    log = EventLog(name)
    for one in value if isinstance(value, list) else [value]:
        _add(run, log, dict(one) if isinstance(one, dict) else {"times": one})
    if log.count:
        run.events[name] = log
        run.records = max(run.records, 1)


def _add(run: Run, log: EventLog, words: dict[str, Any]) -> None:
    """Add as many events as a scene says, behind all others."""
    times, phase = int(words.pop("times", 1)), words.pop("phase", "serving")
    after, beat = words.pop("at", None), words.pop("every", 1.0)
    place, ranked = words.pop("place", ""), words.pop("by", "") == "ranks"
    last = max((one.last.seq for one in [*run.events.values(), log] if one.last is not None), default=0)
    began = run.ready or run.started
    if after is not None:
        began, after = run.started, after - 1.0
    text = str(words.pop("text", log.name))
    for at in range(times):
        time = None if began is None else began + 1.0 + (after or 0.0) + at * beat
        seq = at - times if place == "first" else last + 1 + at
        ranks = (("tp", str(at)),) if ranked else ()
        log.add(Event(log.name, _NOWHERE, time, text, words, ranks, "", phase, seq))
