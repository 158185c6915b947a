"""Several samples as one: counters add up, totals keep the latest, gauges average."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

NAN = float("nan")

#: Some rows of several, by their place among them, and the numbers of their series.
Part = tuple[Any, Mapping[str, Any]]


#: Longest line that is kept for evidence.
LONGEST = 400

#: A line, or what gives it; what gives those of some rows (places, or a slice).
Text = str | Callable[[], str]
Texts = Callable[[Any], list[Callable[[], str]]]


def in_pairs(column: array[float], kind: str) -> array[float]:
    """Return a column of half the length; what is left over is left out."""
    import numpy as np  # a short log does without

    rows = np.frombuffer(column, np.float64)[: len(column) // 2 * 2].reshape(1, -1, 2)
    return array("d", folded(rows, [kind])[0].tobytes())


def folded(groups: Any, kinds: Sequence[str]) -> Any:
    """Make one number of each group of each series (series, groups, numbers of a group), as the series' kind says."""
    import numpy as np  # a short log does without

    size = groups.shape[2]
    count: Any = None
    # Where lines of several kinds take turns, holes show at once.
    first = groups[:, :1]
    if not (first == first).all() or not ((made := groups.sum(axis=2)) == made).all():
        known = groups == groups
        count = known.sum(axis=2, dtype=np.uint8 if size < 256 else np.int64)
        made = np.where(count > 0, np.where(known, groups, 0.0).sum(axis=2), NAN)
    for number, kind in enumerate(kinds):
        if kind == "total":
            rows = groups[number]
            last = size - 1 - (rows == rows)[:, ::-1].argmax(axis=1)
            made[number] = rows[np.arange(len(rows)), last]
        elif kind != "count":
            made[number] /= size if count is None else np.maximum(count[number], 1)
    return made


def combined(how: str, one: Any, other: Any) -> Any:
    """Combine two columns: ``max``, ``min`` or ``sum``."""
    import numpy as np  # a short log does without

    return {"max": np.maximum, "min": np.minimum, "sum": np.add}[how](one, other)


def together(places: Sequence[Any]) -> Any:
    """Return some lists of places as one, in order."""
    import numpy as np  # a short log does without

    return places[0] if len(places) == 1 else np.sort(np.concatenate(places))


def merged(rows: Sequence[tuple[Any, ...]], kinds: Mapping[str, str]) -> tuple[Any, ...]:
    """Make one row of several: the place of the first, each series by its kind. Rows as ``Table`` keeps them."""
    import numpy as np  # a short log does without

    names = list(dict.fromkeys(chain.from_iterable(row[3] for row in rows)))
    numbers = np.array([[[row[3].get(name, NAN) for row in rows]] for name in names]).reshape(len(names), 1, -1)
    made = folded(numbers, [kinds.get(name, "gauge") for name in names])[:, 0].tolist() if names else []
    return (*rows[0][:3], dict(zip(names, made, strict=True)), rows[0][4])


def dense(parts: Sequence[Part], count: int) -> tuple[list[str], Any]:
    """Return the names of series and so many rows of each as a matrix, NaN where no part has a number."""
    import numpy as np  # a short log does without

    names = list(dict.fromkeys(chain.from_iterable(part for _, part in parts)))
    whole = all(len(places) == count for places, _ in parts)
    matrix = np.empty((len(names), count)) if whole else np.full((len(names), count), NAN)
    rows = dict(zip(names, matrix, strict=True))
    for places, part in parts:
        chosen = slice(None) if len(places) == count else places
        for name, values in part.items():
            rows[name][chosen] = values
    return names, matrix


def widen(columns: dict[str, array[float]], before: int, count: int, made: Mapping[str, Any]) -> None:
    """Append so many rows to columns that have as many ``before``; NaN where nothing was made for them."""
    missing = array("d", [NAN]).tobytes()
    for name in made:
        if name not in columns:
            columns[name] = array("d", missing * before)
    for name, column in columns.items():
        column.frombytes(made[name].tobytes() if name in made else missing * count)
