"""``python -m benchmarks.fleet``: wall time of a fleet's logs, and of one long log, by the number of processes.

Logs are made in a temporary folder that is gone afterwards: a few generated ones, each many times. The table goes to
its own section of ``docs/fleet.md`` with ``--write``.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks import inputs

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fleet.md"
MARKS = ("<!-- fleet: written by `python -m benchmarks.fleet --write` -->", "<!-- end of fleet -->")
#: Logs that are made afresh; the others are copies of them.
DISTINCT = 8
#: The kinds of logs: mostly access lines, mostly statistics lines.
HEADS = ("access", "batches")


def logs(folder: Path, count: int, size: int) -> int:
    """Write that many logs of that size; return the bytes of all."""
    made = []
    for number in range(min(count, DISTINCT)):
        lines = inputs.KINDS[HEADS[number % 2]](random.Random(inputs.SEED + number))
        text = b""
        while len(text) < size:
            text += ("\n".join(islice(lines, 500)) + "\n").encode()
        made.append(text)
    for number in range(count):
        (folder / f"llm-{number:05}.log").write_bytes(made[number % len(made)])
    return sum(len(made[number % len(made)]) for number in range(count))


def run(target: str, jobs: int, environment: dict[str, str]) -> float:
    """Wall seconds of one diagnosis."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "diagnoser", "--exit-zero", "--jobs", str(jobs), target]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--logs", type=int, default=200, help="how many logs (default 200)")
    parser.add_argument("--size", type=float, default=1.0, help="MB of each (default 1)")
    parser.add_argument("--one", type=float, default=0.0, help="MB of a single long log of either kind (default none)")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    said = parser.parse_args()
    rows = ["| logs | MB | processes | wall s | MB/s | beside one process |", "|---|---|---|---|---|---|"]
    head = (
        f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}, Python {platform.python_version()},"
        f" load average {os.getloadavg()[0]:.1f} at the start; one run each."
    )
    if os.getloadavg()[0] > 1:
        head += " The machine was busy with other work: the figures say nothing of a quiet one."
    with tempfile.TemporaryDirectory() as name:
        environment = {**os.environ, "DIAGNOSE_CACHE_DIR": f"{name}/cache", "PYTHONPATH": str(ROOT)}
        folder = Path(name) / "logs"
        folder.mkdir()
        total = logs(folder, said.logs, int(said.size * 1e6))
        run(str(folder / "llm-00000.log"), 1, environment)
        tasks = [(str(said.logs), str(folder), total)]
        for kind in HEADS if said.one else ():
            path = Path(name) / f"{kind}.log"
            with path.open("wb") as file:
                file.writelines(inputs.chunks(kind, int(said.one * 1e6)))
            tasks.append((f"1, {kind}", str(path), path.stat().st_size))
        for count, target, size in tasks:
            alone = 0.0
            for jobs in said.jobs:
                seconds = run(target, jobs, environment)
                alone = alone or seconds
                rows.append(
                    f"| {count} | {size / 1e6:.0f} | {jobs} | {seconds:.1f} | {size / 1e6 / seconds:.1f}"
                    f" | {alone / seconds:.2f} x |"
                )
                print(rows[-1], flush=True)
    if said.write:
        text = PAGE.read_text(encoding="utf-8")
        before, mark, rest = text.partition(MARKS[0])
        if not mark:
            before, rest = f"{text.rstrip()}\n\n## Measured\n", MARKS[1] + "\n"
        tail = rest.partition(MARKS[1])[2]
        PAGE.write_text("\n".join([before + MARKS[0], "", head, "", *rows, "", MARKS[1] + tail]), encoding="utf-8")


if __name__ == "__main__":
    main()
