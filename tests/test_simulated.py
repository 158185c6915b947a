"""Simulated servers whose trouble is known by construction: the finding is what was the matter, figures are theirs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from simulated.engines import simulate
from simulated.judged import diagnose
from simulated.load import Load
from simulated.scenarios import server
from simulated.server import Record, Server
from simulated.truth import Truth, causes, measure, untold


def with_(engine: str, version: str, machine: str = "cpu", tokens: int = 0, **changes: Any) -> Server:
    return replace(server(engine, version, machine, tokens), **changes)


CALM = (Load(rate=1.0, lasts=50),)
CAP = (Load(clients=24, lasts=50, prompt=(50, 120), output=(60, 100)),)
LONG = (Load(clients=24, lasts=50, prompt=(100, 200), output=(400, 600)),)
HEAVY = (Load(rate=1.0, lasts=50, prompt=(2500, 6000), output=(8, 24)),)
MIXED = (
    Load(rate=3, lasts=50, prompt=(50, 100), output=(50, 100)),
    Load(rate=0.6, lasts=50, prompt=(5500, 7000), output=(8, 16)),
)
STEADY = (Load(clients=4, lasts=70, prompt=(60, 120), output=(100, 160)),)
REFUSED = (Load(rate=0.7, lasts=50, output=(16, 32)), Load(rate=0.7, lasts=50, prompt=(9000, 12000), output=(16, 32)))
LEAVING = (Load(clients=6, lasts=50, prompt=(60, 120), output=(800, 1200), patience=(1.0, 3.0)),)
WARM = (Load(clients=30, most=30, prompt=(40, 120), output=(16, 40), lasts=5), Load(rate=1.0, start=15, lasts=50))

#: What is simulated, what is given to the diagnosis, and the causes of which the first finding must be one.
RUNS: dict[str, tuple[Server, tuple[Load, ...], str, str]] = {
    "calm-0.8.5": (with_("vllm", "0.8.5"), CALM, "both", ""),
    "calm-0.32.0": (with_("vllm", "0.32.0"), CALM, "both", ""),
    "calm-0.5.23": (with_("sglang", "0.5.23"), CALM, "both", ""),
    "warm-0.16.0": (with_("vllm", "0.16.0", running=16, limit_set=True), WARM, "both", ""),
    "warm-0.5.4": (with_("sglang", "0.5.4", running=16, limit_set=True), WARM, "log", ""),
    "mixed-0.32.0": (with_("vllm", "0.32.0", "gpu"), MIXED, "both", ""),
    "cap-0.8.5": (with_("vllm", "0.8.5", running=4, limit_set=True), CAP, "log", "scheduling.concurrency_cap"),
    "cap-0.9.2": (with_("vllm", "0.9.2", running=4, limit_set=True), CAP, "both", "scheduling.concurrency_cap"),
    "cap-0.5.4": (with_("sglang", "0.5.4", running=4, limit_set=True), CAP, "metrics", "scheduling.concurrency_cap"),
    "cap-0.5.23": (with_("sglang", "0.5.23", running=4, limit_set=True), CAP, "both", "scheduling.concurrency_cap"),
    "kv-0.8.5": (with_("vllm", "0.8.5", tokens=6144, context=2048), LONG, "both", "memory.kv_cache_exhausted"),
    "kv-0.16.0": (with_("vllm", "0.16.0", tokens=6144, context=2048), LONG, "log", "memory.kv_cache_exhausted"),
    "kv-0.32.0": (with_("vllm", "0.32.0", tokens=6144, context=2048), LONG, "metrics", "memory.kv_cache_exhausted"),
    "kv-0.5.23": (with_("sglang", "0.5.23", tokens=6000), LONG, "log", "memory.kv_cache_exhausted"),
    "prompts-0.32.0": (with_("vllm", "0.32.0"), HEAVY, "metrics", "scheduling.queue_saturation compute.prefill_bound"),
    "prompts-0.16.0": (with_("vllm", "0.16.0"), HEAVY, "both", "scheduling.queue_saturation compute.prefill_bound"),
    "stall-0.8.5": (with_("vllm", "0.8.5", stall=(25.0, 45.0)), STEADY, "metrics", "platform.watchdog_hang"),
    "stall-0.9.2": (with_("vllm", "0.9.2", stall=(25.0, 45.0)), STEADY, "log", "platform.watchdog_hang"),
    "stall-0.16.0": (with_("vllm", "0.16.0", stall=(25.0, 45.0)), STEADY, "both", "platform.watchdog_hang"),
    "stall-0.5.23": (with_("sglang", "0.5.23", stall=(25.0, 45.0)), STEADY, "both", "platform.watchdog_hang"),
    "refused-0.9.2": (with_("vllm", "0.9.2"), REFUSED, "metrics", "ingress.bad_requests"),
    "refused-0.5.4": (with_("sglang", "0.5.4"), REFUSED, "log", "ingress.bad_requests"),
    "leaving-0.32.0": (with_("vllm", "0.32.0"), LEAVING, "metrics", "ingress.client_aborts"),
    "leaving-0.5.23": (with_("sglang", "0.5.23"), LEAVING, "both", "ingress.client_aborts"),
}


@cache
def simulated(name: str) -> tuple[Record, Truth]:
    server, loads, _, _ = RUNS[name]
    record = simulate(server, loads, seed=7)
    return record, measure(record)


@pytest.mark.parametrize("name", RUNS)
def test_the_first_finding_is_what_was_the_matter(name: str, tmp_path: Path) -> None:
    _, _, inputs, wanted = RUNS[name]
    record, truth = simulated(name)
    by_count = causes(record, truth)
    if not name.startswith(("warm", "mixed")):  # those lie where the count alone does not decide
        assert by_count is not None and set(wanted.split()) <= set(by_count) and bool(wanted) == bool(by_count)
    assert not untold(record, truth, by_count or (), inputs)
    findings = diagnose(record, tmp_path, inputs).report.findings
    loud = [one.id for one in findings if one.severity != "info"]
    assert (
        loud[:1] == []
        if not wanted
        else loud[0] in wanted.split() + ["memory.preemption_thrash"] * name.startswith("kv")
    )


@pytest.mark.parametrize("name", ["calm-0.32.0", "cap-0.9.2", "cap-0.5.23", "kv-0.32.0", "prompts-0.16.0"])
def test_figures_are_those_of_the_server(name: str, tmp_path: Path) -> None:
    record, truth = simulated(name)
    session = diagnose(record, tmp_path, "metrics")
    (run,) = session.report.runs
    spreads = run.spreads
    waited = [one.first - one.arrival for one in record.requests if one.first is not None]
    ttft = spreads["latency.ttft"]
    assert ttft.count == len(waited)
    assert ttft.mean == pytest.approx(truth.ttft, rel=0.001)
    for share, key in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99")):
        true = sorted(waited)[min(len(waited) - 1, int(share * len(waited)))]
        least, most = ttft.bounds[key]
        assert least is not None and least * 0.999 <= true <= (most or true) * 1.001
    assert spreads["latency.queue"].mean == pytest.approx(truth.queue, rel=0.001, abs=1e-4)
