"""Templates: what each spelling matches, what it gives, and how mistakes are reported."""

from __future__ import annotations

import math
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.knowledge.records import MessageTemplate
from diagnoser.rules.compiling.template import TemplateError, convert, parse_template
from diagnoser.rules.compiling.wordings import as_template, kept, typed


def fields(template: str, line: str) -> dict[str, Any] | None:
    parsed = parse_template(template)
    hit = regex.search(parsed.pattern, line)
    if hit is None:
        return None
    assert parsed.anchor in line
    return {name: convert(kind, hit[name]) for name, kind in parsed.converters if hit[name] is not None}


@pytest.mark.parametrize(
    ("template", "line", "expected"),
    [
        ("KV cache pool is full", "[x] KV cache pool is full. Retract", {}),
        ("reqs: {n:int}, left", "reqs: 1,234, left", {"n": 1234}),
        ("sizes [{n:int},", "sizes [1,2,4]", {"n": 1}),
        ("sizes [{n:int},", "sizes [1024,200]", {"n": 1024}),
        ("value {x:float} tokens", "value 1,234.50 tokens", {"x": 1234.5}),
        ("value {x:float} tokens", "value 5e-05 tokens", {"x": 5e-05}),
        ("value {x:float} tokens", "value inf tokens", {"x": math.inf}),
        ("it took {x:float}.", "it took 5.", {"x": 5.0}),
        ("version {v:word}[ of {n:int}]?", "version 0.9 of 3", {"v": "0.9", "n": 3}),
        ("version {v:word}[ of {n:int}]?", "version 0.9", {"v": "0.9"}),
        ("reason: {why}, after {n:int}", "reason: a, b, after 3", {"why": "a, b", "n": 3}),
        ("reason: {why}", "reason: to the end", {"why": "to the end"}),
        ("version {v:word}", "version 0.9.2 (abc)", {"v": "0.9.2"}),
        ("version {v:word}, next", "version 0.9.2, next", {"v": "0.9.2"}),
        ("reason: {why:rest}", "reason: all, of it ", {"why": "all, of it"}),
        ("module named {m:quoted}", "module named 'a.b' now", {"m": "a.b"}),
        ("module named {m:quoted}", 'module named "a b" now', {"m": "a b"}),
        ("allocate {x:gib}.", "allocate 512.00 MiB.", {"x": 0.5}),
        ("allocate {x:gib} now", "allocate 3 GB now", {"x": 3.0}),
        ("allocate {x:gib} now", "allocate 2TiB now", {"x": 2048.0}),
        ("allocate {x:gib} now", "allocate 1073741824 bytes now", {"x": 1.0}),
        ("{Prefill|Decode} out of memory", "Decode out of memory", {}),
        ("{Prefill|Decode} out of memory", "Extend out of memory", None),
        ('HTTP/1.1" {code:400|404}', 'GET / HTTP/1.1" 404 Not Found', {"code": 404}),
        ("state: {state:open|closed}, now", "state: open, now", {"state": "open"}),
        ("Waiting: {n:int}[, Deferred: {d:int}]?, KV", "Waiting: 3, Deferred: 2, KV", {"n": 3, "d": 2}),
        ("Waiting: {n:int}[, Deferred: {d:int}]?, KV", "Waiting: 3, KV", {"n": 3}),
        ("list [{x:int}] of [y]", "list [3] of [y]", {"x": 3}),
        ("dict {{'a': {n:int}}}", "dict {'a': 4}", {"n": 4}),
        ("{^}Killed{$}", "Killed", {}),
        ("{^}Killed{$}", "Killed process 3", None),
        ("reason {_} and {_:int}, code {n:int}", "reason a b and 3, code 4", {"n": 4}),
        ("a.b*c(d)", "a.b*c(d)", {}),
        ("number {n:int}", "number " + "9" * 9000, {"n": int("9" * 40)}),
        ("a.b*c(d)", "aXbbc(d)", None),
    ],
)
def test_matches(template: str, line: str, expected: dict[str, Any] | None) -> None:
    assert fields(template, line) == expected


@pytest.mark.parametrize(
    ("template", "column", "words"),
    [
        ("{a} {b}", 1, "at least 6 characters"),
        ("[optional and long]? {n:int}", 1, "at least 6 characters"),
        ("something {a", 11, "never closed"),
        ("something } else", 11, "literal brace"),
        ("something {1a}", 11, "no field name"),
        ("something {a:integer}", 11, "unknown type 'integer'"),
        ("something {a} and {a}", 19, "appears twice"),
        ("something {a}{b}", 14, "ends"),
        ("something {a:rest} more", 19, "may follow"),
        ("something {a}[ of {b:int}]?", 11, "optional part is missing"),
        ("something {a||b}", 11, "alternative is empty"),
        ("something [x [y]? z]?", 14, "optional part"),
        ("something\nelse", 10, "line by line"),
    ],
)
def test_mistakes(template: str, column: int, words: str) -> None:
    with pytest.raises(TemplateError, match=words) as caught:
        parse_template(template)
    assert caught.value.column == column


def test_anchor_is_the_longest_literal_with_what_choices_share() -> None:
    assert parse_template("short {a} much longer piece {b:int}").anchor == " much longer piece "
    assert parse_template('HTTP/1.1" {code:400|401|404}').anchor == 'HTTP/1.1" 40'
    assert parse_template("always here[, sometimes here and longer]?").anchor == "always here"


@given(st.text(alphabet="ab[]{}?|: \\.*+()^$", min_size=1, max_size=30))
def test_any_text_gives_a_template_or_an_error_with_a_column(text: str) -> None:
    try:
        template = parse_template("literal piece " + text)
    except TemplateError as error:
        assert 1 <= error.column <= len("literal piece " + text) + 1
    else:
        regex.compile(template.pattern)


@given(st.text(min_size=6, max_size=40).filter(lambda text: len(text.strip()) >= 6 and "\n" not in text))
def test_escaped_text_matches_itself(text: str) -> None:
    template = parse_template(text.replace("{", "{{").replace("}", "}}").replace("]?", "] ?"))
    assert regex.search(template.pattern, text.replace("]?", "] ?"))


def wording(text: str, *optional: str) -> MessageTemplate:
    return MessageTemplate(text, "0.1", None, optional)


@pytest.mark.parametrize(
    ("catalogue", "expected"),
    [
        (wording("took {s:.2f} s, {n:d} blocks of {kind}"), "took {s:float} s, {n:int} blocks of {kind:text}"),
        (wording("aborted %s after %d s"), "aborted {_:text} after {_:int} s"),
        (wording("{Prefill|Decode} out of memory"), "{Prefill|Decode} out of memory"),
        (wording("warm-up done {(again)|}"), "warm-up done [(again)]?"),
        (wording("use {n} MiB[ of {m} MiB] now", "[ of {m} MiB]"), "use {n:text} MiB[ of {m:text} MiB]? now"),
        (wording('answer {"error":"x"} given'), 'answer {{"error":"x"}} given'),
        (wording("two {a}{b} in a row"), "two {a:text} in a row"),
        (wording("first line\nthe much longer second line {n:d}"), "the much longer second line {n:int}"),
        (wording("available={self.pool!r}, n={num_reqs!r}"), "available={{self.pool!r}}, n={num_reqs:text}"),
    ],
)
def test_catalogue_wordings(catalogue: MessageTemplate, expected: str) -> None:
    assert as_template(catalogue, {}) == expected
    parse_template(expected + " and enough text")


def test_catalogue_wordings_are_chosen_by_text_and_typed_by_each_other() -> None:
    wordings = [wording("Decode is full: {n}"), wording("Decode is full now: {n:d}"), wording("Prefill is full")]
    assert kept(wordings, ["Decode"], ["now"]) == wordings[:1]
    assert typed(wordings) == {"n": "int"}
    assert as_template(wordings[0], typed(wordings)) == "Decode is full: {n:int}"
    assert as_template(wording("one\nthis is longer"), {}, ["one"]) == "one"
