"""Judgements to a story: what a page that draws needs beside the report, bounded whatever the log's length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from diagnoser.contracts.findings import Report
from diagnoser.contracts.story import Chart, Moment, RunStory, Shade, Story
from diagnoser.judging.judge import Judgement, named
from diagnoser.judging.loading import Knowledge
from diagnoser.model import Event, EventLog, Residue, Run
from diagnoser.portraits.around import around
from diagnoser.portraits.curves import charts
from diagnoser.sources import Source
from diagnoser.times import stamp

#: Numbers in all curves together: a page has to be carried.
NUMBERS = 60_000
#: Runs whose curves are drawn, moments of a run, marks of a moment in a chart, characters of a moment's text.
MOST_RUNS = 8
MOMENTS = 60
MARKS = 40
TEXT = 400
#: Unknown messages that get the lines around them.
UNKNOWN = 10

#: Happens all the time, and means that all is well.
_ROUTINE = frozenset({"http.ok", "server.ready"})
_PREEMPTING = ("preempt", "retract")
_FAILING = ("http.server_error", "http.internal_error")
_ERRORS = frozenset({"ERROR", "CRITICAL", "FATAL"})


def story(judgements: Sequence[Judgement], report: Report, knowledge: Knowledge, sources: Sequence[Source]) -> Story:
    """Tell every run; ``sources`` are the inputs, opened once more."""
    told: dict[int, list[Chart]] = {}
    room = NUMBERS
    for judgement in _by_weight(judgements, report):
        drawn = charts(judgement.run, knowledge.vocabulary) if len(told) < MOST_RUNS else []
        size = sum(len(chart.times) * (1 + len(chart.curves)) for chart in drawn)
        if drawn and size <= room:
            told[judgement.run.id] = drawn
            room -= size
    wanted = [evidence for finding in report.findings for evidence in finding.evidence]
    shown = {(one.source, one.line) for one in wanted}
    runs = [_run(one, knowledge, told.get(one.run.id, []), shown) for one in judgements]
    wanted += [item.first for item in report.unrecognised[:UNKNOWN]]
    return Story(runs, around(sources, wanted))


def _by_weight(judgements: Sequence[Judgement], report: Report) -> list[Judgement]:
    """Order runs by the worst finding that they show, the rest from the last on."""
    rank = {run: place for place, finding in reversed([*enumerate(report.findings)]) for run in finding.runs}
    return sorted(judgements, key=lambda one: (rank.get(one.run.id, len(report.findings)), -one.run.id))


def _run(judgement: Judgement, knowledge: Knowledge, drawn: list[Chart], shown: set[tuple[str, int]]) -> RunStory:
    run = judgement.run
    shades = [
        Shade(one.rule.id, one.severity, *one.window.bounds)
        for one in judgement.sightings
        if one.window.bounds is not None
    ]
    proving: set[str] = set()
    for one in judgement.sightings:
        if one.severity != "info":
            proving |= named(one.rule.when, knowledge.base)[0]
    moments = [*_life(run), *_events(run, proving, shown), *_unknown(run)]
    return RunStory(run.id, run.time_known, drawn, shades, _thinned(run, moments))


def _life(run: Run) -> Iterator[Moment]:
    """Start, readiness and end of the server, as far as the log tells them."""
    first, last = run.first, run.last
    if run.started is not None and run.complete_start and first is not None:
        yield _moment("start", "", run.started, run, first.source, first.line)
    if run.ready is not None:
        yield _moment("ready", "", run.ready, run)
    if run.stopping is not None:
        yield _moment("stop", "", run.stopping, run)
    if run.ended is not None and run.end in ("crash", "killed", "clean") and last is not None:
        yield _moment("end", run.end, run.ended, run, last.source, last.line)


def _moment(kind: str, name: str, time: float, run: Run, source: str = "", line: int = 0) -> Moment:
    return Moment(kind, name, time, stamp(time, run.time_known), None, 1, source, line, "", times=[time])


def _events(run: Run, proving: set[str], shown: set[tuple[str, int]]) -> Iterator[Moment]:
    """Messages that rules know; one line that several rules read is one moment, the proof of a finding first.

    What a server prints at every start is no error because a rule also looks at it, unless it is shown as proof.
    """
    seen: set[tuple[str, int]] = set()
    for log in sorted(run.events.values(), key=lambda log: log.name not in proving):
        first = log.first
        if first is None or log.name in _ROUTINE:
            continue
        place = (first.origin.source, first.origin.line)
        if place in seen:
            continue
        seen.add(place)
        kind = "note"
        if any(word in log.name for word in _PREEMPTING):
            kind = "preemption"
        elif log.name in _FAILING or (log.name in proving and (first.phase != "startup" or place in shown)):
            kind = "error"
        yield _message(kind, log.name, log.count, first, log.last or first, run, _marks(log))


def _unknown(run: Run) -> Iterator[Moment]:
    for residue in run.residue.values():
        kind = "unknown" if residue.level in _ERRORS else "note"
        marks = [event.time for event in (residue.first, residue.last) if event.time is not None]
        yield _message(kind, residue.level, residue.count, residue.first, residue.last, run, _bounded(marks, residue))


def _bounded(marks: list[float], residue: Residue) -> list[float]:
    return list(dict.fromkeys(marks)) if residue.level in _ERRORS else []


def _message(kind: str, name: str, count: int, first: Event, last: Event, run: Run, marks: Iterable[float]) -> Moment:
    known = run.time_known
    at, until = stamp(first.time, known), stamp(last.time, known)
    return Moment(
        kind,
        name,
        first.time,
        at,
        until if until != at else None,
        count,
        first.origin.source,
        first.origin.line,
        first.text[:TEXT],
        first.phase == "startup" and kind == "note",
        list(marks) if kind != "note" else [],
    )


def _marks(log: EventLog) -> list[float]:
    """Return at most ``MARKS`` of the times, spread over all of them."""
    times = sorted(set(log.times))
    if len(times) <= MARKS:
        return times
    return [times[at * (len(times) - 1) // (MARKS - 1)] for at in range(MARKS)]


def _thinned(run: Run, moments: list[Moment]) -> list[Moment]:
    """Keep what matters most when there is too much, then put it in order of time."""
    weight = ("start", "ready", "stop", "end", "error", "preemption", "unknown", "note")
    kept = sorted(moments, key=lambda one: (weight.index(one.kind), one.startup, -one.count))[:MOMENTS]

    def order(one: Moment) -> tuple[float, bool, float]:
        time = one.time if one.time is not None else float("inf")
        return (time, one.kind == "end", run.place(one.source, one.line))

    return sorted(kept, key=order)
