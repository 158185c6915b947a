"""Long logs by the block: whatever the blocks, and whether lines are skipped or read, the evidence is the same."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from longlogs import HEADS, WOVEN, differences, evidence, log, narrow, woven
from serverlogs import compiled

from benchmarks import inputs
from diagnoser.evidence import Collector
from diagnoser.formats import stats_readers
from diagnoser.formats.base import StatsLine
from diagnoser.gap import Gap
from diagnoser.model import Record
from diagnoser.skimming import cutter
from diagnoser.skimming.layouts import Layout
from diagnoser.skimming.learning import learn


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of two thousand lines is long here."""
    monkeypatch.setattr(cutter, "MANY", 1)


@pytest.mark.parametrize("kind", inputs.KINDS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), odd=st.integers(0, 40), cuts=st.lists(st.integers(0, 10**6), max_size=6))
def test_skipping_changes_nothing(kind: str, seed: int, odd: int, cuts: list[int]) -> None:
    data = log(kind, seed, 1800, odd)
    read = evidence(data, [], skim=False)
    assert not list(differences(evidence(data, []), read))
    assert not list(differences(evidence(data, [cut % len(data) for cut in cuts]), read))


@pytest.mark.parametrize(("kind", "seed", "odd"), [("batches", 9273, 19)])
def test_nor_did_it_where_it_once_did(kind: str, seed: int, odd: int) -> None:
    data = log(kind, seed, 1800, odd)
    assert not list(differences(evidence(data, []), evidence(data, [], skim=False)))


@pytest.mark.parametrize("kind", HEADS)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), width=st.integers(150, 260), share=st.sampled_from((0.0, 0.02, 1.0)))
def test_nor_does_it_where_a_terminal_broke_lines(kind: str, seed: int, width: int, share: float) -> None:
    dice = random.Random(seed)
    data = narrow(log(kind, seed, 2400, dice.choice((0, 12))), width, share, dice)
    assert not list(differences(evidence(data, []), evidence(data, [], skim=False)))


@pytest.mark.parametrize("longer", [0, 1, 2])
def test_a_line_is_as_wide_as_those_that_were_skipped(longer: int) -> None:
    """An error of the width of the first lines goes on in the next line if none of those behind them was longer."""
    start = (
        "INFO 01-12 10:00:01 [api_server.py:1034] vLLM API server version 0.11.0",
        "INFO:     Application startup complete.",
    )
    stats = (
        "INFO 01-12 10:0{}:{:02} [loggers.py:127] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation"
        " throughput: 10.0 tokens/s, Running: {} reqs, Waiting: 0 reqs, GPU KV cache usage: 5.0%, Prefix cache hit"
        " rate: 5.0%"
    )
    lines = [stats.format(number // 180 + 1, number // 3 % 60, 1) for number in range(1000)]
    for place, running in ((5, 10), (860, 10 ** (longer + 1))):
        lines[place] = lines[place].replace("Running: 1", f"Running: {running}")
    error = "ERROR 01-12 10:07:01 [core.py:710] CUDA error: an illegal memory access was encountered".ljust(
        len(lines[5]), "x"
    )
    data = "\n".join([*start, *lines, error, "and so on", *lines[-9:]]).encode() + b"\n"
    read = evidence(data, [], skim=False)
    assert (f"{error}and so on".split("] ", 1)[1] in str(read)) == (longer == 0)
    assert not list(differences(evidence(data, []), read))


@pytest.mark.parametrize("how", WOVEN)
@pytest.mark.parametrize("kind", HEADS)
def test_nor_does_it_in_an_envelope_in_colour_or_from_windows(kind: str, how: str) -> None:
    data = woven(log(kind, 11, 1800, 12), how)
    assert evidence(data, []) == evidence(data, [], skim=False)


@pytest.mark.parametrize("how", ["", *WOVEN])
@pytest.mark.parametrize("kind", HEADS)
def test_most_of_a_long_log_is_skipped(kind: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped: list[int] = []
    passed = Collector.pass_by

    def counted(self: Collector, gap: Gap, source: str) -> None:
        skipped.append(gap.count)
        passed(self, gap, source)

    monkeypatch.setattr(Collector, "pass_by", counted)
    plain_log = log(kind, 1, 3000, 0)
    evidence(woven(plain_log, how) if how else plain_log, [])
    assert sum(skipped) > 2000


class Unasked:
    """Rules that look for nothing."""

    def stats(self, record: Record) -> StatsLine | None:
        return stats_readers()[record.dialect](record.text, record.ranks)

    def events(self, record: Record) -> list[Any]:
        return []

    def spans(self, text: str) -> list[tuple[int, int]]:
        return []


@pytest.mark.parametrize("clock", ["04:05:06", "09:10:11"])
def test_what_looks_like_a_time_is_asked_whether_it_is_one(clock: str) -> None:
    line = '2026-01-12T{0}.5Z (APIServer pid=88) INFO:     10.0.0.1:5 - "GET /{1} HTTP/1.1" 200 OK'
    plain = learn(line.format(clock, "health").encode(), Unasked())
    assert isinstance(plain, Layout) and plain.outer is not None
    assert not any(own for chunk in plain.form.chunks for _, own in chunk.clocks)
    assert learn(line.format(clock, f"01-12 {clock}").encode(), Unasked()) is None


@pytest.mark.parametrize("kind", HEADS)
def test_half_a_megabyte_needs_no_heavy_library(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(inputs.chunks(kind, 500_000))[:500_000])
    command = ["--exit-zero", "-q", "--cache-dir", str(compiled()), "--output", os.devnull, str(path)]
    heavy = ("numpy", "pydantic", "lark", "yaml", "rich", "jinja2", "mcp", "ijson", "urllib3", "ssl", "zstandard")
    code = (
        f"import sys; from diagnoser.cli import main; main({command!r});"
        f"print([one for one in {heavy!r} if one in sys.modules])"
    )
    for told in (None, "[]"):  # the first run compiles the rules
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert told in (None, done.stdout.strip())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit counts something else")
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    piece = b"".join(inputs.chunks("access", 3_000_000))

    def limited() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (250_000_000, 250_000_000))

    options = ("--exit-zero", "--format", "json", "--cache-dir", str(compiled()))
    command = [sys.executable, "-m", "diagnoser", *options, "-"]
    subprocess.run(command, input=piece[:100_000], check=True, capture_output=True)  # the rules are compiled
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=limited) as process:
        assert process.stdin is not None and process.stdout is not None
        for _ in range(20):
            process.stdin.write(piece)
        process.stdin.close()
        assert json.loads(process.stdout.read())["inputs"][0]["bytes"] == 20 * len(piece)
        assert process.wait() == 0
