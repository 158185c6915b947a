"""Many logs and many workers: the report is the one of a single process, and no worker's end is the end of it."""

from __future__ import annotations

import gzip
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serverlogs import compiled

from diagnoser.api import Session
from diagnoser.commands._errors import CommandError
from diagnoser.comparing import saved
from diagnoser.evidence.hosts import MOST_HOST
from diagnoser.evidence.taken import Taken, merged
from diagnoser.judging.loading import Knowledge
from diagnoser.model import Record, Run
from diagnoser.options import Options
from diagnoser.reports import json as json_report
from diagnoser.session.portions import kit, read_log
from diagnoser.sources import InputError, open_inputs
from diagnoser.sources.part import Part
from diagnoser.sources.source import Source
from diagnoser.spreading.crew import Crew, Lost
from diagnoser.tables.table import Origin
from diagnoser.values import replace

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
LOGS = {
    name: (SAMPLES / name / "server.log").read_bytes()
    for name in ("healthy-vllm", "kv-cache-exhausted", "nccl-timeout", "bad-flag", "prompt-trap")
}


class Shuffled(Executor):
    """Workers of one process that finish in an order of their own."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        made: Future[Any] = Future()
        self._waiting.append((made, lambda: fn(*args, **kwargs)))
        if self._dice.random() < 0.5:
            self.work()
        else:
            made.add_done_callback(lambda _: None)
        if len(self._waiting) > 1:
            self.work()
        return made

    def work(self) -> None:
        self._dice.shuffle(self._waiting)
        for future, job in self._waiting:
            try:
                future.set_result(job())
            except Exception as error:
                future.set_exception(error)
        self._waiting = []


#: Where compiled rules are kept for all of these tests.
CACHE: list[Path] = []


def plain(**more: Any) -> Options:
    return Options(cache_dir=CACHE[0], **more)


@pytest.fixture(scope="module", autouse=True)
def knowledge() -> Knowledge:
    CACHE[:] = [compiled()]
    return Knowledge(plain())


def fleet(folder: Path, names: list[str]) -> list[str]:
    """Write a log for each name; give their paths."""
    paths = []
    for at, name in enumerate(names):
        path = folder / f"llm-{at:03}.log"
        path.write_bytes(LOGS[name])
        paths.append(str(path))
    return paths


def report(inputs: list[str], knowledge: Knowledge, crew: Crew | None = None) -> str:
    return json_report.document(Session(inputs, options=plain(), knowledge=knowledge, crew=crew).report)


@pytest.mark.parametrize("names", [[*LOGS], ["healthy-vllm"] * 3 + ["nccl-timeout"] * 2])
def test_threads_give_the_same_report(tmp_path: Path, knowledge: Knowledge, names: list[str]) -> None:
    paths = fleet(tmp_path, names)
    crew = Crew(lambda: ThreadPoolExecutor(1), 1)
    try:
        assert report(paths, knowledge, crew) == report(paths, knowledge)
    finally:
        crew.close()


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(["bad-flag", "nccl-timeout", "prompt-trap"]), seed=st.integers(0, 99))
def test_any_order_of_portions_gives_the_same_report(
    tmp_path_factory: pytest.TempPathFactory, knowledge: Knowledge, order: list[str], seed: int
) -> None:
    paths = fleet(tmp_path_factory.mktemp("fleet"), order)
    made = Shuffled(seed)
    given_ = Crew(lambda: made, 8)
    original = given_._fill

    def fill(*args: Any) -> bool:
        broken = original(*args)
        made.work()
        return broken

    given_._fill = fill  # type: ignore[method-assign]
    assert report(paths, knowledge, given_) == report(paths, knowledge)


def _square(number: int, marked: str) -> int:
    """Die over 3 always, over 5 the first time."""
    mark = Path(marked)
    if number == 3 or (number == 5 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        raise ValueError("four")
    return number * number


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_loses_one_task_at_most(tmp_path: Path) -> None:
    crew = Crew(lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")), 2)
    try:
        found = dict(crew.each(_square, [(number, str(tmp_path / "mark")) for number in range(12)]))
    finally:
        crew.close()
    assert set(found) == set(range(12))
    lost = {at: one.why for at, one in found.items() if isinstance(one, Lost)}
    assert set(lost) == {3, 4}
    assert "worker process ended" in lost[3]
    assert lost[4] == "ValueError: four"
    assert all(found[at] == at * at for at in found if at not in lost)


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "diagnoser", "--exit-zero", "--cache-dir", str(CACHE[0]), *args],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_processes_and_a_damaged_file(tmp_path: Path) -> None:
    paths = fleet(tmp_path, ["healthy-vllm", "bad-flag"])
    (tmp_path / "llm-009.log.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    alone, shared = (run("--format", "json", str(tmp_path), *more) for more in ([], ["--jobs", "2"]))
    assert shared.returncode == 0, shared.stderr
    assert shared.stdout == alone.stdout
    assert "llm-009" in shared.stdout
    assert len(paths) == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--jobs", "0"], "number of processes from 1"),
        (["--on", "dask://127.0.0.1:9", "--follow"], "--on"),
        (["--jobs", "many"], "number of processes"),
        (["--jobs", "-1"], "number of processes"),
        (["--on", "tcp://x:1"], "expected dask://HOST:PORT"),
        (["--on", "dask://127.0.0.1:9", "--jobs", "2"], "give one of the two"),
    ],
)
def test_wrong_options_are_one_line(args: list[str], said: str) -> None:
    done = run(str(SAMPLES / "bad-flag" / "server.log"), *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_one_page_for_a_fleet(tmp_path: Path, knowledge: Knowledge) -> None:
    from diagnoser import reports
    from diagnoser.reports.base import RenderOptions

    names = ["healthy-vllm"] * 7 + ["kv-cache-exhausted"] * 2 + ["bad-flag"]
    made = Session(fleet(tmp_path, names), options=plain(), knowledge=knowledge).report
    assert made.fleet is not None
    assert made.fleet.servers == 10
    assert sum(one.servers for one in made.fleet.kinds) == 10
    told = {one.id: one for one in made.fleet.findings}
    assert told["memory.kv_cache_exhausted"].servers == 2
    assert told["memory.kv_cache_exhausted"].first == "llm-007.log"
    assert told["platform.bad_flag"].names == ["llm-009.log"]
    saved_report = json_report.document(made)
    assert saved.read(saved_report, "saved").fleet == made.fleet
    text = reports.render(made, "text", RenderOptions(width=100), False)
    assert "fleet   10 servers of 3 kinds" in text
    assert len(text.splitlines()) < 64
    for form in ("markdown", "html"):
        assert "llm-007.log" in reports.render(made, form, RenderOptions(), True)


def test_few_servers_are_told_one_by_one(tmp_path: Path, knowledge: Knowledge) -> None:
    made = Session(fleet(tmp_path, ["bad-flag"] * 3), options=plain(), knowledge=knowledge).report
    assert made.fleet is None


# What goes together: one incident over several inputs, whoever read them.

KILLED = "[Tue Mar 10 09:01:12 2026] Out of memory: Killed process 88 (VLLM::EngineCor) total-vm:912kB, anon-rss:9kB"


def incident(folder: Path) -> list[str]:
    """Rotated, compressed, several writers in one; what the kernel, the cluster and cards say; rubbish."""
    log = LOGS["kv-cache-exhausted"]
    cut = log.index(b"\n", len(log) // 2) + 1
    (folder / "llm-0.log.1").write_bytes(log[:cut])
    (folder / "llm-0.log").write_bytes(log[cut:])
    (folder / "llm-1.log.gz").write_bytes(gzip.compress(LOGS["nccl-timeout"] + LOGS["healthy-vllm"]))
    pair = (LOGS["bad-flag"].splitlines(), LOGS["healthy-vllm"].splitlines())
    woven = [b"llm-%d-1  | %s" % (at, line) for lines in zip(*pair, strict=False) for at, line in enumerate(lines)]
    (folder / "compose.log").write_bytes(b"\n".join(woven))
    (folder / "dmesg.txt").write_text(f"{KILLED}\n[Tue Mar 10 09:01:13 2026] NVRM: Xid (PCI:0000:17:00): 79, gone\n")
    for name in ("oom-killed-pod/pod.json", "gpu-throttling/gpu.csv", "healthy-metrics/metrics-20260310T090000Z.prom"):
        (folder / Path(name).name).write_bytes((SAMPLES / name).read_bytes())
    (folder / "oom-killed-pod.log").write_bytes((SAMPLES / "oom-killed-pod" / "server.log").read_bytes())
    (folder / "broken.log.gz").write_bytes(gzip.compress(LOGS["healthy-vllm"])[:999])
    (folder / "notes.txt").write_text("nothing to see here\n" * 9)
    return [str(folder)]


@pytest.mark.parametrize("more", [{}, {"since": "30m"}, {"engine": "vllm"}])
def test_an_incident_over_many_inputs(tmp_path: Path, knowledge: Knowledge, more: dict[str, Any]) -> None:
    inputs = incident(tmp_path)
    crew = Crew(lambda: ThreadPoolExecutor(1), 1)
    options = plain(**more)
    alone, shared = (Session(inputs, options=options, knowledge=knowledge, crew=one) for one in (None, crew))
    crew.close()
    assert json_report.document(shared.report) == json_report.document(alone.report)
    if not more:
        told = {one.name.rpartition("/")[2]: one for one in alone.report.inputs}
        assert told["broken.log.gz"].problems
        assert told["notes.txt"].problems
        assert [run.sources[0].rpartition("/")[2] for run in alone.runs[:3]] == ["broken.log.gz"] * 1 + [
            "compose.log"
        ] * 2


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory, knowledge: Knowledge) -> tuple[list[bytes], str]:
    """The portions of an incident's logs, pickled as workers give them, and what all of them together tell."""
    folder = tmp_path_factory.mktemp("incident")
    own = replace(kit(knowledge, plain()), inputs=7)
    logs = [one for one in open_inputs(incident(folder), None) if one.kind == "log"]
    made = [pickle.dumps(read_log(one, own)) for one in logs]
    return made, together([pickle.loads(one).taken for one in made], knowledge)


def together(taken: list[Taken], knowledge: Knowledge) -> str:
    """The report of what was collected, in its order."""
    collector = kit(knowledge, plain()).collector()
    for one in taken:
        collector.absorb(one)
    session = Session.of(collector.finish(), [], plain(), knowledge, {})
    return json_report.document(session.report)


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_portions_merge_in_any_grouping(
    data: st.DataObject, pieces: tuple[list[bytes], str], knowledge: Knowledge
) -> None:
    parts = [pickle.loads(one).taken for one in pieces[0]]
    assert sum(len(one.heard) for one in parts) == 2
    while len(parts) > 1 and data.draw(st.integers(0, 4)):
        at = data.draw(st.integers(0, len(parts) - 1))
        count = data.draw(st.integers(0, 3))  # nothing at all is neutral
        parts[at : at + count] = [merged(*parts[at : at + count])]
    assert together(parts, knowledge) == pieces[1]


def test_a_merge_changes_none_of_its_parts() -> None:
    record = Record(Origin("dmesg", 1), "x")
    many = Taken([], [("dmesg", record)] * (MOST_HOST - 1), {"dmesg"})
    more = Taken([Run(0, "")], [("other", record)] * 3, {"other"})
    assert len(merged(many, more).heard) == MOST_HOST
    assert merged(merged(many, more), more) == merged(many, merged(more, more)) == merged(many, more, more)
    assert len(many.heard) == MOST_HOST - 1
    assert len(more.runs) == 1


def test_a_crash_loop_in_many_logs_is_bounded(knowledge: Knowledge, tmp_path: Path) -> None:
    own = kit(knowledge, plain())
    path = tmp_path / "loop.log"
    path.write_bytes(LOGS["bad-flag"] * 30)
    few, many = (read_log(Source([Part("loop", path=path)]), replace(own, inputs=count)) for count in (1, 1000))
    assert len(few.taken.runs) == 90
    assert len(many.taken.runs) == 8
    assert many.input.problems == ["of more than 8 server lifetimes 82 in the middle were passed over"]


def test_what_cannot_be_opened_is_named(knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone before it was looked at, gone since then: the others are read, with and without workers."""
    paths = fleet(tmp_path, ["bad-flag"] * 4)
    opened = Part._raw
    tries: Counter[str] = Counter()

    def raw(self: Part, size: int, report: Callable[[str], None]) -> Iterator[bytes]:
        tries[self.name] += 1
        if self.name.endswith(("1.log", "2.log")) and tries[self.name] > self.name.endswith("2.log"):
            raise FileNotFoundError(2, "No such file or directory")
        return opened(self, size, report)

    monkeypatch.setattr(Part, "_raw", raw)
    for crew in (None, Crew(lambda: ThreadPoolExecutor(1), 1)):
        tries.clear()
        made = Session(paths, options=plain(), knowledge=knowledge, crew=crew).report
        assert {one.name for one in made.inputs if one.problems} == set(paths[1:3])
        assert [one.problems for one in made.inputs][1] == [f"cannot read {paths[1]}: No such file or directory"]
        assert len({run.sources[0] for run in made.runs}) == 2


# Shared storage.


def test_addresses_of_shared_storage(tmp_path: Path, knowledge: Knowledge) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    memory = fsspec.filesystem("memory")
    memory.pipe("/logs/a.log", LOGS["bad-flag"])
    memory.pipe("/logs/b.log", LOGS["nccl-timeout"])
    try:
        made = Session(["memory://logs/*.log"], options=plain(), knowledge=knowledge).report
    finally:
        memory.rm("/logs", recursive=True)
    assert [one.name for one in made.inputs] == ["memory:///logs/a.log", "memory:///logs/b.log"]
    assert {"platform.bad_flag", "comms.nccl_error"} <= {one.id for one in made.findings}
    path = tmp_path / "server.log"
    path.write_bytes(LOGS["bad-flag"])
    local = Session([f"file://{path}"], options=plain(), knowledge=knowledge).report
    assert local.findings[0].id == "platform.bad_flag"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("memory://nowhere/x.log", "no such file or folder: memory://nowhere/x.log"),
        ("memory://nowhere/*.log", "nothing fits memory://nowhere/*.log"),
        ("s3://KEY:SECRET@bucket/x.log", "s3://"),
    ],
)
def test_what_cannot_be_opened_is_one_line(address: str, said: str) -> None:
    pytest.importorskip("fsspec", reason="the extra remote is not installed")
    done = run(address)
    assert done.returncode == 2
    assert said in done.stderr
    assert "SECRET" not in done.stderr
    assert "Traceback" not in done.stderr


# A cluster.


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers on loopback."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__DASHBOARD__LINK": ""}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment, "cwd": folder}
    told = folder / "scheduler.json"
    python = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    started = [
        subprocess.Popen(
            [*python, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)], **quiet
        )
    ]
    try:
        end = time.monotonic() + 60
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.1)
        import json

        address = json.loads(told.read_text())["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
        worker += ["--nthreads", "1", "--host", "127.0.0.1"]
        started += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        yield address.replace("tcp://", "dask://"), started[1:]
    finally:
        for one in started:
            one.kill()
            one.wait(20)


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    from diagnoser.commands import _cluster

    monkeypatch.setattr(_cluster, "PATIENCE", 0.5)
    told = r"^--on dask://127.0.0.1:9: no Dask scheduler answers there$"
    with pytest.raises(CommandError, match=told), _cluster.joined("dask://127.0.0.1:9"):
        pass


@pytest.mark.parametrize("missing", ["distributed", "fsspec"])
def test_a_missing_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    from diagnoser.commands._cluster import joined

    wanted = r"needs the extra '(dask|remote)': pip install 'diagnoser\[(dask|remote)\]'"
    with pytest.raises((CommandError, InputError), match=wanted):
        if missing == "fsspec":
            open_inputs(["s3://bucket/logs/*.log"], None)
        with joined("dask://127.0.0.1:9"):
            pass


def test_a_cluster_loses_a_worker(tmp_path: Path, knowledge: Knowledge) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    from diagnoser.commands._cluster import joined

    paths = fleet(tmp_path, [*LOGS] * 2)
    with cluster(tmp_path) as (address, workers):
        with distributed.Client(address.replace("dask://", "tcp://"), timeout=30, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        with joined(address) as crew:
            assert crew.size == 2
            session: list[str] = []
            each = crew.each

            def with_a_death(function: Any, tasks: Any) -> Iterator[tuple[int, Any]]:
                for at, one in enumerate(each(function, tasks)):
                    if at == 1 and workers[0].poll() is None:
                        workers[0].kill()
                    yield one

            crew.each = with_a_death  # type: ignore[method-assign]
            session.append(report(paths, knowledge, crew))
        assert workers[0].poll() is not None
    assert session[0] == report(paths, knowledge)
