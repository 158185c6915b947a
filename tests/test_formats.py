"""Every dialect reads its own samples, and no dialect that is asked earlier takes them away."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from diagnoser.formats import dialects, stats_readers
from diagnoser.formats.vllm_stats import stats

SAMPLES = [
    pytest.param(dialect, line, expected, id=f"{dialect.NAME}-{number}")
    for dialect in dialects()
    for number, (line, expected) in enumerate(dialect.SAMPLES)
]


@pytest.mark.parametrize(("dialect", "line", "expected"), SAMPLES)
def test_a_dialect_reads_its_samples(dialect, line, expected):
    found = dialect.head(line)
    assert found is not None
    fields = asdict(found)
    assert {name: fields[name] for name in expected} == expected
    assert found.kind in ("message", "stats", "request", "access", "traceback", "raw")


@pytest.mark.parametrize(("dialect", "line", "expected"), SAMPLES)
def test_no_earlier_dialect_steals_a_sample(dialect, line, expected):
    before = [other for other in dialects() if (other.ORDER, other.NAME) < (dialect.ORDER, dialect.NAME)]
    assert [other.NAME for other in before if other.head(line) is not None] == []


def test_the_registry_is_sorted_and_its_names_differ():
    orders = [(dialect.ORDER, dialect.NAME) for dialect in dialects()]
    assert orders == sorted(orders)
    names = [dialect.NAME for dialect in dialects()]
    assert len(names) == len(set(names))
    assert {"vllm", "sglang", "uvicorn", "python", "torch", "kernel", "ray"} <= set(names)
    assert {"vllm", "sglang"} <= set(stats_readers())


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: dialect.NAME)
@pytest.mark.parametrize(
    "text",
    ["", " ", "[", "(", "{", "{}", '{"message": 1}', "]", "INFO", "[]", "()", "\x00", "é" * 500, "a" * 200_000,
     "((((((pid=" * 999, "[" * 100_000, "0%|" * 50_000, "1" * 100_000, "INFO 99-99 99:99:99 [a.py:1]",
     "[9999-99-99 99:99:99]"],
    ids=range(20),
)  # fmt: skip
def test_a_dialect_survives_any_text(dialect, text):
    dialect.head(text)


PROMPT, GENERATION = "Avg prompt throughput: 10.5 tokens/s", "Avg generation throughput: 288.3 tokens/s"
V1 = {"Avg prompt throughput": 10.5, "Avg generation throughput": 288.3}
V0 = {**V1, "Running": 14, "Swapped": 2, "Pending": 10, "GPU KV cache usage": 0.961}


@pytest.mark.parametrize(
    ("text", "group", "form", "values"),
    [
        (
            f"{PROMPT}, {GENERATION}, Running: 14 reqs, Swapped: 2 reqs, Pending: 10 reqs, GPU KV cache usage: 96.1%, "
            "CPU KV cache usage: 44.0%",
            (),
            "v0",
            {**V0, "CPU KV cache usage (swap)": 0.44},
        ),
        (
            f"{PROMPT}, {GENERATION}, Running: 14 reqs, Swapped: 2 reqs, Pending: 10 reqs, GPU KV cache usage: 96.1%, "
            "CPU KV cache usage: 0.0%.",
            (),
            "v0",
            {**V0, "CPU KV cache usage (swap)": 0},
        ),
        (
            "Prefix cache hit rate: GPU: 89.94%, CPU: -1.00%",
            (),
            "v0",
            {"Prefix cache hit rate: GPU": 0.8994},
        ),
        ("Running: 3 reqs, Waiting: 4 reqs ", (), "v1", {"Running": 3, "Waiting": 4}),
        (
            f"{PROMPT}, {GENERATION}, Running: 3 reqs, Waiting: 4 reqs GPU KV cache usage: 12.5%.",
            (),
            "v1",
            {**V1, "Running": 3, "Waiting": 4, "GPU KV cache usage": 0.125},
        ),
        (
            f"Engine 003: {PROMPT}, {GENERATION}, Running: 3 reqs, Waiting: 4 reqs, Deferred: 2 reqs, Preemptions: 7, "
            "GPU KV cache usage: 97.3%, Prefix cache hit rate: 50.0%, Corrupted: 0 reqs, "
            "External prefix cache hit rate: 25.0%, MM cache hit rate: 10.0%",
            (("engine", "003"),),
            "v1",
            {
                **V1, "Running": 3, "Waiting": 4, "Deferred": 2, "Preemptions": 7, "GPU KV cache usage": 0.973,
                "Prefix cache hit rate": 0.5, "Corrupted": 0, "External prefix cache hit rate": 0.25,
                "MM cache hit rate": 0.1,
            },
        ),
        (
            f"Engine 000: {PROMPT}, {GENERATION}, Running: 12 reqs, Waiting: 12 reqs, CPU KV cache usage: 97.9%",
            (("engine", "000"),),
            "v1",
            {**V1, "Running": 12, "Waiting": 12, "CPU KV cache usage": 0.979},
        ),
        (
            f"4 Engines Aggregated: {PROMPT}, {GENERATION}, Running: 2 reqs, Waiting: 1 reqs, XPU KV cache usage: 9.0%",
            (),
            "v1",
            {**V1, "Running": 2, "Waiting": 1, "XPU KV cache usage": 0.09},
        ),
        (
            "Speculative metrics: Draft acceptance rate: 0.612, System efficiency: 0.500, Number of "
            "speculative tokens: 5, Number of accepted tokens: 300, "
            "Number of draft tokens: 490, Number of emitted tokens: 410.",
            (),
            "spec",
            {
                "Draft acceptance rate": 0.612, "System efficiency": 0.5, "Number of speculative tokens": 5,
                "Accepted": 300, "Drafted": 490, "Number of emitted tokens": 410,
            },
        ),
        (
            "Speculative metrics: Draft acceptance rate: nan, System efficiency: nan, Number of speculative tokens: 5, "
            "Number of accepted tokens: 0, Number of draft tokens tokens: 0, Number of emitted tokens tokens: 0.",
            (),
            "spec",
            {"Number of speculative tokens": 5, "Accepted": 0, "Drafted": 0, "Number of emitted tokens": 0},
        ),
        (
            "SpecDecoding metrics: Draft acceptance rate: 61.2%, Accepted: 300 tokens, Drafted: 490 tokens",
            (),
            "spec",
            {"Draft acceptance rate": 0.612, "Accepted": 300, "Drafted": 490},
        ),
        (
            "SpecDecoding metrics: Mean acceptance length: 2.53, Accepted throughput: 338.00 tokens/s, "
            "Drafted throughput: 442.70 tokens/s, Accepted: 3380 tokens, Drafted: 4427 tokens, "
            "Per-position acceptance rate: 0.812, 0.714, Avg Draft acceptance rate: 76.3%",
            (),
            "spec",
            {
                "Mean acceptance length": 2.53, "Accepted throughput": 338, "Drafted throughput": 442.7,
                "Accepted": 3380, "Drafted": 4427, "Avg Draft acceptance rate": 0.763,
            },
        ),
        (
            "KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=3.5, Throughput (MB/s)=900.25",
            (),
            "transfer",
            {"Num successful transfers": 12, "Avg xfer time (ms)": 3.5, "Throughput (MB/s)": 900.25},
        ),
    ],
)  # fmt: skip
def test_statistics_of_every_form(text, group, form, values):
    found = stats(text)
    assert found is not None
    assert (found.group, found.form) == (group, form)
    assert found.values == pytest.approx(values)


def test_a_hostile_statistics_line_is_read_in_linear_time():
    assert stats("KV Transfer metrics: " + "a" * 200_000) is not None
    assert stats("Avg prompt throughput: " + "A" * 200_000) is not None


def test_other_text_has_no_statistics():
    assert stats("Initializing a V1 LLM engine") is None
    assert stats("") is None
