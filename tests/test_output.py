"""What is written is whole or not there, whatever happens meanwhile; and it never replaces what is read."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import serverlogs as logs
from serverlogs import compiled, encoded

from diagnoser.cli import main

ROOT = Path(__file__).parents[1]
FATAL = encoded(logs.LOGS["vllm death"])
OLD = "the report of yesterday"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compiled rules, so that what is interrupted is the program and not only their compilation."""
    folder = tmp_path_factory.mktemp("log")
    (folder / "x.log").write_bytes(FATAL)
    assert main(["--cache-dir", str(compiled()), "-q", "--output", str(folder / "x.txt"), str(folder / "x.log")]) == 1
    return str(compiled())


def words(cache: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "diagnoser", "--cache-dir", cache, *arguments]


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link", "folder", "link in a folder", "alert"])
def test_an_input_is_never_overwritten(way: str, cache: str, tmp_path: Path, capsys: Any) -> None:
    log = tmp_path / "logs" / "server.log"
    log.parent.mkdir()
    log.write_bytes(FATAL)
    output, given = tmp_path / "report.log", [str(log)]
    if way == "itself":
        output = log
    elif way == "symbolic link":
        output.symlink_to(log)
    elif way == "hard link":
        output.hardlink_to(log)
    elif way == "folder":
        output, given = log, [str(log.parent)]
    elif way == "link in a folder":
        output.symlink_to(log)
        given = [str(log.parent)]
    else:
        output = tmp_path / "alert.json"
        output.write_text(json.dumps({"alerts": [{"startsAt": "2026-07-12T10:00:00Z", "labels": {}}]}))
        given = ["--alert", str(output), str(log)]
    before = output.read_bytes()
    assert main(["--cache-dir", cache, "--output", str(output), *given]) == 2
    assert "would overwrite the input" in capsys.readouterr().err
    assert (log.read_bytes(), output.read_bytes()) == (FATAL, before)


def test_a_new_file_in_the_folder_that_is_read(cache: str, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(FATAL)
    assert main(["--cache-dir", cache, "-q", "--output", str(tmp_path / "report.md"), str(tmp_path)]) == 1


@pytest.mark.parametrize("kind", ["text", "html"])
def test_a_full_disk_leaves_the_old_file(kind: str, cache: str, tmp_path: Path) -> None:
    (tmp_path / "s.log").write_bytes(FATAL)
    (tmp_path / "report").write_text(OLD)
    done = subprocess.run(
        words(cache, "--format", kind, "--output", "report", "s.log"), cwd=tmp_path, capture_output=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.decode() == "diagnose: error: report: File too large; nothing was written\n"
    assert (tmp_path / "report").read_text() == OLD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "s.log"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("to", ["standard output", "--output"])
def test_a_device_without_room(to: str, cache: str, tmp_path: Path) -> None:
    (tmp_path / "s.log").write_bytes(FATAL)
    arguments = ["--output", "/dev/full"] if to == "--output" else []
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            words(cache, *arguments, str(tmp_path / "s.log")),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.usefixtures("interruptible")
def test_interrupted_at_any_moment(cache: str, tmp_path: Path) -> None:
    """From the first import to the last byte: 130 and nothing else, or the whole report."""
    (tmp_path / "s.log").write_bytes(FATAL * 8)
    arguments = words(cache, "--format", "html", "--output", str(tmp_path / "report"), str(tmp_path / "s.log"))
    start = time.monotonic()
    assert subprocess.run(arguments, capture_output=True, check=False, timeout=120).returncode == 1
    whole, size = time.monotonic() - start, (tmp_path / "report").stat().st_size
    dice = random.Random(5)
    codes = set()
    for number in range(7):
        (tmp_path / "report").write_text(OLD)
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The interpreter's own start cannot be helped.
        time.sleep(whole * (0.12 + number / 8) + dice.random() * whole / 8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        codes.add(process.returncode)
        assert process.returncode in (130, 1), err
        assert b"Traceback" not in err
        assert b"gnored" not in err
        assert out == b""
        assert (tmp_path / "report").stat().st_size in (len(OLD), size)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "s.log"]
    assert 130 in codes


def test_a_ledger_survives_kill_9(cache: str, tmp_path: Path) -> None:
    """Writers are killed at any moment, several at once; what they finished is there, and the file is whole."""
    (tmp_path / "s.log").write_bytes(FATAL)
    ledger = tmp_path / "l.db"
    program = (
        "import sys\nfrom pathlib import Path\nfrom diagnoser.commands import _ledgerfile\n"
        "from diagnoser.comparing.session import Row\n"
        "row = Row('a', 'b', [], {'engine': '', 'engine_version': '', 'settings': {}, 'facts': {}}, {}, '', '')\n"
        "for at in range(100000):\n"
        "    number, new = _ledgerfile.add(Path(sys.argv[1]), f'{sys.argv[2]}-{at}', 'now', 'x' * 5000, row)\n"
        "    print(at, flush=True)\n"
    )
    dice, told = random.Random(3), {}
    for batch in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(ledger), f"{batch}.{one}"], stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            for one in range(2)
        ]  # fmt: skip
        for one, writer in enumerate(writers):
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(dice.random() * 0.2)
            writer.kill()
            rest = writer.communicate(timeout=60)[0].split()
            told[f"{batch}.{one}"] = max([0, *map(int, rest)])
    from diagnoser.commands import _ledgerfile

    kept = {row.digest for row in _ledgerfile.read(ledger)}
    for name, last in told.items():
        assert {f"{name}-{at}" for at in range(last + 1)} <= kept
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
