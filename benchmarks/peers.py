"""Programs to be measured beside: a loop over lines with one expression, and Drain3. ``python -m benchmarks.peers``."""

from __future__ import annotations

import re
import sys


def lines(expression: str, path: str) -> int:
    """Count the lines that an expression is found in."""
    search = re.compile(expression.encode()).search
    with open(path, "rb") as file:  # noqa: PTH123
        return sum(1 for line in file if search(line))


def drain(path: str) -> int:
    """Count the templates that Drain3 finds with its defaults."""
    from drain3 import TemplateMiner

    miner = TemplateMiner()
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            miner.add_log_message(line.rstrip())
    return len(miner.drain.clusters)


if __name__ == "__main__":
    print(lines(*sys.argv[2:]) if sys.argv[1] == "lines" else drain(sys.argv[2]))
