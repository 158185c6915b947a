"""Benchmark results: the knee of a sweep, scaling, goodput, tables of requests, and recordings against their client."""

from __future__ import annotations

import io
import json
import math
from array import array

import pytest

from diagnoser.api import Options, Session
from diagnoser.evidence.sweep import knee_of, sweep_facts
from diagnoser.evidence.tails import tail_facts
from diagnoser.judging.objectives import goodput_facts, objectives
from diagnoser.model import Problem, Run
from diagnoser.observations import Claim, Measure, Requests, Scatter
from diagnoser.sources import open_inputs
from diagnoser.tables.spread import Spread
from diagnoser.tables.table import Origin, Table
from diagnoser.traces import reader_of, readers


def read(text: str) -> tuple[str, list[object]]:
    """Return the reader's name and what it gives for a text."""
    (source,) = open_inputs(["-"], io.BytesIO(text.encode()))
    reader = reader_of(source)
    assert reader is not None, source.kind
    return reader.NAME, list(reader.read(source, lambda name: True))


def run_of(*rows: dict[str, float], group: tuple[tuple[str, str], ...] = ()) -> Run:
    """Return a run that holds benchmark results: series without their prefix."""
    run = Run(0, "")
    table = Table(group, {}, medium="bench")
    for at, row in enumerate(rows, 1):
        values = {f"bench.{name}": value for name, value in row.items()}
        table.append(math.nan, Origin("bench.json", at), f"row {at}", values)
    run.tables["bench", group] = table
    return run


def steps(*figures: tuple[float, float, float, float, float], load: str = "concurrency") -> Run:
    """Return a sweep: (load, tokens per second, TTFT P50, TPOT P50, P99 of a request)."""
    names = (load, "output_tps", "ttft_p50", "tpot_p50", "e2e_p99")
    return run_of(*[dict(zip(names, row, strict=True)) for row in figures])


def told(run: Run) -> dict[str, object]:
    return {fact.name.removeprefix("bench."): fact.value for fact in sweep_facts(run)}


@pytest.mark.parametrize(
    ("figures", "knee"),
    [
        # Beyond 32 throughput stands and P99 doubles.
        ([(8, 500, 0.1, 0.014, 4), (16, 900, 0.1, 0.016, 4.5), (32, 1500, 0.1, 0.02, 6), (64, 1550, 5, 0.02, 12)], 32),
        # Still gaining at the end: the last step is the best known, nothing lies beyond.
        ([(8, 500, 0.1, 0.014, 4), (16, 900, 0.1, 0.016, 4.5), (32, 1500, 0.1, 0.02, 6)], 32),
        # Flat from the first step on.
        ([(8, 500, 0.1, 0.014, 4), (16, 510, 1.1, 0.014, 8), (32, 512, 3.1, 0.014, 16)], 8),
        # One noisy step does not end the climb.
        ([(8, 500, 0.1, 0.014, 4), (16, 520, 0.1, 0.02, 5), (32, 1500, 0.1, 0.02, 6), (64, 2500, 0.2, 0.02, 8)], 64),
        # A gain that doubles P99 does not pay.
        ([(8, 500, 0.1, 0.014, 4), (16, 900, 0.1, 0.016, 4.5), (32, 1100, 2.0, 0.02, 9.5)], 16),
        # Wide steps are judged by the doubling: eight times the load for six times the tokens, P99 three times.
        ([(1, 80, 0.05, 0.012, 3), (8, 480, 0.1, 0.016, 9), (64, 490, 4, 0.017, 70)], 8),
    ],
)
def test_knee(figures, knee):
    facts = told(steps(*figures))
    assert facts["knee_load"] == knee
    assert ("gain_beyond" in facts) == (knee < figures[-1][0])


CLIMB = [(8, 500, 0.15, 0.014, 4), (16, 900, 0.17, 0.016, 4.5), (32, 1500, 0.2, 0.02, 6), (64, 2500, 0.45, 0.022, 8)]


@pytest.mark.parametrize(
    ("limits", "met", "best", "missed"),
    [
        ({}, None, 64, None),
        ({"e2e": 6.0}, 32, 32, 1),
        # The knee is lower than what the objectives allow: the best load is still the largest that meets them.
        ({"e2e": 60.0}, 64, 64, 0),
        # The median stands in for a P99 that is not told, and the time per token for that between tokens.
        ({"ttft": 0.3, "itl": 0.018}, 16, 16, 2),
        ({"ttft": 0.1}, None, 64, 4),
    ],
)
def test_best_load_is_the_largest_that_meets_the_objectives(limits, met, best, missed):
    facts = told(with_objectives(steps(*CLIMB), **limits))
    assert [facts.get(name) for name in ("met_load", "best_load", "loads_missed")] == [met, best, missed]
    assert facts["best_concurrency"] == best
    assert facts["knee_load"] == 64
    assert ("ttft_past_best" in facts) == (best < 64)


def test_a_load_that_does_not_tell_an_objective_is_not_known_to_meet_it():
    rows = [{"concurrency": c, "output_tps": t, "ttft_p99": 0.1} for c, t in ((8, 500), (16, 900), (32, 1500))]
    facts = told(with_objectives(run_of(*rows), ttft=0.5, tpot=0.05))
    assert "met_load" not in facts
    assert facts["loads_missed"] == 0


def test_knee_of_rates_is_told_as_requests_at_once():
    rows = [{"rate": r, "output_tps": r * 250, "rps": r, "e2e_p50": 5.0, "e2e_p99": 8.0} for r in (1, 2, 4)]
    rows.append({"rate": 8, "output_tps": 1050, "rps": 4.2, "e2e_p50": 30.0, "e2e_p99": 80.0})
    facts = told(run_of(*rows))
    assert (facts["axis"], facts["knee_load"], facts["knee_concurrency"]) == ("rate", 4, 20)


def test_p99_of_a_request_is_put_together_where_a_result_leaves_it_out():
    rows = [
        {"concurrency": c, "output_tps": t, "ttft_p99": a, "tpot_p99": b, "completed": 10, "output_total": 1010}
        for c, t, a, b in ((8, 500, 0.5, 0.01), (16, 900, 0.6, 0.01), (32, 1300, 2.0, 0.03))
    ]
    facts = told(run_of(*rows))
    assert facts["knee_load"] == 16
    assert facts["knee_p99"] == pytest.approx(0.6 + 100 * 0.01)


def test_other_workloads_and_models_are_no_steps_of_a_sweep():
    """Short prompts at 8, long ones at 16 and 32: two loads of one workload have no knee."""
    rows = [
        {"concurrency": c, "output_tps": t, "completed": 10, "prompt_total": p, "output_total": 1000}
        for c, t, p in ((8, 500, 1000), (16, 300, 90000), (32, 310, 90000))
    ]
    assert "knee_load" not in told(run_of(*rows))
    assert told(run_of(rows[1], rows[2]))["steps"] == 2
    two = run_of(rows[1], group=(("model", "a"),))
    two.tables |= run_of(rows[2], group=(("model", "b"),)).tables
    assert told(two) == {}


def test_repeated_loads_are_one_step():
    facts = told(run_of(*[{"concurrency": c, "output_tps": t} for c, t in ((8, 100), (8, 120), (16, 200))]))
    assert (facts["steps"], facts["peak_tps"]) == (2, 200)


def test_knee_without_steps_above():
    from diagnoser.evidence.sweep import Step

    only = Step(4, Origin("a", 1), "", 10.0)
    assert knee_of([only]) is only


@pytest.mark.parametrize(
    ("rows", "efficiency"),
    [
        ([(1, 64, 1000), (2, 64, 1300)], 0.65),
        ([(2, 64, 1000), (4, 64, 2000)], 1.0),
        # At another load the numbers do not compare; nor does one size alone.
        ([(1, 32, 1000), (2, 64, 1300)], None),
        ([(2, 32, 1000), (2, 64, 1300)], None),
        # The highest load that both have counts.
        ([(1, 8, 300), (2, 8, 320), (1, 64, 1000), (2, 64, 1800)], 0.9),
    ],
)
def test_scaling_by_tensor_parallel_size(rows, efficiency):
    facts = told(run_of(*[{"tp": tp, "concurrency": c, "output_tps": t} for tp, c, t in rows]))
    assert facts.get("tp_efficiency") == (None if efficiency is None else pytest.approx(efficiency))


def requests(failed: int = 0, duration: float | None = 10.0, **columns: list[float]) -> Requests:
    arrays = {name: array("d", values) for name, values in columns.items()}
    return Requests("requests-csv", "bench", Origin("r.csv", 1), "requests", arrays, duration, failed)


def with_objectives(run: Run, **limits: float) -> Run:
    from diagnoser.model import Fact

    for name, limit in limits.items():
        run.facts[f"slo.{name}"] = Fact(f"slo.{name}", limit, Origin("", 0), "")
    return run


def test_goodput_asks_all_objectives_of_each_request():
    run = Run(0, "")
    run.requests.append(requests(failed=1, ttft=[0.1, 0.9, 0.1, 0.1], tpot=[0.02, 0.02, 0.09, math.nan]))
    good = objectives(with_objectives(run, ttft=0.5, tpot=0.05))[-1]
    # The first, and the last, which has one token only; the failed one met nothing.
    assert (good.name, good.samples, good.share, good.rate, good.failed) == ("goodput", 5, 0.4, 0.2, 1)
    assert {fact.name: fact.value for fact in goodput_facts(run)} == {
        "goodput.share": 0.4,
        "goodput.rps": 0.2,
        "goodput.requests": 5.0,
    }


def test_goodput_needs_every_objective_of_a_request():
    run = Run(0, "")
    run.requests.append(requests(ttft=[0.1, 0.2]))
    assert objectives(with_objectives(run, ttft=0.5, e2e=3.0)) == []
    assert goodput_facts(run) == []


@pytest.mark.parametrize(
    ("limit", "share", "bounds"),
    [(0.05, None, [0.0, 0.5]), (0.5, None, [0.5, 0.99]), (5.0, None, [0.99, 1.0])],
)
def test_objective_of_a_few_percentiles_is_bounded(limit, share, bounds):
    run = Run(0, "")
    run.spreads["latency.ttft"] = [Spread("bench", 80, math.nan, "b.json", 1, "", given={0.5: 0.1, 0.99: 1.0})]
    (one,) = objectives(with_objectives(run, ttft=limit))
    assert (one.share, one.bounds, one.samples) == (share, bounds, 80)


def test_tail_is_long():
    run = Run(0, "")
    ttft, prompt = [0.1] * 95 + [2.0] * 5, [300.0] * 95 + [9000.0] * 5
    run.requests.append(requests(ttft=ttft, prompt=prompt))
    assert [(fact.name, fact.value) for fact in tail_facts(run)] == [("tail.prompt_ratio", 30.0)]
    run.requests[0] = requests(ttft=ttft[:20], prompt=prompt[:20])
    assert tail_facts(run) == []


def test_shorts_behind_longs():
    """Every 20 s a long prompt takes 4 s, the short one that comes a second later waits 3 s, and nine others do not."""
    rows = [(t, 4.0, 15000.0) for t in range(0, 200, 20)] + [(t + 1, 3.0, 150.0) for t in range(0, 200, 20)]
    rows += [(t + 6 + n, 0.1, 160.0) for t in range(0, 200, 20) for n in range(9)]
    start, ttft, prompt = (list(column) for column in zip(*rows, strict=True))
    run = Run(0, "")
    run.requests.append(requests(start=start, ttft=ttft, prompt=prompt))
    told = {fact.name: fact.value for fact in tail_facts(run)}
    assert told.pop("tail.prompt_ratio") > 1
    assert told == {"tail.late_shorts": 0.1, "tail.late_behind_long": 1.0, "tail.punctual_behind_long": 0.0}
    run.requests[0] = requests(
        start=[math.nan if size < 1000 else at for at, _, size in rows], ttft=ttft, prompt=prompt
    )
    assert [fact.name for fact in tail_facts(run)] == ["tail.prompt_ratio"]


def values(given: list[object]) -> dict[str, float]:
    """Return the numbers of the first row."""
    return dict(next(one for one in given if isinstance(one, Measure)).values)


def test_columns_and_units_of_a_table_of_requests():
    text = (
        "id,TTFT (ms),Latency (s),completion_tokens,HTTP status\n" + "a,250,1.25,11,200\nb,500,3.5,31,200\nc,,,,503\n"
    )
    name, given = read(text)
    assert name == "requests-csv"
    row = values(given)
    assert (row["completed"], row["failed"], row["ttft p50"], row["e2e p99"]) == (2, 1, 0.25, 3.5)
    assert row["tpot mean"] == pytest.approx(0.1)
    assert not [one for one in given if isinstance(one, Problem)]


def test_failed_requests_are_told_apart_by_whose_will_it_was():
    head = "t_start,status,http,ttft_s,e2e_s\n"
    ends = [
        "ok,200,.1,.5",
        "client_abort,200,,",
        "error,499,,",
        "error,429,,",
        "http_error_400,,,",
        "error,413,,",
        "cap_cancelled,,,",
    ]
    _, given = read(head + "".join(f"{at},{one}\n" for at, one in enumerate(ends)))
    row = values(given)
    assert (row["failed"], row["given up"], row["refused"]) == (6, 2, 2)


@pytest.mark.parametrize(
    ("e2e", "rate"),
    [(lambda at: 1.5, None), (lambda at: 1.5 + 3 * at, 1.0)],
    ids=["kept up with", "outrun"],
)
def test_the_rate_at_which_requests_came_is_told_where_they_outrun_the_server(e2e, rate):
    rows = "".join(f"{at},ok,.1,{e2e(at)}\n" for at in range(60))
    _, given = read("t_start,status,ttft_s,e2e_s\n" + rows)
    assert values(given).get("request rate") == rate


@pytest.mark.parametrize(("cell", "seconds"), [("0.5", 0.5), ("2500", 2.5)])
def test_latencies_without_a_unit_are_guessed_aloud(cell, seconds):
    _, given = read(f"ttft,tpot,output_tokens\n{cell},0.01,5\n{cell},0.01,5\n")
    assert values(given)["ttft p50"] == seconds
    (problem,) = [one for one in given if isinstance(one, Problem)]
    assert "no unit" in problem.text


@pytest.mark.parametrize(
    "text",
    [
        "timestamp,name,utilization.gpu [%]\n2026/11/29 10:00:00,NVIDIA H100,99\n",
        "name,value\na,1\n",
        "latency_ms,count\n5,10\n",
    ],
)
def test_other_tables_are_not_taken_for_requests(text):
    (source,) = open_inputs(["-"], io.BytesIO(text.encode()))
    reader = reader_of(source)
    assert reader is None or reader.NAME != "requests-csv"


def test_requests_one_by_one_of_vllm():
    """Failed requests are counted and measure nothing; a request of one token has no time per token."""
    result = {
        "date": "20261129-100000", "model_id": "m", "num_prompts": 3, "duration": 4.0, "completed": 2, "failed": 1,
        "request_throughput": 0.5, "total_output_tokens": 4, "output_lens": [3, 1, 0], "input_lens": [9, 8, 7],
        "ttfts": [0.5, 1.0, 0.0], "itls": [[0.1, 0.3], [], []], "errors": ["", "", "timed out"],
    }  # fmt: skip
    _, given = read(json.dumps(result))
    spreads = {one.label: one.spread for one in given if isinstance(one, Scatter)}
    assert spreads["ttft"].values == [0.5, 1.0]
    assert spreads["e2el"].values == pytest.approx([0.9, 1.0])
    assert spreads["tpot"].values == pytest.approx([0.2])
    (one,) = [one for one in given if isinstance(one, Requests)]
    assert (len(one), one.failed, list(one.columns["prompt"])) == (2, 1, [9, 8])


def test_claims_of_results():
    result = {"model_id": "m", "num_prompts": 1, "duration": 1.0, "completed": 1, "request_throughput": 1.0, "tp": "4"}
    _, given = read(json.dumps(result))
    assert {one.name: one.value for one in given if isinstance(one, Claim)} == {
        "model_id": "m",
        "tensor_parallel_size": 4,
    }


@pytest.mark.parametrize("text", ['{"model_id": "m", "num_prompts": 1, "request_throughput": 1, "duration": "x"}'])
def test_a_result_without_a_duration_is_a_problem(text):
    _, given = read(text)
    assert [type(one) for one in given] == [Problem]


def test_results_of_several_sizes_leave_the_size_open(tmp_path, knowledge):
    base = {"model_id": "m", "num_prompts": 9, "duration": 9.0, "completed": 9, "request_throughput": 1.0}
    rows = [{**base, "max_concurrency": 8, "output_throughput": tps, "tp": tp} for tp, tps in ((1, 100), (2, 130))]
    (tmp_path / "results.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (run,) = Session([tmp_path / "results.json"], knowledge=knowledge).runs
    assert run.facts["parallel.tp"].value is None
    assert run.facts["model.name"].value == "m"
    assert run.facts["bench.tp_efficiency"].value == pytest.approx(0.65)


STRANGE = [None, "x", "", [], {}, [1], {"a": 1}, -1, 0, 1e308, 1e-308, True, "inf", "NaN", "9" * 400]


@pytest.mark.parametrize("reader", [one for one in readers() if "json" in one.KINDS and one.ORDER in range(30, 40)])
@pytest.mark.parametrize("strange", STRANGE, ids=lambda value: repr(value)[:12])
def test_strange_values_in_results_never_raise(reader, strange, knowledge, tmp_path):
    def bend(value: object, at: list[int]) -> object:
        """Return the value with the one at a running number replaced."""
        at[0] -= 1
        if at[0] == 0:
            return strange
        if isinstance(value, dict):
            return {key: bend(one, at) for key, one in value.items()}
        return [bend(one, at) for one in value] if isinstance(value, list) else value

    for content, _ in reader.SAMPLES:
        if not content.startswith("{"):
            continue
        whole = json.loads(content.splitlines()[0])
        bent = [bend(whole, [number]) for number in range(2, 60)]
        path = tmp_path / "bent.json"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in bent))
        Session([path], knowledge=knowledge, options=Options(slo={"ttft": 0.5, "tpot": 0.05}))
