"""Tables of samples: many rows at once make what the same rows make one by one, however they come."""

from __future__ import annotations

import pickle
import random
from functools import partial
from typing import Any

import pytest

np: Any = pytest.importorskip("numpy")

from diagnoser.tables.table import Origin, Table  # noqa: E402

KINDS = {"sum": "count", "level": "gauge", "last": "total"}


def told(table: Table) -> list[Any]:
    columns = {name: [None if one != one else one for one in column] for name, column in table.columns.items()}
    times = [None if one != one else one for one in table.time]
    return [times, list(table.weight), list(table.line), table.source, table.text, table.places, columns]


def rows(dice: random.Random, count: int) -> list[tuple[float, Origin, str, dict[str, float], Any]]:
    made = []
    for number in range(count):
        values = {name: float(dice.randrange(1000)) for name in KINDS if dice.random() < 0.9}
        time = float(number) if dice.random() < 0.95 else float("nan")
        places = {"sum": (number, "cell")} if dice.random() < 0.05 else None
        made.append((time, Origin("ab"[number > count // 2], number), f"line {number}", values, places))
    return made


def put(table: Table, some: list[Any]) -> None:
    """Add rows of one input at once, as columns with holes in them."""
    parts = []
    for name in KINDS:
        at = [place for place, row in enumerate(some) if name in row[3]]
        if at:
            parts.append((np.array(at), {name: np.array([some[place][3][name] for place in at])}))
    texts = [row[2] for row in some]
    table.extend(
        np.array([row[0] for row in some]), np.array([row[1].line for row in some]), some[0][1].source,
        lambda which: [partial(str, text) for text in np.array(texts, object)[which]], parts,
    )  # fmt: skip


@pytest.mark.parametrize("limit", [8, 64, 256])
@pytest.mark.parametrize("seed", range(12))
def test_rows_at_once_are_rows_one_by_one(limit: int, seed: int) -> None:
    dice = random.Random(seed)
    every = rows(dice, dice.choice((5, 300, 5000, 40_000)))
    one, many = Table((), KINDS, limit), Table((), KINDS, limit)
    for row in every:
        one.append(*row)
    at = 0
    while at < len(every):
        stop = at + dice.choice((1, 2, 50, 700, 9000))
        some = every[at:stop]
        # A reader that gives rows at once has a line for each, and reads one input after the other.
        if len(some) > 1 and not any(row[4] for row in some) and len({row[1].source for row in some}) == 1:
            put(many, some)
        else:
            for row in some:
                many.append(*row)
        at = stop
    if seed % 3 == 0:
        many = pickle.loads(pickle.dumps(many))
    assert told(many) == told(one)
    assert len(many) == len(one) <= limit + 1
    assert sum(many.weight) == len(every)
