"""Ranking: order, folding, confidence, merging over runs and ranks."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.contracts.findings import Evidence
from diagnoser.ranking import Sighting, Window, confidence_of, rank, severity_of, window_text
from diagnoser.ranking.merging import across_ranks
from diagnoser.rules.model import Node, Rule

LEVELS = ("info", "warning", "critical")


def rule(id_, explains=(), gain=2, confidence="likely", status="stable", severity="warning"):
    return Rule(
        id_,
        f"Title of {id_}",
        id_.split(".")[0],
        status,
        ((severity, None),),
        gain,
        (),
        (),
        Node("bool", (True,)),
        (),
        (),
        confidence,
        tuple(explains),
        "meaning",
        "",
        "",
        "",
        (),
        "verify",
    )


def seen(id_, severity="warning", run=0, onset=0.0, seconds=0.0, crash=False, kinds=("log",), proofs=(), **about):
    return Sighting(
        rule(id_, **about),
        run,
        severity,
        list(proofs),
        onset=onset,
        crash=crash,
        window=Window(seconds=seconds),
        kinds=frozenset(kinds),
    )


def order(*sightings, explains=None):
    return [finding.id for finding in rank(sightings, explains)]


def roles(findings):
    return {finding.id: finding.explained_by for finding in findings}


# --- order of roots -----------------------------------------------------------------------------------------------

ORDERS = {
    # what decides, first to last; each pair differs in that and is against the order in everything after it
    "severity before all": [
        seen("memory.b", "critical", gain=4, confidence="possible", onset=9),
        seen("memory.a", "warning", gain=1),
    ],
    "info last": [seen("memory.b", "warning", gain=4, onset=9), seen("memory.a", "info", gain=1, confidence="certain")],
    "of crashes the first error": [
        seen("memory.b", "critical", crash=True, onset=1, gain=4),
        seen("memory.a", "critical", crash=True, onset=2, gain=1),
    ],
    "the first run's crash": [
        seen("memory.b", "critical", crash=True, run=0, onset=50),
        seen("memory.a", "critical", crash=True, run=1, onset=2),
    ],
    "a crash before slowness": [
        seen("memory.b", "critical", crash=True, onset=9, gain=4),
        seen("memory.a", "critical", gain=1),
    ],
    "gain A4": [
        seen("memory.b", gain=1, confidence="possible"),
        seen("memory.d", gain=2),
        seen("memory.a", gain=3, confidence="certain"),
        seen("memory.c", gain=4, confidence="certain"),
    ],
    "confidence": [seen("memory.b", confidence="certain"), seen("memory.a", confidence="likely", seconds=99)],
    # metrics raise the confidence too, so both are certain here
    "independent sources": [
        seen("memory.b", confidence="certain", kinds=("log", "metrics")),
        seen("memory.a", confidence="certain", seconds=9),
    ],
    "impact": [seen("memory.b", seconds=600, onset=9), seen("memory.a", seconds=60)],
    "earlier": [seen("memory.b", onset=1), seen("memory.a", onset=2)],
    "name": [seen("memory.a"), seen("memory.b")],
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_of_roots(name):
    expected = [one.rule.id for one in ORDERS[name]]
    for shuffled in itertools.permutations(ORDERS[name]):
        assert order(*shuffled) == expected


# --- folding ------------------------------------------------------------------------------------------------------


def test_a_consequence_follows_its_root_and_never_outranks_it():
    found = rank(
        [
            seen("scheduling.queue", "critical", explains=()),
            seen("memory.kv", "warning", explains=("scheduling.queue",)),
            seen("compute.slow", "warning", gain=1),
        ]
    )
    assert [(f.id, f.role, f.explained_by, f.severity) for f in found] == [
        ("memory.kv", "root", None, "critical"),  # at least as severe as what it explains
        ("scheduling.queue", "consequence", "memory.kv", "critical"),
        ("compute.slow", "root", None, "warning"),
    ]
    assert found[0].explains == ["scheduling.queue"]


def test_a_chain_holds_only_over_causes_that_were_found():
    # Over a link that nobody saw, nearly everything would explain everything.
    explains = {"memory.a": ["memory.b"], "memory.b": ["memory.c"]}
    found = rank([seen("memory.c"), seen("memory.a")], explains)
    assert roles(found) == {"memory.a": None, "memory.c": None}


def test_the_root_most_parent_is_chosen():
    explains = {"memory.a": ["memory.b"], "memory.b": ["memory.c"]}
    found = rank([seen("memory.c"), seen("memory.b", "critical"), seen("memory.a")], explains)
    assert roles(found) == {"memory.a": None, "memory.b": "memory.a", "memory.c": "memory.a"}


@pytest.mark.parametrize(
    ("one", "other", "parent"),
    [
        ({"severity": "critical", "onset": 5}, {"onset": 1}, "memory.a"),
        ({"onset": 1}, {"onset": 5}, "memory.a"),
        ({"onset": 5, "gain": 1}, {"onset": 1, "gain": 4}, "memory.b"),
        ({"gain": 1}, {"gain": 4}, "memory.a"),
    ],
)
def test_of_two_roots_the_more_severe_then_the_earlier(one, other, parent):
    explains = {"memory.a": ["memory.x"], "memory.b": ["memory.x"]}
    found = rank([seen("memory.a", **one), seen("memory.b", **other), seen("memory.x")], explains)
    assert roles(found)["memory.x"] == parent


@pytest.mark.parametrize(
    ("one", "other", "root"),
    [({"onset": 1}, {"onset": 5, "gain": 1}, "memory.a"), ({"gain": 3}, {"gain": 1}, "memory.b"), ({}, {}, "memory.a")],
)
def test_a_cycle_is_broken_by_time_then_gain(one, other, root):
    explains = {"memory.a": ["memory.b"], "memory.b": ["memory.a"]}
    found = rank([seen("memory.a", **one), seen("memory.b", **other)], explains)
    assert [f.id for f in found if f.role == "root"] == [root]


def test_causes_of_different_runs_do_not_explain_each_other():
    found = rank([seen("memory.a", run=0, explains=["memory.b"]), seen("memory.b", run=1)])
    assert roles(found) == {"memory.a": None, "memory.b": None}


def test_an_info_root_is_raised_to_what_it_explains():
    found = rank([seen("cache.off", "info", explains=["compute.slow"]), seen("compute.slow", "warning")])
    assert [(f.id, f.severity) for f in found] == [("cache.off", "warning"), ("compute.slow", "warning")]


def test_an_experimental_remark_explains_no_fault():
    explains = {"cache.off": ["cache.low"], "cache.low": ["compute.slow"]}
    found = rank(
        [seen("cache.off", "info", status="experimental"), seen("cache.low", "info"), seen("compute.slow", "warning")],
        explains,
    )
    assert [(f.id, f.severity, f.explained_by) for f in found] == [
        ("cache.low", "warning", None),
        ("compute.slow", "warning", "cache.low"),
        ("cache.off", "info", None),
    ]


@st.composite
def worlds(draw):
    names = [f"memory.{letter}" for letter in "abcdef"]
    explains = {name: draw(st.lists(st.sampled_from(names), max_size=3)) for name in names}
    found = [
        seen(
            draw(st.sampled_from(names)),
            draw(st.sampled_from(LEVELS)),
            run=draw(st.integers(0, 2)),
            onset=draw(st.integers(0, 3)),
            crash=draw(st.booleans()),
        )
        for _ in range(draw(st.integers(0, 8)))
    ]
    # One rule has one status and one gain.
    about = {name: (draw(st.sampled_from(["stable", "experimental"])), draw(st.integers(1, 4))) for name in names}
    for one in found:
        status, gain = about[one.rule.id]
        one.rule = rule(one.rule.id, status=status, gain=gain)
    return found, explains


@settings(max_examples=300, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_laws_of_the_order(world, chance: random.Random):
    sightings, explains = world
    found = rank(sightings, explains)
    shuffled = list(sightings)
    chance.shuffle(shuffled)
    assert [f.id for f in rank(shuffled, explains)] == [f.id for f in found], "input order does not matter"
    assert sorted(f.id for f in found) == sorted({one.rule.id for one in sightings}), "one finding per cause"
    by_id = {f.id: f for f in found}
    places = {f.id: place for place, f in enumerate(found)}
    last_root = None
    for finding in found:
        if finding.role == "root":
            last_root = finding
            continue
        top = finding
        while top.explained_by is not None:
            top = by_id[top.explained_by]
        assert top is last_root, "consequences follow their root"
        assert LEVELS.index(finding.severity) <= LEVELS.index(top.severity)
        assert places[top.id] < places[finding.id]
    levels = [LEVELS.index(f.severity) for f in found if f.role == "root"]
    assert levels == sorted(levels, reverse=True)
    serious = [f for f in found if f.severity != "info"]
    assert not serious or serious[0] is found[0], "the first at or above warning is the first of all"


# --- confidence and windows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "supports", "kinds", "samples", "expected"),
    [
        ("likely", 0, 1, None, "likely"),
        ("likely", 1, 1, None, "certain"),
        ("possible", 1, 1, 100, "likely"),
        ("possible", 1, 2, 100, "certain"),
        ("likely", 5, 2, 100, "certain"),
        ("likely", 0, 2, None, "certain"),
        ("certain", 0, 1, 4, "likely"),
        ("certain", 5, 2, 4, "likely"),  # supports do not make up for a short look
        ("possible", 0, 1, 1, "possible"),
        ("likely", 0, 1, 5, "likely"),
    ],
)
def test_confidence(start, supports, kinds, samples, expected):
    assert confidence_of(start, supports, kinds, samples) == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window("10:19", "10:41", 1320, 2160, 132), "10:19 - 10:41, 22 of 36 loaded minutes · 132 samples"),
        (Window("10:19", "10:19", 0, 0, None, 1), "10:19 · once"),
        (Window("10:19", "10:41", 0, 0, None, 1412), "10:19 - 10:41 · 1,412 times"),
        (Window(None, None, 30, 90, 3), "30 of 90 loaded seconds · only 3 samples"),
        (Window(None, None, 90, 7300, 1), "90 seconds of 2 loaded hours · only 1 sample"),
        (Window(None, None, 5400, 0, 60), "90 minutes · 60 samples"),
        (Window(None, None, 200, 150), "3.3 of 3.3 loaded minutes"),
        (Window(), ""),
    ],
)
def test_window(window, expected):
    assert window_text(window) == expected


def test_severity_is_the_first_true_level():
    one, two = Node("x", (), "one"), Node("x", (), "two")
    levels = rule("memory.a")
    levels = Rule(
        **{name: getattr(levels, name) for name in levels.__slots__}
        | {"severity": (("critical", one), ("warning", two), ("info", None))}
    )
    assert severity_of(levels, lambda node: node is one) == "critical"
    assert severity_of(levels, lambda node: True if node is two else None) == "warning"
    assert severity_of(levels, lambda node: None) == "info"


# --- merging ------------------------------------------------------------------------------------------------------


def line(number, text, source="server.log", **labels):
    return Evidence(source, number, None, text, labels)


def test_runs_merge_and_the_worst_one_speaks():
    found = rank(
        [
            seen("memory.a", "warning", run=2, proofs=[line(90, "again")]),
            seen("memory.a", "critical", run=1, proofs=[line(50, "worse")], confidence="certain"),
            seen("memory.a", "warning", run=0, proofs=[line(10, "first")]),
        ]
    )
    (finding,) = found
    assert (finding.runs, finding.severity, finding.confidence) == ([0, 1, 2], "critical", "certain")
    assert [proof.text for proof in finding.evidence] == ["worse", "first", "again"]


def test_ranks_that_print_one_error_are_one_line():
    proofs = [line(10 + i, f"[TP{i}] NCCL timeout after 600{i} ms", tp=str(i)) for i in (0, 1, 2, 5)]
    kept = across_ranks([*proofs, line(99, "something else", tp="1")])
    assert [(one.line, one.labels) for one in kept] == [(10, {"tp": "0-2,5"}), (99, {"tp": "1"})]


def test_moments_of_one_writer_stay_apart():
    proofs = [line(1, "usage 97 %"), line(2, "usage 98 %"), line(2, "usage 98 %")]
    assert [one.line for one in across_ranks(proofs)] == [1, 2]
    proofs = [line(i, f"usage {i} %", dp=str(i % 2)) for i in range(4)]
    assert [one.line for one in across_ranks(proofs)] == [0, 2]


def test_ranks_that_count_differently_stay_apart():
    queue = ['q{dp_rank="0"} 62.0', 'q{dp_rank="1"} 62.0', 'q{dp_rank="2"} 0.0']
    kept = across_ranks([line(i, text, dp=str(i)) for i, text in enumerate(queue)])
    assert [(one.line, one.labels) for one in kept] == [(0, {"dp": "0-1"}), (2, {"dp": "2"})]


def test_text_comes_from_the_rule_where_it_is_not_rendered():
    (finding,) = rank([seen("memory.a")])
    assert (finding.meaning, finding.verify, finding.docs) == ("meaning", "verify", "diagnose explain memory.a")
