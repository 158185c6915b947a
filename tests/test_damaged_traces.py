"""Damaged, cut and misplaced measurements: what was not measured is not told, and the rest is judged as if alone."""

from __future__ import annotations

import gzip
import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from serverlogs import knowledge

from diagnoser import reports
from diagnoser.api import Options, Session
from diagnoser.reports.layout import wrap
from diagnoser.sources import InputError
from diagnoser.tables.spread import Spread


def session(folder: Path, files: Mapping[str, str | bytes], **options: str) -> Session:
    """Judge files and print the report in every format; JSON must be JSON. Their times never depend on the day."""
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    made = Session([str(folder / name) for name in files], knowledge=knowledge(), options=Options(**options))
    for name in reports.formats():
        text = reports.get(name).render(made.report, reports.RenderOptions())
        if name == "json":
            json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return made


def column(made: Session, name: str) -> list[float]:
    return [
        value
        for run in made.runs
        for table in run.tables.values()
        for value in table.columns.get(name, ())
        if value == value
    ]


def page(aborted: int, running: str = "2.0") -> str:
    return (
        f'vllm:num_requests_running{{engine="0"}} {running}\n'
        f'vllm:num_preemptions_total{{engine="0"}} {aborted}.0\n'
        f'vllm:request_success_total{{finished_reason="abort"}} {aborted}.0\n'
        f'vllm:request_success_total{{finished_reason="stop"}} {10 * aborted}.0\n'
    )


FOREIGN = 'python_info{version="3.12.1"} 1.0\nprocess_start_time_seconds 1.7e+09\n'


@pytest.mark.parametrize("number", ["NaN", "+Inf", "-Inf", "1e308", "-1e308", "1e400", "9" * 5000])
def test_what_no_server_can_have_counted_was_not_measured(tmp_path, number):
    pages = {f"m-{i}.prom": page(5 + i, number if i == 1 else "2.0") for i in range(3)}
    made = session(tmp_path, pages)
    assert column(made, "requests.running") == [2, 2]
    assert column(made, "preemptions") == [1, 1]


def test_next_to_nothing_under_a_share_tells_no_share(tmp_path):
    text = "vllm:prefix_cache_hits_total {}\nvllm:prefix_cache_queries_total {}\n"
    made = session(tmp_path, {"m-0.prom": text.format(0, 0), "m-1.prom": text.format(1e18, 1e-320)})
    assert column(made, "prefix.hit") == []


HISTOGRAM = """vllm:time_to_first_token_seconds_bucket{{le="{}"}} {}
vllm:time_to_first_token_seconds_bucket{{le="1.0"}} {}
vllm:time_to_first_token_seconds_bucket{{le="+Inf"}} {}
vllm:time_to_first_token_seconds_count {}
"""


@pytest.mark.parametrize("bound", ["NaN", "", "x", "1e400", "-1", "1"])
def test_a_bucket_without_a_bound_is_none(tmp_path, bound):
    made = session(
        tmp_path, {f"m-{n}.prom": "vllm:num_requests_running 1\n" + HISTOGRAM.format(bound, *[n] * 4) for n in (1, 101)}
    )
    (spread,) = made.runs[0].spreads["latency.ttft"]
    assert spread.count == 100
    assert spread.quantile(0.5) is not None and 0 <= spread.quantile(0.5) <= 1


def test_a_histogram_without_its_sum_has_no_mean(tmp_path):
    made = session(tmp_path, {f"m-{n}.prom": HISTOGRAM.format("0.5", 0, *[n] * 3) for n in (1, 101)})
    (spread,) = made.runs[0].spreads["latency.ttft"]
    assert spread.mean is None
    assert spread.quantile(0.5) == pytest.approx(0.75)
    assert made.report.runs[0].spreads["latency.ttft"].mean is None


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("kept", [50, 83, 90, 110, 147, 150, 200])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_page_that_was_cut_makes_no_lifetime_total_a_growth(tmp_path, at, kept, packed):
    pages: dict[str, str | bytes] = {f"m-{i}.prom": page(900 + i) for i in range(3)}
    cut = page(900 + at)[:kept]
    pages[f"m-{at}.prom"] = gzip.compress(cut.encode()) if packed else cut
    made = session(tmp_path, pages)
    assert sum(column(made, "preemptions")) == 2 if at == 1 else sum(column(made, "preemptions")) <= 2
    assert sum(column(made, "requests.aborted")) <= 2
    assert "has no end: taken for a page that was cut" in made.inputs[at].problems


TYPED = "# HELP x Number.\n# TYPE x gauge\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('at{a="b"} 4.0\n' + TYPED + page(902), "no beginning"),
        ("4.0\n" + page(902), "no beginning"),
        ("mber of it.\n# TYPE x gauge\n" + page(902), "no beginning"),
        (page(902).replace("vllm:num_preempt", "vllm\0\0\0\0\0\0\0pt"), "a hole"),
        (TYPED + page(902), ""),
        (page(902), ""),
        ("HTTP/1.1 200 OK\nDate: Sun\n\n" + TYPED + page(902), ""),
    ],
)
def test_a_page_without_a_part_is_no_page_among_whole_ones(tmp_path, content, words):
    long = "".join(f"go_number_{at} 1.0\n" for at in range(20))
    made = session(tmp_path, {f"m-{at}.prom": each + long for at, each in enumerate((page(900), page(901), content))})
    told = [problem for one in made.inputs for problem in one.problems if "page that was cut" in problem]
    assert told == ([f"has {words}: taken for a page that was cut"] if words else [])
    assert column(made, "requests.aborted") == ([1] if words else [1, 1])


def test_pages_that_were_all_cut_tell_what_they_have(tmp_path):
    pages = {f"m-{i}.prom": page(900 + i)[: -1 if i else 70] for i in range(3)}
    made = session(tmp_path, pages)
    assert sum(column(made, "preemptions")) == 1  # the first page lost it, so nothing tells what came before the second
    assert column(made, "requests.aborted") == [1]


@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
def test_another_process_in_the_same_file_changes_nothing(tmp_path, first):
    together = [FOREIGN + own if first else own + FOREIGN for own in (page(900 + i) + FOREIGN for i in range(3))]
    made = session(tmp_path, {"all.prom": "".join(together)})
    assert len(made.runs) == 1
    assert column(made, "preemptions") == [1, 1]


def test_single_pages_of_any_name_are_one_server_though_label_sets_come_up(tmp_path):
    late = 'vllm:request_success_total{{finished_reason="length"}} {}.0\n'
    pages = [page(900), page(901) + late.format(1), page(902) + late.format(4)]
    made = session(tmp_path, dict(zip(["before.txt", "during.txt", "behind.txt"], pages, strict=True)))
    assert len(made.runs) == 1
    assert column(made, "preemptions") == [1, 1]


def test_pages_of_which_one_lacks_label_sets_that_it_had_are_of_two_servers(tmp_path):
    other = page(901).replace("finished_reason", 'model_name="b",finished_reason')
    made = session(tmp_path, {"first.txt": page(900), "second.txt": other})
    assert len(made.runs) == 2
    assert column(made, "preemptions") == []


@pytest.mark.parametrize("content", [b"\n\0\0\n", b" \0", b"\0\n\0\n\0"], ids=repr)
def test_blanks_and_nuls_alone_are_refused_in_one_line(tmp_path, content):
    with pytest.raises(InputError, match=r"m\.prom is (?:empty|binary)[^\n]*\Z"):
        session(tmp_path, {"m.prom": content})


def test_a_word_as_long_as_a_file_is_shown_in_part_and_at_once(tmp_path):
    row = "index, name, utilization.gpu [%]\n0, {}, 50 %\n"
    started = time.monotonic()
    made = session(tmp_path, {"gpu.csv": row.format("é" * 100_000), "m.prom": page(1)})
    assert all(len(str(fact.value)) <= 400 for run in made.runs for fact in run.facts.values())
    assert wrap("é" * 1_000_000, 80)[:2] == ["é" * 80] * 2
    assert time.monotonic() - started < 20


# -- windows

STAMPED = "# 2026-11-29T10:0{}:00Z\n"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"since": "2m"}, 3),
        ({"until": "10:02"}, 3),
        ({"since": "10:04"}, 1),
        ({"until": "2026-11-29 10:01"}, 2),
        ({"until": "2020-01-01 10:00"}, 0),
    ],
    ids=str,
)
def test_a_window_is_in_the_clock_of_the_pages_where_there_is_no_log(tmp_path, options, kept):
    made = session(tmp_path, {f"m-{i}.prom": STAMPED.format(i) + page(i) for i in range(5)}, **options)
    assert len(column(made, "requests.running")) == kept


def test_a_page_without_a_time_is_in_every_window_and_says_so(tmp_path):
    made = session(tmp_path, {"m.prom": page(1)}, until="2020-01-01 10:00")
    assert column(made, "requests.running") == [2]
    assert made.inputs[0].problems == ["tells no time: --since and --until left nothing of it out"]


# -- which run

START = "INFO {} [api_server.py:1] vLLM API server version 0.9.2\n"
READY = "INFO {} [api_server.py:2] Application startup complete.\n"
STATS = (
    "INFO {} [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, "
    "Avg generation throughput: 100.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 5.0%, Prefix cache hit rate: 0.0%\n"
)
TWO_RUNS = "".join(
    START.format(f"11-29 {hour}:00:00") + "".join(STATS.format(f"11-29 {hour}:0{i}:00") for i in range(1, 6))
    for hour in (10, 14)
)
GUESSED = "no time tells of which of 2 runs the metrics are: taken for the last one's"


def with_metrics(made: Session) -> list[int]:
    return [run.id for run in made.runs if any(table.medium == "metrics" for table in run.tables.values())]


def test_pages_with_times_go_to_the_run_of_that_time_though_the_log_has_no_year(tmp_path):
    made = session(
        tmp_path, {"server.log": TWO_RUNS, **{f"m-{i}.prom": STAMPED.format(i) + page(i) for i in range(1, 4)}}
    )
    assert len(made.runs) == 2
    assert with_metrics(made) == [0]
    assert not any(GUESSED in run.notes for run in made.report.runs)


def test_pages_without_times_go_to_the_last_run_and_the_report_says_so(tmp_path):
    made = session(tmp_path, {"server.log": TWO_RUNS, "m-1.prom": page(1).replace("vllm:", "vllm_")})
    assert with_metrics(made) == [1]
    assert GUESSED in made.report.runs[1].notes


def test_metrics_are_not_of_a_server_that_died_before_it_opened_its_port(tmp_path):
    died = START.format("11-29 10:00:00") + (
        "ERROR 11-29 10:00:01 [api_server.py:9] [Errno 98] error while attempting to bind on address "
        "('0.0.0.0', 8000): address already in use\n"
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in <module>\n'
        "OSError: [Errno 98] Address already in use\n"
    )
    made = session(tmp_path, {"server.log": died, "m-1.prom": page(1), "m-2.prom": page(2)})
    assert [run.end for run in made.runs] == ["crash", "running"]
    assert with_metrics(made) == [1]


def test_an_open_bucket_tells_how_many_and_not_how_much():
    alone = Spread("metrics", 10, 40.0, "m.prom", 1, "", buckets=[(math.inf, 10)])
    assert (alone.mean, alone.quantile(0.5), alone.above(1.0)) == (4.0, None, None)
    tail = Spread("metrics", 10, 40.0, "m.prom", 1, "", buckets=[(2.0, 4), (math.inf, 6)])
    assert tail.above(2.0) == pytest.approx(0.6)
    assert tail.above(3.0) is None
