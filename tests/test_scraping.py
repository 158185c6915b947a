"""Addresses as inputs: what is read of them, what is shown of them, and what becomes of servers that misbehave."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from exporters import Handler, Server, page, replay, serving

from diagnoser.commands._live import Machine
from diagnoser.observations import Gathered
from diagnoser.options import UsageError
from diagnoser.scraping.address import Address, apart, is_address, parse_address
from diagnoser.scraping.fetch import Answer, Fetcher, FetchError, Limits
from diagnoser.scraping.watch import Timing, timing, watch
from diagnoser.sources import InputError

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "samples" / "healthy-vllm" / "server.log"


# Addresses


@pytest.mark.parametrize(
    ("text", "name", "server", "target"),
    [
        ("http://host:8000/metrics", "http://host:8000/metrics", "host:8000", "/metrics"),
        ("http://host:8000", "http://host:8000/metrics", "host:8000", "/metrics"),
        ("http://host:8000/", "http://host:8000/metrics", "host:8000", "/metrics"),
        ("http://host", "http://host/metrics", "host:80", "/metrics"),
        ("HTTPS://Host/m", "https://Host/m", "host:443", "/m"),
        ("http://[::1]:8000", "http://[::1]:8000/metrics", "[::1]:8000", "/metrics"),
        ("http://u:p@host:1/metrics?a=b#c", "http://host:1/metrics?a=b", "host:1", "/metrics?a=b"),
        ("http://u:p%40ss@host:1", "http://host:1/metrics", "host:1", "/metrics"),
        ("http://u:p@ss@host:1", "http://host:1/metrics", "host:1", "/metrics"),
        ("prom://host", "prom://host", "host:9090", ""),
        ("prom://u:secret@host:9091/prometheus/", "prom://host:9091/prometheus", "host:9091", "/prometheus"),
        ("proms://host/?since=2h", "proms://host", "host:443", ""),
    ],
)
def test_an_address(text: str, name: str, server: str, target: str) -> None:
    found = parse_address(text)
    assert (found.name, found.server, found.target) == (name, server, target)
    assert "secret" not in repr(found)
    assert "p@ss" not in repr(found)
    assert found.tls is text.lower().startswith(("https", "proms"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ftp://host/x", "begin with http://"),
        ("http://", "expected http://HOST:PORT"),
        ("http://:8000", "expected http://HOST:PORT"),
        ("http://host:port", "host:port"),
        ("http://host:99999", "Port out of range"),
        ("http://ho st:1", "expected http://HOST:PORT"),
        ("http://[::1", "Invalid IPv6"),
        ("http://host:1/a\nb", "no control characters"),
        ("http://user:sec/ret@host:1", "cannot be read"),
        ("http://user:secret@host:port", "cannot be read"),
        ("prom://host?match=vllm", "label conditions such as"),
        ('prom://host?match={__name__="x"}', "label conditions such as"),
        ('prom://host?match={job="a"}or{job="b"}', "label conditions such as"),
        ("prom://host?since=yesterday", "since=yesterday: expected such as 15m"),
        ("prom://host?step=10:00", "step=10:00: expected a length"),
        ("prom://host?wait=1", "there is no wait="),
    ],
)
def test_a_faulty_address(text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        parse_address(text)
    assert told in str(error.value)
    assert "sec" not in str(error.value)


def test_what_a_prometheus_server_is_asked_for() -> None:
    asking = parse_address('prom://h?match={job="vllm",pod=~"a.+"}&match=x%3D"1%262"&since=30m&step=15s').asking
    assert asking is not None
    assert asking.matches == ('job="vllm",pod=~"a.+"', 'x="1&2"')
    assert asking.step == 15.0
    assert asking.span(10_000.0) == (8200.0, 10_000.0)
    asking = parse_address("prom://h?since=2026-11-29 10:00&until=2026-11-29 11:00").asking
    assert asking is not None
    start, end = asking.span(2e9)
    assert end - start == 3600


def test_addresses_of_one_server_are_told_apart() -> None:
    names = [one.name for one in apart([parse_address(f'prom://h?match={{job="{job}"}}') for job in "ab"])]
    assert names == ['prom://h?match={job="a"}', 'prom://h?match={job="b"}']
    assert not is_address("logs/http:/x")


# When


@pytest.mark.parametrize(
    ("length", "every", "wanted"),
    [
        (None, None, Timing(2, 10.0)),
        (None, 3.0, Timing(2, 3.0)),
        (60.0, 5.0, Timing(13, 5.0)),
        (60.0, None, Timing(13, 5.0)),
        (3600.0, None, Timing(121, 30.0)),
        (2.0, None, Timing(2, 2.0)),
        (1.0, 0.1, Timing(11, 0.1)),
        (5.0, 10.0, Timing(1, 10.0)),
    ],
)
def test_timing(length: float | None, every: float | None, wanted: Timing) -> None:
    assert timing(length, every) == wanted


def test_too_many_scrapes_are_refused() -> None:
    with pytest.raises(UsageError, match="86,401 scrapes; at most 2,000"):
        timing(86_400.0, 1.0)


class Fake:
    """A world in which time passes only by waiting and by slow answers."""

    def __init__(self) -> None:
        self.time = 0.0
        self.set = 1_800_000_000.0
        self.told: list[str] = []

    def now(self) -> float:
        return self.set + self.time

    def passed(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += seconds

    def together(self, jobs, seconds):  # type: ignore[no-untyped-def]
        return [job() for job in jobs]

    def tell(self, text: str) -> None:
        self.told.append(text)


Script = list[str | BaseException | Callable[[Fake], str]]


def watched(scripts: dict[str, Script], plan: Timing) -> tuple[list[Gathered], Fake]:
    """Scrape addresses that answer as the scripts say; the last answer stays."""
    world = Fake()
    left = {name: list(script) for name, script in scripts.items()}

    def get(address: Address, target: str, accept: str) -> Answer:
        script = left[address.server]
        said = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(said, BaseException):
            raise said
        return Answer((said if isinstance(said, str) else said(world)).encode(), told=False)

    addresses = [parse_address(f"http://{name}") for name in scripts]
    return watch(addresses, get, plan, 25.0, lambda name: name.startswith("vllm"), world), world


def told(one: Gathered) -> str:
    return "; ".join(problem.text for problem in one.problems)


def test_scrapes_are_pages_with_time_and_server() -> None:
    (one, two), world = watched({"a:1": [page(0), page(1), page(2)], "b:2": [page(5)]}, Timing(3, 5.0))
    assert [found.time for found in one.pages] == [1_800_000_000.0, 1_800_000_005.0, 1_800_000_010.0]
    assert [found.server for found in two.pages] == ["b:2"] * 3
    assert not one.problems
    assert world.told == ["scrape 1 of 3", "scrape 2 of 3", "scrape 3 of 3", ""]


@pytest.mark.parametrize(
    ("script", "pages", "text"),
    [
        ([page(0), FetchError("down"), page(2)], 2, "1 of 3 scrapes failed: down"),
        ([page(0), "<!DOCTYPE html><p>x</p>\n", page(2)], 2, "1 of 3 scrapes failed: a web page"),
        ([page(0), page(1)[:-40], page(2)], 2, "the page ends in the middle of a line"),
        ([page(0), "", page(2)], 2, "an empty answer"),
        ([page(0), "# TYPE vllm:num_requests_running gauge\n", page(2)], 2, "a page without samples"),
        (['{"status": "ok"}\n'], 0, "a Prometheus server is asked with prom://"),
        (["all is well\n"], 0, "not a metrics page: 'all is well"),
        ([FetchError("no such host")], 0, "no such host"),
        ([page(0) + page(1), page(2)], 3, "repeats its samples"),
        ([page(0), page(1) + "<what is this>\n"], 3, "not '<what is this>'"),
    ],
)
def test_what_cannot_be_read_is_told(script: Script, pages: int, text: str) -> None:
    (one,), _ = watched({"a:1": script}, Timing(3, 5.0))
    assert len(one.pages) == pages
    assert text in told(one)


def test_when_nothing_answers_nobody_waits() -> None:
    (one, _), world = watched({"a:1": [FetchError("down")], "b:1": [FetchError("down")]}, Timing(13, 5.0))
    assert world.time == 0
    assert told(one) == "down"


def test_an_endpoint_that_is_too_slow_does_not_hold_up_the_others() -> None:
    def slow(world: Fake) -> str:
        world.time += 25
        raise FetchError("no answer within 25 s", late=True)

    (one, two), world = watched({"a:1": [page(0), slow], "b:1": [page(0)]}, Timing(13, 5.0))
    assert "given up after 2 scrapes" in told(one)
    assert "2 of 3 scrapes failed: no answer within 25 s" in told(one)
    assert "answers were slow: 6 of 13 scrapes were taken" in told(two)
    assert world.time <= 75


def test_an_endpoint_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnoser.scraping.watch.SAMPLES", 30)
    (one,), world = watched({"a:1": [page(0)]}, Timing(9, 5.0))
    assert len(one.pages) == 2
    assert told(one) == "more than 30 samples; the rest was not kept"
    assert world.time == 10


def test_after_a_slow_first_scrape_there_is_still_a_second() -> None:
    def slow(world: Fake) -> str:
        world.time += 24
        return page(0)

    (one,), _ = watched({"a:1": [slow, page(1)]}, Timing(2, 10.0))
    assert [found.time for found in one.pages] == [1_800_000_000.0, 1_800_000_024.0]


def test_two_pages_of_one_server_are_scraped_apart() -> None:
    world = Fake()
    addresses = [parse_address(f"http://a:1/{path}") for path in ("metrics", "other")]
    given = watch(addresses, lambda *_: Answer(page(0).encode(), True), Timing(2, 1.0), 25.0, lambda name: True, world)
    assert [{found.server for found in one.pages} for one in given] == [{"http://a:1/metrics"}, {"http://a:1/other"}]


def test_what_hangs_is_left_behind() -> None:
    """A server that trickles its head byte by byte is bounded by nothing else."""
    machine = Machine(quiet=True)
    began = time.monotonic()
    assert machine.together([lambda: 1, lambda: time.sleep(20) or 2], 0.3) == [1, None]
    assert time.monotonic() - began < 5
    with pytest.raises(ZeroDivisionError):
        machine.together([lambda: 1 // 0], 5)


def test_a_person_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    Machine(quiet=False).tell("scrape 1 of 2")
    assert not shown.getvalue(), "no terminal"
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    machine = Machine(quiet=False)
    machine.tell("scrape 3 of 12")
    machine.tell("")
    assert shown.getvalue() == "\rscrape 3 of 12\r              \r"


def test_a_clock_that_is_set_back() -> None:
    def back(world: Fake) -> str:
        world.set -= 60
        return page(1)

    (one,), _ = watched({"a:1": [page(0), back, page(2)]}, Timing(3, 5.0))
    times = [found.time or 0.0 for found in one.pages]
    assert [later - times[0] for later in times] == [0.0, 5.0, 10.0]
    assert told(one).count("set back by 1 min") == 1


def test_a_page_that_is_passed_on_twice_is_one_scrape() -> None:
    texts: Script = [f'vllm:num_requests_running{{pod="x"}} 3 18000000{stamp}000\n' for stamp in (10, 10, 25)]
    (one,), _ = watched({"a:1": texts}, Timing(3, 5.0))
    assert [found.time for found in one.pages] == [1_800_000_010.0, 1_800_000_025.0]


def test_an_interrupt_loses_nothing() -> None:
    (one, two), _ = watched({"a:1": [page(0), page(1), KeyboardInterrupt()], "b:1": [page(0)]}, Timing(13, 5.0))
    assert len(one.pages) == 2
    assert told(one) == told(two) == "interrupted after 2 of 13 scrapes"
    with pytest.raises(KeyboardInterrupt):
        watched({"a:1": [KeyboardInterrupt()]}, Timing(13, 5.0))


# The wire

LIMITS = Limits(connect=1.0, read=0.4, total=1.0, size=1 << 20)


def fetch(server: Server, path: str = "/metrics", token: str = "", user: str = "") -> Answer:
    address = parse_address(f"http://{user}127.0.0.1:{server.port}{path}")
    return Fetcher(time.monotonic, token, LIMITS).get(address, address.target, "text/plain")


def chunked(handler: Handler, body: bytes, end: bytes = b"0\r\n\r\n") -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for at in range(0, len(body), 1000):
        piece = body[at : at + 1000]
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.wfile.write(end)


def endless(handler: Handler, piece: bytes, head: bytes = b"HTTP/1.1 200 OK\r\n\r\n", pause: float = 0.0) -> None:
    handler.wfile.write(head)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        handler.wfile.write(piece)
        time.sleep(pause)


def raw(handler: Handler, data: bytes) -> None:
    handler.wfile.write(data)


BODY = page(3).encode()
BOMB = gzip.compress(bytes(64 << 20))
BAD: dict[str, tuple[Callable[[Handler], None], str]] = {
    "silent": (lambda h: time.sleep(1.5), "nothing was sent for 0.4 s"),
    "slow": (lambda h: endless(h, b"x", pause=0.1), "not complete within 1 s"),
    "endless": (lambda h: endless(h, b"x" * 65536), "answers with more than 1 MiB"),
    "endless header": (lambda h: endless(h, b"A: b\r\n", b"HTTP/1.1 200 OK\r\n"), "closed before"),
    "endless header line": (lambda h: endless(h, b"x" * 4096, b"HTTP/1.1 200 OK\r\nA: "), "closed before"),
    "endless chunk head": (
        lambda h: endless(h, b"0" * 4096, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "closed before",
    ),
    "bomb": (lambda h: h.send(BOMB, Content_Encoding="gzip"), "more than 1 MiB"),
    "not gzip": (lambda h: h.send(b"plain", Content_Encoding="gzip"), "compressed answer cannot be read"),
    "closed": (lambda h: None, "closed before"),
    "not HTTP": (lambda h: raw(h, b"SSH-2.0-OpenSSH_9.2\r\n"), "closed before"),
    "half": (lambda h: h.send(BODY[:100], Content_Length=str(len(BODY))), "closed before"),
    "half in chunks": (lambda h: chunked(h, BODY, b"3e8\r\nvllm"), "closed before"),
    "500": (lambda h: h.send(b"sorry", 500), "HTTP 500: Internal Server Error"),
    "401": (lambda h: h.send(b"", 401), "HTTP 401: wants credentials: --bearer-token-file"),
    "403": (lambda h: h.send(b"", 403), "HTTP 403: refuses"),
    "404": (lambda h: h.send(b"", 404), "--enable-metrics"),
    "circle": (lambda h: h.send(b"", 302, Location="/metrics"), "in a circle"),
    "elsewhere": (
        lambda h: h.send(b"", 302, Location="http://u:secret@127.0.0.1:1/x"),
        "redirects to http://127.0.0.1:1/x",
    ),
    "another scheme": (lambda h: h.send(b"", 301, Location=f"https://{h.headers['Host']}/m"), "redirects to https://"),
    "another name": (lambda h: h.send(b"", 307, Location="//localhost/metrics"), "redirects to http://localhost/"),
    "a file": (lambda h: h.send(b"", 302, Location="file:///etc/passwd"), "redirects to file:"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_server_that_misbehaves(name: str) -> None:
    answer, text = BAD[name]
    with serving(answer) as server:
        began = time.monotonic()
        with pytest.raises(FetchError) as error:
            fetch(server)
        assert text in str(error.value)
        assert "secret" not in str(error.value)
        assert time.monotonic() - began < 3
        assert len(server.asked) <= 3


GOOD: dict[str, Callable[[Handler], None]] = {
    "plain": lambda h: h.send(BODY),
    "gzip": lambda h: h.send(gzip.compress(BODY), Content_Encoding="gzip"),
    "chunked": lambda h: chunked(h, BODY),
    "until the end": lambda h: raw(h, b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
    "wrong content type": lambda h: h.send(BODY, Content_Type="application/octet-stream"),
    "redirect within": lambda h: h.send(BODY) if h.path == "/metrics/" else h.send(b"", 307, Location="/metrics/"),
    "redirect within, absolute": lambda h: (
        h.send(BODY) if h.path == "/m" else h.send(b"", 307, Location=f"http://{h.headers['Host']}/m")
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_server_that_answers(name: str) -> None:
    with serving(GOOD[name]) as server:
        assert fetch(server).body == BODY


def test_an_address_is_sent_as_it_must_be() -> None:
    with serving(GOOD["plain"]) as server:
        fetch(server, '/federate?match[]={job="a b"}&x=ä%20b')
        (asked,) = server.asked
        assert unquote(asked.path) == '/federate?match[]={job="a b"}&x=ä b'
        assert asked.path.isascii()
        assert not set(asked.path) & set(' "{}')


def test_a_port_where_nobody_listens() -> None:
    with serving(GOOD["plain"]) as server:
        port = server.port
    address = parse_address(f"http://127.0.0.1:{port}")
    with pytest.raises(FetchError, match="connection refused: nothing listens there"):
        Fetcher(time.monotonic, "", LIMITS).get(address, "/metrics", "")
    with pytest.raises(FetchError, match="no such host"):
        Fetcher(time.monotonic, "", LIMITS).get(parse_address("http://no.such.host.invalid"), "/metrics", "")


@pytest.mark.parametrize(
    ("user", "token", "sent"),
    [
        ("", "", None),
        ("", "abc.def", "Bearer abc.def"),
        ("me:p%40ss@", "abc", "Basic bWU6cEBzcw=="),
    ],
)
def test_credentials_are_sent(user: str, token: str, sent: str | None) -> None:
    with serving(GOOD["plain"]) as server:
        fetch(server, token=token, user=user)
        (asked,) = server.asked
        assert asked.headers["Authorization"] == sent
        assert asked.command == "GET"


# The whole program


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_two_replicas_and_a_dead_one(tmp_path: Path, command: Command) -> None:
    """Each is a run under its own name; the password is in no output; proxies of the environment are not asked."""
    with (
        serving(replay([page(at) for at in range(9)])) as one,
        serving(replay([page(at, running=0, waiting=50) for at in (0, 0, 0, 0)])) as two,
        serving(lambda h: None) as dead,
    ):
        addresses = [f"http://u:hunter22@127.0.0.1:{server.port}" for server in (one, two, dead)]
        dead.shutdown()
        dead.server_close()
        proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
        timing = ("--for", "1.5s", "--every", "0.5s")
        done = command(*addresses, *timing, "--format", "json", **proxies)
        text = command(*addresses, *timing, "-v", **proxies)
        names = [f"127.0.0.1:{server.port}" for server in (one, two)]
    report = json.loads(done.stdout)
    assert [run["stream"] for run in report["runs"]] == names
    live, *_, gone = report["inputs"]
    assert live["scrapes"] >= 3, "a busy machine may miss one"
    assert gone["scrapes"] == 0
    assert live["seconds"] >= 1.4
    # Every page has 1000 tokens more than the one before.
    rate = 1000 * (live["scrapes"] - 1) / live["seconds"]
    assert report["runs"][0]["figures"]["gen.tps"]["median"] == pytest.approx(rate, rel=0.3)
    (problem,) = report["inputs"][2]["problems"]
    assert problem == "connection refused: nothing listens there"
    assert f"http://127.0.0.1:{one.port}/metrics (" in text.stdout.replace("\n", " ")
    assert "hunter22" not in done.stdout + done.stderr + text.stdout + text.stderr


def test_a_log_beside_an_endpoint(command: Command) -> None:
    with serving(replay([page(at) for at in range(9)])) as server:
        done = command(str(SAMPLE), server.address, "--every", "0.3s", "--format", "json")
        name = f"{server.address}/metrics"
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    (run,) = report["runs"]
    assert run["engine_version"], "told by the log"
    assert report["inputs"][1]["scrapes"] == 2
    assert [one["name"] for one in report["inputs"]] == [str(SAMPLE), name]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["http://127.0.0.1:1"], "diagnose: error: http://127.0.0.1:1/metrics: connection refused"),
        (["http://127.0.0.1:1", "missing.log"], "no such file or folder: missing.log"),
        (["http://127.0.0.1:1", "http://127.0.0.1:1/metrics"], "an address is named twice"),
        (["localhost:8000/metrics"], "no such file or folder: localhost:8000/metrics; an address begins with http://"),
        (["http://u:hunter22@host:x"], "http://***@host:x: its host or port cannot be read"),
        (["http://h", "--for", "soon"], "'soon' is no length of time such as 5s"),
        (["http://h", "--for", "1d", "--every", "1s"], "at most 2,000 are taken"),
        (["http://h", "--bearer-token-file", "missing"], "--bearer-token-file missing: No such file"),
        (["http://h", "--bearer-token-file", str(SAMPLE)], "expected one line with a token"),
        (["prom://127.0.0.1:1"], "prom://127.0.0.1:1: connection refused"),
    ],
)
def test_nothing_could_be_read(arguments: list[str], text: str, command: Command) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert "hunter22" not in done.stderr
    assert not done.stdout


def test_a_dead_endpoint_beside_a_log_is_only_a_problem(command: Command) -> None:
    done = command(str(SAMPLE), "http://127.0.0.1:1", "--for", "60s")
    assert done.returncode == 0, done.stderr
    assert "connection refused: nothing listens there" in done.stdout


def test_the_environment_has_twins(tmp_path: Path, command: Command) -> None:
    (tmp_path / "token").write_text("abc123\n")
    with serving(replay([page(at) for at in range(9)])) as server:
        twins = {
            "DIAGNOSE_FOR": "2s",
            "DIAGNOSE_EVERY": "0.5s",
            "DIAGNOSE_BEARER_TOKEN_FILE": str(tmp_path / "token"),
        }
        done = command(server.address, "--format", "json", **twins)
        assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer abc123"}
    assert json.loads(done.stdout)["inputs"][0]["scrapes"] >= 3, "without the twins there are two"
    assert "abc123" not in done.stdout + done.stderr


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("pages", "code", "text"), [(2, 0, "interrupted after"), (0, 130, "")])
def test_ctrl_c(pages: int, code: int, text: str) -> None:
    answer = replay([page(at) for at in range(99)]) if pages else lambda handler: time.sleep(5)
    with serving(answer) as server:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "diagnoser",
                "--cache-dir",
                "none",
                server.address,
                "--for",
                "60s",
                "--every",
                "0.3s",
            ],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 30
        while len(server.asked) < max(pages, 1) + 1 * bool(pages) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert process.returncode == code, error
    assert text in out
    assert "Traceback" not in error


def test_a_run_without_addresses_loads_no_network() -> None:
    code = (
        "import sys; from diagnoser.cli import main; main(sys.argv[1:]); "
        "print([name for name in sys.modules if name.startswith(('urllib3', 'diagnoser.scraping', 'ssl'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "--cache-dir", "none", str(SAMPLE)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: no certificate to test with")
def test_tls_is_verified(tmp_path: Path, command: Command) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(replay([page(at) for at in range(9)])) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        address = f"https://127.0.0.1:{server.port}"
        refused = command(address)
        assert refused.returncode == 2
        assert "its certificate is not trusted: self-signed certificate" in refused.stderr
        trusted = command(address, "--every", "0.2s", SSL_CERT_FILE=str(certificate))
        assert "2 scrapes" in trusted.stdout, trusted.stderr
    with serving(GOOD["plain"]) as server:
        assert "does not speak TLS" in command(f"https://127.0.0.1:{server.port}").stderr
