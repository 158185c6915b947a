"""Gaps between the records that were read: their lines move a lifetime along as if each had been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from diagnoser.evidence.asked import Matcher, Readers
from diagnoser.evidence.events import event_of
from diagnoser.evidence.lifetime import Lifetime
from diagnoser.gap import Gap, Rows, Seen
from diagnoser.model import Event, EventLog, Record
from diagnoser.tables.table import Origin, Part
from diagnoser.values import replace


class Meaning:
    """What records of one engine mean to this room, for whoever looks for lines that it need not see."""

    def __init__(self, matcher: Matcher, readers: Readers, engine: str, forced: str) -> None:
        self._matcher = matcher
        self._engine = engine
        self._forced = forced
        self._writer = readers.engine
        self.stats = readers.stats

    def events(self, record: Record) -> list[tuple[str, Mapping[str, Any]]] | None:
        """Return the events in a record; None when one of them does more than be counted."""
        # The writer of a record is known better than that of the run.
        found = self._matcher.match(record, self._forced or self._writer(record) or self._engine)
        if any(spec.sets or spec.generic or spec.role not in ("", "notice") for spec, *_ in found):
            return None
        return [(spec.name, fields) for spec, _, fields, *_ in found]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where a text would hold literals that rules look for, were its digits others."""
        return self._matcher.spans(text)


def count_gap(life: Lifetime, gap: Gap) -> int:
    """Count the records of a gap as ``Lifetime.see`` does each; return the number of the record before them."""
    run, before = life.run, life.seq
    life.seq += gap.count
    run.records += gap.count
    run.lines += gap.count
    if run.last is None or run.last.source != gap.source:
        run.first = run.first or Origin(gap.source, gap.line)
        run.parts.setdefault(gap.source, len(run.parts))
    run.last = Origin(gap.source, gap.line + gap.count - 1)
    if gap.first is not None and gap.last is not None:
        run.started = gap.first if run.started is None else min(run.started, gap.first)
        run.ended = gap.last if run.ended is None else max(run.ended, gap.last)
        run.time_known = run.time_known or gap.time_known
    for level, count in gap.levels.items():
        run.levels[level] = run.levels.get(level, 0) + count
    if gap.answered:
        life.answered += gap.answered
        _work(life, before + 1 + gap.answered_at, gap.answered_time)
    return before


def _work(life: Lifetime, seq: int, time: float | None) -> None:
    """Take the latest sign of work in a gap."""
    if seq > life.last_activity:
        life.last_activity = seq
        life.work_time = life.work_time if time is None else time


def count_rows(life: Lifetime, before: int, rows: Rows, parts: Sequence[Part]) -> None:
    """Take the statistics lines of a gap as ``Lifetime.see_sample`` does each; ``parts`` have the series of each."""
    last = -1
    for places, columns in parts:
        made = _positive(columns, ("gen.tps", "prompt.tps"))
        active = _positive(columns, ("gen.tps", "prompt.tps", "requests.running"))
        life.worked += len(made)
        last = max(last, int(places[active[-1]])) if len(active) else last
    if last >= 0:
        time = float(rows.time[last])
        _work(life, before + 1 + int(rows.at[last]), time if time == time else None)


def add_events(life: Lifetime, before: int, seen: Seen) -> None:
    """Put the occurrences in a gap into the log of that event; record ``before`` is the last one ahead of the gap."""
    log = life.run.events.get(seen.name)
    if log is None:
        log = life.run.events[seen.name] = EventLog(seen.name)

    def event(place: int) -> Event:
        record, fields = seen.record(place)
        made = event_of(life, record, seen.name, dict(fields), 0)
        return replace(made, seq=before + 1 + int(seen.at[place]))

    log.count += seen.count
    log.kept += map(event, range(min(seen.count, log.KEEP - len(log.kept))))
    log.first = log.first or log.kept[0]
    log.last = event(len(seen.at) - 1)
    log.times.frombytes(seen.times[: log.TIMES - len(log.times)].tobytes())
    for ranks in sorted(seen.ranks):
        if len(log.ranks) < log.RANKS:
            log.ranks.add(ranks)
    log.phases[life.phase] = log.phases.get(life.phase, 0) + seen.count


def _positive(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the rows in which one of the columns is above zero, in order."""
    told = [columns[name] > 0 for name in names if name in columns]
    return reduce(or_, told).nonzero()[0] if told else ()
