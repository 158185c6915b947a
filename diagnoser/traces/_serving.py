"""What the serving benchmarks of vLLM and SGLang have in common: one grew out of the other.

Summaries are milliseconds under ``mean_``, ``median_`` and ``p99_``; lists per request are seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._results import MOST_REQUESTS, Latency, Result, column, documents, floats, number

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)_(\w+)_ms\Z")


def results(source: Source, make: Callable[[Mapping[str, Any], Origin], Result]) -> Iterator[Observation]:
    """Yield every result of a file: objects behind one another, or lists of them."""
    for one in documents(source):
        if isinstance(one, Problem):
            yield one
            continue
        line, value = one
        for data in value if isinstance(value, list) else [value]:
            if isinstance(data, dict) and number(data.get("duration")) is not None:
                yield from make(data, Origin(source.name, line)).observations()
            else:
                yield Problem(source.name, line, Sentence("no result of a benchmark: it tells no duration"))


def plain(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, float]:
    """Return the keys that hold numbers."""
    return {key: found for key in keys if (found := number(data.get(key))) is not None}


def latencies(result: Result, data: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Take the summaries: as series of the row, and as spreads under the writer's name of the latency.

    ``names`` maps that name to ttft, tpot, itl or e2e.
    """
    completed = result.values.get("completed", 0.0)
    gaps = result.values.get("total_output_tokens", 0.0) - completed
    for name, kind in names.items():
        latency = Latency(gaps if kind == "itl" and gaps > 0 else completed)
        if (mean := number(data.get(f"mean_{name}_ms"))) is not None:
            latency.mean = result.values[f"mean_{name}"] = mean / 1000
        if (median := number(data.get(f"median_{name}_ms"))) is not None:
            latency.quantiles[0.5] = median / 1000
        for key, value in data.items():
            found = _PERCENTILE.match(key)
            if found and found[2] == name and (told := number(value)) is not None:
                latency.quantiles[float(found[1]) / 100] = told / 1000
        for share, value in latency.quantiles.items():
            result.values[f"p{share * 100:g}_{name}"] = value
        result.latencies[name] = latency


def detail(result: Result, data: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Take requests one by one where the result lists them: time to first token and the gaps behind it."""
    ttfts, itls = data.get("ttfts"), data.get("itls")
    if not isinstance(ttfts, list) or not isinstance(itls, list) or len(ttfts) != len(itls):
        return
    asked, lengths, failures = (_listed(data, key, len(ttfts)) for key in ("input_lens", "output_lens", "errors"))
    first: list[float] = []
    per_token: list[float | None] = []
    whole: list[float] = []
    gaps: list[float] = []
    prompts: list[float | None] = []
    outputs: list[float | None] = []
    for ttft, given, prompt, length, error in zip(ttfts, itls, asked, lengths, failures, strict=True):
        start = number(ttft)
        # A request that failed has no first token; older scripts wrote 0 and no list of errors.
        if error or start is None or start <= 0 or len(first) >= MOST_REQUESTS:
            continue
        own = floats(given)
        first.append(start)
        whole.append(start + sum(own))
        tokens = number(length) or len(own) + 1
        per_token.append(sum(own) / (tokens - 1) if tokens > 1 and own else None)
        gaps += own
        prompts.append(number(prompt))
        outputs.append(tokens)
    if not first:
        return
    raw = {"ttft": first, "itl": gaps, "e2e": whole, "tpot": [one for one in per_token if one is not None]}
    for name, kind in names.items():
        result.latencies[name].values = raw[kind]
    result.requests = {"ttft": column(first), "tpot": column(per_token), "e2e": column(whole)}
    result.requests |= {"prompt": column(prompts), "output": column(outputs)}


def _listed(data: Mapping[str, Any], key: str, length: int) -> list[Any]:
    """Return a list with a value for each request; one of nothing where the result has none that fits."""
    found = data.get(key)
    return found if isinstance(found, list) and len(found) == length else [None] * length
