"""Ctrl-C ends with 130 and nothing else, also where Python itself would forget it or tell of it."""

from __future__ import annotations

import _thread
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from diagnoser.commands import _workers
from diagnoser.traces import _sqlite

ROOT = Path(__file__).parents[1]
#: Where an interrupt comes, as a program that `main` runs: (what it is, its text).
MOMENTS = {
    "anywhere": "raise KeyboardInterrupt",
    # As in `dataclass` and `namedtuple`: the interpreter remembers it and ends by the signal, whoever catches it.
    "in exec": "exec('raise KeyboardInterrupt')",
    "while an object is destroyed": (
        "class Held:\n    def __del__(self): raise KeyboardInterrupt\n"
        "Held()\nimport time\nfor _ in range(1000): time.sleep(0.01)"
    ),
    "while two objects are destroyed": (
        "class Held:\n    def __del__(self): raise KeyboardInterrupt\n"
        "Held(), Held()\nimport time\nfor _ in range(1000): time.sleep(0.01)"
    ),
    "a second time at the end": (
        "import atexit, signal\natexit.register(lambda: signal.raise_signal(signal.SIGINT))\nraise KeyboardInterrupt"
    ),
    # Python 3.11 makes a RuntimeError of what is raised there.
    "while a class is made": (
        "class Held:\n    def __set_name__(self, *names): raise KeyboardInterrupt\nclass Made:\n    held = Held()"
    ),
    "while the first is told": "try: raise KeyboardInterrupt\nfinally: [][0]",
    "only at the end": "import atexit, signal\natexit.register(lambda: signal.raise_signal(signal.SIGINT))",
}
PROGRAM = """
import sys
from diagnoser import cli
cli._dispatch = lambda arguments: exec(compile(arguments[0], "moment", "exec"), {}) or 0
sys.argv = ["diagnose", sys.argv[1]]
sys.exit(cli.main())
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted(moment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, MOMENTS[moment]], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    code = 0 if moment == "only at the end" else 130
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_nothing_is_imported_before_somebody_listens() -> None:
    program = (
        "import sys; before = set(sys.modules); import diagnoser.__main__; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "['diagnoser', 'diagnoser.__main__']\n"


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


@pytest.mark.usefixtures("interruptible")
def test_interrupted_in_a_long_query() -> None:
    tables = _sqlite.Tables(sqlite3.connect(":memory:"))
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        list(tables.rows(ENDLESS))


def test_a_query_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite, "STEPS", 3_000_000)
    tables = _sqlite.Tables(sqlite3.connect(":memory:"))
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        list(tables.rows(ENDLESS))


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_workers_are_deaf_before_they_import_anything() -> None:
    """A terminal sends Ctrl-C to all of them; one that starts just then would print a traceback."""
    with _workers._processes(1) as executor:
        blocked = executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result(60)
    assert signal.SIGINT in blocked
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
