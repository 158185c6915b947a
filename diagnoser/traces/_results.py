"""One benchmark result as observations, whoever wrote it: a row of numbers, and how its latencies spread."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Claim, Measure, Observation, Requests, Scatter
from diagnoser.sources import Source
from diagnoser.tables.spread import Spread, of_values
from diagnoser.tables.table import Group, Origin
from diagnoser.values import dataclass, field

MEDIUM = "bench"

#: Values of one latency, and requests of one result, that are kept; longer lists are cut there.
MOST_VALUES = 1_000_000
MOST_REQUESTS = 200_000
#: Results that one file may hold.
MOST_RESULTS = 1000
#: No time, count or rate is larger; sums of such stay finite.
LARGEST = 1e15
#: Longest proof line, characters.
TEXT = 400
#: Deepest level of a configuration that is searched.
DEPTH = 6


@dataclass(slots=True)
class Latency:
    """What is known of one latency of one result, in seconds; ``quantiles`` maps 0.5, 0.9 … to values."""

    count: float = 0.0
    mean: float = math.nan
    quantiles: dict[float, float] = field(default_factory=dict)
    values: Sequence[float] = ()


@dataclass(slots=True)
class Result:
    """One run of a benchmark. Labels are the writer's own; numbers are in the units of the series (seconds, ratios)."""

    writer: str
    origin: Origin
    time: float | None
    text: str
    values: dict[str, float] = field(default_factory=dict)
    latencies: dict[str, Latency] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    backend: str = ""
    #: Per request, all of one length, NaN where one has none.
    requests: dict[str, array[float]] = field(default_factory=dict)
    duration: float | None = None
    failed: int = 0

    def observations(self) -> Iterator[Observation]:
        """Give the result as the evidence room takes it."""
        pairs = (("backend", self.backend), ("model", self.model))
        group: Group = tuple((name, text[:120]) for name, text in pairs if text)
        told = {label: value for label, value in self.values.items() if math.isfinite(value)}
        if told:
            yield Measure(self.writer, MEDIUM, self.origin, self.time, self.text, told, group)
        for label, latency in self.latencies.items():
            spread = self._spread(latency)
            if spread is not None:
                yield Scatter(self.writer, label, spread)
        for name, value in self.claims.items():
            yield Claim(self.writer, name, value, self.origin, f"{name}: {value}"[:TEXT])
        if self.requests:
            yield Requests(self.writer, MEDIUM, self.origin, self.text, dict(self.requests), self.duration, self.failed)

    def _spread(self, latency: Latency) -> Spread | None:
        source, line = self.origin.source, self.origin.line
        if latency.values:
            return of_values(latency.values[:MOST_VALUES], MEDIUM, source, line, self.text)
        if latency.count <= 0 or not latency.quantiles:
            return None
        total = latency.mean * latency.count
        return Spread(MEDIUM, latency.count, total, source, line, self.text, given=dict(latency.quantiles))


def number(value: Any) -> float | None:
    """Return a number that can have been measured, also of a text; None for anything else. A truth is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) <= LARGEST else None


def floats(values: Any) -> list[float]:
    """Return the finite numbers of a list; empty for what is none."""
    if not isinstance(values, list):
        return []
    return [found for value in values[:MOST_VALUES] if (found := number(value)) is not None]


def column(values: Iterable[float | None]) -> array[float]:
    """Return values as a column, NaN for None."""
    return array("d", (math.nan if value is None else value for value in values))


def excerpt(data: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the named scalars of a result as one line of JSON: the lists of a result are no proof to read."""
    shown = {}
    for key in keys:
        value = data.get(key)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            shown[key] = round(value, 4) if isinstance(value, float) and math.isfinite(value) else value
    return json.dumps(shown, ensure_ascii=False)[:TEXT]


def documents(source: Source) -> Iterator[tuple[int, Any] | Problem]:
    """Yield (line, value) of every JSON document of an input: one, one a line, or one behind the other."""
    text = source.content().decode("utf-8", "replace")
    decoder, at, line = json.JSONDecoder(), 0, 1
    for _ in range(MOST_RESULTS + 1):
        start = at
        while at < len(text) and text[at] in " \t\r\n,\ufeff":
            at += 1
        line += text.count("\n", start, at)
        if at >= len(text):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield Problem(
                source.name, line, Sentence("not JSON that can be read to its end ({value})", value=str(error)[:80])
            )
            return
        yield line, value
        line += text.count("\n", at, end)
        at = end
    yield Problem(
        source.name,
        line,
        Sentence("more than {most} results; the rest was not read", most=MOST_RESULTS),
    )


def search(data: Any, names: Sequence[str], depth: int = DEPTH) -> Any:
    """Return the first value under one of these keys anywhere in a configuration; None when there is none."""
    if depth <= 0 or not isinstance(data, dict | list):
        return None
    if isinstance(data, dict):
        for name in names:
            if data.get(name) not in (None, "", [], {}):
                return data[name]
        inner: Iterable[Any] = list(data.values())[:200]
    else:
        inner = data[:20]
    return next((found for part in inner if (found := search(part, names, depth - 1)) is not None), None)
