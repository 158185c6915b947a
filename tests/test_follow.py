"""`diagnose --follow` as a person, a sidecar or a service manager meets it: processes, pipes, files, a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import http.server
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import jsonschema
import pyte
import pytest
from serverlogs import compiled

from diagnoser.commands._livescreen import View, picture
from diagnoser.contracts.findings import Evidence, Finding
from diagnoser.following import Change
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.layout import cells

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "follow.schema.json").read_text(encoding="utf-8"))
STARTED = "INFO 03-01 00:00:00 [api_server.py:1000] vLLM API server version 0.9.2\n"
STATS = (
    "INFO 03-01 00:{:02}:{:02} [loggers.py:118] Engine 000: Avg prompt throughput: 900.0 tokens/s, Avg generation "
    "throughput: 900.0 tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}%, "
    "Prefix cache hit rate: 12.0%\n"
)
HEALTHY = STARTED + "".join(STATS.format(at // 60, at % 60, 4, 0, 10.0) for at in range(10, 300, 10))
CRASH = (
    "ERROR 03-01 00:05:01 [core.py:390] EngineCore encountered a fatal error.\nTraceback (most recent call last):\n"
    '  File "/vllm/v1/worker/gpu_model_runner.py", line 1, in execute_model\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.00 GiB is free.\n"
)


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LD_LIBRARY_PATH")}
    kept |= {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    made = {**kept, "DIAGNOSE_CACHE_DIR": str(compiled())}
    # Rules are compiled once.
    subprocess.run(
        [sys.executable, "-m", "diagnoser", "rules", "list"], env=made, stdout=subprocess.DEVNULL, check=True
    )
    return made


class Following:
    """One process, and what it has said so far with the time of each line."""

    def __init__(self, environment: dict[str, str], *arguments: str, stdin: int | None = subprocess.PIPE) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "diagnoser", "--follow", *arguments],
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[tuple[float, dict[str, Any]]] = []
        self.said = b""
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout,)),
            threading.Thread(target=self._hear, args=(self.process.stderr,)),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.lines.append((time.monotonic(), json.loads(line)))

    def _hear(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.said += line

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def until(self, count: int, seconds: float = 20.0) -> list[dict[str, Any]]:
        """Wait for so many lines."""
        end = time.monotonic() + seconds
        while len(self.lines) < count and time.monotonic() < end:
            time.sleep(0.02)
        return [line for _, line in self.lines]

    def hears(self, text: str, seconds: float = 20.0) -> bool:
        end = time.monotonic() + seconds
        while text.encode() not in self.said and time.monotonic() < end:
            time.sleep(0.02)
        return text.encode() in self.said

    def end(self) -> tuple[int, list[dict[str, Any]], str]:
        """Wait for the end; return exit code, lines, and what was said on standard error."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        code = self.process.wait(30)
        for thread in self._threads:
            thread.join(10)
        return code, [line for _, line in self.lines], self.said.decode()


@pytest.fixture
def follow(environment: dict[str, str], interruptible: None) -> Iterator[Any]:
    begun: list[Following] = []

    def begin(*arguments: str, **more: Any) -> Following:
        begun.append(Following(environment, *arguments, **more))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.end()
        for stream in (one.process.stdout, one.process.stderr):
            assert stream is not None
            stream.close()


def of(pod: str, text: str) -> str:
    """The log of one pod among others."""
    return "".join(f"[pod/{pod}/vllm] {line}\n" for line in text.splitlines())


def test_a_pipe_tells_a_finding_within_two_seconds_of_its_line(follow: Any) -> None:
    one = follow()
    one.write(of("a", HEALTHY + CRASH) + of("b", HEALTHY))
    (first,) = one.until(1)[:1]
    assert (first["event"], first["servers"]) == ("opened", ["a/vllm"])
    time.sleep(0.5)
    told = len(one.lines)
    wrote = time.monotonic()
    one.write(of("b", CRASH)[:200])
    time.sleep(0.3)
    one.write(of("b", CRASH)[200:])
    more = one.until(told + 1)[told]
    assert one.lines[told][0] - wrote < 2.3
    assert (more["event"], more["servers"], more["was"]) == ("updated", ["a/vllm", "b/vllm"], {"servers": ["a/vllm"]})
    opened = next(line for _, line in one.lines if line["id"] == more["id"])
    assert more["first"] == opened["first"] and more["log_time"] == "03-01 00:05:01"
    code, lines, said = one.end()
    assert code == 1 and said == ""
    for each in lines:
        jsonschema.validate(each, SCHEMA)


@pytest.mark.parametrize(
    ("number", "arguments", "code"),
    [
        (signal.SIGINT, ["--fail-on", "critical"], 1),
        (signal.SIGTERM, ["--fail-on", "never"], 0),
    ],
)
def test_a_signal_ends_with_what_was_found(
    follow: Any, tmp_path: Path, number: signal.Signals, arguments: list[str], code: int
) -> None:
    report = tmp_path / "report.json"
    one = follow(*arguments, "--format", "json", "-o", str(report))
    one.write(HEALTHY + CRASH)
    assert one.until(1)
    one.process.send_signal(number)
    assert one.process.wait(20) == code
    _, lines, said = one.end()
    assert lines[0]["event"] == "opened" and "Traceback" not in said
    assert json.loads(report.read_text())["findings"][0]["id"] in {line["id"] for line in lines}


def test_an_interrupt_before_anything_came(follow: Any, tmp_path: Path) -> None:
    one = follow(str(tmp_path / "later.log"), stdin=subprocess.DEVNULL)
    assert one.hears("waiting for")
    one.process.send_signal(signal.SIGINT)
    code, lines, said = one.end()
    assert (code, lines) == (130, []) and "Traceback" not in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_it_exits_on_a_finding_in_a_named_pipe(follow: Any, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    one = follow(str(path), "--exit-on", "critical", "--exit-zero", stdin=subprocess.DEVNULL)
    with path.open("w") as pipe:
        pipe.write(HEALTHY + CRASH)
        pipe.flush()
        assert one.process.wait(20) == 1  # the pipe is still open
    assert any(line["severity"] == "critical" for line in one.end()[1])


def test_nobody_reads_any_more(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "diagnoser", "--follow"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(HEALTHY.encode())
    process.stdin.flush()
    process.stdout.close()
    assert process.wait(20) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_a_rotated_file_and_a_scraped_server(follow: Any, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(HEALTHY)
    with serving() as port:
        one = follow(str(log), f"http://127.0.0.1:{port}", "--every", "0.3s", "-o", str(tmp_path / "report.txt"))
        time.sleep(2.0)
        log.rename(tmp_path / "server.log.1")
        log.write_text(CRASH)
        assert one.until(1)
        time.sleep(0.5)
        one.process.send_signal(signal.SIGTERM)
        code, lines, said = one.end()
    assert code == 1
    assert lines[0]["evidence"][0]["source"] == f"{log} (2, rotated)"
    assert f"{log} was replaced" in said
    assert "scrapes" in (tmp_path / "report.txt").read_text()


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """An endpoint of a server that answers requests."""
    asked = iter(range(1, 1000))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            count = next(asked)
            body = (
                "# TYPE vllm:num_requests_running gauge\n"
                'vllm:num_requests_running{model_name="m"} 4\n'
                'vllm:num_requests_waiting{model_name="m"} 0\n'
                "# TYPE vllm:generation_tokens_total counter\n"
                f'vllm:generation_tokens_total{{model_name="m"}} {count * 300}\n'
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Terminal:
    """A terminal with a process in it."""

    def __init__(self, environment: dict[str, str], *arguments: str, columns: int = 100, rows: int = 30) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "diagnoser", "--follow", *arguments],
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def shows(self, text: str, seconds: float = 20.0) -> bool:
        end = time.monotonic() + seconds
        while text not in self.text and time.monotonic() < end and self._read():
            pass
        return text in self.text

    def rest(self) -> str:
        """What comes until the end."""
        before = len(self.raw)
        while self._read():
            pass
        return self.raw[before:].decode()

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return False
        self.raw += got
        self._stream.feed(got)
        return bool(got)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


def test_the_live_screen(environment: dict[str, str], interruptible: None, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(HEALTHY)
    terminal = Terminal(environment, str(log))
    try:
        assert terminal.shows("no open findings") and terminal.shows("serving")
        assert "vLLM 0.9.2" in terminal.text and "30 lines" in terminal.text and "the last 15 min are" in terminal.text
        assert terminal.shows("median")  # a picture comes in pieces
        assert any(line.startswith("running") and "median" in line for line in terminal.text.split("\n"))
        with log.open("a") as file:
            file.write(CRASH.replace("1.00 GiB is free", "\x1b]0;owned\x07\x1b[2J1.00 GiB is free"))
        assert terminal.shows("CRITICAL")
        shown = terminal.text
        assert "server.log:" in shown and "CRASHED" in shown and b"\x1b]0;owned" not in terminal.raw
        assert terminal.text.split("\n")[-1].startswith("Ctrl-C")
        terminal.process.send_signal(signal.SIGINT)
        report = terminal.rest()
        assert terminal.process.wait(20) == 1
        # The terminal is given back, and the report stands on it.
        assert "\x1b[?1049l" in report and "CRITICAL" in report.partition("\x1b[?1049l")[2]
        assert "Traceback (most" not in report.partition("\x1b[?1049l")[2].replace("Traceback (most recent call", "")
    finally:
        terminal.close()


def test_a_plain_terminal_gets_sentences(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(HEALTHY + CRASH)
    terminal = Terminal({**environment, "TERM": "dumb"}, str(log), "--exit-on", "critical", columns=300)
    try:
        report = terminal.rest()
        assert terminal.process.wait(20) == 1
        first = next(line for line in report.split("\n") if "opened" in line)
        assert first.startswith("00:05:01 opened: CRITICAL ") and "server.log:" in first
        assert "\x1b[?1049h" not in report and "root cause" in report
    finally:
        terminal.close()


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize(("width", "height"), [(50, 8), (80, 24), (160, 50)])
@pytest.mark.parametrize("count", [0, 1, 12])
def test_the_picture_fits_the_terminal(count: int, width: int, height: int, unicode: bool) -> None:
    proof = Evidence("a-rather-long-name-of-a/server.log", 123456, "03-01 00:05:01", "wide 字 \x1b[31m" * 40)
    plain = {
        "stage": "memory", "title": "A title that says it all, at length, as titles do " * 2, "severity": "warning",
        "confidence": "likely", "role": "root", "explains": [], "explained_by": None, "runs": [0], "meaning": "",
        "impact": "字" * 100, "window": "", "evidence": [proof], "remedies": [], "verify": "", "docs": "",
    }  # fmt: skip
    told = [
        Change("open", Finding(id=f"memory.x{at}", **plain), None, "03-01 00:05:01", ["server.log"], proof)
        for at in range(count)
    ]
    view = View(["server.log"] * 9, None, told, told[:4], 10**9, 12345.6, "03-01 00:05:01", "judged", ["\x1b[2Jnote"])
    lines = picture(view, RenderOptions(width=width, unicode=unicode), height).split("\n")
    assert len(lines) == height and lines[-1].startswith("Ctrl-C")
    assert max(map(cells, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert ("memory.x0" in "".join(lines)) is (count > 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "15m"], "--since does not go with --follow"),
        (["--baseline", "x"], "--baseline does not go with --follow"),
        (["--why", "memory.kv_cache_exhausted"], "--why does not go with --follow"),
        (["--window", "soon"], "'soon' is no length of time"),
        (["--exit-on", "fatal"], "unknown value 'fatal'"),
        (["FOLDER"], "it is a folder"),
        (["GZIP"], "it is gzip data"),
        (["BENCH"], "nothing to follow"),
        (["x.log", "x.log"], "x.log is named twice"),
        (["prom://localhost:9090"], "cannot follow prom://localhost:9090"),
        (["-", "-"], "standard input (-) is named twice"),
    ],
)
def test_what_cannot_be_followed_is_told(
    arguments: list[str],
    said: str,
    environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from diagnoser import cli

    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress(HEALTHY.encode()))
    named = {
        "FOLDER": str(tmp_path),
        "GZIP": str(packed),
        "BENCH": str(ROOT / "samples" / "bench-over-limit" / "bench.jsonl"),
    }
    monkeypatch.setenv("DIAGNOSE_CACHE_DIR", environment["DIAGNOSE_CACHE_DIR"])
    assert cli.main(["--follow", *(named.get(word, word) for word in arguments)]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") <= 2 and "Traceback" not in told


def test_exit_on_needs_follow(capsys: pytest.CaptureFixture[str]) -> None:
    from diagnoser import cli

    assert cli.main(["--exit-on", "critical", "x.log"]) == 2
    assert "--exit-on is for --follow" in capsys.readouterr().err
