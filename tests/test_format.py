"""Values as text."""

from __future__ import annotations

from typing import Any

import pytest
from expression_runs import evaluator, expression, run, table

from diagnoser.language import ENGLISH
from diagnoser.rules.evaluating.format import placeholders, render, render_known, write
from diagnoser.rules.evaluating.value import UNKNOWN
from diagnoser.rules.model import Node
from diagnoser.rules.texts import TextError


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (147456.4, "int", "147,456"),
        (3.14159, ".1f", "3.1"),
        (1234.5, ".0f", "1,234"),
        (0.97, "percent", "97 %"),
        (0.996, "percent", "99.6 %"),
        (0.004, "percent", "0.4 %"),
        (1, "percent", "100 %"),
        (0, "percent", "0 %"),
        (0.35, "duration", "350 ms"),
        (4.2, "duration", "4.2 s"),
        (45, "duration", "45 s"),
        (59.7, "duration", "1 min"),
        (130, "duration", "2 min 10 s"),
        (3600, "duration", "1 h"),
        (3900, "duration", "1 h 5 min"),
        (180000, "duration", "2 d 2 h"),
        (0, "duration", "0 s"),
        (-3, "duration", "-3 s"),
        (12.5, "gib", "12.5 GiB"),
        (0.5, "gib", "512 MiB"),
        (3.2, "rate", "3.2/s"),
        (0.2, "rate", "12/min"),
        (0.001, "rate", "3.6/h"),
        (0, "rate", "0/s"),
        (UNKNOWN, "percent", "unknown"),
        (UNKNOWN, "", "unknown"),
        (None, "int", "none"),
        ("fp8", "int", "fp8"),
        (True, "int", "yes"),
        (False, "", "no"),
        (256.0, "", "256"),
        (0.123456, "", "0.123"),
        (1234.56, "", "1,234.6"),
        (["a", 2.0], "", "a, 2"),
        (float("inf"), "int", "inf"),
        (float("inf"), "", "inf"),
    ],
)
def test_write(value: Any, form: str, text: str) -> None:
    assert write(value, form) == text


def test_render() -> None:
    texts = ["p95(kv.usage)", "longest(kv.usage >= 95%)", "limits.running", 'count(E where text matches "a:{2}")']
    nodes = {text: expression(text) for text in texts}
    where = evaluator(run(table({"requests.running": [1, 1, 1], "kv.usage": [0.99, 0.99, 0.1]})))
    sentence = "KV {p95(kv.usage):percent} for {longest(kv.usage >= 95%):duration}, limit {limits.running:int} {{x}}"
    assert render(sentence, where, nodes) == "KV 99 % for 20 s, limit unknown {x}"
    assert render('{count(E where text matches "a:{2}")} times', where, nodes.items()) == "0 times"
    assert render("plain", where, {}) == "plain"


def test_placeholders() -> None:
    assert placeholders("a {p95(kv.usage):percent} b {limits.running} {{c}}") == [
        ("p95(kv.usage)", "percent"),
        ("limits.running", ""),
    ]
    with pytest.raises(TextError):
        placeholders("a {b")


def test_clauses_with_an_unknown_value_are_left_out() -> None:
    class Fixed:
        say = ENGLISH

        def value(self, node: Node) -> object:
            return node.args[0]

    nodes = {"a": Node("number", (3.0,)), "b": Node("fact", (UNKNOWN,)), "c": Node("text", ("x; y",))}
    text = "{a:int} waiting; KV use {b:percent} of {a}; model {c}; always"
    assert render_known(text, Fixed(), nodes) == "3 waiting; model x; y; always"
    assert render_known("{b} only", Fixed(), nodes) == ""


def test_clauses_that_count_nothing_are_left_out() -> None:
    class Fixed:
        say = ENGLISH

        def value(self, node: Node) -> object:
            return node.args[0]

    nodes = {"count(a.b)": Node("number", (0.0,)), "count(c.d)": Node("number", (2.0,)), "max(x)": Node("number", (0,))}
    text = "{count(a.b):int} refused; {count(c.d):int} of {count(a.b):int} late; {max(x):int} waiting"
    assert render_known(text, Fixed(), nodes) == "2 of 0 late; 0 waiting"
    assert render_known("{count(a.b):int} refused", Fixed(), nodes) == ""
    assert write(30000.0, "id") == "30000"
