"""What ``vllm bench serve`` and ``sglang.bench_serving`` print: a table of results, kept instead of the file.

The table is turned into the object that the same benchmark would have saved, and read as that. Labels by version: the
sources of vLLM 0.3.3 to 0.33.0 and of SGLang 0.1.26 to 0.5.23.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces import sglang_bench, vllm_bench
from diagnoser.traces._results import MOST_RESULTS, TEXT, number
from diagnoser.traces.base import Wanted

NAME = "bench-printed"
ORDER = 34
KINDS = ("printed",)
SAMPLES = [
    (
        "Traffic request rate: 4.0\nMaximum request concurrency: 8\n"
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     40        \nBenchmark duration (s):                  10.00     \n"
        "Request throughput (req/s):              4.00      \nMean TTFT (ms):                          80.00     \n"
        "Median TTFT (ms):                        70.00     \nP99 TTFT (ms):                           150.00    \n"
        "==================================================\n",
        2,
    ),
    (
        "============ Serving Benchmark Result ============\nBackend:                                 sglang    \n"
        "Max reqeuest concurrency:                8         \nSuccessful requests:                     40        \n"
        "Benchmark duration (s):                  10.00     \nTotal generated tokens (retokenized):    1999      \n"
        "Median E2E Latency (ms):                 900.00    \n==================================================\n",
        3,
    ),
]

#: Characters of a line of the table, and of one before it: the arguments stand in one.
_WIDE, _LONG = 400, 32 << 10
_BANNER = re.compile(r"={8,} Serving Benchmark Result ={8,}\s*\Z")
_CLOSED = re.compile(r"={20,}\s*\Z")
_CELL = re.compile(r"\s*([A-Z][\w .,()/-]{2,60}?):\s+(\S.*?)\s*\Z")
_LATENCY = re.compile(r"(Mean|Median|P\d{1,2}(?:\.\d+)?) (TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\)\Z")
#: What is printed before the run, and once more in some tables.
_BEFORE = re.compile(r"\s*(Traffic request rate|Maximum request concurrency): +(\S+)\s*\Z")
_MODEL = re.compile(r"\bNamespace\(.*\bmodel='([^']{1,200})'")
_KEYS = {
    "Backend": "backend",
    "Successful requests": "completed",
    "Failed requests": "failed",
    "Benchmark duration (s)": "duration",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "Request throughput (req/s)": "request_throughput",
    "Request goodput (req/s)": "request_goodput",
    "Output token throughput (tok/s)": "output_throughput",
    "Concurrency": "concurrency",
    "Peak concurrent requests": "max_concurrent_requests",
    "Request rate configured (RPS)": "request_rate",
    "Traffic request rate": "request_rate",
    "Maximum request concurrency": "max_concurrency",
    "Max request concurrency": "max_concurrency",
    "Max reqeuest concurrency": "max_concurrency",  # SGLang 0.3.6 to 0.4.5
    "Accept length": "accept_length",
    "Acceptance length": "spec_decode_acceptance_length",
}
#: Under this key a table keeps the cells that prove it, as they were printed.
_CELLS = "cells"
_SHOWN = re.compile(
    r"Backend|Max\w* re\w+ concurrency|(?:Successful|Failed) requests|(?:Request|Output token) throughput|Concurrency"
    r"|(?:Median|P99) (?:TTFT|TPOT|E2E)"
)
#: Only SGLang's script prints these, whatever engine it asks.
_SGLANG = frozenset({"backend", "concurrency", "total_output_tokens_retokenized"})


def recognise(head: str) -> bool:
    """By kind alone: ``sources.kinds`` looked for the signs of a benchmark, and nvidia-smi's table is asked first."""
    return True


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield every table of the output; one that was cut before its end is told and counts as far as it goes."""
    before: dict[str, Any] = {}
    table: dict[str, Any] | None = None
    origin, found = Origin(source.name, 1), 0
    for part, line, raw in source.raw_lines():
        # A progress bar overwrites itself and shares its line with what comes next.
        text = raw.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2].replace("\0", "")
        row = text if len(text) <= _WIDE else ""
        if _BANNER.search(row):
            if table:
                yield from _result(table, before, origin)
            table, origin, found = {_CELLS: {}}, Origin(part, line), found + 1
            if found > MOST_RESULTS:
                yield Problem(
                    part,
                    line,
                    Sentence("more than {most} results; the rest was not read", most=MOST_RESULTS),
                )
                return
        elif table is None:
            _note(before, text[:_LONG])
        elif _CLOSED.match(row):
            yield from _result(table, before, origin)
            table, before = None, {"model_id": before["model_id"]} if "model_id" in before else {}
        elif (cell := _CELL.match(row)) is not None:
            _take(table, cell[1], cell[2])
    if table:
        yield Problem(
            origin.source, origin.line, Sentence("the table of results has no end: it counts as far as it goes")
        )
        yield from _result(table, before, origin)
    elif not found:
        yield Problem(
            source.name, 1, Sentence("a benchmark's output without its table of results: it was cut or did not end")
        )


def _note(before: dict[str, Any], text: str) -> None:
    """Keep what the command says of itself before it begins."""
    if (said := _BEFORE.match(text)) is not None:
        _take(before, said[1], said[2])
    elif (model := _MODEL.search(text)) is not None:
        before["model_id"] = model[1]


def _take(table: dict[str, Any], label: str, cell: str) -> None:
    if _CELLS in table and _SHOWN.match(label):
        table[_CELLS][label] = cell
    latency = _LATENCY.match(label)
    if latency is not None:
        which = {"E2EL": "e2el", "E2E Latency": "e2e_latency"}.get(latency[2], latency[2].lower())
        key = f"{latency[1].lower()}_{which}_ms"
    elif label.lower() == "total token throughput (tok/s)":
        # Each reader knows the name of its own benchmark's file.
        table["total_throughput"] = table["total_token_throughput"] = number(cell)
        return
    elif (known := _KEYS.get(label)) is not None:
        key = known
    else:
        return
    value = cell if key == "backend" else number(cell)
    if value is not None:
        table.setdefault(key, value)


def _result(table: dict[str, Any], before: dict[str, Any], origin: Origin) -> Iterator[Observation]:
    shown = table.pop(_CELLS, {})
    data = {**before, **table}
    if number(data.get("duration")) is None and number(data.get("completed")) is None:
        yield Problem(
            origin.source,
            origin.line,
            Sentence("no result of a benchmark: the table has neither duration nor requests"),
        )
        return
    reader = sglang_bench if _SGLANG & table.keys() else vllm_bench
    made = reader.result(data, origin)
    made.text = ", ".join(f"{label}: {cell}" for label, cell in shown.items())[:TEXT]
    yield from made.observations()
