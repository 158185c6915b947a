"""A series as one line of block characters."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.:-=+*#"
HOLE = "-"


def sparkline(points: Sequence[float | None], top: float, unicode: bool = True) -> str:
    """Draw points from zero to ``top``; a hole stays a hole, because nothing printed is not zero."""
    blocks = BLOCKS if unicode else ASCII_BLOCKS
    hole = HOLE if unicode else " "
    return "".join(hole if point is None or point != point else blocks[_level(point, top)] for point in points)


def resample(points: Sequence[float | None], width: int) -> list[float | None]:
    """Return at most ``width`` points, each the mean of its neighbours."""
    if len(points) <= width:
        return list(points)
    out: list[float | None] = []
    for i in range(width):
        part = [one for one in points[i * len(points) // width : (i + 1) * len(points) // width] if one is not None]
        out.append(sum(part) / len(part) if part else None)
    return out


def _level(point: float, top: float) -> int:
    last = len(BLOCKS) - 1
    if top <= 0 or point <= 0:
        return 0
    return min(last, max(0, round(point / top * last)))
