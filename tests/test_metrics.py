"""Metrics pages as evidence: what counts, what does not, and the traps that readers of metrics fall into."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverlogs import knowledge as shared

from diagnoser import diagnose
from diagnoser.api import Session
from diagnoser.knowledge.metricref import MetricRefError, key, parse_ref
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import EXPORTERS
from diagnoser.sources import open_inputs
from diagnoser.tables.spread import Spread
from diagnoser.traces import reader_of

KNOWLEDGE = shared()
SAMPLES = Path(__file__).parent.parent / "samples"


def session(folder: Path, pages: Sequence[str] | dict[str, str], log: str = "") -> Session:
    named = pages if isinstance(pages, dict) else {f"metrics-{i}.prom": text for i, text in enumerate(pages)}
    for name, text in named.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    names = [str(folder / name) for name in named]
    if log:
        (folder / "server.log").write_text(log)
        names.insert(0, str(folder / "server.log"))
    return Session(names, knowledge=KNOWLEDGE)


def run_of(folder: Path, pages: Sequence[str] | dict[str, str]):
    made = session(folder, pages)
    assert len(made.runs) == 1, [run.stream for run in made.runs]
    return made.runs[0]


def column(run, name: str) -> list[float]:
    """Return the values of a series in the only table that has it, rows without one left out."""
    tables = [table for table in run.tables.values() if name in table.columns]
    assert len(tables) <= 1
    return [value for table in tables for value in table.columns[name] if value == value]


def vllm(**values: float) -> str:
    """A page of plain samples: underscores instead of colons, the engine label on each."""
    return "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name, value in values.items())


def histogram(name: str, buckets: dict[str, float], total: float) -> str:
    lines = [f'{name}_bucket{{engine="0",le="{le}"}} {count}' for le, count in buckets.items()]
    return "\n".join(
        [*lines, f'{name}_sum{{engine="0"}} {total}', f'{name}_count{{engine="0"}} {max(buckets.values())}', ""]
    )


# -- numbers


def test_counters_count_what_happened_between_scrapes_and_never_since_the_start(tmp_path):
    run = run_of(
        tmp_path, [vllm(num_preemptions_total=900), vllm(num_preemptions_total=900), vllm(num_preemptions_total=907)]
    )
    assert column(run, "preemptions") == [0, 7]  # the first page gives no growth, so no row


def test_one_scrape_has_levels_but_no_growth_and_no_percentiles(tmp_path):
    page = vllm(num_requests_running=3, num_preemptions_total=900)
    run = run_of(tmp_path, [page + histogram("vllm:time_to_first_token_seconds", {"1.0": 9000, "+Inf": 10000}, 9e5)])
    assert column(run, "requests.running") == [3]
    assert column(run, "preemptions") == []
    assert run.spreads == {}


def test_a_counter_that_fell_began_anew(tmp_path):
    pages = [vllm(num_preemptions_total=value) for value in (500, 510, 3, 5)]
    assert column(run_of(tmp_path, pages), "preemptions") == [10, 3, 2]


def test_what_a_version_does_not_export_is_not_measured_and_not_zero(tmp_path):
    made = session(tmp_path, [vllm(num_requests_running=2), vllm(num_requests_running=2)])
    evaluator = made.judgements[0].evaluator
    rule = KNOWLEDGE.base.rules["ingress.client_aborts"]
    assert "preemptions" not in made.runs[0].tables["metrics", ()].columns
    assert evaluator.result(rule.when).unknown


def test_a_label_set_nobody_counted_yet_is_zero_where_its_metric_is_there(tmp_path):
    page = 'vllm:request_success_total{{engine="0",finished_reason="stop"}} {}\n'
    run = run_of(tmp_path, [page.format(1), page.format(9)])
    assert column(run, "requests.finished") == [8]
    assert column(run, "requests.aborted") == [0]


def test_a_counter_that_appears_has_grown_from_zero(tmp_path):
    run = run_of(tmp_path, [vllm(num_requests_running=1), vllm(num_requests_running=1, num_preemptions_total=4)])
    assert column(run, "preemptions") == [4]


@pytest.mark.parametrize(
    ("name", "usage"),
    [("gpu_cache_usage_perc", 0.5), ("kv_cache_usage_perc", 0.5)],
    ids=["to 0.11", "from 0.9.2"],
)
def test_every_generation_of_a_name_feeds_one_series(tmp_path, name, usage):
    assert column(run_of(tmp_path, [vllm(**{name: usage})]), "kv.usage") == [usage]


@pytest.mark.parametrize(
    "spelling", ["vllm:num_requests_running", "vllm_num_requests_running", "ray_vllm_num_requests_running"]
)
def test_agents_that_rewrite_colons_are_understood(tmp_path, spelling):
    assert column(run_of(tmp_path, [f'{spelling}{{engine="0"}} 3\n']), "requests.running") == [3]


def test_rates_need_times(tmp_path):
    untimed = run_of(tmp_path, [vllm(generation_tokens_total=100), vllm(generation_tokens_total=700)])
    assert column(untimed, "gen.tps") == []
    assert column(untimed, "gen.tokens") == [600]
    timed = {f"m-17640000{i}0.prom": vllm(generation_tokens_total=100 + 600 * i) for i in range(3)}
    assert column(run_of(tmp_path, timed), "gen.tps") == [60, 60]


def test_ratio_of_two_counters_is_that_of_the_interval(tmp_path):
    pages = [
        vllm(prefix_cache_queries_total=q, prefix_cache_hits_total=h)
        for q, h in ((1000, 900), (2000, 1000), (2000, 1000))
    ]
    assert column(run_of(tmp_path, pages), "cache.hit_rate") == [0.1]  # nothing was looked up in the last interval


def test_the_hit_rate_gauge_of_sglang_is_no_evidence(tmp_path):
    page = 'sglang:cache_hit_rate{tp_rank="0"} 0.0\nsglang:num_running_reqs{tp_rank="0"} 4\n'
    assert column(run_of(tmp_path, [page] * 4), "cache.hit_rate") == []


def test_a_histogram_is_what_came_between_the_first_and_the_last_scrape(tmp_path):
    name = "vllm:time_to_first_token_seconds"
    run = run_of(
        tmp_path,
        [
            histogram(name, {"0.1": 1000, "1.0": 1000, "10.0": 1000, "+Inf": 1000}, 50),
            histogram(name, {"0.1": 1000, "1.0": 1060, "10.0": 1100, "+Inf": 1100}, 550),
        ],
    )
    (spread,) = run.spreads["latency.ttft"]
    assert spread.count == 100
    assert spread.mean == 5
    assert spread.quantile(0.5) == pytest.approx(0.1 + 0.9 * 50 / 60)
    assert spread.quantile(0.99) == pytest.approx(1 + 9 * 39 / 40)
    assert spread.above(1.0) == pytest.approx(0.4)


def test_a_histogram_survives_missing_buckets_and_a_reset(tmp_path):
    name = "vllm:time_to_first_token_seconds"
    run = run_of(
        tmp_path,
        [
            histogram(name, {"0.1": 500, "1.0": 900, "+Inf": 1000}, 900),
            histogram(name, {"1.0": 10, "+Inf": 10}, 5),
            f'{name}_sum{{engine="0"}} 15\n{name}_count{{engine="0"}} 20\n',
        ],
    )
    (spread,) = run.spreads["latency.ttft"]
    assert spread.count == 20
    assert spread.total == 15
    assert spread.quantile(0.4) <= 1.0


def test_quantiles_in_the_open_bucket_claim_no_more_than_its_lower_bound():
    from diagnoser.tables.spread import Spread

    spread = Spread("metrics", 10, 1e6, "m", 1, "", buckets=((1.0, 1.0), (math.inf, 9.0)))
    assert spread.quantile(0.9) == 1.0


def test_a_quantile_is_never_more_than_the_sum_of_all_allows():
    """Queue times of a hundredth of a millisecond all lie in a first bucket of 0.3 s; its middle would be nonsense."""
    spread = Spread("metrics", 100, 0.001, "m", 1, "", buckets=((0.3, 100.0), (math.inf, 0.0)))
    assert spread.quantile(0.5) == pytest.approx(0.001 / 51)  # 51 requests took at least as long
    assert spread.quantile(0.99) == pytest.approx(0.001 / 2)


@given(
    values=st.lists(st.floats(0, 50), min_size=1, max_size=60),
    ends=st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0]), min_size=1, unique=True).map(sorted),
    share=st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_a_quantile_lies_within_its_bounds(values, ends, share):
    """Whatever the values are: what buckets and sum leave for a quantile holds the one that the values have."""
    edges = [-math.inf, *ends, math.inf]
    buckets = [(upper, float(sum(lower < one <= upper for one in values))) for lower, upper in pairwise(edges)]
    spread = Spread("metrics", len(values), math.fsum(values), "m", 1, "", buckets=buckets)
    least, most = spread.within(share)
    true = sorted(values)[max(math.ceil(share * len(values) * (1 - 1e-9)) - 1, 0)]
    assert least - 1e-9 <= true <= most + 1e-9
    assert least - 1e-9 <= spread.quantile(share) <= most + 1e-9


def test_bounds_without_a_sum_are_those_of_the_bucket():
    spread = Spread("metrics", 4, math.nan, "m", 1, "", buckets=((1.0, 1.0), (2.0, 2.0), (math.inf, 1.0)))
    assert [spread.within(share) for share in (0.25, 0.5, 0.99)] == [(0.0, 1.0), (1.0, 2.0), (2.0, math.inf)]
    assert Spread("metrics", 4, 8.0, "m", 1, "", buckets=((math.inf, 4.0),)).within(0.5) is None


def test_sums_and_buckets_that_contradict_each_other_leave_the_bucket():
    spread = Spread("metrics", 4, 0.5, "m", 1, "", buckets=((1.0, 0.0), (2.0, 4.0), (math.inf, 0.0)))
    assert spread.within(0.5) == (1.0, 2.0)


# -- servers, ranks, times


def test_ranks_are_kept_apart_and_tensor_ranks_count_once(tmp_path):
    page = "".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {10 * dp + 1}\n'
        for dp in (0, 1)
        for tp in (0, 1, 2, 3)
    )
    run = run_of(tmp_path, [page])
    assert {group: list(table.columns["requests.running"]) for (_, group), table in run.tables.items()} == {
        (("dp", "0"),): [1],
        (("dp", "1"),): [11],
    }


def test_two_servers_are_never_added_up(tmp_path):
    pages = {
        f"{name}-{i}.prom": vllm(num_requests_running=running)
        for name, running in (("a", 2), ("b", 200))
        for i in (0, 1)
    }
    runs = session(tmp_path, pages).runs
    assert sorted(column(run, "requests.running")[0] for run in runs) == [2, 200]
    federated = "".join(
        f'vllm:num_requests_running{{instance="{name}:8000"}} {n}\n' for name, n in (("a", 2), ("b", 200))
    )
    runs = session(tmp_path, {"all.prom": federated}).runs
    assert {run.stream: column(run, "requests.running") for run in runs} == {"a:8000": [2], "b:8000": [200]}


def test_before_and_after_are_two_scrapes_of_one_server_in_the_order_of_their_counters(tmp_path):
    before, after = (vllm(generation_tokens_total=n, num_preemptions_total=n / 10) for n in (100, 900))
    assert column(run_of(tmp_path, {"after.prom": after, "before.prom": before}), "preemptions") == [80]


def test_numbers_in_names_order_scrapes(tmp_path):
    pages = {f"metrics-{i}.prom": vllm(num_preemptions_total=i) for i in (2, 10, 1)}
    assert column(run_of(tmp_path, pages), "preemptions") == [1, 8]


@pytest.mark.parametrize(
    ("name", "text", "time"),
    [
        ("m-2026-11-29T10-00-05.prom", "{}", 1795946405),
        ("m.prom", "# scraped 2026-11-29T10:00:05Z\n{}", 1795946405),
        ("m.prom", "{}", None),
    ],
)
def test_times_of_scrapes(tmp_path, name, text, time):
    (tmp_path / name).write_text(text.format(vllm(num_requests_running=1)))
    (source,) = open_inputs([str(tmp_path / name)], None)
    (page,) = reader_of(source).read(source, lambda _: True)
    assert page.time == time


def test_the_time_of_a_sample_counts(tmp_path):
    (tmp_path / "m.prom").write_text('vllm:num_requests_running{engine="0"} 3 1795946405000\n')
    (source,) = open_inputs([str(tmp_path / "m.prom")], None)
    (page,) = reader_of(source).read(source, lambda _: True)
    assert page.time == 1795946405


def test_files_copied_in_one_go_have_no_times_of_their_own(tmp_path):
    pages = [vllm(num_requests_running=1)] * 3
    run = run_of(tmp_path, pages)
    assert all(time != time for table in run.tables.values() for time in table.time)
    for i in range(3):
        os.utime(tmp_path / f"metrics-{i}.prom", (1_700_000_000 + 5 * i, 1_700_000_000 + 5 * i))
    made = Session([str(tmp_path / f"metrics-{i}.prom") for i in range(3)], knowledge=KNOWLEDGE)
    assert [list(table.time) for table in made.runs[0].tables.values()] == [
        [1_700_000_000, 1_700_000_005, 1_700_000_010]
    ]


def test_concatenated_scrapes_are_told_apart(tmp_path):
    text = "".join(vllm(num_requests_running=n, num_preemptions_total=n) for n in (1, 2, 5))
    assert column(run_of(tmp_path, {"all.prom": text}), "preemptions") == [1, 3]


def test_metrics_join_the_run_of_the_log(tmp_path):
    log = (
        "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2\nINFO:     Application startup complete.\n"
    )
    made = session(tmp_path, [vllm(num_requests_running=1)] * 2, log)
    assert len(made.runs) == 1
    assert made.runs[0].version == "0.9.2"
    assert column(made.runs[0], "requests.running") == [1, 1]


@pytest.mark.parametrize(("scraped", "told"), [(40, True), (12, False)])
def test_a_log_and_a_page_that_contradict_each_other_are_both_shown(tmp_path, scraped, told):
    """Nothing is averaged: the level is the log's, and the report says that the page tells another."""
    lines = [
        "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2",
        "INFO:     Application startup complete.",
    ]
    lines += [
        f"INFO 07-12 10:0{at // 6}:{at % 6}0 [loggers.py:1] Engine 000: Avg prompt throughput: 100.0 tokens/s, "
        "Avg generation throughput: 300.0 tokens/s, Running: 10 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.0%, "
        "Prefix cache hit rate: 50.0%"
        for at in range(1, 12)
    ]
    pages = {
        f"m-20260712T10{at:02d}00Z.prom": vllm(num_requests_running=scraped, num_requests_waiting=0) for at in range(6)
    }
    run = session(tmp_path, pages, "\n".join(lines) + "\n").report.runs[0]
    assert run.figures["requests.running"].median == 10
    said = [note for note in run.notes if "the log and the metrics differ" in note]
    assert bool(said) == told
    assert all("10 against 40" in note for note in said)


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize(
    ("scraped", "life"), [("100100", 0), ("100400", 0), ("100545", 1), ("101500", 1), ("234500", 1)]
)
def test_metrics_join_the_life_in_which_they_were_scraped(tmp_path, stamped, scraped, life):
    """Logs of vLLM have no year, and a server that is restarted is back before the minute is over."""

    def served(start: str, end: str) -> str:
        lines = [
            (start, f"INFO 07-12 {start} [api_server.py:1] vLLM API server version 0.9.2"),
            (start, "INFO:     Application startup complete."),
            (end, f"INFO 07-12 {end} [loggers.py:1] Engine 000: Running: 1 reqs, Waiting: 0 reqs"),
        ]
        return "".join(f"2026-07-12T{at}.000000000Z {text}\n" if stamped else f"{text}\n" for at, text in lines)

    log = served("10:00:00", "10:05:00") + served("10:05:30", "10:20:00")
    page = vllm(num_requests_running=3)
    pages = {f"m-20260712T{int(scraped) + later:06d}Z.prom": page for later in (0, 10)}
    runs = session(tmp_path, pages, log).runs
    assert len(runs) == 2
    met = [[table for table in run.tables.values() if table.medium == "metrics"] for run in runs]
    assert [bool(one) for one in met] == [life == 0, life == 1]
    # In the clock of the run: together with its log lines they make one window.
    (start, end), times = (runs[life].started, runs[life].ended), met[life][0].time
    assert scraped == "234500" or start <= times[0] < times[1] <= end


def test_tokens_are_no_samples_of_a_finding(tmp_path):
    ends = {"time_to_first_token": (1600, 65600), "queue_time": (1600, 40), "inter_token_latency": (1_440_000, 74880)}
    level = 'sglang:num_running_reqs{tp_rank="0"} 58\nsglang:num_queue_reqs{tp_rank="0"} 0\n'
    pages = [
        level
        + "".join(
            f"sglang:{name}_seconds_sum {seen * total}\nsglang:{name}_seconds_count {seen * count}\n"
            for name, (count, total) in ends.items()
        )
        for seen in (0, 1)
    ]
    (finding,) = session(tmp_path, pages).report.findings
    assert finding.id == "output.detokenizer_stall"
    assert finding.window.endswith("1,600 samples")


def test_a_finding_of_events_alone_has_no_samples(tmp_path):
    """A rule that could also be shown by metrics is no weaker for being shown by messages."""
    refused = 'INFO:     127.0.0.1:41910 - "POST /v1/completions HTTP/1.1" 400 Bad Request\n'
    log = (
        "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2\nINFO:     Application startup complete.\n"
    )
    (tmp_path / "server.log").write_text(log + 40 * refused)
    (finding,) = Session([str(tmp_path / "server.log")], knowledge=KNOWLEDGE).report.findings
    assert (finding.id, finding.confidence) == ("ingress.bad_requests", "likely")
    assert "sample" not in finding.window


# -- bad pages


@pytest.mark.parametrize(
    "bad",
    ["vllm:num_requests_running{engine=", 'vllm:num_requests_running{engine="0"} many', "<html>", "}{", "vllm:x"],
)
def test_a_bad_line_costs_itself_and_is_told(tmp_path, bad):
    good = "# TYPE vllm:num_requests_running gauge\n" + vllm(num_requests_running=3, kv_cache_usage_perc=0.5) * 1
    made = session(tmp_path, {"m.prom": good + good.replace('"0"', '"1"') + good.replace('"0"', '"2"') + bad + "\n"})
    assert made.runs[0].engine == "vllm"
    problems = made.report.inputs[0].problems
    assert len(problems) == 1
    assert re.search(r"line \d+: expected a sample", problems[0])


def test_a_page_of_something_else_is_never_called_healthy(tmp_path):
    page = "# TYPE node_load1 gauge\nnode_load1 0.2\nnode_memory_free_bytes 12\n"
    report = session(tmp_path, {"m.prom": page}).report
    assert report.healthy is None


# -- traps seen in other readers of metrics (each calls a broken server healthy, or a healthy one broken)


def ids(folder: Path, pages: Sequence[str]) -> list[str]:
    return [finding.id for finding in session(folder, pages).report.findings if finding.severity != "info"]


def test_trap_lifetime_counters_as_now(tmp_path):
    page = vllm(num_requests_running=3, num_requests_waiting=0, num_preemptions_total=90_000, kv_cache_usage_perc=0.3)
    assert ids(tmp_path, [page] * 3) == []


def test_trap_zero_hits_is_a_number(tmp_path):
    pages = [vllm(prefix_cache_queries_total=n, prefix_cache_hits_total=0, num_requests_running=1) for n in (0, 50_000)]
    assert column(run_of(tmp_path, pages), "cache.hit_rate") == [0]


def test_trap_one_gauge_sample_decides(tmp_path):
    pages = [
        vllm(num_requests_running=8, num_requests_waiting=w, kv_cache_usage_perc=k)
        for w, k in [(0, 0.4)] * 9 + [(40, 0.99)]
    ]
    assert ids(tmp_path, pages) == []


def test_trap_a_steady_storm_counts_as_much_as_a_growing_one(tmp_path):
    pages = [
        vllm(num_requests_running=60, num_requests_waiting=9, num_preemptions_total=500 * i, kv_cache_usage_perc=0.99)
        for i in range(1, 8)
    ]
    assert "memory.kv_cache_exhausted" in ids(tmp_path, pages)


def test_trap_confidence_does_not_grow_with_repetition(tmp_path):
    def confidence(scrapes: int) -> str:
        pages = [
            vllm(
                num_requests_running=60, num_requests_waiting=9, num_preemptions_total=50 * i, kv_cache_usage_perc=0.99
            )
            for i in range(scrapes)
        ]
        report = session(tmp_path, pages).report
        return next(one.confidence for one in report.findings if one.id == "memory.kv_cache_exhausted")

    assert confidence(6) == confidence(60)


def test_trap_advice_names_no_removed_flag(tmp_path):
    pages = [
        vllm(num_requests_running=60, num_requests_waiting=9, num_preemptions_total=50 * i, kv_cache_usage_perc=0.99)
        for i in range(8)
    ]
    flags = {advice.flag for finding in session(tmp_path, pages).report.findings for advice in finding.remedies}
    assert flags
    assert not flags & {"--swap-space", "--enable-prefix-caching", "--enable-chunked-prefill"}


def test_trap_device_memory_says_nothing_of_the_pool(tmp_path):
    page = 'DCGM_FI_DEV_FB_USED{gpu="0"} 79000\nDCGM_FI_DEV_FB_FREE{gpu="0"} 300\n'
    page += vllm(num_requests_running=3, num_requests_waiting=0, kv_cache_usage_perc=0.2)
    assert ids(tmp_path, [page] * 4) == []


# -- knowledge


def _catalogue() -> set[str]:
    names: set[str] = set()
    for path in (rules_dir() / "catalog").glob("*/metrics.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            for name in (row["name"], *row.get("exposed", ()), *row.get("series", ())):
                names.update(key(name) + end for end in ("", "_total", "_bucket", "_sum", "_count"))
    return names


#: Pages of this router were recorded (0.1.17); its sources were not read, so the catalogue does not have its names.
RECORDED = ("vllm-router",)


def test_every_metric_of_the_vocabulary_exists_in_some_version():
    known = _catalogue()
    entries = [*KNOWLEDGE.vocabulary.series.values(), *KNOWLEDGE.vocabulary.facts.values()]
    refs = [
        (one.name, ref)
        for one in entries
        for writer, refs in one.metric.items()
        if writer not in (*EXPORTERS, *RECORDED)
        for ref in refs
    ]
    assert refs
    for name, ref in refs:
        parsed = parse_ref(ref)
        for term in (*parsed.terms, *parsed.over):
            assert key(term.name) in known, f"{name}: no version exports {term.name}"


@pytest.mark.parametrize("text", ["", "a{", "a{b=c}", "rate(a", "a / ", "a * many", "1a", 'a{b="c" d="e"}'])
def test_a_reference_nobody_can_read_says_what_was_expected(text):
    with pytest.raises(MetricRefError, match=r"expected|belongs"):
        parse_ref(text)


def test_the_python_api_reads_metrics(tmp_path):
    (tmp_path / "m.prom").write_text(vllm(num_requests_running=1))
    report = diagnose(tmp_path / "m.prom")
    assert report.runs[0].scrapes == 1
    assert report.inputs[0].kind == "prometheus"


def test_what_a_page_lacks_is_named(tmp_path):
    pages = [
        f"# {1_700_000_000 + 60 * i}\n"
        'sglang:num_running_reqs{tp_rank="0"} 9\nsglang:token_usage{tp_rank="0"} 0.96\n'
        for i in range(3)
    ]
    report = session(tmp_path, pages).report
    (check,) = [one for one in report.checklist if one.id == "D2"]
    assert "a metrics page with preemptions" in check.reason
    (metrics,) = [one for one in report.checklist if one.id == "D8"]
    assert metrics.state == "pass"


def test_a_text_that_no_server_wrote_is_left_out_and_named(tmp_path: Path) -> None:
    """A note beside metrics pages is not taken for the end of the server's log; a host's own log is not called one."""
    note, dmesg = tmp_path / "note.txt", tmp_path / "dmesg.log"
    note.write_text("notes:\n  - the server felt slow at ten\n")
    dmesg.write_text("[Mon Jul 13 02:00:00 2026] usb 1-1: new device found\n")
    pages = sorted(str(path) for path in (SAMPLES / "metrics-kv-exhausted").glob("*.prom"))
    report = Session([*pages, str(note), str(dmesg)], knowledge=KNOWLEDGE).report
    assert [run.lines for run in report.runs] == [0]
    assert report.findings[0].id == "memory.kv_cache_exhausted"
    told = {Path(one.name).name: one.problems for one in report.inputs if one.problems}
    assert set(told) == {"note.txt"}
    assert "no line of it is an inference server's" in told["note.txt"][0]
