"""Numbers, times and arguments that no healthy server prints: the rest of the log is still judged and shown."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from expression_runs import add_argument, run, table, value
from serverlogs import knowledge

from diagnoser import reports
from diagnoser.api import Session
from diagnoser.contracts.findings import Report
from diagnoser.rules.evaluating.value import UNKNOWN

VERSION = "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2"
FULL = "memory.kv_cache_exhausted"


def stats(i: int, kv: str = "99.9", running: str = "5") -> str:
    return (
        f"INFO 07-12 10:{i // 6:02}:{i % 6 * 10:02} [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, "
        f"Avg generation throughput: 100.0 tokens/s, Running: {running} reqs, Waiting: 3 reqs, "
        f"GPU KV cache usage: {kv}%, Prefix cache hit rate: 0.0%"
    )


def arguments(text: str) -> str:
    return f"INFO 07-12 10:00:00 [api_server.py:1] non-default args: {{'model': 'm', {text}}}"


def shown(lines: Iterable[str]) -> Report:
    """Judge a log and print the report in every format."""
    log = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    report = Session(["-"], stdin=log, knowledge=knowledge()).report
    for name in reports.formats():
        assert reports.get(name).render(report, reports.RenderOptions())
    return report


def found(report: Report) -> list[str]:
    return [finding.id for finding in report.findings]


@pytest.mark.parametrize("number", ["9" * 400, "9" * 308, "1" + "0" * 40])
def test_a_number_beyond_all_others_counts_as_not_printed(number):
    report = shown([VERSION, *(stats(i, kv=number if i == 20 else "99.9", running=number) for i in range(40))])
    assert found(report) == [FULL]
    assert report.runs[0].figures["kv.usage"].max == pytest.approx(0.999)
    assert "requests.running" not in report.runs[0].figures


def test_infinite_numbers_of_sglang():
    line = (
        "[2026-03-01 12:0{}:{:02}] Decode batch. #running-req: 3, #token: 812, token usage: {}, cuda graph: True, "
        "gen throughput (token/s): 150.20, #queue-req: 0"
    )
    report = shown(line.format(i // 6, i % 6 * 10, "1e999" if i == 4 else "0.50") for i in range(20))
    assert report.runs[0].figures["kv.usage"].max == pytest.approx(0.5)


@pytest.mark.parametrize("printed", ["'auto'", "inf", "nan", "None", "[]", "{'a': 1}", "-1", "True", "9" * 400])
@pytest.mark.parametrize("name", ["tensor_parallel_size", "max_num_seqs", "gpu_memory_utilization", "kv_cache_dtype"])
def test_arguments_of_any_kind(name, printed):
    assert FULL in found(shown([VERSION, arguments(f"'{name}': {printed}"), *(stats(i) for i in range(40))]))


def test_a_time_beyond_the_calendar_is_none():
    lines = [
        json.dumps({"__REALTIME_TIMESTAMP": "9" * 25, "_SYSTEMD_UNIT": "vllm.service", "MESSAGE": text})
        for text in (VERSION, "ERROR 07-12 10:00:01 [core.py:1] odd", *(stats(i) for i in range(40)))
    ]
    report = shown(lines)
    assert found(report) == [FULL, "scheduling.queue_saturation"]
    assert report.runs[0].started == "07-12 10:00:00"


def test_ranks_of_five_thousand_digits():
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB"
    )
    lines = [f"(Worker_TP{rank} pid=1) ERROR 07-12 10:00:05 [x.py:1] {text}" for rank in ("9" * 5000, "1")]
    assert found(shown([VERSION, *lines]))


def test_what_is_no_server_is_not_called_healthy():
    assert shown(["hello", "world"] * 20).healthy is None


def test_a_shape_of_several_runs_begins_in_the_first():
    start = [VERSION.replace("10:00", "{}"), "INFO {}:09 [launcher.py:1] Application startup complete."]
    odd = "ERROR 07-12 {}:30 [core.py:1] the frobnicator is askew"
    lines = [line.replace("{}", clock) for clock in ("10:00", "11:00", "12:00") for line in (*start, odd)]
    (item,) = [one for one in shown(lines).unrecognised if "frobnicator" in one.template]
    assert (item.count, item.first.line, item.first.time, item.last_time) == (3, 3, "07-12 10:00:30", "07-12 12:00:30")


@pytest.mark.parametrize(
    ("printed", "expected"), [(2, 1.0), ("2", 1.0), ("auto", UNKNOWN), (None, UNKNOWN), (float("nan"), UNKNOWN)]
)
def test_a_row_is_compared_with_an_argument_that_is_a_number(printed: Any, expected: Any):
    made = run(table({"requests.running": [4.0, 4.0, 4.0]}))
    add_argument(made, "max_num_seqs", printed)
    assert value('share(requests.running >= arg("max_num_seqs"))', made) == expected


def test_a_trend_over_rows_without_times_is_unknown():
    rows = {"requests.running": [1.0, 2.0, 3.0, 4.0], "kv.usage": [0.1, 0.2, 0.9, 0.9]}
    made = run(table(rows, times=[None, None, 10.0, 20.0]))
    assert value("slope(requests.running while kv.usage < 50%)", made) is UNKNOWN
