"""Which mutations change nothing, and why: `tests/data/survivors.txt`, a line with its reason indented under it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

STORED = Path(__file__).parent.parent / "tests" / "data" / "survivors.txt"


def explained() -> dict[str, str]:
    """Return the reasons by the lines that `python -m tools.mutate` would print."""
    rows = STORED.read_text(encoding="utf-8").splitlines()
    return {row: why.strip() for row, why in pairwise(rows) if row[:1] not in (" ", "#", "") and why.startswith("    ")}
