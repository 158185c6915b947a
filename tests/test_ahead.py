"""A long log in which others look ahead: whoever helps, and whatever they find, what is read of it is the same."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from longlogs import HEADS, WOVEN, evidence, kit, knowledge, log, woven

from benchmarks import inputs
from diagnoser.api import Session
from diagnoser.commands._workers import _processes
from diagnoser.options import Options
from diagnoser.reports import json as json_report
from diagnoser.reports.base import RenderOptions
from diagnoser.session.portions import Window
from diagnoser.skimming import ahead, cutter, foreseen
from diagnoser.skimming.ahead import Others, Place
from diagnoser.skimming.foreseen import Found
from diagnoser.sources import open_inputs, part
from diagnoser.spreading import work
from diagnoser.spreading.crew import HOPELESS, Crew, Lost

Answer = Callable[[bytes, str, int, "bytes | Place"], "Future[Found] | None"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand lines are a long log here, and some hundred are worth giving away."""
    monkeypatch.setattr(cutter, "MANY", 1)
    monkeypatch.setattr(cutter, "SMALL", 4 << 10)
    monkeypatch.setattr(cutter, "LARGE", 40 << 10)
    monkeypatch.setattr(ahead, "WORTH", 1)
    monkeypatch.setattr(ahead, "LONG", 0)
    monkeypatch.setattr(part, "BLOCK", 64 << 10)


def pieces_of(data: bytes) -> list[int]:
    """Return where a source would cut a log, so that there are many pieces."""
    return list(range(20_000, len(data), 20_000))


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines of gaps that somebody else had found and that were taken."""
    counts: list[int] = []
    bind = foreseen.Foreseen.bind

    def counted(self: foreseen.Foreseen, data: bytes) -> Any:
        counts.append(self.skipped[0].count)
        return bind(self, data)

    monkeypatch.setattr(foreseen.Foreseen, "bind", counted)
    return counts


def honest(seed: bytes, source: str, number: int, piece: bytes | Place) -> Future[Found]:
    """Look at once; what is found goes through a pickle, as between processes."""
    assert isinstance(piece, bytes)
    future: Future[Found] = Future()
    found = foreseen.look(seed, kit().collector().meaning, source, number, piece)
    future.set_result(pickle.loads(pickle.dumps(found)))
    return future


class Unreliable:
    """Somebody who looks with what was known long ago, at something else, or not at all."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._seeds: list[bytes] = []

    def __call__(self, seed: bytes, source: str, number: int, piece: bytes | Place) -> Future[Found] | None:
        assert isinstance(piece, bytes)
        self._seeds.append(seed)
        how = self._dice.choice(("right", "right", "late", "elsewhere", "lost", "no", "dead"))
        if how == "no":
            return None
        if how in ("lost", "dead"):
            future: Future[Found] = Future()
            future.set_exception(RuntimeError("gone"))
            return future
        if how == "elsewhere":
            piece = piece[len(piece) // 2 :]
            piece = piece[piece.find(b"\n") + 1 :] or b"\n"
        return honest(self._dice.choice(self._seeds) if how == "late" else seed, source, number, piece)


@pytest.mark.parametrize("kind", inputs.KINDS)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    odd=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 10**6), max_size=6),
    most=st.integers(1, 7),
)
def test_whoever_looks_ahead_the_evidence_is_the_same(
    kind: str, seed: int, odd: int, cuts: list[int], most: int
) -> None:
    data = log(kind, seed, 1800, odd)
    alone = evidence(data, [])
    cuts = [*pieces_of(data), *(cut % len(data) for cut in cuts)]
    assert evidence(data, cuts, others=Others(honest, most)) == alone
    assert evidence(data, cuts, others=Others(Unreliable(seed), most)) == alone


@pytest.mark.parametrize("how", ["", *WOVEN])
@pytest.mark.parametrize("kind", HEADS)
def test_most_is_seen_ahead(kind: str, how: str, believed: list[int]) -> None:
    data = log(kind, 5, 3000, 6)
    data = woven(data, how) if how else data
    assert evidence(data, pieces_of(data), others=Others(honest, 4)) == evidence(data, [], skim=False)
    assert sum(believed) > 500


def test_a_day_that_ends_meanwhile_is_noticed(believed: list[int]) -> None:
    lines = log("batches", 3, 3000, 0).split(b"\n")
    data = b"\n".join([*lines[:1700], *(line.replace(b"2026-01-12", b"2026-01-13") for line in lines[1700:])])
    assert evidence(data, pieces_of(data), others=Others(honest, 5)) == evidence(data, [], skim=False)
    assert sum(believed) > 500


def test_a_message_that_is_open_meanwhile_is_read_to_its_end() -> None:
    lines = log("access", 3, 3000, 0).split(b"\n")
    frame = b'(EngineCore_DP0 pid=90) ERROR 01-12 10:02:30 [core.py:710]   File "a.py", line 3, in step'
    for at in (1300, 1700, 2100):
        lines[at:at] = [frame.replace(b'  File "a.py", line 3, in step', b"Traceback (most recent call last):")]
        lines[at + 1 : at + 1] = [frame] * 300
    data = b"\n".join(lines)
    assert evidence(data, pieces_of(data), others=Others(honest, 5)) == evidence(data, [], skim=False)


def told(path: Path, crew: Crew | None = None, stdin: Any = None) -> str:
    """Return the report on a log as JSON."""
    options = Options(cache_dir=None)
    names: list[Any] = ["-" if stdin else path]
    report = Session(names, stdin=stdin, options=options, knowledge=knowledge(), crew=crew).report
    return json_report.render(report, RenderOptions())


def test_processes_read_ranges_of_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is opened by whoever looks ahead in it; of a pipe they get the lines."""
    path = tmp_path / "server.log"
    path.write_bytes(log("access", 8, 6000, 9))
    pieces: list[bytes | Place] = []
    give = Crew.give

    def noted(self: Crew, function: Any, *task: Any) -> Any:
        pieces.append(task[-1])
        future = give(self, function, *task)
        assert future is not None and future.exception() is None  # so short a log is read before anybody is there
        return future

    monkeypatch.setattr(Crew, "give", noted)
    crew = Crew(lambda: _processes(2), 2, near=True)
    try:
        assert told(path, crew) == told(path)
        assert {type(one) for one in pieces} == {Place} and len(pieces) > 5
        with path.open("rb") as stdin, path.open("rb") as again:
            assert told(path, crew, stdin) == told(path, None, again)
        assert type(pieces[-1]) is bytes
    finally:
        crew.close()


def test_a_file_that_is_another_one_meanwhile_is_not_believed(tmp_path: Path, believed: list[int]) -> None:
    """A log is rotated while it is read: whoever opens its name finds other lines."""
    path = tmp_path / "server.log"
    path.write_bytes(log("access", 8, 4000, 0))
    other = log("access", 9, 4000, 0)

    class Here(Crew):
        def give(self, function: Any, *task: Any) -> Any:
            place = task[-1]
            if isinstance(place, Place):
                elsewhere = tmp_path / "rotated"
                elsewhere.write_bytes(other)
                task = (*task[:-1], place._replace(path=str(elsewhere)))
            future: Future[Any] = Future()
            future.set_result(function(*task))
            return future

    crew = Here(lambda: None, 2, near=True)  # type: ignore[arg-type,return-value]
    assert told(path, crew) == told(path)
    assert believed, "the lines themselves are sent then"


def test_workers_that_die_are_given_up() -> None:
    from concurrent.futures import BrokenExecutor

    class Dead:
        def submit(self, *_: Any) -> None:
            raise BrokenExecutor

        def shutdown(self, wait: bool) -> None:
            """Nobody is there."""

    started: list[int] = []

    def start() -> Any:
        started.append(1)
        return Dead()

    crew = Crew(start, 2, near=True)
    assert [crew.give(len, "") for _ in range(10)] == [None] * 10
    assert len(started) == HOPELESS


@pytest.mark.parametrize(("long", "since", "dealt"), [(0, None, set()), (1 << 40, None, {0, 1}), (0, 0.0, {0, 1})])
def test_few_logs_are_dealt_out_unless_all_are_long(
    long: int, since: float | None, dealt: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looks ahead in short ones, nor where a time filter wants every line: one process would do all the work."""
    monkeypatch.setattr(work, "LONG", long)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(log("batches", 3, 200, 0))

    class Here(Crew):
        def each(self, function: Any, tasks: Any) -> Any:
            return ((place, Lost("not asked")) for place, _ in enumerate(tasks))

    crew = Here(lambda: None, 8, near=True)  # type: ignore[arg-type,return-value]
    window = None if since is None else Window(since)
    given = work.read_logs(open_inputs([str(tmp_path)], None), crew, Options(cache_dir=None), window)
    assert set(given) == dealt
