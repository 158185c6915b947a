"""Prometheus servers: how queries are planned, saved answers, and a real server that scrapes replayed exporters."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from exporters import page, replay, serving

from diagnoser.api import Knowledge, Session
from diagnoser.commands._live import Machine
from diagnoser.evidence.metered import Meter
from diagnoser.evidence.scrapes import Scrapes, by_server
from diagnoser.knowledge.paths import rules_dir
from diagnoser.model import Problem
from diagnoser.observations import Exposed, Page
from diagnoser.rules.loader import load_vocabulary
from diagnoser.scraping.address import parse_address
from diagnoser.scraping.fetch import Fetcher
from diagnoser.scraping.queries import (
    POINTS,
    batches,
    chunks,
    conditions,
    interval_of,
    probes,
    readable,
    selector,
    step_of,
    widened,
)
from diagnoser.scraping.ranges import gather
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of

ROOT = Path(__file__).parent.parent
Command = Callable[..., subprocess.CompletedProcess[str]]
NAMES = ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total"]


# Planning


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{job="vllm"}', 'job="vllm"'),
        ('job="vllm"', 'job="vllm"'),
        ('{ job = "vllm" , pod =~ "a.*|b" }', 'job="vllm",pod=~"a.*|b"'),
        ("{job!='a',}", "job!='a'"),
        ('{path="a,b}\\"c"}', 'path="a,b}\\"c"'),
        ("{}", ""),
    ],
)
def test_conditions(text: str, wanted: str) -> None:
    assert conditions(text) == wanted


@pytest.mark.parametrize(
    "text", ["vllm", '{job="a"} or {job="b"}', '{job="a"', '{__name__="x"}', 'a:b{job="x"}', '{x="1"}}']
)
def test_faulty_conditions(text: str) -> None:
    with pytest.raises(ValueError, match="expected label conditions"):
        conditions(text)


def test_selectors() -> None:
    assert selector(["a:b", "c"], 'job="x"') == '{__name__=~"a:b|c",job="x"}'
    assert selector(["a"], "") == '{__name__=~"a"}'
    assert selector((), 'job="x"') == '{__name__!="",job="x"}'
    assert readable(["b", "a", 'x"} or {y="', 3, "a.b"]) == ["a", "b"]


def test_few_requests() -> None:
    assert batches(["aaa", "bbb", "ccc"], 8) == [("aaa", "bbb"), ("ccc",)]
    assert batches(["a" * 50], 8) == [("a" * 50,)]
    assert batches([]) == []


def test_probes_are_levels_with_few_series() -> None:
    names = ["DCGM_FI_DEV_GPU_UTIL", "vllm:e2e_count", "vllm:kv_cache_usage_perc", *sorted(NAMES), "sglang:x_total"]
    assert probes(names) == ["DCGM_FI_DEV_GPU_UTIL", "vllm:num_requests_running", "sglang:x_total"]


@pytest.mark.parametrize(
    ("span", "interval", "series", "asked", "step"),
    [
        (3600, 15.0, 100, None, 15.0),
        (3600, 30.0, 100, None, 30.0),
        (3600, None, 100, None, 15.0),
        (86_400, 15.0, 100, None, 240.0),
        (60, 1.0, 1, None, 1.0),
        (3600, 15.0, 10_000, None, 75.0),
        (3600, 15.0, 100, 5.0, 5.0),
        (3600, 15.0, 10_000, 5.0, 72.0),
        (0, 15.0, 100, None, 15.0),
    ],
)
def test_the_step(span: float, interval: float | None, series: int, asked: float | None, step: float) -> None:
    assert step_of(span, interval, series, asked) == pytest.approx(step)


def test_a_wider_step_is_told_where_series_are_many() -> None:
    assert widened(3600, 10_000, 15.0)
    assert widened(3600, 10_000, None)
    assert not widened(3600, 1000, 15.0)


@pytest.mark.parametrize(
    ("start", "end", "step", "points", "wanted"),
    [
        (0, 60, 15, 11_000, [(0, 60)]),
        (0, 60, 15, 2, [(0, 15), (30, 45), (60, 60)]),
        (0, 59, 15, 2, [(0, 15), (30, 45)]),
        (5, 5, 15, 2, [(5, 5)]),
        (0, 0.3, 0.1, 2, [(0, 0.1), (0.2, 0.3)]),
    ],
)
def test_chunks(start: float, end: float, step: float, points: int, wanted: list[tuple[float, float]]) -> None:
    found = chunks(start, end, step, points)
    assert [pytest.approx(pair) for pair in wanted] == found
    assert all((last - first) / step <= POINTS - 1 for first, last in found)


def test_the_interval() -> None:
    assert interval_of([[0, 15.001, 30, 60], [5]]) == 15.0
    assert interval_of([[5], []]) is None


# Saved answers


def saved(*series: dict[str, Any], kind: str = "matrix", **more: Any) -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(series)}, **more})


def running(instance: str, *values: tuple[float, str], name: str = NAMES[0], **labels: str) -> dict[str, Any]:
    return {"metric": {"__name__": name, "instance": instance, **labels}, "values": [list(one) for one in values]}


def read(text: str, tmp_path: Path) -> tuple[list[Page], list[str]]:
    (tmp_path / "answer.json").write_text(text)
    (source,) = open_inputs([str(tmp_path / "answer.json")], None)
    reader = reader_of(source)
    assert reader is not None
    assert reader.NAME == "prometheus-json"
    given = list(reader.read(source, lambda name: name.startswith("vllm")))
    pages = [one for one in given if isinstance(one, Page)]
    return pages, [one.text for one in given if isinstance(one, Problem)]


T = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "pages", "told"),
    [
        (saved(running("a:1", (T, "3"), (T + 15, "4"))), [("a:1", T), ("a:1", T + 15)], ""),
        (saved(running("a:1", (T, "3")), running("b:1", (T, "4"))), [("a:1", T), ("b:1", T)], ""),
        (saved(running("a:1", (T, "3"), pod="p")), [("p", T)], ""),
        (saved(running("a:1", (T, "3"))) * 2, [("a:1", T)], ""),
        (f"[{saved(running('a:1', (T, '3')))}, {saved(running('b:1', (T, '3')))}]", [("a:1", T), ("b:1", T)], ""),
        (json.dumps([running("a:1", (T, "3"))], indent=1), [("a:1", T)], ""),
        (saved({"metric": {"__name__": NAMES[0]}, "value": [T, "3"]}, kind="vector"), [("", T)], ""),
        (saved(running("a:1", (T, "NaN"), (T + 1, "+Inf"))), [("a:1", T + 1)], ""),
        (saved({"metric": {"instance": "a"}, "values": [[T, "3"]]}), [], "1 series without the name of a metric"),
        (saved(running("a:1", (T, "3"), name="up")), [], "1 series, none of a metric that rules know"),
        (saved({"metric": {"__name__": NAMES[0]}, "histograms": []}), [], "native histograms"),
        (
            saved({"metric": 3}, {"metric": {"__name__": NAMES[0]}, "values": [3, [1], ["x", "y"]]}),
            [],
            "without labels",
        ),
        (saved(kind="scalar"), [], "expected a matrix or a vector, not scalar"),
        ('{"status":"error","errorType":"bad_data","error":"parse error"}', [], "the server answered: parse error"),
        (saved(running("a:1", (T, "3"))) + '\n{"status":"succ', [("a:1", T)], "the JSON ends or breaks off early"),
    ],
)
def test_saved_answers(text: str, pages: list[tuple[str, float]], told: str, tmp_path: Path) -> None:
    found, problems = read(text, tmp_path)
    assert [(one.server, one.time) for one in found] == pages
    assert told in "; ".join(problems)
    assert bool(told) is bool(problems)


def test_a_series_knows_its_line(tmp_path: Path) -> None:
    text = json.dumps(json.loads(saved(running("a:1", (T, "3")), running("a:1", (T, "9"), name=NAMES[1]))), indent=1)
    ((found,), _) = read(text, tmp_path)
    lines = text.splitlines()
    for samples in found.samples.values():
        assert '"metric"' in lines[samples[0].line - 1]
    (waiting,) = found.samples["vllm_num_requests_waiting"]
    assert waiting.text == 'vllm:num_requests_waiting{instance="a:1"} 9'


# Scrapes


def test_after_a_gap_nothing_has_grown() -> None:
    def scrape(time: float, **values: float) -> Page:
        return Page("x", "", time, {name: [Exposed({}, value, 1, "")] for name, value in values.items()})

    scrapes = Scrapes("", [scrape(0, a_total=100, b=1), scrape(1, b=1), scrape(2, a_total=110, c_total=7, b=1)])
    assert scrapes.grown(2, "a_total") == {}
    grown = scrapes.grown(2, "c_total")
    assert grown is not None
    assert grown[frozenset()][0] == 7


def test_addresses_are_servers_even_where_counters_rise() -> None:
    one, two = ({"vllm_x_total": [Exposed({}, value, 1, "")]} for value in (1.0, 2.0))
    assert len(by_server([Page("a", "a:1", 1.0, one), Page("b", "b:1", 2.0, two)])) == 2
    assert len(by_server([Page("a", "", 1.0, one), Page("b", "", 2.0, two)])) == 1


def test_replicas_are_no_log_of_one_server(tmp_path: Path, knowledge: Knowledge) -> None:
    """Which of two scraped servers wrote a log that names none nobody can tell."""
    log = (ROOT / "samples" / "healthy-vllm" / "server.log").read_text()
    (tmp_path / "server.log").write_text(log)
    (tmp_path / "both.json").write_text(saved(running("a:1", (T, "3")), running("b:1", (T, "3"))))
    names = [tmp_path / "server.log", tmp_path / "both.json"]
    report = Session(names, knowledge=knowledge).report
    assert [(run.stream, "requests.running" in run.figures) for run in report.runs[1:]] == [
        ("a:1", True),
        ("b:1", True),
    ]
    assert report.runs[0].stats_samples
    (tmp_path / "both.json").write_text(saved(running("a:1", (T, "3"))))
    report = Session(names, knowledge=knowledge).report
    assert [run.stream for run in report.runs] == [""]


# A real server


@dataclass(frozen=True)
class Prometheus:
    port: int
    servers: tuple[str, str]
    run: Command

    def get(self, path: str, **words: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(words)}") as answer:
            return json.load(answer)

    def asked(self, query: str, *more: str) -> subprocess.CompletedProcess[str]:
        return self.run("--exit-zero", f"prom://127.0.0.1:{self.port}{query}", *more)


needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not installed (Debian package of that name)"
)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Iterator[Prometheus]:
    """Start a Prometheus that scrapes a busy and a stalled server once a second; wait until it has some scrapes."""
    home = tmp_path_factory.mktemp("prometheus")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stalled = [page(7, running=0, waiting=40, usage=0.05)]
    with serving(replay([page(at) for at in range(200)])) as busy, serving(replay(stalled)) as stuck:
        targets = [f"127.0.0.1:{server.port}" for server in (busy, stuck)]
        jobs = [{"job_name": "vllm", "static_configs": [{"targets": targets}]}]
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}
        (home / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        with (home / "told").open("wb") as told:
            process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={home / 'prometheus.yml'}",
                    f"--storage.tsdb.path={home / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=told,
                stderr=told,
            )
        server = Prometheus(port, (targets[0], targets[1]), command)
        try:
            end = time.monotonic() + 40
            while time.monotonic() < end and process.poll() is None:
                try:
                    found = server.get("/api/v1/query", query=f"min(count_over_time({NAMES[0]}[1m]))")["data"]["result"]
                    if found and int(found[0]["value"][1]) >= 18:
                        break  # a queue that does not move for 15 s is one
                except (urllib.error.URLError, ConnectionError):
                    pass
                time.sleep(0.3)
            else:
                pytest.fail((home / "told").read_text()[-2000:])
            yield server
        finally:
            process.terminate()
            process.wait(20)


@needs_prometheus
def test_servers_of_a_real_prometheus(prometheus: Prometheus) -> None:
    done = prometheus.asked('?match={job="vllm"}&since=2m', "--format", "json")
    report = json.loads(done.stdout)
    busy, stuck = sorted(report["runs"], key=lambda run: prometheus.servers.index(run["stream"]))
    assert report["inputs"][0]["scrapes"] >= 17
    assert busy["figures"]["requests.running"]["median"] == 4
    # 1000 tokens a scrape, once a second: over the true times of the scrapes, whatever the step falls on.
    assert 850 < busy["figures"]["gen.tps"]["median"] < 1150
    assert stuck["figures"]["requests.waiting"]["median"] == 40
    stalled = [one for one in report["findings"] if one["id"] == "scheduling.admission_stall"]
    assert [one["runs"] for one in stalled] == [[stuck["id"]]]
    (given,) = report["inputs"]
    assert given["name"] == f"prom://127.0.0.1:{prometheus.port}"
    assert given["problems"] == []


@needs_prometheus
def test_histograms_of_a_real_prometheus(prometheus: Prometheus) -> None:
    """What the buckets grew by counts, not what was slow before."""
    machine = Machine(quiet=True)
    address = parse_address(f'prom://127.0.0.1:{prometheus.port}?match={{instance="{prometheus.servers[0]}"}}&step=2s')
    meter = Meter(load_vocabulary(rules_dir(), None))
    given = gather(address, Fetcher(machine.passed).get, meter.wanted, machine)
    assert not given.problems
    (scrapes,) = by_server(given.pages)
    (metered,) = meter.read(scrapes)
    (spread,) = metered.spreads["latency.ttft"]
    made = scrapes.value(len(scrapes.pages) - 1, "vllm_time_to_first_token_seconds_count")
    before = scrapes.value(0, "vllm_time_to_first_token_seconds_count")
    assert made is not None
    assert before is not None
    grown = sum(one.value for one in made.values()) - sum(one.value for one in before.values())
    assert spread.count == grown >= 100
    assert spread.total == pytest.approx(grown * 0.2)
    assert [bound for bound, number in spread.buckets if number] == [0.1, 0.5]
    times = [one.time or 0.0 for one in scrapes.pages]
    # Scraped once a second: the true times of the scrapes, not the steps of the query.
    assert all(abs((b - a) - round(b - a)) < 0.3 for a, b in pairwise(times))


@needs_prometheus
def test_more_points_than_one_answer_holds(prometheus: Prometheus) -> None:
    """Beyond 11,000 points the server refuses; two requests are made of it."""
    done = prometheus.asked("?since=4h&step=1s", "--format", "json")
    report = json.loads(done.stdout)
    assert report["inputs"][0]["problems"] == []
    assert len(report["runs"]) == 2


@needs_prometheus
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ('?match={job="nobody"}', "has no metric that rules know"),
        ('?match={job=~"("}', "the server answered: "),
        ("/wrong/path", "HTTP 404"),
        ("?since=2020-01-01&until=2020-01-02", "has no metric that rules know"),
    ],
)
def test_what_a_real_prometheus_has_not(prometheus: Prometheus, query: str, told: str) -> None:
    done = prometheus.asked(query)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@needs_prometheus
def test_an_answer_saved_from_a_real_prometheus(prometheus: Prometheus, tmp_path: Path) -> None:
    now = time.time()
    window = {"start": f"{now - 60:.0f}", "end": f"{now:.0f}", "step": "2"}
    answer = prometheus.get("/api/v1/query_range", query='{job="vllm"}', **window)
    (tmp_path / "saved.json").write_text(json.dumps(answer))
    instant = prometheus.get("/api/v1/query", query='{__name__=~"vllm:.+"}')
    (tmp_path / "instant.json").write_text(json.dumps(instant))
    report = json.loads(prometheus.run("--exit-zero", str(tmp_path / "saved.json"), "--format", "json").stdout)
    assert sorted(run["stream"] for run in report["runs"]) == sorted(prometheus.servers)
    assert report["inputs"][0]["scrapes"] >= 4
    report = json.loads(prometheus.run("--exit-zero", str(tmp_path / "instant.json"), "--format", "json").stdout)
    assert report["inputs"][0]["scrapes"] == 1


@needs_prometheus
def test_a_federated_page_of_a_real_prometheus(prometheus: Prometheus) -> None:
    """A page that is passed on has the servers' names and the times of their own scrapes."""
    words = urllib.parse.urlencode({"match[]": '{job="vllm"}'})
    done = prometheus.run(f"http://127.0.0.1:{prometheus.port}/federate?{words}", "--every", "2s", "--format", "json")
    report = json.loads(done.stdout)
    assert sorted(run["stream"] for run in report["runs"]) == sorted(prometheus.servers)
    assert report["inputs"][0]["scrapes"] == 2
