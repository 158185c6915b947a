"""What a report asks for where a rule was not decided: not for what it was given, unless it says what that lacks."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from diagnoser import reports
from diagnoser.api import Knowledge, Options, Session
from diagnoser.contracts.findings import Unknown
from diagnoser.judging.judge import Judgement
from diagnoser.portraits import needed
from diagnoser.reports import RenderOptions
from diagnoser.rules.evaluating.deciding import Decider
from diagnoser.rules.evaluating.missing import BESIDE, METRICS, STATISTICS, TIMED
from diagnoser.rules.needs import joined, listed, reasons

ROOT = Path(__file__).parent.parent
SAMPLES = sorted(path.parent for path in ROOT.glob("samples/*/expected.yaml"))
#: What asks for a kind of input and for nothing of it.
BARE = {METRICS: "metrics", STATISTICS: "statistics", **{text: kind for kind, text in BESIDE.items()}}
#: How rules' own words name kinds, and where they say what it should have.
NAMED = {
    "metrics": r"\ba metrics page\b|^metrics:|\bthe counters of\b",
    "statistics": r"\bstatistics lines\b(?! until)",
    "profile": r"\ba profile\b",
    "bench": r"\ba benchmark\b",
}


def asked_again(one: Judgement, knowledge: Knowledge) -> list[str]:
    """Return what is asked for although it was given."""
    given = needed.given(one.run)
    found = []
    for cause in one.causes:
        rule = knowledge.base.rules[cause.id]
        if cause.holds is None:
            want = needed.wanted(rule, Decider(one.evaluator))
            assert not (want.needs and want.reason), rule.id
            assert want.applies or want.reason, rule.id
            bare = {kind for text, kind in BARE.items() if text in want.needs.split(", ")} & given
            own = given.intersection(rule.asks) if rule.needs and want.needs == rule.needs else set()
            found += [f"{rule.id}: {want.needs}: {kind}" for kind in sorted(bare | own)]
    return found


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda folder: folder.name)
def test_samples_ask_for_nothing_that_was_given(folder: Path, knowledge: Knowledge) -> None:
    expected = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    names = sorted(path for path in folder.iterdir() if path.name != "expected.yaml")
    session = Session(names, knowledge=knowledge, options=Options(slo=expected.get("slo")))
    assert [text for one in session.judgements for text in asked_again(one, knowledge)] == []


def test_rules_say_which_kinds_they_ask_for(knowledge: Knowledge) -> None:
    for rule in knowledge.base.rules.values():
        named = {kind for kind, words in NAMED.items() if re.search(words, rule.needs)}
        assert named == set(rule.asks), rule.id


# -- what a given input lacks -------------------------------------------------------

START = """INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version {version}
INFO 07-12 10:00:00 [utils.py:1] non-default args: {{'model': 'm'{more}}}
INFO 07-12 10:00:05 [api_server.py:1] Starting vLLM API server on http://0.0.0.0:8000
INFO:     Application startup complete.
"""
LINE = (
    "INFO 07-12 10:{minute:02}:00 [loggers.py:1] Engine 000: Avg prompt throughput: 1300.0 tokens/s, "
    "Avg generation throughput: 14.0 tokens/s, Running: 8 reqs, Waiting: {waiting} reqs, GPU KV cache usage: 20.0%\n"
)
PAGE = """# {time}
vllm:num_requests_running{{engine="0"}} 8
vllm:num_requests_waiting{{engine="0"}} {waiting}
vllm:kv_cache_usage_perc{{engine="0"}} 0.2
vllm:time_to_first_token_seconds_bucket{{engine="0",le="+Inf"}} {count}
vllm:time_to_first_token_seconds_sum{{engine="0"}} {count}
vllm:time_to_first_token_seconds_count{{engine="0"}} {count}
"""


def unknown(
    folder: Path,
    knowledge: Knowledge,
    version: str = "0.12.0",
    more: str = "",
    counts: tuple[int, ...] = (),
    waiting: int = 0,
) -> dict[str, Unknown]:
    """Return what is not observed, by rule: of a log, and of pages with so many requests counted."""
    log = START.format(version=version, more=more) + "".join(
        LINE.format(minute=at, waiting=waiting) for at in range(1, 9)
    )
    (folder / "server.log").write_text(log, encoding="utf-8")
    names = [folder / "server.log"]
    for at, count in enumerate(counts):
        names.append(folder / f"metrics-{at}.prom")
        page = PAGE.format(time=f"2025-07-12 10:0{at + 1}:00", count=count, waiting=waiting)
        names[-1].write_text(page, encoding="utf-8")
    session = Session(names, knowledge=knowledge)
    assert [text for one in session.judgements for text in asked_again(one, knowledge)] == []
    return {one.rule: one for one in session.report.unknown}


def test_a_rule_that_does_not_apply_asks_for_nothing(tmp_path: Path, knowledge: Knowledge) -> None:
    said = unknown(tmp_path, knowledge, more=", 'enable_prefix_caching': False")
    slow = said["cache.high_hit_still_slow"]
    assert (slow.needs, slow.reason) == ("", "not applicable: prefix caching is off")
    drafts = said["compute.spec_decode_low_accept"]
    assert (drafts.needs, drafts.reason) == ("", "not applicable: speculative decoding is off")


def test_rules_that_do_not_apply_are_counted_and_told(tmp_path: Path, knowledge: Knowledge) -> None:
    unknown(tmp_path, knowledge, more=", 'enable_prefix_caching': False")
    report = Session([tmp_path / "server.log"], knowledge=knowledge).report
    assert report.rules["not_applicable"] == sum(one.reason.startswith("not applicable") for one in report.unknown) > 0
    assert report.rules["not_applicable"] + report.rules["unknown"] == len(report.unknown)
    told = "not applicable: prefix caching is off: cache.high_hit_still_slow"
    text = reports.get("text")
    assert told in " ".join(text.render(report, RenderOptions(verbose=True, width=160)).split())
    assert "not applicable" not in text.render(report, RenderOptions(width=160))
    for form in ("markdown", "junit", "sarif"):
        assert "prefix caching is off" in reports.get(form).render(report, RenderOptions()), form
    for form in ("llm", "html"):
        assert "prefix caching is off" not in reports.get(form).render(report, RenderOptions()), form


def test_a_page_without_what_its_version_exports(tmp_path: Path, knowledge: Knowledge) -> None:
    said = unknown(tmp_path, knowledge, counts=(0, 50))
    lacking = "end to end and prefill time and queue time and time in the engine"
    assert said["output.detokenizer_stall"].needs == f"a metrics page with {lacking}"


def test_nothing_was_counted_between_the_pages(tmp_path: Path, knowledge: Knowledge) -> None:
    """What the page does not have comes before what it has too little of: the one input has both."""
    said = unknown(tmp_path, knowledge, counts=(50, 50))["output.detokenizer_stall"]
    assert said.needs.startswith("a metrics page with ")
    assert ", " not in said.needs


def test_one_page_is_not_asked_for_again_but_for_a_second(tmp_path: Path, knowledge: Knowledge) -> None:
    said = unknown(tmp_path, knowledge, counts=(50,))["output.detokenizer_stall"].needs
    assert said == "a second and later metrics page"


@pytest.mark.parametrize(
    ("version", "needs"),
    [
        ("0.12.0", "statistics lines of vLLM from 0.20.0 on with deferred"),
        ("0.20.0", "a metrics page with deferred"),
    ],
)
def test_a_version_that_does_not_export_it(tmp_path: Path, knowledge: Knowledge, version: str, needs: str) -> None:
    said = unknown(tmp_path, knowledge, version=version, counts=(0, 50), waiting=1)["compute.grammar_stall"]
    assert said.needs == needs


def test_statistics_are_switched_off(tmp_path: Path, knowledge: Knowledge) -> None:
    log = START.format(version="0.12.0", more=", 'disable_log_stats': True")
    (tmp_path / "server.log").write_text(log, encoding="utf-8")
    report = Session([tmp_path / "server.log"], knowledge=knowledge).report
    said = {one.rule: one.needs for one in report.unknown}
    told = "a run without --disable-log-stats (it switches statistics and metrics off)"
    assert said["scheduling.dp_imbalance"] == told


SEVERAL = (
    "(ApiServer_0 pid=1) WARNING 07-12 10:00:06 [loggers.py:1386] AsyncLLM created with api_server_count more than 1; "
    "disabling stats logging to avoid incomplete stats.\n"
)


def test_what_the_engine_never_prints_is_not_asked_for(tmp_path: Path, knowledge: Knowledge) -> None:
    """Only SGLang prints what is left after the start: nothing would decide it of vLLM."""
    unknown(tmp_path, knowledge)
    (one,) = Session([tmp_path / "server.log"], knowledge=knowledge).judgements
    node = knowledge.base.symptoms["memory_left_over"]
    assert "vLLM has no figure for free device memory after start-up" in one.evaluator.answer(node).needs
    report = Session([tmp_path / "server.log"], knowledge=knowledge).report
    assert not [one for one in report.unknown if "free device memory" in one.needs]


def test_pages_without_times_are_asked_for_again_with_them(tmp_path: Path, knowledge: Knowledge) -> None:
    """Several API servers print no statistics lines, and rates of counters take times."""
    log = START.format(version="0.12.0", more=", 'api_server_count': 2, 'max_num_seqs': 8") + SEVERAL
    (tmp_path / "server.log").write_text(log, encoding="utf-8")
    said = {one.rule: one for one in Session([tmp_path / "server.log"], knowledge=knowledge).report.unknown}
    assert said["scheduling.head_of_line"].needs == "a metrics page"
    names = [tmp_path / "server.log"]
    for at in (0, 1):
        page = PAGE.format(time="a page", count=at, waiting=5)
        names.append(tmp_path / f"page-{'ab'[at]}.prom")
        for kind in ("generation", "prompt"):
            page += f'vllm:{kind}_tokens_total{{engine="0"}} {900 * at}\n'
        names[-1].write_text(page, encoding="utf-8")
        os.utime(names[-1], (0, 0))
    said = {one.rule: one for one in Session(names, knowledge=knowledge).report.unknown}
    assert said["scheduling.head_of_line"].needs == TIMED
    assert said["compute.grammar_stall"].needs == "metrics of vLLM from 0.20.0 on with deferred"


# -- how needs are said -------------------------------------------------------------


def test_reasons_are_said_only_where_nothing_is_asked_for() -> None:
    why = "vLLM has no figure for evicted tokens"
    assert reasons({why, METRICS}) == {why}
    assert listed({why, METRICS}) == METRICS
    assert listed({why}) == why


def test_one_input_is_named_once() -> None:
    needs = {"a metrics page with TTFT", "a metrics page with TTFT and queue time", "samples while a > 1 and b > 2"}
    assert joined(needs) == {"a metrics page with TTFT and queue time", "samples while a > 1 and b > 2"}
