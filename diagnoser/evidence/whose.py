"""Whose measurements these are: the run of a server by its name, its engine and the time in which it was scraped."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.evidence.metered import Metered
from diagnoser.evidence.scrapes import in_pod
from diagnoser.evidence.telemetry import in_clock
from diagnoser.knowledge.vocabulary import ENGINES
from diagnoser.language import phrase
from diagnoser.model import Run

#: Scrapes and measurements this long before a run began, or after its last line, may still speak of it, seconds.
AROUND = 60.0


def spoken_of(one: Metered, runs: Sequence[Run], alone: bool) -> Run | None:
    """Return the run whose server was scraped; None when no log is of it. ``alone``: no other of its kind was."""
    fitting = [run for run in runs if one.writer not in ENGINES or (run.engine in ("", one.writer) and _answered(run))]
    named = [run for run in fitting if one.server and run.stream and _same(run.stream, one.server)]
    if named:
        fitting = named
    elif one.writer in ENGINES and one.server and not (alone and len(_writers(fitting)) < 2):
        # Which of several servers wrote a log that names none, or which log is of this server, nobody can tell.
        return None
    if one.writer in ENGINES and len(fitting) > 1 and all(_far(run, one) for run in fitting):
        fitting[-1].assumed.append(
            (
                phrase("no time tells of which of {count} runs the metrics are: taken for the last one's"),
                {"count": len(fitting)},
            )
        )
    return run_at(fitting, one.started, one.ended) if fitting else None


def _far(run: Run, one: Metered) -> bool:
    """Whether the time of the scrapes tells nothing of a run: it has none, or it lies long before or after."""
    shared = _shared(run, one.started, one.ended)
    return shared is None or shared < -AROUND


def _answered(run: Run) -> bool:
    """Whether a run may have been scraped: one that was seen to die while it started never opened its port."""
    return not (run.complete_start and run.end == "crash" and run.ready is None and not run.tables)


def elsewhere(one: Metered, metered: Sequence[Metered], streams: set[str]) -> bool:
    """Whether figures of GPUs are of a pod of another server: its exporter names pods, and that of a log is another."""
    if one.writer in ENGINES or not one.server:
        return False
    named = [
        other.server
        for other in metered
        if other.server and any(stream and _same(stream, other.server) for stream in streams)
    ]
    return bool(named) and one.server not in named


def _writers(runs: Sequence[Run]) -> set[tuple[str, ...]]:
    return {(run.stream, *run.sources[:1]) for run in runs}


def _same(stream: str, server: str) -> bool:
    """Whether a writer of a log and a scraped server bear one name: a pod's is part of ``pod/container``."""
    if in_pod(stream) and in_pod(server):
        return stream == server
    return server in stream or stream in server


def run_at(runs: Sequence[Run], start: float | None, end: float | None) -> Run:
    """Return the run that lasted the longest part of a time, of equals and where none did the last one.

    A server that is restarted is back within seconds: what is around its second life lies in its first.
    """
    shared = [(_shared(run, start, end), at) for at, run in enumerate(runs)]
    near = [(seconds, at) for seconds, at in shared if seconds is not None and seconds >= -AROUND]
    return runs[max(near)[1] if near else -1]


def _shared(run: Run, start: float | None, end: float | None) -> float | None:
    """Return how much of a time a run lasted, seconds, below zero how far it is from it; None where nothing tells.

    A clock without a date is none that anything else shares.
    """
    if start is None or end is None or run.started is None or run.ended is None:
        return None
    if run.time_known not in ("full", "yearless"):
        return None
    shared = min(in_clock(run, end), run.ended) - max(in_clock(run, start), run.started)
    return shared if shared == shared else None


def named(run: Run, engine: str) -> None:
    """Give a run the engine that the caller named where the log does not show one; what it shows counts more."""
    if not run.engine and run.records:
        run.engine = engine
    elif run.engine and run.engine != engine:
        told = phrase("--engine {given} was given, but this is a log of {shown}: judged as such")
        note: tuple[str, dict[str, object]] = (told, {"given": engine, "shown": run.engine})
        if note not in run.assumed:  # a run that goes on is asked at every look
            run.assumed.append(note)
