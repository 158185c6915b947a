"""A plain table of requests, one a row, as load generators of one's own write it: columns are known by their names.

Understood, with a unit at the end of the name (``ttft_s``, ``e2e_ms``, ``latency (ms)``): time to first token, time per
output token, whole latency, token counts, status, start. A latency without a unit is in seconds, unless its numbers can
only be milliseconds.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._requests import TIMES, UNITS, result_of, taken
from diagnoser.traces._results import MOST_REQUESTS
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
_WORDS = re.compile(r"[^a-z0-9]+")


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
            yield Problem(
                source.name,
                number_of,
                Sentence("more than {most} requests; the rest was not read", most=MOST_REQUESTS),
            )
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
    result, slices = result_of(source.name, rows, units, told)
    guessed = sorted(told[kind] for kind in TIMES if kind in told and not units[kind])
    if guessed:
        yield Problem(
            source.name,
            1,
            Sentence("{guessed}: no unit in the name; {rows}", guessed=", ".join(guessed), rows=taken(rows, units)),
        )
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
        unit = words.pop() if len(words) > 1 and words[-1] in UNITS else ""
        plain = "_".join(words)
        kind = next((kind for kind, known in _NAMES.items() if plain in known), "")
        if kind and kind not in {one for one, _ in found.values()}:
            found[at] = (kind, unit)
    return separator, found
