"""The functions of the expression language: one table of names and arities, for the checker and the docs."""

from __future__ import annotations

from diagnoser.patterns import lazily

#: Aggregates of one expression over rows -> unit of the result ("same": that of the expression).
NUMERIC = {
    "mean": "same",
    "min": "same",
    "max": "same",
    "first": "same",
    "last": "same",
    "sum": "same",
    "delta": "same",
    "samples": "",
    "slope": "",
    "gap": "seconds",
    "groups": "",
}
PERCENTILE = lazily(r"p([1-9]\d?)\Z")

#: Aggregates of a condition over rows -> (kind, unit).
CONDITIONAL = {"share": ("number", "ratio"), "longest": ("number", "seconds"), "sustained": ("bool", "")}

#: Aggregates whose second argument is a length of time.
TIMED = ("best", "worst", "sustained")

#: Those of one argument that also read a field of an event.
OF_FIELDS = ("first", "last", "min", "max", "sum", "mean")

#: Functions of an event -> unit of the result.
OF_EVENTS = {
    "count": "events",
    "peak": "events",
    "rate": "1/s",
    "time": "seconds",
    "lasttime": "seconds",
    "ranks": "",
    "rounds": "events",
}

#: Scalar functions -> (least, most) number of arguments; None: no limit.
SCALAR: dict[str, tuple[int, int | None]] = {
    "min": (2, None),
    "max": (2, None),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "multiple": (2, 2),
    "pow2": (1, 1),
    "if": (3, 3),
    "known": (1, 1),
}
#: Functions of one name.
LOOKUPS = ("isset", "arg", "argset", "knob")
#: Functions over ranks.
RANKED = ("most", "least")


def is_aggregate(name: str) -> bool:
    """Say whether a function of one sample expression has this name."""
    return name in NUMERIC or name in CONDITIONAL or name in ("best", "worst", "corr") or bool(PERCENTILE.match(name))


def known_functions() -> list[str]:
    """Return every function name, for suggestions."""
    percentiles = ["p10", "p50", "p90", "p95", "p99"]
    special = ["best", "worst", "corr", "survived"]
    tables = (NUMERIC, CONDITIONAL, OF_EVENTS, SCALAR, LOOKUPS, RANKED)
    return sorted({*percentiles, *special, *(name for table in tables for name in table)})
