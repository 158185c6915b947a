"""Logs that go on, without a clock and without processes: cutting, joining, windows, changes, and constant memory."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnoser.api import Knowledge, Options, Session
from diagnoser.contracts.findings import Evidence, Finding, Report
from diagnoser.evidence.bygone import Bygone
from diagnoser.following import Change, Follower, Pace, Tail
from diagnoser.following.changes import Tracker
from diagnoser.following.cutter import Cutter
from diagnoser.following.tail import BLOCK
from diagnoser.model import Event, EventLog
from diagnoser.observations import Exposed, Page
from diagnoser.reports.json import document
from diagnoser.sources import InputError, Source
from diagnoser.sources.part import Part
from diagnoser.sources.source import MAX_LINE
from diagnoser.tables.table import Origin, Table

ROOT = Path(__file__).parent.parent
SAMPLES = sorted(path.parent for path in ROOT.glob("samples/*/server.log"))
STARTED = "INFO {} [api_server.py:1000] vLLM API server version 0.9.2"
STATS = (
    "INFO {} [loggers.py:118] Engine 000: Avg prompt throughput: 900.0 tokens/s, Avg generation throughput: 900.0 "
    "tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}%, Prefix cache hit rate: 12.0%"
)
PREEMPTED = (
    "WARNING {} [scheduler.py:1057] Sequence group {} is preempted by PreemptionMode.RECOMPUTE mode because there is "
    "not enough KV cache space. This can affect the end-to-end performance. total_num_cumulative_preemption={}"
)
DEAD = (
    "ERROR {} [async_llm.py:600] AsyncLLM output_handler failed.\n"
    "ERROR {} [async_llm.py:600] Traceback (most recent call last):\n"
    'ERROR {} [async_llm.py:600]   File "x.py", line 1, in run\n'
    "ERROR {} [async_llm.py:600] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack "
    "trace (above) for the root cause."
)
OOM = (
    "ERROR {} [core.py:390] EngineCore encountered a fatal error.\nTraceback (most recent call last):\n"
    '  File "/vllm/v1/worker/gpu_model_runner.py", line 1, in execute_model\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.00 GiB is free."
)
ACCESS = 'INFO:     10.0.0.7:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def stamp(seconds: float) -> str:
    """A time in vLLM's form, that many seconds after the first of March."""
    whole = int(seconds)
    day, rest = divmod(whole, 86400)
    return f"03-{1 + day:02} {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


class Driver:
    """A follower of one log, with a clock that is set by hand."""

    def __init__(
        self,
        knowledge: Knowledge,
        window: float | None = 900.0,
        pace: Pace | None = None,
        options: Options = Options(),  # noqa: B008 - frozen
    ) -> None:
        self.now = 0.0
        self.follower = Follower(knowledge, options, window, lambda: self.now, lambda: 0.0, pace or Pace())
        self.cutter = Cutter("server.log")
        self.follower.follow(self.cutter)
        self.changes: list[Change] = []

    def write(self, text: str) -> None:
        self.follower.feed("server.log", self.cutter.feed(text.encode(), self.now))

    def wait(self, seconds: float, step: float = 0.2) -> list[Change]:
        """Let time pass as the command does; return what changed."""
        told: list[Change] = []
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now += step
            self.follower.idle()
            if self.follower.due():
                told += self.follower.look()
        self.changes += told
        return told

    def look(self) -> list[Change]:
        told = self.follower.look()
        self.changes += told
        return told

    def finish(self) -> Report:
        self.follower.end()
        return self.follower.finish()

    @property
    def held(self) -> dict[str, int]:
        return dict(self.follower._collector.held())


def events(changes: list[Change]) -> list[tuple[str, str]]:
    return [(one.event, one.finding.id) for one in changes]


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda folder: folder.name)
def test_a_log_in_pieces_gives_the_report_of_the_whole(folder: Path, knowledge: Knowledge) -> None:
    window = [None, 86400.0][SAMPLES.index(folder) % 2]
    expected = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    options = Options(slo=expected.get("slo"))
    beside = sorted(path for path in folder.iterdir() if path.name not in ("expected.yaml", "server.log"))
    now = 0.0
    follower = Follower(knowledge, options, window, lambda: now, lambda: 0.0)
    name = str(folder / "server.log")
    cutter = Cutter(name)
    follower.follow(cutter)
    for path in beside:
        follower.read(Source([Part(str(path), path=path)]))
    data = Path(name).read_bytes()
    dice = random.Random(folder.name)
    at = 0
    while at < len(data):
        size = dice.randrange(1, len(data) // 2 + 2)
        follower.feed(name, cutter.feed(data[at : at + size], now))
        at, now = at + size, now + 0.3
        follower.idle()
        if follower.due():
            follower.look()
    follower.end()
    follower.look()
    whole = Session([name, *beside], options=options, knowledge=knowledge).report
    assert document(follower.finish()) == document(whole)


# Cutting


def test_half_a_line_waits_for_its_rest() -> None:
    cutter = Cutter("x")
    assert cutter.feed(b"one\ntw", 0.0) == [("x", 1, b"one")]
    assert cutter.rest(0.9, 1.0) == []
    assert cutter.feed(b"o", 0.9) == []
    assert cutter.rest(1.8, 1.0) == []
    assert cutter.feed(b"!\r\n", 1.8) == [("x", 2, b"two!\r")]
    assert cutter.feed(b"three", 2.0) == []
    assert cutter.rest(3.0, 1.0) == [("x", 3, b"three")]
    assert cutter.rest(9.0, 1.0) == []
    assert (cutter.lines, cutter.bytes) == (3, 15)


def test_lines_without_end_are_cut() -> None:
    cutter = Cutter("x")
    given = [line for _ in range(5) for line in cutter.feed(b"a" * (MAX_LINE // 2), 0.0)]
    given += cutter.feed(b"\nb\n", 0.0)
    cutter.finish()
    assert [len(line) for _, _, line in given] == [MAX_LINE, 1]
    assert cutter.problems[0].line == 1


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (gzip.compress(b"x" * 100, mtime=0), "gzip data"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 10, "zstd data"),
        (b"\x7fELF" + b"\0" * 100, "an ELF program"),
        (b"\xff\xfeI\0N\0", "UTF-16"),
    ],
)
def test_what_is_no_text_is_refused(head: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Cutter("x.log").feed(head, 0.0)


def test_a_byte_order_mark_and_the_hole_of_a_truncated_file_are_no_text() -> None:
    assert Cutter("x").feed(b"\xef\xbb\xbfone\n", 0.0) == [("x", 1, b"one")]
    assert Cutter("x").feed(b"a\n", 0.0) and Cutter("x").feed(b"\0" * 4096 + b"one\n", 0.0) == [("x", 1, b"one")]


# Files


class Tailed:
    """A file in a folder, followed with a clock that is set by hand."""

    def __init__(self, folder: Path, exists: bool = True) -> None:
        self.path = folder / "server.log"
        if exists:
            self.path.write_bytes(b"one\n")
        self.told: list[str] = []
        self.tail = Tail(str(self.path), self.told.append)
        self.now = 0.0

    def read(self, seconds: float = 2.0) -> list[tuple[str, int, str]]:
        """What comes within so long: the end of the name (what tells files apart), the number, the line."""
        found = []
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            found += self.tail.poll(self.now)
        return [(part.removeprefix(str(self.path)).strip(), number, line.decode()) for part, number, line in found]


@pytest.fixture
def tailed(tmp_path: Path) -> Iterator[Tailed]:
    one = Tailed(tmp_path)
    yield one
    one.tail.close()


def append(path: Path, text: str) -> None:
    with path.open("ab") as file:
        file.write(text.encode())


def test_a_file_grows(tailed: Tailed) -> None:
    assert tailed.read() == [("", 1, "one")]
    append(tailed.path, "two\nthr")
    assert tailed.read() == [("", 2, "two")]
    append(tailed.path, "ee\n")
    assert tailed.read() == [("", 3, "three")]
    assert tailed.tail.caught_up


def test_a_full_read_leaves_something_for_the_next(tailed: Tailed) -> None:
    append(tailed.path, "x\n" * (BLOCK // 2))
    assert tailed.read(0.1) and tailed.tail.behind
    assert tailed.read(0.1) and not tailed.tail.behind
    tailed.read(0.1)
    assert not tailed.tail.behind


def test_a_truncated_file_is_read_from_its_start(tailed: Tailed) -> None:
    append(tailed.path, "two\nhalf")
    assert [line for *_, line in tailed.read()] == ["one", "two"]
    os.truncate(tailed.path, 0)
    assert tailed.read() == [("", 3, "half")]
    append(tailed.path, "new\n")
    assert tailed.read() == [("(2, truncated)", 1, "new")]
    assert "truncated" in tailed.told[0]


@pytest.mark.parametrize("way", ["rename", "delete", "gone for a while"])
@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be renamed there")
def test_a_replaced_file_is_read_to_its_end_and_then_the_new_one(tailed: Tailed, way: str) -> None:
    assert len(tailed.read()) == 1
    old = tailed.path.open("ab", buffering=0)
    if way == "delete":
        tailed.path.unlink()
    else:
        tailed.path.rename(tailed.path.with_suffix(".1"))
    if way == "gone for a while":
        assert tailed.read() == []
    tailed.path.write_bytes(b"new\n")
    # The server still writes to the old file until it is told.
    assert tailed.read(0.5) == []
    old.write(b"late\nlast")
    old.close()
    assert tailed.read(3.0) == [("", 2, "late"), ("", 3, "last"), ("(2, rotated)", 1, "new")]
    append(tailed.path, "newer\n")
    assert tailed.read() == [("(2, rotated)", 2, "newer")]


def test_a_file_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    one = Tailed(tmp_path, exists=False)
    assert one.read() == []
    assert one.told == [f"waiting for {one.path}: there is no such file yet"]
    one.path.write_bytes(b"one\n")
    assert one.read() == [("", 1, "one")]
    one.tail.close()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions bind no administrator")
def test_a_new_file_that_cannot_be_read_is_tried_again(tailed: Tailed) -> None:
    assert len(tailed.read()) == 1
    tailed.path.rename(tailed.path.with_suffix(".1"))
    tailed.path.write_bytes(b"new\n")
    tailed.path.chmod(0)
    assert tailed.read(3.0) == []
    assert "tried again" in tailed.told[-1]
    tailed.path.chmod(0o600)
    assert tailed.read() == [("(2, rotated)", 1, "new")]


def test_a_read_that_fails_opens_the_file_anew(tailed: Tailed) -> None:
    assert len(tailed.read()) == 1

    class Stale:
        def read(self, size: int) -> bytes:
            raise OSError(116, "Stale file handle")

        def close(self) -> None:
            pass

    assert tailed.tail._file is not None
    tailed.tail._file.close()
    tailed.tail._file = Stale()  # type: ignore[assignment]
    assert tailed.read() == [("(2, opened anew)", 1, "one")]


def test_a_folder_and_a_compressed_file_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        Tail(str(tmp_path), print)
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(b"INFO\n"))
    tail = Tail(str(path), print)
    with pytest.raises(InputError, match="gzip data"):
        tail.poll(1.0)
    tail.close()


# What waits


def launched(driver: Driver, seconds: float = 60.0) -> None:
    """A server that has served for so long."""
    driver.write(STARTED.format(stamp(0)) + "\n")
    driver.write("".join(STATS.format(stamp(at), 4, 0, 10.0) + "\n" for at in range(10, int(seconds), 10)))
    driver.wait(2.0)


@pytest.mark.parametrize("busy", [False, True], ids=["silence", "access lines go on"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "its end comes late"])
def test_a_traceback_is_judged_within_two_seconds(knowledge: Knowledge, busy: bool, cut: bool) -> None:
    driver = Driver(knowledge)
    launched(driver)
    assert driver.changes == []
    text = OOM.format(stamp(70))
    if cut:
        driver.write(text[:150])
        driver.wait(0.6)
        driver.write(text[150:] + "\n")
    else:
        driver.write(text + "\n")
    began = driver.now
    while not driver.changes and driver.now < began + 5:
        if busy:
            driver.write(ACCESS + "\n")
        driver.wait(0.2)
    assert driver.now - began <= 2.0
    assert any(one.finding.severity == "critical" for one in driver.changes)


def test_the_last_line_needs_no_end(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    launched(driver)
    driver.write(OOM.format(stamp(70)))
    driver.wait(2.4)
    assert any(one.finding.severity == "critical" for one in driver.changes)


# Windows


def busy_hours(driver: Driver, start: float, end: float, preempted: bool = False) -> None:
    """Statistics every 10 s, four answered requests beside each, preemptions if there are any."""
    text = []
    for at in range(int(start), int(end), 10):
        text.append(STATS.format(stamp(at), 40, 20 if preempted else 0, 99.5 if preempted else 20.0))
        text += [ACCESS] * 4
        if preempted:
            text.append(PREEMPTED.format(stamp(at + 1), at, at // 10))
    driver.write("\n".join(text) + "\n")


def test_a_finding_opens_and_closes_with_its_cause(knowledge: Knowledge) -> None:
    driver = Driver(knowledge, pace=Pace(quick=5.0))
    launched(driver)
    busy_hours(driver, 100, 700, preempted=True)
    both = ["memory.kv_cache_exhausted", "scheduling.queue_saturation"]
    assert events(driver.wait(6.0)) == [("opened", one) for one in both]
    opened = driver.changes[0]
    assert opened.first is not None and opened.since is not None and opened.servers == ["server.log"]
    for minute in range(12, 40):
        busy_hours(driver, minute * 60, minute * 60 + 60)
        driver.wait(6.0, 1.0)
    closed = driver.changes[-1]
    assert (closed.event, closed.reason) == ("closed", "cleared")
    assert closed.first == opened.first
    # It held as long as the window held its proof, and not longer than the look after.
    assert stamp(0)[:6] + "00:2" <= (closed.time or "")
    assert driver.follower.open() == []


def test_memory_is_constant_over_a_day(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    launched(driver)
    sizes = []
    for hour in range(1, 19):
        for part in range(6):
            busy_hours(driver, hour * 3600 + part * 600, hour * 3600 + part * 600 + 600, preempted=hour % 3 == 0)
            driver.now += 60
            driver.follower.idle()
            driver.follower._collector.look()
        if hour % 6 == 0:
            sizes.append(driver.held)
    assert driver.follower.lines > 30_000
    assert sizes[0] == sizes[-1]
    assert sizes[-1]["rows"] < 120 and sizes[-1]["times"] < 800
    assert events(driver.look())[0] == ("opened", "memory.kv_cache_exhausted")
    assert driver.finish().runs[0].complete_start


def test_restarts_are_forgotten_after_the_window(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    for life in range(120):
        at = life * 60
        driver.write(STARTED.format(stamp(at)) + "\n" + OOM.format(stamp(at + 30)) + "\n")
        driver.now += 60
        driver.follower.idle()
        driver.follower._collector.look()
    assert driver.held["runs"] <= 18
    driver.look()
    assert driver.follower.report is not None
    report = driver.finish()
    assert 10 <= len(report.runs) <= 18
    assert driver.follower._collector.first_lives() == {("", "server.log"): 120 - len(report.runs)}


def test_a_new_life_closes_what_the_old_one_died_of(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    launched(driver)
    driver.write(OOM.format(stamp(70)) + "\n")
    opened = driver.wait(2.0)
    assert opened and all(one.event == "opened" for one in opened)
    driver.write(STARTED.format(stamp(90)) + "\n")
    driver.write("".join(STATS.format(stamp(at), 4, 0, 10.0) + "\n" for at in range(100, 130, 10)))
    closed = driver.wait(2.0)
    assert {(one.event, one.reason) for one in closed} == {("closed", "restarted")}
    assert driver.follower.open() == []


def test_a_dead_server_that_still_prints_stays_dead(knowledge: Knowledge) -> None:
    driver = Driver(knowledge, pace=Pace(quick=20.0))
    launched(driver)
    driver.write(OOM.format(stamp(70)) + "\n" + DEAD.replace("{}", stamp(71)) + "\n")
    driver.wait(22.0, 1.0)
    found = {one.finding.id for one in driver.follower.open()}
    assert found
    refused = 'INFO:     10.0.0.7:51234 - "GET /health HTTP/1.1" 503 Service Unavailable\nINFO {} [x.py:1] still here\n'
    for minute in range(2, 100):
        driver.write(refused.format(stamp(minute * 60)))
        driver.wait(1.0, 0.5)
    assert found <= {one.finding.id for one in driver.follower.open()}
    assert driver.held["events"] < 2000


def test_pods_that_are_gone_make_room(knowledge: Knowledge) -> None:
    driver = Driver(knowledge, window=60.0)
    for pod in range(560):
        name = f"[pod/llm-{pod}/vllm] "
        driver.write(
            name + STARTED.format(stamp(pod * 60)) + "\n" + name + STATS.format(stamp(pod * 60 + 9), 1, 0, 1.0)
        )
        driver.write("\n")
        driver.now += 60
        driver.follower.idle()
        driver.follower._collector.look()
    assert driver.held["runs"] <= 8
    assert driver.finish().inputs[0].problems == []


def test_what_has_not_changed_is_not_judged_again(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    for pod in "ab":
        text = STARTED.format(stamp(0)) + "\n" + STATS.format(stamp(10), 4, 0, 10.0) + "\n" + OOM.format(stamp(20))
        driver.write("".join(f"[pod/{pod}/vllm] {line}\n" for line in text.split("\n")))
    driver.wait(2.0)
    before = {one.run.stream: one for one in driver.follower._judgements}
    driver.write(f"[pod/a/vllm] {STATS.format(stamp(60), 4, 0, 10.0)}\n")
    driver.wait(2.0)
    after = {one.run.stream: one for one in driver.follower._judgements}
    assert after["b/vllm"] is before["b/vllm"] and after["a/vllm"] is not before["a/vllm"]
    assert [after[name].run.id for name in after] == [before[name].run.id for name in before]
    assert driver.follower.open()[0].servers == ["a/vllm", "b/vllm"]


def test_pages_are_bounded(knowledge: Knowledge) -> None:
    driver = Driver(knowledge)
    beside = driver.follower._collector.beside
    for at in range(0, 40_000, 2):
        sample = Exposed({}, float(at), 1, "x")
        beside.take(Page("http://a", "a", float(at), {"vllm:num_requests_running": [sample]}))
        if at % 10 == 0:
            beside.forget(900.0, 48)
    pages = beside._pages
    assert 30 <= len(pages) <= 60
    assert pages[-1].time == 39_998 and pages[-10].time == 39_980 and (pages[0].time or 0) >= 39_998 - 1000
    assert [page.time for page in pages] == sorted(page.time or 0 for page in pages)


def test_rows_at_the_front_are_forgotten() -> None:
    table = Table((), {})
    for at in range(1000):
        table.append(float(at), Origin("x", at), str(at), {"a": float(at)})
    table.forget(900.0)
    assert len(table) == 100 and table.columns["a"][0] == 900 and table.text[0] == "900" and table.weight[0] == 1
    table.forget(0.0)
    assert len(table) == 100
    table.forget(5000.0)
    assert len(table) == 0


def test_what_a_launch_said_outlives_the_window() -> None:
    bygone = Bygone(0.0)
    for minute in range(200):
        log = EventLog("said")
        phase = "startup" if minute < 2 else "serving"
        log.add(Event("said", Origin("x", minute), minute * 60.0, "x", {}, phase=phase, seq=minute))
        bygone.take({"said": log}, minute * 60.0)
        bygone.forget(minute * 60.0 - 900.0)
    log = bygone.joined({})["said"]
    assert [event.origin.line for event in log.kept[:3]] == [0, 1, 184]
    assert log.count == 2 + 16 and log.phases == {"startup": 2, "serving": 16}
    assert len(bygone) == 18


# Changes


def finding(name: str = "memory.x", **more: Any) -> Finding:
    proof = Evidence("server.log", 7, "03-01 00:00:07", "a line")
    plain: dict[str, Any] = {
        "id": name, "stage": "memory", "title": "X", "severity": "warning", "confidence": "likely", "role": "root",
        "explains": [], "explained_by": None, "runs": [0], "meaning": "", "impact": "5 requests", "window": "",
        "evidence": [proof], "remedies": [], "verify": "", "docs": "",
    }  # fmt: skip
    return Finding(**{**plain, **more})


def test_a_finding_that_flutters_stays_open() -> None:
    tracker = Tracker(hold=60.0)
    life = ("server.log\0", 0)
    told: list[Change] = []
    for at in range(0, 600, 5):
        shown = [finding()] if at // 20 % 2 == 0 else []
        told += tracker.look(shown, {0: life}, {0: "a"}, [life], None, float(at))
    assert events(told) == [("opened", "memory.x")]
    for at in range(600, 700, 5):
        told += tracker.look([], {}, {}, [life], "03-01 00:11:00", float(at))
    assert [(one.event, one.reason) for one in told] == [("opened", ""), ("closed", "cleared")]


def test_a_long_silence_alone_closes_nothing() -> None:
    tracker = Tracker(hold=60.0)
    life = ("s", 0)
    tracker.look([finding()], {0: life}, {0: "a"}, [life], None, 0.0)
    assert tracker.look([], {}, {}, [life], None, 3600.0) == []


@pytest.mark.parametrize(
    ("after", "was"),
    [
        ({"severity": "critical"}, {"severity": "warning"}),
        ({"confidence": "certain", "impact": "6 requests"}, {"confidence": "likely"}),
        ({"role": "consequence", "explained_by": "a.b"}, {"role": "root", "explained_by": None}),
        ({"impact": "8 requests"}, {"impact": "5 requests"}),
        ({"impact": "7 requests"}, None),
        ({"impact": "5 requests, none answered"}, {"impact": "5 requests"}),
        ({"runs": [0, 1]}, {"servers": ["a"]}),
        ({"window": "other", "evidence": []}, None),
    ],
)
def test_what_moves_enough_is_told(after: dict[str, Any], was: dict[str, Any] | None) -> None:
    tracker = Tracker()
    lives = {0: ("a", 0), 1: ("b", 0)}
    servers = {0: "a", 1: "b"}
    tracker.look([finding()], lives, servers, lives.values(), None, 0.0)
    told = tracker.look([finding(**after)], lives, servers, lives.values(), None, 40.0)
    assert [(one.event, one.was) for one in told] == ([("updated", was)] if was else [])
    assert tracker.look([finding(**after)], lives, servers, lives.values(), None, 80.0) == []


def test_a_server_that_is_gone_closes_its_findings_at_once() -> None:
    tracker = Tracker()
    tracker.look([finding()], {0: ("a", 0)}, {0: "a"}, [("a", 0), ("b", 0)], None, 0.0)
    told = tracker.look([], {}, {}, [("b", 0)], None, 1.0)
    assert [(one.event, one.reason) for one in told] == [("closed", "gone")]


def test_the_next_life_with_the_same_cause_is_another_finding() -> None:
    tracker = Tracker()
    tracker.look([finding()], {0: ("a", 0)}, {0: "a"}, [("a", 0)], None, 0.0)
    told = tracker.look([finding()], {0: ("a", 1)}, {0: "a"}, [("a", 1)], None, 1.0)
    assert [(one.event, one.reason) for one in told] == [("closed", "restarted"), ("opened", "")]


@pytest.mark.parametrize("text", [OOM.split("\n")[-1], STARTED.format(stamp(0))], ids=["shows none", "shows vllm"])
@pytest.mark.parametrize("given", ["vllm", "sglang"])
def test_the_engine_given_is_as_good_as_at_once(knowledge: Knowledge, text: str, given: str) -> None:
    """It counts where the log shows none; what the log shows counts more, and that is said once, look after look."""
    driver = Driver(knowledge, options=Options(engine=given))
    for _ in range(3):
        driver.write(f"{text}\n")
        driver.wait(5)
        report = driver.follower.report
        assert report is not None
        (run,) = report.runs
        assert run.engine == ("vllm" if text.startswith("INFO") else given)
        assert len([note for note in run.notes if "--engine" in note]) == (run.engine != given)
