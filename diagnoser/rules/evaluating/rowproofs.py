"""Sample rows as proof: the first, the most extreme and the last of the rows in which something held."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.rules.evaluating.logic import ORDER
from diagnoser.rules.evaluating.parts import Part
from diagnoser.rules.evaluating.value import Proof
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import has_series, walk

#: The comparison as seen from its right side.
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def telling(
    parts: Sequence[Part],
    positions: Sequence[Sequence[int]],
    condition: Node | None = None,
    op: str = ">",
    extreme_first: bool = False,
) -> list[Proof]:
    """Return proofs for the rows at ``positions`` of each part: the first by time, the most extreme, the last.

    ``extreme_first`` where the extreme is what was asked for. Extreme by the first series of ``condition``, in the
    direction of its comparison; without a condition by the parts' own values, lowest if ``op`` is < or <=.
    """
    series = ""
    if condition is not None:
        series, op = _direction(condition)
    lowest = op in ("<", "<=")
    chosen = [(part, places) for part, places in zip(parts, positions, strict=True) if len(places)]
    if not chosen:
        return []
    # The rows of a part lie in the order of their times; only parts have to be compared.
    first = min(((part, part.index[places[0]]) for part, places in chosen), key=_time)
    last = max(((part, part.index[places[-1]]) for part, places in chosen), key=_time)
    extremes = [(*_extreme(part, places, series, lowest), part) for part, places in chosen]
    _, row, part = (min if lowest else max)(extremes, key=lambda one: one[0])
    names = [series] if series else [one for one in first[0].named if one in first[0].rows.table.columns]
    order = ((part, row), first, last) if extreme_first else (first, (part, row), last)
    return [proof for place in order for proof in row_proofs(*place, names)]


def _time(place: tuple[Part, int]) -> float:
    """Return the time of a row; 0 where the log has none, so that the order of the parts stands in."""
    time = place[0].rows.table.time[place[1]]
    return time if time == time else 0.0


def _extreme(part: Part, places: Sequence[int], series: str, lowest: bool) -> tuple[float, int]:
    """Return the most extreme value among some rows of a part, and its row."""
    column = part.rows.table.columns.get(series)
    none = float("inf") if lowest else float("-inf")
    if column is None:
        sizes = [part.values[place] for place in places]
    else:
        index = part.index
        sizes = [size if (size := column[index[place]]) == size else none for place in places]
    best = min(sizes) if lowest else max(sizes)
    return best, part.index[places[sizes.index(best)]]


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


def row_proofs(part: Part, row: int, names: Sequence[str]) -> list[Proof]:
    """Return one sample row as proofs: its line, or the line of each named cell where the source has one for each."""
    table = part.rows.table
    time = table.time[row]
    when = time if time == time else None
    places = table.places[row] or {}
    lines = [places[name] for name in names if name in places] or [(table.line[row], table.text_of(row))]
    source, labels = table.source[row], dict(table.group)
    return [Proof("sample", source, line, when, text, labels, medium=table.medium) for line, text in lines]
