"""Expressions over runs built by hand: every function in virtual time, three-valued logic, proofs, traces."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

import pytest
from expression_runs import add_argument, add_events, add_fact, evaluator, expression, run, table, value
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.model import Run
from diagnoser.rules.evaluating import logic
from diagnoser.rules.evaluating.rows import Rows
from diagnoser.rules.evaluating.value import UNKNOWN

LOAD = "requests.running"


def usage(
    *values: float | None, times: list[float | None] | None = None, running: list[float | None] | None = None
) -> Run:
    """Return a run with rows of KV use every ten seconds, loaded unless `running` says otherwise."""
    return run(table({LOAD: running or [1.0] * len(values), "kv.usage": values}, times))


# -- three-valued logic ------------------------------------------------------------

TRUTH = [True, False, UNKNOWN]
_SPOKEN = {True: "true", False: "false", UNKNOWN: "E"}


@pytest.mark.parametrize("left", TRUTH)
@pytest.mark.parametrize("right", TRUTH)
def test_kleene_tables(left: Any, right: Any) -> None:
    blind = run(records=0)  # nothing of the engine was read: E is unknown
    a, b = _SPOKEN[left], _SPOKEN[right]
    conjunction = False if False in (left, right) else UNKNOWN if UNKNOWN in (left, right) else True
    disjunction = True if True in (left, right) else UNKNOWN if UNKNOWN in (left, right) else False
    assert value(f"{a} and {b}", blind) is conjunction
    assert value(f"{a} or {b}", blind) is disjunction
    assert value(f"not {a}", blind) is (UNKNOWN if left is UNKNOWN else not left)
    assert value(f"{a} else {b}", blind) is (right if left is UNKNOWN else left)
    assert value(f"known({a})", blind) is (left is not UNKNOWN)


truths = st.sampled_from(TRUTH)


@given(truths, truths, truths)
def test_kleene_laws(a: Any, b: Any, c: Any) -> None:
    both, either, no = logic.both, logic.either, logic.negate
    assert no(both(a, b)) is either(no(a), no(b))
    assert both(a, either(b, c)) is either(both(a, b), both(a, c))
    assert both(a, b) is both(b, a) and either(a, b) is either(b, a)
    assert both(a, both(b, c)) is both(both(a, b), c)
    assert either(a, both(a, b)) is a and no(no(a)) is a


def test_unknown_is_no_truth_value() -> None:
    with pytest.raises(TypeError):
        bool(UNKNOWN)


def test_needs_are_those_of_the_undecided_part() -> None:
    blind = run(records=0, version="")
    decide = evaluator(blind)
    assert decide.result(expression('share(kv.usage > 1%) > 1% and version > "1"')).needs == {
        "statistics lines",
        "the engine version",
    }
    some = evaluator(run(table({"requests.running": [1, 1, 1]})))
    assert some.result(expression("share(kv.usage > 1%) > 1%")).needs == {"statistics lines with kv.usage"}
    assert decide.result(expression("false and E")).needs == frozenset()
    assert decide.result(expression("p50(ttft) > 1s")).needs == {"a metrics page"}
    assert decide.result(expression("limits.running > 1")).needs == {"server arguments"}
    late = evaluator(run(complete_start=False))
    assert late.result(expression("kv.capacity_tokens > 1")).needs == {"the start of the log"}
    assert late.result(expression("boot")).needs == {"the start of the log"}


# -- values ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-3 + 1", -2),
        ("1 / 0", UNKNOWN),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 2)", 3),
        ("floor(2.7)", 2),
        ("ceil(2.1)", 3),
        ("round(2.5)", 3),
        ("multiple(70, 16)", 64),
        ("multiple(70, 0)", UNKNOWN),
        ("pow2(200)", 128),
        ("pow2(256)", 256),
        ("pow2(0)", UNKNOWN),
        ("if(1 < 2, 10, 20)", 10),
        ("if(1 > 2, 10, 20)", 20),
        ('"a" in ["a", "b"]', True),
        ('"c" not in ["a", "b"]', True),
        ('"abc" matches "^a.c$"', True),
        ('"abc" matches "B"', False),
        ('"abc" matches "^[[:alpha:]]+$"', True),
        ('"abd" matches "^(?:abc){e<=1}$"', True),
        ('"abb" matches "^ab{e<=1}"', True),
        ('version >= "0.9.0"', True),
        ('version >= "0.9.2"', True),
        ('version < "0.10.0"', True),
        ('version == "0.9.2.0"', True),
        ('engine == "vllm"', True),
        ("limits.running else 256", 256),
        ("run.duration", 1000),
        ("run.lines", 0),
        ("run.restarts", 0),
        ("run.served", False),
        ("run.end", "cut"),
        ("run.ready_after", UNKNOWN),
    ],
)
def test_scalar(text: str, expected: Any) -> None:
    assert value(text, run()) == expected


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        ("0.8.5.post1", 'version > "0.8.5"', True),
        ("0.8.5.post1", 'version >= "0.8.5.post1"', True),
        ("0.9.2rc1.dev3+gabc", 'version >= "0.9.2"', True),
        ("0.9.1", 'version >= "0.9.2"', False),
        ("main", 'version >= "0.9.2"', UNKNOWN),
        ("", 'version >= "0.9.2"', UNKNOWN),
    ],
)
def test_version(version: str, text: str, expected: Any) -> None:
    assert value(text, run(version=version)) is expected


def test_facts_and_arguments() -> None:
    made = run()
    add_fact(made, "limits.running", 64, "observed")
    add_fact(made, "gpu.name", "NVIDIA H100")
    add_argument(made, "max_num_seqs", 64, "set")
    add_argument(made, "enforce_eager", "True", "default")
    add_argument(made, "quantization", None, "observed")
    expected = {
        "limits.running <= 64": True,
        "isset(limits.running)": True,
        "isset(graphs.enforce_eager)": False,
        "isset(gpu.name)": UNKNOWN,
        'argset("max_num_seqs")': True,
        'argset("never_named")': False,
        'arg("max_num_seqs") == 64': True,
        'arg("max_num_seqs") == "64"': True,
        'arg("enforce_eager")': "True",
        'arg("enforce_eager") == true': True,
        'not arg("enforce_eager")': False,
        'arg("quantization") == "fp8"': False,
        'arg("quantization") == "None"': True,
        'arg("quantization") > 3': UNKNOWN,
        'known(arg("quantization"))': True,
        'arg("never_named") == 1': UNKNOWN,
        "knob(running_limit) + 1": 65,
        "knob(eager) == true": True,
        "kv.capacity_tokens": UNKNOWN,
        'gpu.name matches "H[12]00"': True,
    }
    decide = evaluator(made)
    assert {text: decide.value(expression(text)) for text in expected} == expected
    assert value('argset("max_num_seqs")', run()) is UNKNOWN


def test_run_attributes() -> None:
    made = run(
        table({LOAD: [1.0, 0.0, 2.0]}), ready=40.0, end="crash", lines=99, levels={"ERROR": 3}, complete_start=True
    )
    names = {"run.end": "crash", "run.served": True, "run.ready_after": 40, "run.ready": 40, "run.end_time": 1000}
    names |= {"run.lines": 99, "run.errors": 3, "run.stats": 3, "run.loaded": 20, "run.complete_start": True}
    decide = evaluator(made, restarts=2)
    assert {name: decide.value(expression(name)) for name in names} == names
    assert decide.value(expression("run.restarts")) == 2


# -- samples ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(kv.usage)", 0.5),
        ("p10(kv.usage)", 0.1),
        ("p50(kv.usage)", 0.5),
        ("p90(kv.usage)", 0.9),
        ("p95(kv.usage)", 0.9),
        ("min(kv.usage)", 0.1),
        ("max(kv.usage)", 0.9),
        ("first(kv.usage)", 0.1),
        ("last(kv.usage)", 0.9),
        ("sum(kv.usage)", 2.5),
        ("samples(kv.usage)", 5),
        ("delta(kv.usage)", 0.8),
        ("slope(kv.usage)", 1.2),
        ("corr(kv.usage, 1 - kv.usage)", -1),
        ("corr(kv.usage, requests.running)", UNKNOWN),
        ("share(kv.usage > 40%)", 0.6),
        ("share(kv.usage > 40% and kv.usage < 80%)", 0.4),
        ("longest(kv.usage > 40%)", 30),
        ("longest(kv.usage < 40%)", 20),
        ("longest(kv.usage > 1)", 0),
        ("sustained(kv.usage > 40%, 30s)", True),
        ("sustained(kv.usage > 40%, 31s)", False),
        ("best(kv.usage, 20s)", 0.8),
        ("worst(kv.usage, 20s)", 0.2),
        ("best(kv.usage, 1h)", 0.5),
        ("groups(kv.usage)", 1),
        ("mean(kv.usage while kv.usage > 60%)", 0.8),
        ("mean(kv.usage while kv.usage > 1)", UNKNOWN),
        ("samples(kv.usage while kv.usage > 1)", 0),
        ("max(kv.usage * 2 / requests.running)", 1.8),
        ("max(max(kv.usage, 50%))", 0.9),
        ("min(max(kv.usage, 50%))", 0.5),
        ("share(if(kv.usage > 50%, 1, 0) == 1)", 0.4),
        ("share(kv.usage in [0.1, 0.3])", 0.4),
        ("share((requests.swapped else 0) > 0)", 0),
        ("max(multiple(kv.usage * 100, 8))", 88),
        ("gap(kv.usage)", 960),
        ("gap(kv.usage while kv.usage < 40%)", 10),
        ("gap(kv.usage while kv.usage > 80%)", 960),
    ],
)
def test_aggregate(text: str, expected: Any) -> None:
    found = value(text, usage(0.1, 0.3, 0.5, 0.7, 0.9))
    assert found is expected if expected is UNKNOWN else found == pytest.approx(expected)


def test_only_loaded_rows_count_unless_overall() -> None:
    made = usage(0.5, 0.1, 0.1, 0.5, running=[1, 0, 0, 2])
    assert value("mean(kv.usage)", made) == pytest.approx(0.5)
    assert value("mean(kv.usage overall)", made) == pytest.approx(0.3)
    assert value("samples(kv.usage)", made) == 2
    waiting = run(table({LOAD: [0, 0], "requests.waiting": [0, 3], "kv.usage": [0.1, 0.9]}))
    assert value("min(kv.usage)", waiting) == 0.9


def test_rows_without_load_series_go_with_the_row_before() -> None:
    made = run(table({LOAD: [None, 0, None, 1, None], "kv.usage": [1, 2, 3, 4, 5]}))
    assert value("sum(kv.usage)", made) == 1 + 4 + 5


def test_rows_in_which_tokens_were_made_are_loaded() -> None:
    made = run(table({LOAD: [0, 0, 1, 0], "gen.tps": [0, 20, 30, 0], "kv.usage": [1, 2, 3, 4]}))
    assert value("sum(kv.usage)", made) == 2 + 3


def test_idle_samples() -> None:
    idle = usage(0.1, 0.1, running=[0, 0])
    decide = evaluator(idle)
    expected = {"samples(kv.usage)": 0, "longest(kv.usage > 0)": 0, "sustained(kv.usage > 0, 10s)": False}
    assert {text: decide.value(expression(text)) for text in expected} == expected
    result = decide.result(expression("share(kv.usage > 0) > 0.5"))
    assert (result.value, result.needs) == (UNKNOWN, {"samples under load"})


def test_rows_weigh_by_time() -> None:
    # Rows at 0, 1, 2 and 12: the third lasts ten seconds, the last one beat (the median of 1, 1, 10).
    made = usage(0, 0, 1, 0, times=[0, 1, 2, 12])
    assert value("share(kv.usage == 1)", made) == pytest.approx(10 / 13)
    # Two rows in one second share it.
    assert value("share(kv.usage == 1)", usage(1, 0, 0, times=[0, 0, 10])) == pytest.approx(0.25)
    # A long silence counts for half a minute at most.
    assert value("share(kv.usage == 1)", usage(0, 0, 1, 0, times=[0, 10, 20, 9999])) == pytest.approx(30 / 60)


def test_a_request_alone_before_a_silence_weighs_one_beat() -> None:
    columns = {"prefill.new_seqs": [1, None, None, None], "requests.running": [0, 4, 4, 4], "kv.usage": [0, 1, 1, 1]}
    rows = Rows(table(columns, times=[0, 40, 50, 60]))
    assert list(rows.weights) == [10, 10, 10, 10]


def test_what_was_counted_until_an_idle_page_was_counted_under_load() -> None:
    columns = {"requests.running": [2, 0, 0, 3], "preemptions": [None, 40, 0, 5]}
    page = table(columns, medium="metrics")
    assert Rows(page).worked == bytes([1, 1, 0, 1])
    assert value("sum(preemptions)", run(page)) == 45
    # A line of a log tells of the moments before it: an idle one of no work.
    assert value("sum(preemptions)", run(table(columns))) == 5


def test_stretches() -> None:
    hole = usage(0.9, None, 0.9, 0.1)
    assert value("longest(kv.usage > 50%)", hole) == 30
    idle = usage(0.9, 0.9, 0.9, 0.9, running=[1, 0, 1, 1])
    assert value("longest(kv.usage > 50%)", idle) == 20
    assert value("longest(kv.usage > 50% overall)", idle) == 40
    # Irregular lines (printed per batch): a silence of minutes is idleness and interrupts.
    bursts = usage(*[0.9] * 8, times=[0, 1, 5, 6, 500, 501, 507, 508])
    assert value("longest(kv.usage > 50%)", bursts) == 8 + 1
    # A timer's lines that stop under load and come back: the server hung in that state.
    hung = usage(*[0.9] * 21, times=[*[i * 10 for i in range(20)], 900])
    assert value("longest(kv.usage > 50%)", hung) == 910


def test_without_times() -> None:
    made = usage(0.9, 0.9, 0.9, 0.1, times=[None] * 4)
    assert value("sustained(kv.usage > 50%, 30s)", made) is True
    assert value("sustained(kv.usage < 50%, 30s)", made) is False
    assert value("longest(kv.usage > 50%)", made) is UNKNOWN
    assert value("best(kv.usage, 1m)", made) is UNKNOWN
    assert value("share(kv.usage > 50%)", made) == 0.75
    assert evaluator(made).result(expression("gap(kv.usage) > 3s")).needs == {"times in the log"}


def test_ranks() -> None:
    zero = table({LOAD: [1] * 3, "requests.waiting": [1, 1, 1], "served": [0, 10, 20]}, group=(("dp", "0"),))
    one = table({LOAD: [1] * 3, "requests.waiting": [9, 9, 9], "served": [5, 5, 15]}, group=(("dp", "1"),))
    silent = table({LOAD: [1]}, group=(("dp", "2"),))
    made = run(one, zero, silent)
    expected = {
        "most(p50(requests.waiting))": 9,
        "least(p50(requests.waiting))": 1,
        "mean(requests.waiting)": 5,
        "groups(requests.waiting)": 2,
        "delta(served)": 30,
        "delta(requests.waiting)": 0,
        "first(requests.waiting)": 1,
        "rate(served)": 1.0,
    }
    decide = evaluator(made)
    assert {text: decide.value(expression(text)) for text in expected} == expected
    proof = decide.result(expression("most(p50(requests.waiting)) > 5")).proof
    assert {one.labels["dp"] for one in proof} == {"1"}


def test_counts_survive_coarsening() -> None:
    made = table({LOAD: [1] * 100, "preemptions": [2] * 100, "gen.tps": [50] * 100})
    made.limit = 101
    made.append(1000.0, made_origin(), "row", {LOAD: 1, "preemptions": 2, "gen.tps": 50})
    assert len(made) == 50
    assert value("sum(preemptions)", run(made)) == 200
    assert value("samples(gen.tps)", run(made)) == 100
    assert value("sum(gen.tps)", run(made)) == 5000
    assert value("rate(preemptions) > 11/min and rate(preemptions) < 13/min", run(made)) is True


def made_origin() -> Any:
    from diagnoser.tables.table import Origin

    return Origin("s.log", 101)


def test_unknown_fact_makes_the_aggregate_unknown() -> None:
    result = evaluator(usage(0.1)).result(expression("share(requests.running >= limits.running) > 0.5"))
    assert (result.value, result.needs) == (UNKNOWN, {"server arguments"})


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(1, 99))
def test_percentile_against_sort(values: list[int], percent: int) -> None:
    made = run(table({LOAD: [1.0] * len(values), "gen.tps": [float(v) for v in values]}))
    expected = sorted(values)[math.ceil(len(values) * percent / 100) - 1]
    assert value(f"p{percent}(gen.tps)", made) == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 25)), min_size=2, max_size=40), st.integers(1, 99))
def test_weighted_percentile_against_repetition(rows: list[tuple[int, int]], percent: int) -> None:
    times = [0.0]
    for _, gap in rows:
        times.append(times[-1] + gap)
    # The last row lasts one beat: leave it out of the question by giving it the median.
    beat = statistics.median(gap for _, gap in rows)
    values = [*(float(v) for v, _ in rows), 0.0]
    repeated = sorted([v for (v, gap) in rows for _ in range(gap * 2)] + [0] * int(beat * 2))
    made = run(table({LOAD: [1.0] * len(values), "gen.tps": values}, times))
    expected = repeated[math.ceil(len(repeated) * percent / 100) - 1]
    assert value(f"p{percent}(gen.tps)", made) == expected


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_longest_against_brute_force(rows: list[tuple[bool, bool]]) -> None:
    made = usage(*(1.0 if high else 0.0 for high, _ in rows), running=[float(busy) for _, busy in rows])
    best = 0
    for start in range(len(rows)):
        for end in range(start + 1, len(rows) + 1):
            if all(high and busy for high, busy in rows[start:end]):
                # Rows are ten seconds apart, and the last one lasts as long (a single row lasts one second).
                best = max(best, (end - start) * 10 if len(rows) > 1 else 1)
    assert value("longest(kv.usage > 50%)", made) == best


@given(st.lists(st.tuples(st.integers(0, 9) | st.none(), st.integers(0, 9)), min_size=1, max_size=40))
def test_share_against_brute_force(rows: list[tuple[int | None, int]]) -> None:
    made = run(
        table(
            {LOAD: [1] * len(rows), "requests.swapped": [a for a, _ in rows], "requests.waiting": [b for _, b in rows]}
        )
    )
    counted = [(a, b) for a, b in rows if a is not None]
    holding = [1 for a, b in counted if not (a > b) or a * 2 == b]
    found = value("share(not (requests.swapped > requests.waiting) or requests.swapped * 2 == requests.waiting)", made)
    assert found is UNKNOWN if not counted else found == pytest.approx(len(holding) / len(counted))
    # Rows in which a quotient does not exist have no value.
    divided = [a / b for a, b in counted if b]
    found = value("share(requests.swapped / requests.waiting >= 1)", made)
    assert found is UNKNOWN if not divided else found == pytest.approx(sum(q >= 1 for q in divided) / len(divided))


# -- events ------------------------------------------------------------


def events() -> Run:
    made = usage(0.5, 0.5, 0.5)
    add_events(
        made,
        "kv.retracted",
        {"time": 10.0, "seq": 5, "reqs": 1, "before": 0.5, "who": "a", "phase": "startup", "ranks": (("tp", "0"),)},
        {"time": 12.0, "seq": 6, "reqs": 7, "before": 0.25, "who": "b", "ranks": (("tp", "1"),)},
        {"time": 90.0, "seq": 8, "reqs": 3, "before": 0.75, "who": "c", "ranks": (("tp", "1"),)},
    )
    add_events(made, "E", {"time": 15.0, "seq": 7, "process": "EngineCore"})
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kv.retracted", True),
        ("F", False),
        ("boot", False),
        ("count(kv.retracted)", 3),
        ("count(F)", 0),
        ("count(kv.retracted where reqs > 2)", 2),
        ("count(kv.retracted where phase == 'serving')", 2),
        ("count(kv.retracted where phase in ['startup'])", 1),
        ("count(kv.retracted where text matches 'retracted 1')", 1),
        ("count(kv.retracted where reqs > 2 and phase == 'startup')", 0),
        ("peak(kv.retracted, 5s)", 2),
        ("peak(kv.retracted, 1h)", 3),
        ("peak(F, 5s)", 0),
        ("peak(kv.retracted where reqs > 9, 5s)", 0),
        ("rate(kv.retracted)", 2 / 30),
        ("rate(F)", 0),
        ("first(kv.retracted.reqs)", 1),
        ("last(kv.retracted.reqs)", 3),
        ("min(kv.retracted.before)", 0.25),
        ("max(kv.retracted.reqs)", 7),
        ("sum(kv.retracted.reqs)", 11),
        ("p50(kv.retracted.reqs)", 3),
        ("max(kv.retracted.reqs where phase == 'startup')", 1),
        ("first(kv.retracted.who)", "a"),
        ("first(F.text)", UNKNOWN),
        ("time(kv.retracted)", 10),
        ("lasttime(kv.retracted)", 90),
        ("time(F)", UNKNOWN),
        ("time(kv.retracted where reqs == 7)", 12),
        ("kv.retracted before E", True),
        ("kv.retracted after E", False),
        ("E after kv.retracted", True),
        ("E before F", True),
        ("F before E", False),
        ("E within 3s of kv.retracted", True),
        ("E within 2s of kv.retracted", False),
        ("E within 2s of F", False),
        ("ranks(kv.retracted)", 2),
        ("ranks(E)", 1),
        ("ranks(F)", 0),
        ("rounds(kv.retracted)", 3),
        ("rounds(kv.retracted where reqs < 5)", 2),
        ("rounds(E)", 1),
        ("rounds(F)", 0),
        ("survived(F)", False),
        ("survived(E)", False),
    ],
)
def test_event(text: str, expected: Any) -> None:
    found = value(text, events())
    assert found is expected if expected is UNKNOWN else found == pytest.approx(expected)


def told(count: int, dp: int, tp: int) -> Iterator[dict[str, Any]]:
    for seq in range(count):
        for group in range(dp):
            for rank in range(tp):
                yield {"time": 1.0 + seq, "seq": seq, "ranks": (("dp", str(group)), ("tp", str(rank)))}


@pytest.mark.parametrize(
    ("copies", "rounds"),
    [
        ((34, 1, 8), 34),  # what each of eight ranks tells happened once
        ((5, 4, 2), 20),  # data-parallel ranks schedule on their own
        ((300, 1, 8), 300),  # beyond what is kept: as many copies as before
        ((1, 1, 1), 1),
    ],
)
def test_rounds_are_counted_once(copies: tuple[int, int, int], rounds: int) -> None:
    made = usage(0.5, 0.5, 0.5)
    add_events(made, "E", *told(*copies))
    assert value("count(E)", made) == copies[0] * copies[1] * copies[2]
    assert value("rounds(E)", made) == pytest.approx(rounds, abs=rounds * 0.02)


def test_not_seen_is_unknown_where_the_log_could_not_show_it() -> None:
    late = run(complete_start=False)
    assert value("boot", late) is UNKNOWN
    assert value("count(boot) > 0", late) is UNKNOWN
    assert value("E", late) is False
    add_events(late, "E", {"time": 1.0})
    assert value("E before boot", late) is UNKNOWN
    assert value("boot before E", late) is UNKNOWN
    assert value("F before boot", late) is False
    assert value("E", run(records=0)) is UNKNOWN


def test_survived() -> None:
    made = usage(0.5, 0.5, 0.5, times=[0, 100, 200])
    add_events(made, "E", {"time": 190.0, "seq": 2})
    assert value("survived(E)", made) is True
    add_events(made, "E", {"time": 196.0, "seq": 2})
    assert value("survived(E)", made) is False
    made.tables = {}
    assert value("survived(E)", made) is False
    made.end = "running"
    assert value("survived(E)", made) is UNKNOWN
    add_events(made, "http.ok", {"time": 300.0, "seq": 900})
    assert value("survived(E)", made) is True


def test_more_events_than_are_kept() -> None:
    made = run()
    add_events(made, "kv.retracted", *({"time": float(i), "seq": i, "reqs": i, "before": 0.0} for i in range(600)))
    decide = evaluator(made)
    assert decide.value(expression("count(kv.retracted)")) == 600
    assert decide.value(expression("count(kv.retracted where phase == 'serving')")) == 600
    answer = decide.answer(expression("count(kv.retracted where reqs >= 0)"))
    assert (answer.value, answer.note) == (513, "of the first 512")
    assert decide.value(expression("last(kv.retracted.reqs)")) == 599
    assert decide.value(expression("peak(kv.retracted, 9s)")) == 10


# -- symptoms, proofs, traces ------------------------------------------------------------


def test_symptoms_and_causes() -> None:
    decide = evaluator(usage(0.9), {"kv_full": "max(kv.usage) > 80%", "loop": "not loop"})
    assert decide.value(expression("kv_full")) is True
    assert decide.symptom("kv_full").true
    assert decide.value(expression("loop")) is UNKNOWN
    assert decide.value(expression("memory.kv")) is UNKNOWN
    decide.causes["memory.kv"] = False
    assert decide.value(expression("not memory.kv and kv_full")) is True


def test_proofs_of_samples() -> None:
    made = usage(0.1, 0.96, 0.99, 0.97, 0.2)
    for text in ("share(kv.usage >= 95%) > 50%", "sustained(kv.usage >= 95%, 20s)", "p50(kv.usage) >= 95%"):
        proof = evaluator(made).result(expression(text)).proof
        assert [one.line for one in proof] == [2, 3, 4], text
        assert {one.kind for one in proof} == {"sample"}
    low = evaluator(made).result(expression("share(kv.usage < 50%) > 10%")).proof
    assert [(one.line, one.time, one.text) for one in low] == [(1, 0.0, "row 0"), (5, 40.0, "row 4")]
    # That there are enough samples is asked last: its lines are no proof of what was found.
    for text in ("samples(kv.usage) >= 3 and max(kv.usage) > 98%", "max(kv.usage) > 98% and samples(kv.usage) >= 3"):
        assert evaluator(made).result(expression(text)).proof[0].line == 3, text
    silence = evaluator(made).result(expression("gap(kv.usage) > 5m")).proof
    assert [one.line for one in silence] == [5]


def test_proofs_of_events_and_facts() -> None:
    made = events()
    add_fact(made, "limits.running", 64, "set")
    add_argument(made, "max_num_seqs", 64, "set")
    decide = evaluator(made, {"kv_full": "count(kv.retracted) >= 3"})

    def proof(text: str) -> list[tuple[str, int, str]]:
        result = decide.result(expression(text))
        assert result.true
        return [(one.kind, one.line, one.note) for one in result.proof]

    first, last = ("event", 5, "3 times"), ("event", 8, "")
    assert proof("kv_full") == [first, last]
    assert proof("kv_full and limits.running <= 64") == [first, ("fact", 7, "set"), last]
    assert proof("F or E") == [("event", 7, "")]
    assert proof("max(kv.retracted.reqs) > 5") == [("event", 6, "3 times"), ("event", 5, "")]
    assert proof("E within 5s of kv.retracted")[0] == ("event", 7, "")
    assert proof("not F") == []
    assert proof("not (limits.running > 64)") == [("fact", 7, "set")]
    assert proof('argset("max_num_seqs")') == [("fact", 3, "set")]
    assert decide.result(expression("F")).proof == ()


def test_at_most_six_proofs() -> None:
    made = events()
    text = " and ".join(
        ["kv.retracted", "E", "share(kv.usage > 1%) > 1%", "max(kv.retracted.reqs) > 1", "run.stats > 0"]
    )
    assert len(evaluator(made).result(expression(text)).proof) == 6


def test_trace() -> None:
    decide = evaluator(usage(0.5), {"kv_full": "max(kv.usage) > 80%"})
    trace = decide.trace(expression("kv_full or limits.running > 3"))
    assert (trace.text, trace.value) == ("kv_full or limits.running > 3", "unknown")
    assert trace.needs == {"server arguments"}
    symptom, fact = trace.children
    assert (symptom.text, symptom.value, symptom.children[0].text) == ("kv_full", "no", "max(kv.usage) > 80%")
    assert symptom.children[0].children[0].value == "0.5"
    assert fact.children[0].value == "unknown"
