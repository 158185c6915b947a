"""New values: rounded to what one would type, and steps where a rule gives only a direction."""

from __future__ import annotations

import math
from typing import Any

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.records import Flag
from diagnoser.knowledge.versions import VersionList
from diagnoser.rules.model import Node

#: Who writes one of these, or a plain number, has chosen the value: it is not rounded again.
_CHOSEN = ("number", "text", "multiple", "pow2", "ceil", "round")

#: Shares of memory move in small steps: up costs headroom that a crash would show, down costs only cache.
_SHARE_UP, _SHARE_DOWN, _SHARE_MOST, _SHARE_LEAST = 0.02, 0.05, 0.97, 0.3


def is_whole(flag: Flag, current: Any) -> bool:
    """Whether a flag takes whole numbers."""
    return "int" in flag.type if flag.type else isinstance(current, int)


def rounded(value: float, whole: bool, node: Node) -> int | float:
    """Round a computed value down to one that people use: 162 becomes 160, 0.8731 becomes 0.87."""
    chosen = node.op in _CHOSEN
    if whole:
        number = math.floor(value + 1e-9)
        return number if chosen else number // step_of(number) * step_of(number)
    if chosen:
        return value
    if 0 < value < 1:
        return math.floor(value * 100 + 1e-6) / 100
    return float(f"{value:.3g}")


def step_of(number: int) -> int:
    """Return the grid of a whole number: fine below 16, eights for requests, hundreds and more for tokens."""
    for limit, step in ((16, 1), (256, 8), (2048, 16), (32768, 256)):
        if number < limit:
            return step
    return 1024


def stepped(current: Any, by: str, whole: bool) -> int | float | None:
    """Return the next value to try in a direction; None when there is none or the current value is not a number.

    Whole numbers double or halve, shares of memory move by 0.02 up or 0.05 down, other numbers by 30 %.
    """
    if isinstance(current, bool) or not isinstance(current, int | float) or current <= 0:
        return None
    up = by == "raise"
    if whole:
        halved = int(current) // 2
        found: int | float = int(current) * 2 if up else halved // step_of(halved) * step_of(halved)
        return found or None
    if current < 1:
        moved = min(current + _SHARE_UP, _SHARE_MOST) if up else max(current - _SHARE_DOWN, _SHARE_LEAST)
        moved = round(moved, 3)
        return moved if (moved > current) == up and moved != current else None
    return float(f"{current * (1.3 if up else 0.7):.2g}")


def accepts(catalog: Catalog, engine: str, flag: Flag, version: str | None, value: str) -> bool:
    """Whether a flag of this version takes this word; flags without a closed list of choices take any."""
    versions = catalog.version_list(engine)
    if flag.choices_history and version and versions is not None:
        return value in _choices_at(flag, version, versions)
    return not flag.choices or "str" in flag.type or value in map(str, flag.choices)


def _choices_at(flag: Flag, version: str, versions: VersionList) -> set[str]:
    position = versions.position(version)
    found: set[str] = set()
    for change in flag.choices_history:
        if position is not None and versions.first_index(change["since"]) > position.low:
            break
        found = set(map(str, change.get("choices", found)))
        found |= set(map(str, change.get("added", ())))
        found -= set(map(str, change.get("removed", ())))
    return found
