"""The dialects of SGLang and of what runs beside it: prefixes, kinds, statistics of every version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.formats import dynamo, router, sglang, transfer
from diagnoser.formats.sglang_stats import is_stats, stats

MODULES = (sglang, router, dynamo, transfer)


@pytest.mark.parametrize(
    ("module", "line", "expected"),
    [(module, line, expected) for module in MODULES for line, expected in module.SAMPLES],
    ids=lambda value: value.NAME if hasattr(value, "NAME") else None,
)
def test_samples(module, line, expected):
    head = module.head(line)
    assert head is not None
    assert {name: getattr(head, name) for name in expected} == expected
    assert head.dialect == module.NAME
    owners = [other.NAME for other in sorted(MODULES, key=lambda each: each.ORDER) if other.head(line)]
    assert owners[0] == module.NAME


@given(st.text(max_size=80))
def test_any_line_is_survived(text):
    for module in MODULES:
        for line in (
            text,
            "[2026-03-01 12:34:56" + text,
            "2026-03-01 12:34:56 INFO a{" + text,
            "Decode batch, #" + text,
        ):
            module.head(line)
    stats("Decode batch, #a: " + text, ())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[",
        "[]",
        "[2026-03-01]",
        "[2026-03-01 12:34:56 TP0",
        "[2026-03-01 12:34:56 tp zero] text",
        "[rank3]:[E301 12:40:01.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught",
        "[W1129 16:20:09.16 utils.cpp:68] x",
        "2026-03-01 12:34:56,123 INFO something else",
        "12:34:56 text",
        "INFO 11-29 17:08:39 [metrics.py:486] Avg prompt throughput: 0.0 tokens/s",
        "W1129 16:21:14.128000 8013 torch/_dynamo/convert_frame.py:1016] [0/8] torch._dynamo hit",
        "I am a sentence.",
        "2026-11-29 18:10:44  INFO no target here",
        "Decode batch size is 4",
    ],
)
def test_lines_of_others(line):
    assert all(module.head(line) is None for module in MODULES)


@pytest.mark.parametrize("order", ["DP0 TP0 EP0 PP1", "TP0 DP0 PP1 EP0", "EP0 PP1 DP0 TP0"])
def test_ranks_in_any_order(order):
    head = sglang.head(f"[2025-09-01 12:34:56 {order}] x")
    assert head.ranks == (("dp", "0"), ("ep", "0"), ("pp", "1"), ("tp", "0"))


PREFILL = "#new-seq: 4, #new-token: 8192, #cached-token: 512, "
PREFILL_VALUES = {"#new-seq": 4, "#new-token": 8192, "#cached-token": 512}
#: (line, values); written after the formats of the versions named on the left.
STATS = [
    (  # 0.1.26 - 0.3.0
        "Prefill batch. " + PREFILL + "cache hit rate: 42.50%, #running-req: 3, #queue-req: 7",
        {**PREFILL_VALUES, "cache hit rate": 0.425, "#running-req": 3, "#queue-req": 7},
    ),
    (  # 0.2.15 - 0.3.4
        "Prefill batch(mixed #running-req: 9). " + PREFILL + "cache hit rate: 1.00%, token usage: 0.55, #queue-req: 7",
        {**PREFILL_VALUES, "#running-req": 9, "cache hit rate": 0.01, "token usage": 0.55, "#queue-req": 7},
    ),
    (  # 0.4.6, disaggregated
        "Prefill batch. " + PREFILL + "token usage: 0.10, #running-req: 1, #unbootstrapped-req: 2, #queue-req: 3, "
        "#transferring-req: 4 ",
        {
            **PREFILL_VALUES,
            "token usage": 0.1,
            "#running-req": 1,
            "#unbootstrapped-req": 2,
            "#queue-req": 3,
            "#transferring-req": 4,
        },
    ),
    (  # 0.5.4 - 0.5.8, disaggregated, with the forward counter
        "Prefill batch [11], " + PREFILL + "token usage: 0.02, #running-req: 1, #queue-req: 16, #prealloc-req: 5, "
        "#inflight-req: 6, input throughput (token/s): 12.50, ",
        {
            **PREFILL_VALUES,
            "token usage": 0.02,
            "#running-req": 1,
            "#queue-req": 16,
            "#prealloc-req (prefill)": 5,
            "#inflight-req": 6,
            "input throughput (token/s)": 12.5,
        },
    ),
    (  # 0.5.21 on
        "Prefill batch, " + PREFILL + "full token usage: 0.63, swa token usage: 0.10, mamba usage: 0.20, "
        "#running-req: 120, #queue-req: 37, #pending-token: 15000, #replay-token: 3, #bootstrap-req: 1, "
        "#inflight-req: 2, #optimistic-req: 3, waiting-image-req: 4, cuda graph: False, "
        "input throughput (token/s): 21034.55, est. prefill TFLOPS/s (per GPU): 301.20, "
        "fwd occupancy: 88.00%, fwd+idle occupancy: 99.50%",
        {
            **PREFILL_VALUES,
            "full token usage": 0.63,
            "swa token usage": 0.1,
            "mamba usage": 0.2,
            "#running-req": 120,
            "#queue-req": 37,
            "#pending-token": 15000,
            "#replay-token": 3,
            "#bootstrap-req": 1,
            "#inflight-req": 2,
            "#optimistic-req": 3,
            "waiting-image-req": 4,
            "cuda graph (prefill)": 0,
            "input throughput (token/s)": 21034.55,
            "est. prefill TFLOPS/s (per GPU)": 301.2,
            "fwd occupancy": 0.88,
            "fwd+idle occupancy": 0.995,
        },
    ),
    (  # 0.2.15 - 0.4.2
        "Decode batch. #running-req: 3, #token: 812, token usage: 0.02, gen throughput (token/s): 150.20, "
        "#queue-req: 0",
        {"#running-req": 3, "#token": 812, "token usage": 0.02, "gen throughput (token/s)": 150.2, "#queue-req": 0},
    ),
    (  # 0.4.3
        "Decode batch. #running-req: 3, #token: 812, token usage: 0.02, accept len: 2.71, "
        "gen throughput (token/s): 150.20, largest-len: 400, #queue-req: 0, ",
        {
            "#running-req": 3,
            "#token": 812,
            "token usage": 0.02,
            "accept len": 2.71,
            "gen throughput (token/s)": 150.2,
            "largest-len": 400,
            "#queue-req": 0,
        },
    ),
    (  # 0.5.21 on, disaggregated, hybrid, HiSparse
        "Decode batch [126], #running-req: 8, #full token: 30, full token usage: 0.61, #swa token: 31, "
        "swa token usage: 0.62, mamba num: 5, mamba usage: 0.63, #gpu token: 6, gpu token usage: 0.64, #cpu token: 7, "
        "cpu token usage: 0.65, accept len: 2.50, accept rate: 0.75, cap len: 3.00, block accept len: 2.00, "
        "pre-allocated usage: 0.05, #prealloc-req: 1, #transfer-req: 2, #host-receive-req: 3, #retracted-req: 4, "
        "waiting-image-req: 5, npu graph: True, gen throughput (token/s): 354.59, #queue-req: 16, "
        "est. decode TFLOPS/s (per GPU): 1.50, est. read BW (GB/s per GPU): 2.50, est. write BW (GB/s per GPU): 3.50, "
        "fwd occupancy: 50.00%",
        {
            "#running-req": 8,
            "#full token": 30,
            "full token usage": 0.61,
            "#swa token": 31,
            "swa token usage": 0.62,
            "mamba num": 5,
            "mamba usage": 0.63,
            "#gpu token": 6,
            "gpu token usage": 0.64,
            "#cpu token": 7,
            "cpu token usage": 0.65,
            "accept len": 2.5,
            "accept rate": 0.75,
            "cap len": 3,
            "block accept len": 2,
            "pre-allocated usage": 0.05,
            "#prealloc-req": 1,
            "#transfer-req": 2,
            "#host-receive-req": 3,
            "#retracted-req": 4,
            "waiting-image-req": 5,
            "cuda graph": 1,
            "gen throughput (token/s)": 354.59,
            "#queue-req": 16,
            "est. decode TFLOPS/s (per GPU)": 1.5,
            "est. read BW (GB/s per GPU)": 2.5,
            "est. write BW (GB/s per GPU)": 3.5,
            "fwd occupancy": 0.5,
        },
    ),
    (
        "Decode batch, #running-req: 8, #token: 3037, token usage: 0.61, cpu graph: False, "
        "gen throughput (token/s): inf, #queue-req: 16\nUserWarning: x: 5, y: 6",
        {"#running-req": 8, "#token": 3037, "token usage": 0.61, "cpu graph": 0, "#queue-req": 16},
    ),
]


@pytest.mark.parametrize(("line", "values"), STATS)
def test_stats_of_every_version(line, values):
    assert is_stats(line)
    read = stats(line, (("dp", "3"), ("tp", "4")))
    assert read.values == pytest.approx(values)
    assert read.form == ("decode" if line.startswith("Decode") else "prefill")
    assert read.group == (("dp", "3"),)
    assert stats(line, (("tp", "0"),)).group == ()


def test_not_stats():
    for text in ("Decode batch", "Decode batch size 3", "Prefill batch. ", "Decode out of memory happened."):
        assert stats(text, ()) is None


def test_vllm_inside_dynamo_is_stats():
    head = dynamo.head(
        "2026-03-01T12:34:56.789012Z  INFO loggers.log: Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Running: 1 reqs"
    )
    assert head.kind == "stats"


def test_router_uri_with_a_lone_quote():
    head = router.head('2026-11-29 18:10:44 ERROR http_request{uri=/v1?q=" version=1}: smg::response: a.rs:1: failed')
    assert head.where == "smg::response a.rs:1"
    assert head.text.endswith("version=1}: failed")


def test_router_span_without_end_is_not_a_router_line():
    assert router.head("2026-11-29 18:10:44 ERROR http_request{uri=/v1 smg::response: text") is None
