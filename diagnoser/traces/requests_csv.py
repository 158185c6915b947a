"""A plain table of requests, one a row, as load generators of one's own write it: columns are known by their names.

Understood, with a unit at the end of the name (``ttft_s``, ``e2e_ms``, ``latency (ms)``): time to first token, time per
output token, whole latency, token counts, status, start. A latency without a unit is in seconds, unless its numbers can
only be milliseconds.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from diagnoser.model import Problem
from diagnoser.observations import Measure, Observation
from diagnoser.sources import Source
from diagnoser.table import Origin
from diagnoser.traces._moments import moment
from diagnoser.traces._results import MEDIUM, MOST_REQUESTS, TEXT, Latency, Result, column, number
from diagnoser.traces.base import Wanted

NAME = "requests-csv"
ORDER = 60
KINDS = ("csv",)
SAMPLES = [
    ("t_start,status,ttft_s,e2e_s,prompt_tokens,output_tokens\n0,ok,0.5,1.5,10,11\n1,error,,,10,\n", 5),
    ("request_id;TTFT (ms);Latency (ms);completion_tokens\na;100;300;5\nb;120;420;6\n", 5),
]

#: What a column tells -> names it goes by, without its unit, lower case, words joined by underlines.
_NAMES = {
    "ttft": ("ttft", "time_to_first_token", "first_token_latency", "first_token_time", "first_token"),
    "tpot": ("tpot", "time_per_output_token"),
    "itl": ("itl", "inter_token_latency", "mean_itl"),
    "e2e": (
        "e2e", "e2el", "e2e_latency", "latency", "request_latency", "end_to_end_latency", "total_latency",
        "response_time", "total_time", "elapsed",
    ),
    "queue": ("queue", "queue_time", "queued", "wait", "wait_time"),
    "prompt": ("prompt_tokens", "input_tokens", "prompt_len", "input_len", "isl", "input_length", "prompt_length"),
    "output": (
        "output_tokens", "completion_tokens", "generated_tokens", "output_len", "osl", "output_length", "tokens_out",
    ),
    "status": ("status", "success", "ok", "result", "outcome", "state"),
    "http": ("http", "http_status", "http_code", "status_code", "code"),
    "error": ("error", "error_message", "exception"),
    "start": ("t_start", "start", "start_time", "started", "timestamp", "time", "ts", "sent", "sent_at", "send_time"),
}  # fmt: skip
_TIMES = ("ttft", "tpot", "itl", "e2e", "queue")
_UNITS = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "millis": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "microseconds": 1e-6, "ns": 1e-9,
}  # fmt: skip
_GOOD = frozenset(
    {"ok", "success", "succeeded", "successful", "true", "done", "completed", "complete", "finished", "1"}
)
_WORDS = re.compile(r"[^a-z0-9]+")
#: No request takes this long, seconds: a column of larger numbers counts milliseconds.
_CANNOT_BE_SECONDS = 1800.0
#: Slices of the measurement for throughput over time.
_SLICES = 24
#: 2001: a start below is relative, not a moment.
_EPOCH = 1e9


def recognise(head: str) -> bool:
    """Whether its columns tell a time to first token or per token, or a latency beside tokens."""
    lines = head.split("\n", 1)
    found = {kind for kind, _ in _columns(lines[0].strip("\ufeff\r\n "))[1].values()}
    return bool(found & {"ttft", "tpot"}) or ("e2e" in found and bool(found & {"prompt", "output"}))


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one result for the table, and its throughput over time."""
    rows: list[dict[str, str]] = []
    header: tuple[str, dict[int, tuple[str, str]]] | None = None
    names: list[str] = []
    for _, number_of, raw in source.raw_lines():
        text = raw.decode("utf-8", "replace").strip("\ufeff\r\n")
        if not text.strip():
            continue
        if header is None:
            header = _columns(text)
            names = next(csv.reader([text], delimiter=header[0]), [])
            continue
        if len(rows) >= MOST_REQUESTS:
            yield Problem(source.name, number_of, f"more than {MOST_REQUESTS:,} requests; the rest was not read")
            break
        try:
            cells = next(csv.reader([text], delimiter=header[0]), [])
        except csv.Error:
            continue
        rows.append({kind: cells[at].strip() for at, (kind, _) in header[1].items() if at < len(cells)})
    if header is None or not rows:
        return
    units = dict(header[1].values())
    told = {kind: names[at] for at, (kind, _) in header[1].items() if at < len(names)}
    result, slices = _result(source, rows, units, told)
    guessed = sorted(told[kind] for kind in _TIMES if kind in told and not units[kind])
    if guessed:
        yield Problem(source.name, 1, f"{', '.join(guessed)}: no unit in the name; {_taken(rows, units)}")
    yield from result.observations()
    yield from slices


def _columns(text: str) -> tuple[str, dict[int, tuple[str, str]]]:
    """Return the separator, and for each understood column its meaning and unit."""
    separator = max(",;\t", key=text.count)
    found: dict[int, tuple[str, str]] = {}
    try:
        names = next(csv.reader([text], delimiter=separator), [])
    except csv.Error:
        return separator, found
    for at, name in enumerate(names[:200]):
        words = [word for word in _WORDS.split(name.lower()) if word]
        unit = words.pop() if len(words) > 1 and words[-1] in _UNITS else ""
        plain = "_".join(words)
        kind = next((kind for kind, known in _NAMES.items() if plain in known), "")
        if kind and kind not in {one for one, _ in found.values()}:
            found[at] = (kind, unit)
    return separator, found


def _scale(rows: Sequence[Mapping[str, str]], units: Mapping[str, str]) -> dict[str, float]:
    """Return what turns each latency into seconds. Columns without a unit share one: the largest of them tells."""
    bare = [kind for kind in _TIMES if kind in units and not units[kind]]
    known = [found for row in rows for kind in bare if (found := number(row.get(kind))) is not None]
    usual = 1e-3 if known and max(known) > _CANNOT_BE_SECONDS else 1.0
    return {kind: _UNITS.get(units[kind], usual) for kind in _TIMES if kind in units}


def _taken(rows: Sequence[Mapping[str, str]], units: Mapping[str, str]) -> str:
    bare = next(kind for kind in _TIMES if kind in units and not units[kind])
    return "taken for milliseconds" if _scale(rows, units)[bare] < 1 else "taken for seconds"


def _good(row: Mapping[str, str]) -> bool:
    """Whether a request succeeded, by the first column that tells."""
    if status := row.get("status", "").lower():
        return status in _GOOD or (status.isdecimal() and status.startswith("2") and len(status) == 3)
    if http := row.get("http", ""):
        return http.startswith("2")
    return not row.get("error")


def _result(
    source: Source, rows: Sequence[Mapping[str, str]], units: Mapping[str, str], told: Mapping[str, str]
) -> tuple[Result, list[Measure]]:
    scale = _scale(rows, units)
    good = [row for row in rows if _good(row)]

    def seconds(row: Mapping[str, str], kind: str) -> float | None:
        found = number(row.get(kind)) if kind in scale else None
        return None if found is None else found * scale[kind]

    def per_token(row: Mapping[str, str]) -> float | None:
        given = next((one for kind in ("tpot", "itl") if (one := seconds(row, kind)) is not None), None)
        first, whole, tokens = seconds(row, "ttft"), seconds(row, "e2e"), number(row.get("output"))
        if given is not None or first is None or whole is None or tokens is None or tokens < 2:
            return given
        return max(whole - first, 0.0) / (tokens - 1)

    columns: dict[str, list[float | None]] = {kind: [seconds(row, kind) for row in good] for kind in ("ttft", "e2e")}
    columns["tpot"] = [per_token(row) for row in good]
    queue = [seconds(row, "queue") for row in good]
    values: dict[str, float] = {"requests": len(rows), "completed": len(good), "failed": len(rows) - len(good)}
    ends = [
        (start, start + (seconds(row, "e2e") or 0.0), row) for row in rows if (start := _moment(row, units)) is not None
    ]
    duration = max(end for _, end, _ in ends) - min(start for start, _, _ in ends) if len(ends) > 1 else 0.0
    for kind in ("prompt", "output"):
        counts = [found for row in good if (found := number(row.get(kind))) is not None]
        if counts:
            values[f"{kind} tokens"] = math.fsum(counts)
    if duration > 0:
        values["duration"] = duration
        values["requests per second"] = len(good) / duration
        if "output tokens" in values:
            values["output tokens per second"] = values["output tokens"] / duration
            values["tokens per second"] = (values["output tokens"] + values.get("prompt tokens", 0.0)) / duration
        flying = [one for one in columns["e2e"] if one is not None]
        if flying:
            values["in flight"] = math.fsum(flying) / duration
    understood = ", ".join(f"{name} = {kind}" for kind, name in told.items())
    text = f"{len(rows)} requests, {len(rows) - len(good)} failed; columns: {understood}"[:TEXT]
    result = Result(NAME, Origin(source.name, 1), None, text, values, duration=duration or None)
    result.failed = len(rows) - len(good)
    for kind, cells in {**columns, "queue": queue}.items():
        known = [one for one in cells if one is not None]
        if known:
            result.latencies[kind] = Latency(len(known), math.fsum(known) / len(known), values=known)
            values[f"{kind} mean"] = result.latencies[kind].mean
            for percent in (50, 90, 95, 99):
                at = max(math.ceil(percent / 100 * len(known) * (1 - 1e-9)) - 1, 0)
                values[f"{kind} p{percent}"] = sorted(known)[at]
    columns |= {kind: [number(row.get(kind)) for row in good] for kind in ("prompt", "output")}
    result.requests = {kind: column(cells) for kind, cells in columns.items() if any(one is not None for one in cells)}
    return result, _over_time(result, ends, duration)


def _moment(row: Mapping[str, str], units: Mapping[str, str]) -> float | None:
    text = row.get("start", "")
    found = number(text)
    if found is None:
        return moment(text) if text else None
    return found * _UNITS.get(units.get("start", ""), 1e-3 if found > 1e11 else 1.0)


def _over_time(result: Result, ends: list[tuple[float, float, Mapping[str, str]]], duration: float) -> list[Measure]:
    """Return rows of throughput by slice of the measurement, counted where requests ended."""
    if len(ends) < 2 * _SLICES or duration <= 0 or "output tokens" not in result.values:
        return []
    begin, width = min(start for start, _, _ in ends), duration / _SLICES
    tokens = [0.0] * _SLICES
    for _, end, row in ends:
        if _good(row):
            tokens[min(int((end - begin) / width), _SLICES - 1)] += number(row.get("output")) or 0.0
    slices = []
    for at, count in enumerate(tokens):
        time = begin + at * width if begin > _EPOCH else None
        label = f"{result.text}; slice {at + 1} of {_SLICES}"[:TEXT]
        told = {"finished tokens per second": count / width}
        slices.append(Measure(NAME, MEDIUM, result.origin, time, label, told))
    return slices
