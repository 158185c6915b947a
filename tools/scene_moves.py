"""Values that may turn a condition: those near its own numbers and texts, for every name in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _parser as parser
from typing import Any

from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk
from tools.scene_changes import CAUSE, ERRORS, RESTARTS, ROWS, UNKNOWN

_PLAIN_RUN = ("engine", "version", "run.end", "run.lines", "run.complete_start")
_ENDS = ("clean", "crash", "killed", "running", "cut")


#: Values of several names at once: a server that served, and one that did not.
_SERVED: dict[str, Any] = {"run.ready": 5}
_IDLE: dict[str, Any] = {"run.ready": UNKNOWN, "http.ok": 0, "gen.tps": 0, "requests.running": 0}


def moves(node: Node) -> Iterator[dict[str, Any]]:
    """Yield changes, mostly of one name, that may turn what a condition says; several values for each name."""
    for name, value in _single(node):
        yield {name: value}
    numbers = sorted({float(one.args[0]) for one in walk(node) if one.op == "number"})
    if "run.served" in node.text:
        yield from (_SERVED, _IDLE, {**_IDLE, "run.complete_start": True}, {**_IDLE, "rows": 0})
    events = list(dict.fromkeys(one.args[0] for one in walk(node) if one.op == "event"))
    for one in events:
        if "survived" in node.text:
            yield {one: {"times": 1, "place": "first"}, "http.ok": 3}
            yield {one: {"times": 1, "at": 1, "place": "first"}, "gen.tps": 10}
            yield {one: {"times": 1, "at": 100000}, "http.ok": 0}
        for two in events:
            if one != two:
                for late in (0.5, 100, 1000, *(n * f for n in numbers for f in (0.5, 1.5))):
                    yield {one: {"times": 1, "at": 50, "place": "first"}, two: {"times": 1, "at": 50 + late}}


def _single(node: Node) -> Iterator[tuple[str, Any]]:
    parts = list(walk(node))
    numbers = sorted({float(one.args[0]) for one in parts if one.op == "number"})
    texts = [str(one.args[0]) for one in parts if one.op == "text"]
    names: dict[str, None] = {}
    for one in parts:
        if one.op == "series":
            names[one.args[0]] = None
    spreads = {one.args[1].args[0] for one in parts if one.op == "spread"}
    for name in names:
        if name in spreads:
            yield from ((name, value) for value in _of_spread(numbers))
        else:
            yield from ((name, value) for value in _of_series(numbers))
    if any(one.op in ("aggregate", "ranked") for one in parts) or "run." in node.text:
        for number in {1, 2, 3, 5, 12, 30, 60, *(int(n) for n in numbers if 0 < n <= 200)}:
            yield ROWS, number
        yield ROWS, {"times": 40, "every": 30}
        yield ROWS, {"times": 40, "every": 1}
    for one in parts:
        yield from _of_event(one, node, numbers)
        if one.op in ("fact", "arg"):
            name = ("arg." if one.op == "arg" else "") + one.args[0]
            truths = () if numbers or texts else (True, False)
            for value in (UNKNOWN, *truths, *texts, *_near(numbers), 1, 0, 8, "other", "null"):
                yield name, value
        if one.op in ("isset", "argset"):
            yield f"isset({one.args[0]})", True
            yield f"isset({one.args[0]})", False
        if one.op == "cause":
            yield CAUSE + one.args[0], True
            yield CAUSE + one.args[0], False
        if one.op == "run":
            yield from _of_run(one.args[0], numbers, texts)


def _near(numbers: list[float]) -> Iterator[float]:
    for number in numbers:
        for factor in (1, 0.3, 0.9, 1.1, 3):
            value = number * factor
            yield int(value) if value == int(value) else round(value, 4)


def _of_series(numbers: list[float]) -> Iterator[Any]:
    levels = list(dict.fromkeys([0, 1, 0.5, *_near(numbers)]))[:24]
    yield from levels
    yield from ("x0.01", "x0.1", "x0.3", "x0.7", "x1.5", "x3", "x10", "x100", UNKNOWN)
    top = max([5.0, *numbers])
    yield from (f"0|{top * 2:g}", f"0..{top * 2:g}", f"{top * 2:g}..0", f"1..{top * 2:g}", "0|1", "1|9")
    for high in (1, top, top * 3, 1000):
        yield [0, high]
        yield [high, 0]
        yield [*[0] * 9, high]
        yield [high, *[0] * 9]
        yield [*[high] * 9, 0]
        yield [0, *[high] * 9]
        yield [0, 0, high, 0, 0]
        yield {"ranks": [high, 0]}
        yield {"ranks": [high, 0, 0]}
        yield {"ranks": [high, high]}


def _of_spread(numbers: list[float]) -> Iterator[Any]:
    yield from dict.fromkeys([0, 1, *_near(numbers)])
    yield from ("x0.01", "x0.1", "x0.3", "x0.7", "x1.5", "x3", "x10", "x100", UNKNOWN)
    yield from ("samples 1", "samples 5", "samples 1000")
    for number in numbers:
        if number >= 5:
            yield f"samples {number - 1:g}"
            yield f"samples {number * 2:g}"
    for high in {2.0, *(n * 3 for n in numbers if n < 1000)}:
        yield f"0.01*199,{high:g}"
        yield [*[0.01] * 9, high]
        yield [*[high] * 9, 0.01]
        yield [0.01, high]


def _of_run(name: str, numbers: list[float], texts: list[str]) -> Iterator[tuple[str, Any]]:
    if name == "engine":
        yield from ((name, value) for value in ("vllm", "sglang", ""))
    elif name == "version":
        yield from ((name, value) for value in (*texts, "0.1.0", "9.0.0", ""))
    elif name == "run.end":
        yield from ((name, value) for value in _ENDS)
    elif name == "run.complete_start":
        yield from ((name, value) for value in (True, False))
    elif name in ("run.lines", ERRORS, RESTARTS):
        yield from ((name, int(value)) for value in (0, 1, 5, *_near(numbers)))
    elif name in ("run.ready", "run.ready_after", "run.served"):
        yield from (("run.ready", value) for value in (UNKNOWN, 1, 5, *_near(numbers)))
        if name == "run.served":
            yield from (("http.ok", 0), ("gen.tps", 0), ("requests.running", 0), ("run.complete_start", False))
            yield ROWS, 0
    elif name in ("run.end_time", "run.duration"):
        yield from (("run.end_time", value) for value in (UNKNOWN, 1, 1000, *_near(numbers)))
        yield "run.started", UNKNOWN
    elif name == "run.stats":
        yield ROWS, 0
    elif name == "run.loaded":
        yield ROWS, {"times": 2, "every": 1}


def _of_event(one: Node, whole: Node, numbers: list[float]) -> Iterator[tuple[str, Any]]:
    """Yield how often an event may be seen, when, and with which fields."""
    if one.op == "event":
        yield one.args[0], 0
        for times in dict.fromkeys([1, 2, 3, 5, 20, *(int(n) for n in numbers if 1 < n <= 600)]):
            yield one.args[0], times
        yield one.args[0], {"times": 1, "phase": "startup"}
        yield one.args[0], {"times": 20, "phase": "startup"}
        yield one.args[0], {"times": 1, "place": "first"}
    if one.op in ("before", "after", "within") or (one.op == "events" and one.args[0] in ("time", "lasttime", "peak")):
        for part in walk(one):
            if part.op == "event":
                for at in (1, 5, 100, 1000, *(n * 1.5 for n in numbers)):
                    yield part.args[0], {"times": 1, "at": at}
                    yield part.args[0], {"times": 20, "at": at, "every": 10}
    if one.op == "events" and one.args[0] == "ranks":
        yield one.args[1].args[0], {"times": 8, "by": "ranks"}
    if one.op == "eventfield":
        _, event, field, where = one.args
        for value in dict.fromkeys([*_near(numbers), 0, 1, 1000]):
            for times in (1, 20):
                yield event.args[0], {"times": times, field: value, **_fields(where)}
    if one.op == "events" and one.args[2] is not None:
        for times in dict.fromkeys([1, 2, 20, *(int(n) for n in numbers if 1 < n <= 600)]):
            for fields in _ways(one.args[2]):
                yield one.args[1].args[0], {"times": times, **fields}
                yield one.args[1].args[0], {"times": times, "phase": "startup", **fields}


def _fields(where: Node | None) -> dict[str, Any]:
    return next(_ways(where), {}) if where is not None else {}


def _ways(where: Node) -> Iterator[dict[str, Any]]:
    """Yield fields of which a `where` may be true, some also false."""
    wanted: dict[str, list[Any]] = {}
    for part in walk(where):
        fields = [arg.args[0] for arg in part.args if isinstance(arg, Node) and arg.op == "field"]
        if not fields:
            continue
        others = [one for arg in part.args if isinstance(arg, Node) for one in walk(arg)]
        for name in fields:
            found = wanted.setdefault(name, [])
            for one in others:
                if one.op == "number":
                    found += [one.args[0], one.args[0] + 1, one.args[0] - 1]
                elif one.op == "text":
                    found += spoken(one.args[0]) if part.op == "matches" else [one.args[0]]
            if part.op in ("!=", "not", "absent"):
                found.append("other")
    longest = max(map(len, wanted.values()), default=0)
    for at in range(min(longest, 24)):
        yield {name: values[at % len(values)] for name, values in wanted.items() if values}
    for name, values in wanted.items():
        for value in values[:12]:
            yield {**{other: held[0] for other, held in wanted.items() if held}, name: value}
            yield {name: value}


def spoken(pattern: str) -> list[str]:
    """Return texts that a simple regular expression matches, one for each of its alternatives; and one it does not."""
    try:
        tree = parser.parse(pattern)
    except re.error:
        return []
    found = list(dict.fromkeys(_said(list(tree))))[:16]
    return [*found, "something else"]


def _said(tree: list[Any]) -> list[str]:
    texts = [""]
    for op, value in tree:
        name = str(op)
        if name == "LITERAL":
            more = [chr(value)]
        elif name == "BRANCH":
            more = [one for branch in value[1] for one in _said(list(branch))]
        elif name == "SUBPATTERN":
            more = _said(list(value[3]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            more = [one * max(value[0], 1) for one in _said(list(value[2]))]
        elif name == "IN":
            kind, first = value[0]
            more = [chr(first) if str(kind) == "LITERAL" else chr(first[0]) if str(kind) == "RANGE" else "7"]
        elif name == "ANY":
            more = [" "]
        else:
            more = [""]
        texts = [text + one for text in texts for one in more[:12]][:40]
    return texts
