"""Input made to break a reader: never a traceback, never a hang, bounded memory, the documented exit codes."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import serverlogs as logs
from serverlogs import compiled, diagnose, encoded, ids, sglang, stats, vllm

from diagnoser.cli import main
from diagnoser.evidence import collect
from diagnoser.evidence.samples import ROWS

HEALTHY = encoded(logs.LOGS["vllm quiet"])
FATAL = encoded(logs.LOGS["vllm death"])


@pytest.fixture(scope="module")
def cache() -> str:
    return str(compiled())


@pytest.fixture
def run(
    cache: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["--cache-dir", cache, *words])
        out, err = capsys.readouterr()
        assert "Traceback (most recent call last)" not in err
        assert "defect of diagnose" not in err
        return code, out, err

    return call


Run = Callable[..., tuple[int, str, str]]


def test_nothing_to_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "blank.log").write_text("\n \r\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary.log").write_bytes(random.Random(1).randbytes(50_000))
    (tmp_path / "empty.log.gz").write_bytes(gzip.compress(b""))
    said = {
        "missing.log": "no such file",
        "empty.log": "is empty",
        "blank.log": "is empty",
        "binary.log": "binary",
        "folder": "no logs in folder",
        "empty.log.gz": "is empty",
        "binary.log/x": "no such file",
        "a\0b": "cannot read",
    }
    for name, words in said.items():
        code, out, err = run(name)
        assert (code, out) == (2, ""), name
        assert words in err, (name, err)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is readable for root")
def test_unreadable(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_bytes(HEALTHY)
    (tmp_path / "secret.log").chmod(0)
    assert run("secret.log")[0] == 2


def test_one_bad_input_does_not_spoil_the_others(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_bytes(b"\x7fELF" + bytes(5000))
    (tmp_path / "good.log").write_bytes(FATAL)
    code, out, _ = run("--format", "json", "bad.log", "good.log")
    assert code == 1
    assert any(problem for one in json.loads(out)["inputs"] for problem in one["problems"])


def test_damaged_compression(run: Run, tmp_path: Path) -> None:
    whole = gzip.compress(FATAL * 12, mtime=0)
    damaged = bytearray(whole)
    damaged[len(whole) * 3 // 4] ^= 0xFF
    cases = {"cut": whole[: len(whole) * 3 // 4], "damaged": bytes(damaged), "followed": whole + b"garbage" * 9}
    for name, data in cases.items():
        (tmp_path / f"{name}.gz").write_bytes(data)
        code, out, _ = run("--format", "json", f"{name}.gz")
        report = json.loads(out)
        assert code == 1, name
        assert "gzip" in report["inputs"][0]["problems"][0], name
    (tmp_path / "stump.gz").write_bytes(whole[:8])
    code, _, err = run("stump.gz")
    assert code == 2
    assert "cut at byte 8" in err


def test_strange_bytes(run: Run, tmp_path: Path) -> None:
    strange = (
        bytes(range(256)) * 3 + b"\n\xff\xfe\xed\xa0\x80" + "\u202eevil\u202c \u2066x\u2069 \ufeff".encode() + b"\n"
    )
    start = encoded(logs.vllm_start())
    (tmp_path / "s.log").write_bytes(
        start + strange + FATAL.replace(b"torch.Out", b"\x1b[31m\x00torch.Out\x1b]0;t\x07")
    )
    for kind in ("text", "json", "markdown"):
        code, out, _ = run("--format", kind, "--color", "never", "s.log")
        assert code == 1
        assert "gpu_oom" in out
        assert not set(out) & set("\x1b\x07\x00\u202e\u2066")


def test_deep_nesting(run: Run, tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    lines = [
        sglang(1, f"server_args=ServerArgs(model_path='/m', x={deep}, tp_size=2)"),
        sglang(1, "server_args={'model_path': " + "{'a':" * 50_000 + "1" + "}" * 50_000 + "}"),
        vllm(1, "non-default args: {'x': " + "(" * 100_000),
        vllm(1, "Initializing a V1 LLM engine (v0.12.0) with config: " + "a=B(" * 50_000),
        '{"asctime": "2026-07-12 10:00:01", "levelname": "INFO", "message": ' + deep + "}",
        '{"log": ' + deep + "}",
        '{"MESSAGE": ' + '{"a":' * 50_000 + "}",
    ]
    (tmp_path / "deep.log").write_bytes(encoded([*logs.vllm_start(), *lines, *logs.vllm_serving()]))
    assert run("deep.log")[0] == 0


def test_one_huge_line(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.write(encoded(logs.vllm_start()) + b"INFO 07-12 10:00:40 [x.py:1] ")
        for _ in range(100):
            file.write(b"x'\"(" * (1 << 18))
        file.write(b"\n" + FATAL)
    code, out, _ = run("--format", "json", "huge.log")
    assert code == 1
    assert "longer than" in json.loads(out)["inputs"][0]["problems"][0]


#: Texts that make a pattern try everything, and a place where each could be tried.
ALMOST = [
    "a" * 50_000,
    "(" * 20_000,
    "(A" * 20_000 + " pid=",
    "[" + "2026-07-12 10:00:00 TP" * 3_000,
    "1" * 40_000 + ",",
    "1,234" * 10_000 + "!",
    " " * 60_000 + "x",
    "'" * 60_000,
    "A.B" * 20_000 + ":",
    "Running: " * 8_000,
    "KV cache usage: 1" * 4_000,
    "CUDA out of memory. Tried to allocate " * 1_500,
    "#new-seq: 1, " * 5_000,
    "10%|" * 15_000,
    "/a" * 30_000,
    '"' + "\\" * 60_000,
    "0x" + "deadbeef-" * 7_000,
    "pod-" * 15_000 + " x",
    "https://" * 8_000,
    "word " * 12_000 + "|",
    "key=value " * 6_000,
    '{"a": ' * 10_000,
    "x{a=b} " * 8_000,
]
HEADS = ["", vllm(50, "", "ERROR"), sglang(50, ""), "ERROR:    ", "Prefill batch, ", "[pod/a/b] ", "usage: "]


def test_no_text_makes_a_pattern_run_away(tmp_path: Path) -> None:
    plain = [*logs.vllm_start(), *[head + "x" * 60_000 for _ in ALMOST for head in HEADS]]
    spent = []
    for lines in (plain, [*logs.vllm_start(), *[head + text for text in ALMOST for head in HEADS]]):
        before = time.process_time()
        diagnose(tmp_path, lines)
        spent.append(time.process_time() - before)
    # 161 lines of 60 kB: nothing may cost more than linear work, whatever the machine.
    assert spent[1] < 3 + 10 * spent[0], spent


def words(seed: int, count: int) -> Iterable[str]:
    dice = random.Random(seed)
    return ("".join(dice.choices(string.ascii_lowercase, k=10)) for _ in range(count))


def test_messages_that_never_repeat(tmp_path: Path) -> None:
    lines = [vllm(40, f"{word} failed {word[::-1]}", "ERROR", where=f"{word}.py:1") for word in words(1, 8_000)]
    session = diagnose(tmp_path, [*logs.vllm_start(), *lines, *logs.vllm_serving()])
    [found] = session.runs
    assert len(found.residue) <= 400
    assert found.levels["ERROR"] == 8_000


def test_writers_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "MOST_STREAMS", 8)  # each is judged, which takes its time
    lines = [f"[pod/llm-{at}/server] {stats(40, 1, 0, 1.0)}" for at in range(8 + 50)]
    session = diagnose(tmp_path, lines)
    assert len(session.runs) == 8
    assert "50 records" in session.inputs[0].problems[0]


def test_lifetimes_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "MOST_RUNS", 8)
    one = [vllm(1, "vLLM API server version 0.12.0"), vllm(2, "EngineCore encountered a fatal error.", "ERROR")]
    session = diagnose(tmp_path, one * 48)
    assert len(session.runs) == 8
    assert "40 in the middle" in session.inputs[0].problems[0]
    last = session.runs[-1].last
    assert last is not None
    assert last.line == 96


def test_ranks_and_engines_without_end(tmp_path: Path) -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB."
    lines = [vllm(40, text, "ERROR", f"(Worker_TP{at} pid={at}) ") for at in range(4_500)]
    lines += [stats(50, 1, 0, 1.0).replace("Engine 000", f"Engine {at}") for at in range(2_100)] * 2
    session = diagnose(tmp_path, [*logs.vllm_start(), *lines])
    [found] = session.runs
    assert "memory.gpu_oom_runtime" in ids(session) or session.report.findings
    assert sum(len(table) for table in found.tables.values()) <= ROWS
    assert len(found.tables) <= 2048
    assert all(len(event.ranks) <= 4096 for event in found.events.values())


def test_many_tables_share_the_room(tmp_path: Path) -> None:
    lines = [stats(40 + at, 1, 0, 1.0).replace("Engine 000", f"Engine {at % 40:03d}") for at in range(8_000)]
    [found] = diagnose(tmp_path, [*logs.vllm_start(), *lines]).runs
    assert len(found.tables) == 40
    assert sum(sum(table.weight) for table in found.tables.values()) == 8_000
    assert max(len(table) for table in found.tables.values()) <= 2 * ROWS // 40


def test_arguments_without_end(tmp_path: Path) -> None:
    lines = [sglang(1, f"server_args=ServerArgs({', '.join(f'a{at}_{n}=1' for n in range(400))})") for at in range(20)]
    [found] = diagnose(tmp_path, [*logs.sglang_start()[:2], *lines, *logs.sglang_serving()]).runs
    assert len(found.arguments) <= 4096


def command(*arguments: str, cache: str) -> list[str]:
    return [sys.executable, "-m", "diagnoser", "--cache-dir", cache, *arguments]


def test_memory_is_bounded_on_a_pipe(cache: str) -> None:
    """Megabytes of every kind of line through a pipe. Without bounds they would need more than is granted."""
    block = (
        HEALTHY
        + encoded(vllm(40, f"{word} failed", "WARNING") for word in words(2, 200))
        + encoded(logs.LOGS["sglang full"])
    )
    limit = 160 << 20
    process = subprocess.Popen(
        command("--exit-zero", "-", cache=cache), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )  # fmt: skip
    assert process.stdin is not None
    for _ in range((1 << 20) // len(block)):
        process.stdin.write(block)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")


def test_a_stream_of_nothing(cache: str) -> None:
    """What never ends and holds no text is refused at once."""
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(command("-", cache=cache), stdin=endless, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.usefixtures("interruptible")
def test_interrupt(cache: str) -> None:
    process = subprocess.Popen(
        command("-", cache=cache), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(HEALTHY * 20)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    # The pipe is drained once the program reads: an interrupt before that would hit the interpreter's own start.
    while waiting(process.stdin.fileno()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def waiting(pipe: int) -> int:
    import fcntl
    import struct
    import termios

    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0)))[0])


def test_a_reader_that_leaves(cache: str, tmp_path: Path) -> None:
    (tmp_path / "s.log").write_bytes(FATAL)
    process = subprocess.Popen(
        command(str(tmp_path / "s.log"), cache=cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) in (0, 1)
    assert b"Traceback" not in err
    process.stderr.close()
