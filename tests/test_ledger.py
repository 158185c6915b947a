"""The ledger of a tuning session: one row a run, kept once, whole whenever the writer dies."""

from __future__ import annotations

import csv
import io
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from serverlogs import compiled
from test_compare import ROOT, log

from diagnoser import cli
from diagnoser.commands import _ledgerfile
from diagnoser.comparing.session import Row

ADD = ["ledger", "add", "-q", "--cache-dir", str(compiled())]
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from diagnoser.commands import _ledgerfile
from diagnoser.comparing.session import Row
row = Row("a", "b", ["x" * 100_000], {"engine": "vllm", "engine_version": "", "settings": {}, "facts": {}}, {}, "", "")
number = 0
real = sqlite3.connect
class Dying(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql == "COMMIT" and number == 5:
            super().execute("PRAGMA cache_spill = 1")
            os.kill(os.getpid(), signal.SIGKILL)  # the row is written, and not committed
        return super().execute(sql, *rest)
sqlite3.connect = lambda *a, **k: real(*a, **{**k, "factory": Dying})
for number in range(10):
    _ledgerfile.add(Path(sys.argv[1]), str(number), "now", "", row)
    print(number, flush=True)
"""


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    names = []
    for at, told in enumerate(({}, {"args": "'max_num_seqs': 160", "gen": 1200})):
        names.append(str(tmp_path / f"{at}.log"))
        Path(names[-1]).write_text(log(**told))  # type: ignore[arg-type]
    return names


def test_session(tmp_path: Path, logs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(tmp_path / "l.db")
    copy = tmp_path / "copy.log"
    copy.write_bytes(Path(logs[1]).read_bytes())
    assert cli.main([*ADD, "--ledger", ledger, "--note", '=HYPERLINK("http://x")', logs[0]]) == 0
    assert cli.main([*ADD, "--ledger", ledger, logs[1]]) == 0
    assert cli.main([*ADD, "--ledger", ledger, str(copy)]) == 0
    assert len(_ledgerfile.read(Path(ledger))) == 2, "the same content under another name is the same run"
    capsys.readouterr()
    assert cli.main(["ledger", "show", "--width", "80", "--ledger", ledger]) == 0
    shown = capsys.readouterr().out
    assert "--max-num-seqs 256 -> 160" in shown
    assert "(+20 %)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert cli.main(["ledger", "export", "--ledger", ledger]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")]
    assert cli.main(["ledger", "export", "--format", "markdown", "--ledger", ledger]) == 0
    assert capsys.readouterr().out.count("\n") == 4


def test_the_environment_names_the_ledger(
    tmp_path: Path, logs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIAGNOSE_LEDGER", str(tmp_path / "l.db"))
    assert cli.main([*ADD, logs[0]]) == 0
    assert cli.main(["ledger", "show"]) == 0
    assert "gen tok/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ledger", "show"], "name the file"),
        (["ledger"], "say what to do"),
        (["ledger", "show", "--ledger", "{tmp}/none.db"], "no such file"),
        (["ledger", "show", "--ledger", "{tmp}/text.db"], "not a database"),
        (["ledger", "show", "--ledger", "{tmp}/other.db"], "another program"),
        (["ledger", "add", "--ledger", "{tmp}/other.db", "{tmp}/0.log"], "another program"),
        (["ledger", "add", "--ledger", "{tmp}/0.log", "{tmp}/0.log"], "would overwrite the input"),
        (["ledger", "add", "--ledger", "{tmp}/new.db", "{tmp}/none.log"], "no such file"),
        (["ledger", "add", "--ledger", "{tmp}/new.db"], "name the inputs"),
    ],
)
def test_bad_use(
    tmp_path: Path, logs: list[str], capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    (tmp_path / "text.db").write_text("no database at all\n" * 100)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    assert cli.main([word.replace("{tmp}", str(tmp_path)) for word in words]) == 2
    assert told in capsys.readouterr().err
    assert (tmp_path / "other.db").read_bytes() == before
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "new.db").exists()


def test_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """What was added is there, what was not is not, and the next run can be added."""
    path = tmp_path / "l.db"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.split() == [str(number) for number in range(5)]
    assert [one.digest for one in _ledgerfile.read(path)] == [str(number) for number in range(5)]
    row = Row("a", "b", [], {"engine": "", "engine_version": "", "settings": {}, "facts": {}}, {}, "", "")
    assert _ledgerfile.add(path, "5", "now", "", row) == (6, True)
    with sqlite3.connect(path) as ledger:
        assert ledger.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not list(tmp_path.glob("l.db-*"))


# -- figures that were read off a histogram -------------------------------------------


def metered(folder: Path, name: str, counts: tuple[int, int, int]) -> list[str]:
    """Write two pages of one server between which first tokens fell into these buckets: 0.5 s, 1 s, 2.5 s."""
    page = "# 2025-07-12 10:{minute:02}:00\nvllm:num_requests_running 4\n{lines}\n"
    metric, reached, lines = "vllm:time_to_first_token_seconds", 0, []
    for edge, count in zip(("0.5", "1.0", "2.5"), counts, strict=True):
        reached += count
        lines.append(f'{metric}_bucket{{le="{edge}"}} {reached}')
    lines += [f'{metric}_bucket{{le="+Inf"}} {reached}', f"{metric}_count {reached}"]
    none = [f"{line.rpartition(' ')[0]} 0" for line in lines]
    names = []
    for at, told in enumerate((none, lines)):
        names.append(folder / f"{name}-{at}.prom")
        names[-1].write_text(page.format(minute=at * 5, lines="\n".join(told)))
    return [str(one) for one in names]


def test_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a bucket leaves open is a range; a change is told only where two ranges do not meet."""
    ledger = str(tmp_path / "l.db")
    for name, counts in (("a", (90, 10, 0)), ("b", (80, 20, 0)), ("c", (0, 0, 100))):
        assert cli.main([*ADD, "--ledger", ledger, "--note", name, *metered(tmp_path, name, counts)]) == 0
    rows = [one.row for one in _ledgerfile.read(Path(ledger))]
    assert [row.bounds["latency.ttft.p50"] for row in rows] == [[0.0, 0.5], [0.0, 0.5], [1.0, 2.5]]
    capsys.readouterr()
    assert cli.main(["ledger", "export", "--ledger", ledger]) == 0
    header, *told = csv.reader(io.StringIO(capsys.readouterr().out))
    shown = [row[header.index("TTFT p50")] for row in told]
    assert shown[:2] == ["0-500 ms", "0-500 ms"]
    assert shown[2].startswith("1-2.5 s (about +")
    assert cli.main(["ledger", "show", "--ledger", ledger]) == 0
    assert "TTFT p50 0-500 ms" in capsys.readouterr().out


def test_a_ledger_of_version_1(tmp_path: Path, logs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is read as it is and not changed by that; adding to it makes it one of version 2, with the old rows in it."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as ledger:
        ledger.execute("PRAGMA application_id = 0x64696167")
        ledger.execute("PRAGMA user_version = 1")
        ledger.execute(
            "CREATE TABLE experiments (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, added TEXT NOT NULL, "
            "note TEXT NOT NULL, row TEXT NOT NULL)"
        )
        run = '{"engine": "vllm", "engine_version": "0.12.0", "settings": {}, "facts": {}}'
        row = f'{{"started": "a", "ended": "b", "inputs": [], "run": {run}, "figures": {{"latency.ttft.p50": 0.3}}, '
        text = row + '"finding": "", "severity": ""}'
        ledger.execute("INSERT INTO experiments VALUES (1, 'd', 'then', 'before', ?)", (text,))
    ledger.close()
    before = path.read_bytes()
    assert cli.main(["ledger", "show", "--ledger", str(path)]) == 0
    assert "TTFT p50 300 ms" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert cli.main([*ADD, "--ledger", str(path), *metered(tmp_path, "a", (0, 0, 9))]) == 0
    assert [(one.number, one.note, one.row.bounds) for one in _ledgerfile.read(path)][:1] == [(1, "before", {})]
    with sqlite3.connect(path) as ledger:
        assert ledger.execute("PRAGMA user_version").fetchone() == (2,)
    ledger.close()
    assert cli.main(["ledger", "show", "--ledger", str(path)]) == 0
    assert "TTFT p50 1-2.5 s (about +" in capsys.readouterr().out
    with sqlite3.connect(path) as ledger:
        ledger.execute("PRAGMA user_version = 3")
    ledger.close()
    assert cli.main(["ledger", "show", "--ledger", str(path)]) == 2
    assert "newer version of diagnose (3)" in capsys.readouterr().err
