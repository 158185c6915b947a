"""Sample rows as proof: the first, the most extreme and the last of the rows in which something held."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.rules.logic import ORDER
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import has_series, walk
from diagnoser.rules.parts import Part
from diagnoser.rules.value import Proof

#: The comparison as seen from its right side.
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def telling(
    parts: Sequence[Part], positions: Sequence[Sequence[int]], condition: Node | None = None, op: str = ">"
) -> list[Proof]:
    """Return proofs for the rows at ``positions`` of each part: the most extreme, the first, the last by time.

    Extreme by the first series of ``condition``, in the direction of its comparison; without a condition by the parts'
    own values, lowest if ``op`` is < or <=.
    """
    series = ""
    if condition is not None:
        series, op = _direction(condition)
    sign = -1.0 if op in ("<", "<=") else 1.0
    rows: list[tuple[float, float, Part, int]] = []
    for part, places in zip(parts, positions, strict=True):
        column = part.rows.table.columns.get(series)
        times = part.rows.table.time
        for place in places:
            row = part.index[place]
            size = part.values[place] if column is None else column[row]
            rows.append((sign * size if size == size else float("-inf"), times[row], part, row))
    if not rows:
        return []
    # Without times the order of the rows stands in.
    first = min(rows, key=lambda row: row[1]) if rows[0][1] == rows[0][1] else rows[0]
    last = max(rows, key=lambda row: row[1]) if rows[-1][1] == rows[-1][1] else rows[-1]
    extreme = max(rows, key=lambda row: row[0])
    return [row_proof(part, row) for _, _, part, row in (first, extreme, last)]


def _direction(condition: Node) -> tuple[str, str]:
    """Return the first series of a condition and the comparison it stands in, as seen from the series."""
    for node in walk(condition):
        if node.op in ORDER:
            left, right = node.args
            op = node.op if has_series(left) else FLIPPED[node.op]
            series = next(part.args[0] for part in walk(left if has_series(left) else right) if part.op == "series")
            return series, op
    names = [part.args[0] for part in walk(condition) if part.op == "series"]
    return names[0] if names else "", ">"


def row_proof(part: Part, row: int) -> Proof:
    """Return one sample row as a proof."""
    table = part.rows.table
    time = table.time[row]
    when = time if time == time else None
    return Proof("sample", table.source[row], table.line[row], when, table.text[row], dict(table.group))
