"""Inference: hand cases, the reference against a brute-force definition, the second back end against the reference."""

from __future__ import annotations

import builtins
import gc
import importlib
import importlib.util
import itertools
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnoser.inference import And, CauseRule, InferenceError, Not, Or, Problem, Prop, Ref, Theory, infer
from diagnoser.inference.branches import BRANCHES, LITERALS, clauses
from diagnoser.inference.problem import truth
from diagnoser.rules.model import Node, Rule

T, F, U = True, False, None
HAS_DURABLE = sys.version_info < (3, 13) and importlib.util.find_spec("durable") is not None
needs_durable = pytest.mark.skipif(not HAS_DURABLE, reason="durable-rules is not importable (needs Python < 3.13)")
BACKENDS = ["plain", pytest.param("durable", marks=needs_durable)]


def values(problem, backend="plain"):
    return {cause.id: cause.holds for cause in infer(problem, backend)}


p, q, r = Prop("p"), Prop("q"), Prop("r")

CASES = {
    # name: (propositions, rules (id, when, unless...), expected)
    "and, or, not of known values": (
        {"p": T, "q": F},
        [("a", And((p, Not(q)))), ("b", And((p, q))), ("c", Or((q, p))), ("d", Not(p))],
        {"a": T, "b": F, "c": T, "d": F},
    ),
    "unknown is absorbed by a deciding value": (
        {"p": T, "q": F, "r": U},
        [("a", Or((p, r))), ("b", And((q, r))), ("c", And((p, r))), ("d", Or((q, r))), ("e", Not(r))],
        {"a": T, "b": F, "c": U, "d": U, "e": U},
    ),
    "no excluded middle": ({"r": U}, [("a", Or((r, Not(r)))), ("b", And((r, Not(r))))], {"a": U, "b": U}),
    "what is not listed is unknown": ({}, [("a", p), ("b", Ref("nobody"))], {"a": U, "b": U}),
    "empty formulas": ({}, [("a", And(())), ("b", Or(())), ("c", Not(Or(())))], {"a": T, "b": F, "c": T}),
    "chain, listed backwards": (
        {"p": T},
        [("c", Ref("b")), ("b", Ref("a")), ("a", p)],
        {"a": T, "b": T, "c": T},
    ),
    "a better explanation silences": ({"p": T, "q": T}, [("a", p, "b"), ("b", q)], {"a": F, "b": T}),
    "an absent one does not": ({"p": T, "q": F}, [("a", p, "b"), ("b", q)], {"a": T, "b": F}),
    "nor does an undecided one": ({"p": T, "q": U}, [("a", p, "b"), ("b", q)], {"a": T, "b": U}),
    "a silenced cause silences nobody": (
        {"p": T},
        [("a", p, "b"), ("b", p, "c"), ("c", p)],
        {"a": T, "b": F, "c": T},
    ),
    "unless beats unknown": ({"p": U, "q": T}, [("a", p, "b"), ("b", q)], {"a": F, "b": T}),
    "not of a cause": (
        {"p": F, "q": U},
        [("a", p), ("b", Not(Ref("a"))), ("c", q), ("d", Not(Ref("c")))],
        {"a": F, "b": T, "c": U, "d": U},
    ),
    "double negation is positive": ({"p": F}, [("a", Not(Not(Ref("a"))))], {"a": F}),
    "causes that only support each other": ({"p": F}, [("a", Or((p, Ref("b")))), ("b", Ref("a"))], {"a": F, "b": F}),
    "a circle with a proof": ({"p": T}, [("a", Or((p, Ref("b")))), ("b", Ref("a"))], {"a": T, "b": T}),
    "a circle with an unknown": ({"p": U}, [("a", Or((p, Ref("b")))), ("b", Ref("a"))], {"a": U, "b": U}),
    "self support": ({}, [("a", Ref("a"))], {"a": F}),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_case(name, backend):
    props, rules, expected = CASES[name]
    problem = Problem(props, tuple(CauseRule(rule[0], rule[1], rule[2:]) for rule in rules))
    assert values(problem, backend) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "rules",
    [
        (CauseRule("a", Not(Ref("a"))),),
        (CauseRule("a", p, ("a",)),),
        (CauseRule("a", p, ("b",)), CauseRule("b", p, ("a",))),
        (CauseRule("a", Ref("b")), CauseRule("b", Ref("c")), CauseRule("c", Not(Ref("a")))),
    ],
)
def test_a_cycle_through_a_negation_is_an_error(rules, backend):
    with pytest.raises(InferenceError, match="depends on the absence of"):
        infer(Problem({"p": T}, rules), backend)


def test_two_rules_for_one_cause_are_an_error():
    with pytest.raises(InferenceError, match="two rules"):
        infer(Problem({}, (CauseRule("a", p), CauseRule("a", q))))


def test_an_unknown_back_end_is_named():
    with pytest.raises(InferenceError, match="no inference back end 'prolog'; there are plain, durable"):
        infer(Problem({}, ()), "prolog")


def test_why_names_what_made_it_true():
    problem = Problem(
        {"p": T, "q": F, "r": T}, (CauseRule("a", And((Or((p, q)), Not(q), Ref("b")))), CauseRule("b", r))
    )
    why = infer(problem)[0].why
    assert why.op == "and" and why.value is True
    assert [(leaf.op, leaf.name, leaf.value) for leaf in why.leaves()] == [
        ("prop", "p", True),
        ("prop", "q", False),
        ("cause", "b", True),
    ]


def test_no_cause_proves_itself():
    problem = Problem({"p": T}, (CauseRule("a", Or((Ref("b"), p))), CauseRule("b", Ref("a"))))
    a, b = infer(problem)
    assert [leaf.name for leaf in a.why.leaves()] == ["p"]
    assert [leaf.name for leaf in b.why.leaves()] == ["a"]


def test_missing_reaches_through_undecided_causes():
    problem = Problem(
        {"p": T, "q": U, "r": U},
        (CauseRule("a", And((p, Ref("b"), Ref("gone")))), CauseRule("b", Or((q, r))), CauseRule("c", p)),
    )
    a, b, c = infer(problem)
    assert (a.holds, sorted(a.missing)) == (None, ["gone", "q", "r"])
    assert (b.missing, c.missing) == (("q", "r"), ())


def test_blocked_and_doubtful_causes_say_by_whom():
    rules = (CauseRule("a", p, ("b", "c")), CauseRule("b", p), CauseRule("c", q), CauseRule("d", p, ("c",)))
    a, _, _, d = infer(Problem({"p": T, "q": U}, rules))
    assert (a.holds, a.blocked_by, a.doubts) == (False, ("b",), ("c",))
    assert (d.holds, d.blocked_by, d.doubts) == (True, (), ("c",))


# --- rules as they are loaded -------------------------------------------------------------------------------------


def rule(id_, when, symptoms=(), unless=()):
    return Rule(
        id_,
        "",
        id_.split(".")[0],
        "stable",
        (("warning", None),),
        1,
        (),
        symptoms,
        when,
        unless,
        (),
        "likely",
        (),
        "",
        "",
        "",
        "",
        (),
        "",
    )


def leaf(text):
    return Node(">", (), text, "bool")


def test_a_theory_of_rules():
    asked = []

    def result_of(node):
        asked.append(node.text)
        return {"full": True, "x > 1": None}[node.text]

    full = Node("symptom", ("full",), "full", "bool")
    linked = Node("symptom", ("linked",), "linked", "bool")
    one = rule("memory.a", Node("and", (full, Node("not", (leaf("x > 1"),)))), (("full", leaf("kv.usage > 0.9")),))
    two = rule(
        "memory.b",
        Node("or", (linked, full)),
        (("linked", Node("and", (Node("cause", ("memory.a",), "memory.a"), leaf("x > 1")))),),
        ("memory.a",),
    )
    problem = Theory([one, two]).problem(result_of)
    assert problem.values == {"full": True, "x > 1": None}
    assert asked == ["full", "x > 1"], "each condition is judged once, a symptom under its own name"
    assert problem.rules[0].when == And((Prop("full"), Not(Prop("x > 1"))))
    assert problem.rules[1].when == Or((And((Ref("memory.a"), Prop("x > 1"))), Prop("full")))
    assert problem.rules[1].unless == ("memory.a",)


def test_a_cause_inside_a_number_is_an_error():
    node = Node("known", (Node("cause", ("memory.a",)),), "known(memory.a)")
    with pytest.raises(InferenceError, match=r"known\(memory.a\)"):
        Theory([rule("memory.b", node)])


# --- random rule sets ---------------------------------------------------------------------------------------------


def _formula(draw, props, below, beside, depth):
    """Negated references only go down: to causes of ``below``."""
    kinds = ["prop", "noprop"] + ["down", "nodown"] * bool(below) + ["side"] * bool(beside)
    kinds += ["and", "or", "and", "or", "notnot"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    if kind in ("and", "or"):
        count = draw(st.integers(0 if depth < 3 else 1, 3))
        parts = tuple(_formula(draw, props, below, beside, depth - 1) for _ in range(count))
        return And(parts) if kind == "and" else Or(parts)
    if kind == "notnot":
        return Not(Not(_formula(draw, props, below, beside, depth - 1)))
    if kind == "side":
        return Ref(draw(st.sampled_from(beside)))
    atom = Ref(draw(st.sampled_from(below))) if kind.endswith("down") else Prop(draw(st.sampled_from(props)))
    return Not(atom) if kind.startswith("no") else atom


@st.composite
def problems(draw, levels=3, width=3):
    props = ["p", "q", "r", "s", "absent"]
    known = {name: draw(st.sampled_from([T, F, U])) for name in props[:-1]}
    rules, below = [], []
    for level in range(draw(st.integers(1, levels))):
        names = [f"c{level}{i}" for i in range(draw(st.integers(1, width)))]
        for name in names:
            # "names" beside: causes of one level may lean on each other, in circles too.
            when = _formula(draw, props, below, [*names, *below], 3)
            unless = draw(st.lists(st.sampled_from(below), max_size=2, unique=True)) if below else []
            rules.append(CauseRule(name, when, tuple(unless)))
        below = below + names
    order = draw(st.permutations(rules))
    return Problem(known, tuple(order))


def brute_force(problem):
    """The definition: level by level, the least of all assignments in which every cause equals its condition."""
    found = {}
    levels = sorted({rule.id[1] for rule in problem.rules})
    rank = {F: 0, U: 1, T: 2}
    for level in levels:
        group = [rule for rule in problem.rules if rule.id[1] == level]
        fixpoints = []
        for guess in itertools.product((F, U, T), repeat=len(group)):
            trial = found | {rule.id: value for rule, value in zip(group, guess, strict=True)}
            if all(
                trial[rule.id]
                is (
                    False
                    if any(found[other] is True for other in rule.unless)
                    else truth(rule.when, problem.values.get, trial.get)
                )
                for rule in group
            ):
                fixpoints.append(guess)
        least = min(fixpoints, key=lambda guess: sum(rank[value] for value in guess))
        assert all(rank[a] <= rank[b] for other in fixpoints for a, b in zip(least, other, strict=True))
        found |= {rule.id: value for rule, value in zip(group, least, strict=True)}
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_plain_is_the_definition(problem):
    assert values(problem) == brute_force(problem)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_why_alone_is_enough(problem):
    """A proof uses true causes only, and proofs rest on each other without circles."""
    found = {cause.id: cause for cause in infer(problem)}

    def check(node, above):
        if node.op == "cause" and node.value is True:
            assert node.name not in above
            check(found[node.name].why, above | {node.name})
        for part in node.parts:
            check(part, above)

    for cause in found.values():
        if cause.holds is True:
            assert cause.why.value is True
            check(cause.why, {cause.id})
        if cause.holds is None:
            assert cause.missing and all(problem.values.get(name) is None for name in cause.missing)


@needs_durable
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(levels=4, width=5))
def test_durable_is_plain(problem):
    assert infer(problem, "durable") == infer(problem, "plain")


# --- limits of the second back end --------------------------------------------------------------------------------


def wide(parts, width):
    return And(tuple(Or(tuple(Prop(f"x{i}.{j}") for j in range(width))) for i in range(parts)))


def test_branches_stay_few_and_short():
    made = clauses(CauseRule("a", wide(8, 4)))
    assert len(made) < 8 * 4 + 8 * BRANCHES
    assert max(len(clause.body) for clause in made) <= LITERALS
    long = clauses(CauseRule("a", And(tuple(Prop(f"x{i}") for i in range(60)))))
    assert max(len(clause.body) for clause in long) <= LITERALS


@needs_durable
@pytest.mark.parametrize("last", [T, F, U])
def test_durable_with_wide_and_long_conditions(last):
    props = {f"x{i}.{j}": j == 3 for i in range(8) for j in range(4)} | {f"y{i}": T for i in range(40)}
    props |= {"x7.3": last, "y39": last}
    problem = Problem(
        props, (CauseRule("wide", wide(8, 4)), CauseRule("long", And(tuple(Prop(f"y{i}") for i in range(40)))))
    )
    assert values(problem, "durable") == values(problem) == {"wide": last, "long": last}


@needs_durable
def test_durable_takes_more_names_than_one_ruleset_can_test():
    count = 700  # 512 tests on one field end in an endless loop inside the package
    rules = tuple(
        CauseRule(f"c{i}", And((Prop(f"p{i}"), Prop(f"q{i}"))), (f"c{i - 1}",) if i % 5 else ()) for i in range(count)
    )
    props = {f"{kind}{i}": (T, F, U)[(i * 7 + len(kind)) % 3] for kind in "pq" for i in range(count)}
    assert values(Problem(props, rules), "durable") == values(Problem(props, rules))


@needs_durable
def test_durable_refuses_what_does_not_fit():
    circle = tuple(CauseRule(f"c{i}", Ref(f"c{(i + 1) % 400}")) for i in range(400))
    with pytest.raises(InferenceError, match="use the plain one"):
        infer(Problem({}, circle), "durable")


@needs_durable
def test_durable_starts_no_threads_and_frees_its_memory():
    rules = tuple(CauseRule(f"c{i}", And((Prop(f"p{i}"), Prop(f"p{i + 1}")))) for i in range(50))
    problem = Problem({f"p{i}": T for i in range(51)}, rules)

    def resident():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    for _ in range(10):
        infer(problem, "durable")
    before, threads = resident(), threading.active_count()
    for _ in range(40):
        infer(problem, "durable")
    assert threading.active_count() == threads
    assert resident() - before < 15, "a leak is about 1.6 MB a run"


@needs_durable
def test_durable_reports_what_the_package_would_swallow(monkeypatch):
    from diagnoser.inference import session

    engine, _ = session._modules()

    def broken(_self, _ruleset, _fact=None):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(engine.Closure, "assert_fact", broken)
    with pytest.raises(InferenceError, match="inside a rule"):
        infer(Problem({"p": T}, (CauseRule("a", p),)), "durable")


@needs_durable
def test_durable_notices_a_lost_fact(monkeypatch):
    from diagnoser.inference import session

    engine, _ = session._modules()
    monkeypatch.setattr(engine.Host, "get_facts", lambda *_: [])
    with pytest.raises(InferenceError, match="0 facts, 4 were asserted"):
        infer(Problem({"p": T}, (CauseRule("a", p),)), "durable")


def test_a_missing_package_names_the_extra_and_the_python_limit(monkeypatch):
    real = importlib.import_module

    def gone(name, *args):
        if name.startswith("durable"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", gone)
    with pytest.raises(InferenceError, match=r"pip install 'diagnoser\[durable\]' \(Python 3.11 or 3.12"):
        infer(Problem({"p": T}, (CauseRule("a", p),)), "durable")


def test_the_plain_back_end_never_imports_the_package(monkeypatch):
    real = builtins.__import__

    def watch(name, *args, **kwargs):
        assert not name.startswith("durable"), "optional"
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", watch)
    assert values(Problem({"p": T}, (CauseRule("a", p),))) == {"a": True}
