"""Figures that cannot be, from damaged lines: they prove nothing and are told with their line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import serverlogs as logs
from serverlogs import diagnose, ids, judge

from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary, VocabularyError


def damaged(share: str, count: int = 24) -> list[str]:
    """Statistics lines of a full server in which one digit more was written."""
    lines = [logs.stats(40 + 10 * at, 200, 40 + at, 99.5, 500.0) for at in range(count)]
    return [line.replace("GPU KV cache usage: 99.5%", f"GPU KV cache usage: {share}") for line in lines]


@pytest.mark.parametrize("share", ["995.0%", "105.1%"])
@pytest.mark.parametrize("count", [24, 600])
def test_a_share_that_cannot_be_proves_nothing(share: str, count: int, tmp_path: Path) -> None:
    """Few lines are read one by one, many by the block."""
    session = diagnose(tmp_path, [*logs.vllm_start(), *damaged(share, count=count)])
    assert "memory.kv_cache_exhausted" not in ids(session)
    [run] = session.runs
    assert not any(value == value for table in run.tables.values() for value in table.columns.get("kv.usage", ()))
    assert all(value == value for table in run.tables.values() for value in table.columns["requests.running"])
    [told] = [note for note in session.report.runs[0].notes if "cannot be" in note]
    figure = share.replace(".0", "").replace("%", " %")
    assert f"'KV use {figure}' ({count} times" in told and "server.log:10)" in told and share in told


@pytest.mark.parametrize("share", ["100.0%", "104.9%", "0.0%"])
def test_a_share_that_may_be_counts(share: str, tmp_path: Path) -> None:
    session = diagnose(tmp_path, [*logs.vllm_start(), *damaged(share)])
    assert ("memory.kv_cache_exhausted" in ids(session)) == (share != "0.0%")
    assert session.runs[0].odd == {}


def test_one_damaged_line_among_many_leaves_the_others(tmp_path: Path) -> None:
    lines = [*logs.vllm_start(), *logs.vllm_serving(count=400)]
    at = len(lines) - 11
    assert "KV cache usage: 2" in lines[at]
    broken = [*lines[:at], lines[at].replace("Waiting: 0 reqs", "Waiting: -7 reqs").replace("rate: 12", "rate: 912")]
    session = diagnose(tmp_path, [*broken, *lines[at + 1 :]])
    assert ids(session) == []
    assert {name: (one.label, one.count, one.origin.line) for name, one in session.runs[0].odd.items()} == {
        "requests.waiting": ("waiting -7", 1, at + 1),
        "cache.hit_rate": ("prefix hit rate 912 %", 1, at + 1),
    }


def test_a_metric_that_cannot_be(tmp_path: Path) -> None:
    page = 'vllm:kv_cache_usage_perc{engine="0"} 9.9\nvllm:num_requests_running{engine="0"} 3\n'
    (tmp_path / "metrics.prom").write_text(page)
    session = judge(tmp_path / "metrics.prom")
    [run] = session.runs
    assert run.odd["kv.usage"].label == "KV use 990 %" and run.odd["kv.usage"].origin.line == 1
    assert all("kv.usage" not in table.columns for table in run.tables.values())


def test_a_gpu_busier_than_it_can_be(tmp_path: Path) -> None:
    rows = "timestamp, index, utilization.gpu [%]\n" + "2026/11/29 12:00:00.000, 0, 870 %\n" * 3
    (tmp_path / "gpu.csv").write_text(rows)
    session = judge(tmp_path / "gpu.csv")
    assert [one.label for run in session.runs for one in run.odd.values()] in ([], ["GPU busy 870 %"])
    assert all("gpu.util" not in table.columns for run in session.runs for table in run.tables.values())


def test_shares_that_vllm_prints_for_what_keeps_no_rate_are_absent(tmp_path: Path) -> None:
    session = diagnose(tmp_path, [*logs.vllm_start(), *damaged("-1.0%")])
    assert session.runs[0].odd == {} and "memory.kv_cache_exhausted" not in ids(session)


@pytest.mark.parametrize("text", ["[0]", "[1, 0]", "[a, b]", "0.5", "[0, 1, 2]"])
def test_a_range_is_two_numbers(text: str, tmp_path: Path) -> None:
    shutil.copytree(rules_dir(), tmp_path / "rules", ignore=shutil.ignore_patterns("catalog", "lang"))
    path = tmp_path / "rules" / "series.yaml"
    path.write_text(path.read_text().replace("range: [0, 1.05]", f"range: {text}", 1))
    with pytest.raises(VocabularyError, match=r"series.yaml:\d+:.*range must be \[lowest, highest\]"):
        Vocabulary.load(tmp_path / "rules")
