"""The matcher: where it looks, whose templates it tries, and that hostile text cannot stall it."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from diagnoser.model import Record
from diagnoser.rules.compiling.template import parse_template
from diagnoser.rules.matching.matcher import Matcher
from diagnoser.rules.matching.overdue import MOST_LINES, TIME_LIMIT
from diagnoser.rules.model import EventSpec
from diagnoser.tables.table import Origin

TRACEBACK = """\
EngineCore failed to start.
Traceback (most recent call last):
  File "/x/worker.py", line 12, in load
    raise ValueError("no room for the cache")
pydantic_core.ValidationError: 1 validation error for ModelConfig
  Value error, no room for the model"""

GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/x/a.py", line 1, in b
  |     raise Boom("no room in the group")
  | ExceptionGroup: unhandled errors
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/x/a.py", line 1, in b
    |     raise Boom("no room in the frame")
    | RuntimeError: no room in the member"""


def event(name: str, *templates: str, engine: str = "any", **words: Any) -> EventSpec:
    return EventSpec(name, name, tuple(parse_template(text, engine) for text in templates), **words)


def record(text: str, kind: str = "message", level: str = "INFO") -> Record:
    return Record(Origin("server.log", 7), text, kind, level=level)


def names(matcher: Matcher, text: str, kind: str = "message", level: str = "INFO", engine: str = "vllm") -> list[str]:
    return [match.spec.name for match in matcher.match(record(text, kind, level), engine)]


def test_gives_typed_fields_the_line_and_its_offset() -> None:
    matcher = Matcher([event("pool.full", "pool is full: {n:int} of {size:gib} {kind:word}[ since {t}]?")])
    [match] = matcher.match(record("head\nthe pool is full: 1,200 of 512 MiB blocks\ntail"), "vllm")
    assert match.fields == {"n": 1200, "size": 0.5, "kind": "blocks"}
    assert (match.line, match.line_offset) == ("the pool is full: 1,200 of 512 MiB blocks", 1)
    assert (match[0].name, match[1].engine, match[4]) == ("pool.full", "any", 1)


def test_one_instance_an_event_and_the_first_template_wins_on_a_line() -> None:
    matcher = Matcher([event("full", "pool is full: {n:int}", "pool is full"), event("other", "pool is full")])
    matches = matcher.match(record("pool is full: 3\npool is full: 4"), "")
    assert [(m.spec.name, m.fields, m.line_offset) for m in matches] == [("full", {"n": 3}, 0), ("other", {}, 0)]


@pytest.mark.parametrize(
    ("engine", "expected"),
    [("vllm", ["a", "c"]), ("sglang", ["b", "c"]), ("", ["a", "b", "c"]), ("vllm-router", ["c"])],
)
def test_engines(engine: str, expected: list[str]) -> None:
    specs = [event("a", "something", engine="vllm"), event("b", "something", engine="sglang"), event("c", "something")]
    assert names(Matcher(specs), "something", engine=engine) == expected


@pytest.mark.parametrize(
    ("where", "kinds"),
    [
        ("message", {"message", "raw", "traceback"}),
        ("traceback", {"message", "raw", "traceback"}),
        ("stats", {"stats"}),
        ("access", {"access"}),
        ("everything", {"message", "raw", "traceback", "stats", "access"}),
    ],
)
def test_kinds_of_records(where: str, kinds: set[str]) -> None:
    matcher = Matcher([event("seen", "something", where=where)])
    every = ("message", "raw", "traceback", "stats", "access", "request")
    assert {kind for kind in every if names(matcher, "something", kind)} == kinds


@pytest.mark.parametrize(
    ("text", "template", "where", "found"),
    [
        (TRACEBACK, "failed to start", "message", True),
        (TRACEBACK, "no room for the model", "message", False),
        (TRACEBACK, "no room for the model", "traceback", True),
        (TRACEBACK, "no room for the cache", "traceback", False),
        (TRACEBACK, "no room for the cache", "everything", True),
        (GROUP, "no room in the member", "traceback", True),
        (GROUP, "no room in the frame", "traceback", False),
        (GROUP, "unhandled errors", "traceback", True),
        (GROUP, "no room in the group", "traceback", False),
    ],
)
def test_parts_of_a_traceback(text: str, template: str, where: str, found: bool) -> None:
    assert names(Matcher([event("seen", template, where=where)]), text) == ["seen"] * found


def test_a_bare_traceback_shows_messages_its_first_line_only() -> None:
    matcher = Matcher([event("first", "Process EngineCore"), event("last", "ValueError: bad")])
    text = "Process EngineCore:\nTraceback (most recent call last):\n  File\nValueError: bad"
    assert names(matcher, text, "traceback") == ["first"]


def test_levels() -> None:
    matcher = Matcher([event("seen", "something", level="WARNING")])
    assert not names(matcher, "something", level="INFO")
    assert names(matcher, "something", level="ERROR") == ["seen"]
    assert names(matcher, "something", level="") == ["seen"]


def test_an_anchor_alone_is_no_match_and_anchors_may_overlap() -> None:
    matcher = Matcher([event("a", "memory pool {n:int}"), event("b", "pool is {x}empty"), event("c", "memory pool is")])
    assert names(matcher, "the memory pool is empty") == ["b", "c"]


def test_no_templates() -> None:
    assert Matcher([]).match(record("anything"), "") == []


def test_hostile_lines_end_in_time() -> None:
    matcher = Matcher([event("slow", "start {a} middle {b} middle {c} middle {d} final words")])
    text = "start " + "middle " * 20_000 + "final word"
    before = time.perf_counter()
    assert names(matcher, text) == []
    assert time.perf_counter() - before < TIME_LIMIT * 40


def test_a_pattern_that_runs_out_of_time_is_told_and_given_up() -> None:
    matcher = Matcher([event("slow", "the gate is {a}, {b}, {c}, {d}; shut")])
    text = "the gate is " + ", " * 5_000
    assert matcher.overdue.sentences() == []
    before = time.process_time()
    for _ in range(10 * MOST_LINES):
        assert names(matcher, text) == []
    assert time.process_time() - before < TIME_LIMIT * MOST_LINES * 4
    [told] = matcher.overdue.sentences()
    assert "event 'slow'" in told and "line 7" in told and f"{MOST_LINES} lines, so that it was given up" in told
    matcher.overdue.clear()
    assert names(matcher, "the gate is 1, 2, 3, 4; shut") == ["slow"]


def test_a_field_reaches_only_so_far_and_a_match_deep_in_a_long_line_is_found() -> None:
    matcher = Matcher([event("deep", "needle {n:int} found")])
    text = "x" * 50_000 + "needle 7 found" + "y" * 50_000
    [match] = matcher.match(record(text), "")
    assert match.fields == {"n": 7}


def test_the_scan_finds_what_trying_every_template_finds() -> None:
    words = ["memory", "pool is", "full", "retract", "cache", "request", "7", "aborted"]
    chance = random.Random(5)
    texts = [" ".join(chance.choices(words, k=3)) for _ in range(60)]
    specs = [event(f"e{i}", text) for i, text in enumerate(texts) if len(text) >= 6]
    matcher = Matcher(specs)
    for _ in range(300):
        line = " ".join(chance.choices(words, k=9))
        expected = {spec.name for spec in specs if spec.templates[0].anchor in line}
        assert set(names(matcher, line)) == expected
