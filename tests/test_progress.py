"""The sign of life on a terminal: what it says of files, streams and compressed input, and that it leaves nothing."""

from __future__ import annotations

import gzip
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serverlogs import compiled

from diagnoser.commands._progress import Progress
from diagnoser.sources import open_inputs

ROOT = Path(__file__).parent.parent
LINE = "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2\n"
MORE = "INFO 07-12 10:00:01 [x.py:1] " + "nothing " * 1000 + "\n"


def test_bytes_are_those_on_disk(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    plain.write_text(LINE + MORE * 400)
    packed.write_bytes(gzip.compress((LINE + MORE * 400).encode()))
    sources = open_inputs([str(plain), str(packed)], None)
    total = plain.stat().st_size + packed.stat().st_size
    for source in sources:
        for _ in source.raw_lines():
            pass
        assert source.done == source.size()
    assert sum(source.done for source in sources) == total
    plain.unlink()
    assert sources[0].size() is None


class Fake:
    """A source that is so far."""

    def __init__(self, done: int, size: int | None) -> None:
        self.done = done
        self.size = lambda: size


@pytest.mark.parametrize(
    ("positions", "seconds", "told"),
    [
        ([], 2, ""),
        ([(0, 10)], 2, ""),
        ([(1_200_000_000, 3_400_000_000)], 24, "1.2 of 3.4 GB, 50.0 MB/s, "),
        ([(90_000_000, 100_000_000), (0, 300_000_000)], 2, "90.0 of 400 MB, 45.0 MB/s, "),
        ([(5_000, None)], 2, "5.0 kB, 2.5 kB/s, "),
        ([(90_000_000, 90_000_000), (5_000_000, None)], 1, "95.0 MB, 95.0 MB/s, "),
        ([(90_000_000, 90_000_000)], 9, "90.0 MB read, judging, "),
        ([(5_000, 9_000)], 0, "5.0 of 9.0 kB, "),
    ],
)
def test_what_is_told(positions: list[tuple[int, int | None]], seconds: float, told: str) -> None:
    progress = Progress("reading", quiet=False)
    progress.watch([Fake(*one) for one in positions])  # type: ignore[misc]
    assert progress.told(seconds) == told


def on_terminal(patience: float, *arguments: str, **environment: str) -> str:
    """Return what a terminal on standard error sees; a stream of 3 MB stays open until a rate is told, or so long."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "diagnoser", "--cache-dir", str(compiled()), "--exit-zero", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=child,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment},
    )
    os.close(child)
    assert process.stdin
    process.stdin.write((LINE + MORE * 400).encode())
    process.stdin.flush()
    told = b""
    end = time.monotonic() + patience
    while b"B/s" not in told and (left := end - time.monotonic()) > 0:
        if select.select([parent], [], [], left)[0]:
            told += os.read(parent, 65536)
    process.stdin.close()
    process.wait(timeout=60)
    while select.select([parent], [], [], 0.2)[0]:
        try:
            told += os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
    os.close(parent)
    return told.decode()


def test_on_a_terminal() -> None:
    told = on_terminal(40, "-")
    assert re.search(r"\rreading: \d\.\d MB, [\d.]+ [kM]B/s, \d+ s", told), told
    *_, last = told.rstrip("\r").split("\r")
    assert last.strip() == "", "the line is wiped at the end"
    assert "\n" not in told
    assert on_terminal(2, "-q", "-") == ""
    assert on_terminal(2, "-", TERM="dumb") == ""
