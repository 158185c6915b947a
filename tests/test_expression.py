"""The grammar: text to tree, and what is said about text that is no expression."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.rules.compiling.expression import ExpressionError, locate, parse
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import from_json, to_json, walk


def shape(node: Node) -> str:
    """Write a tree as an s-expression."""
    if node.op in ("number", "text", "bool", "name"):
        return str(node.args[0])
    inner = " ".join(shape(arg) if isinstance(arg, Node) else str(arg) for arg in node.args)
    return f"({node.op} {inner})" if inner else f"({node.op})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a and b or not c", "(or (and a b) (not c))"),
        ("a or b and c", "(or a (and b c))"),
        ("not a == b", "(not (== a b))"),
        ("(a or b) and c", "(and (or a b) c)"),
        ("a - b - c", "(- (- a b) c)"),
        ("a + b * c", "(+ a (* b c))"),
        ("-a * 3", "(* (neg a) 3.0)"),
        ("-3", "(neg 3.0)"),
        ("a else b else c", "(else a (else b c))"),
        ("a > 1 else false", "(else (> a 1.0) False)"),
        ("kv.usage >= 95%", "(>= kv.usage 0.95)"),
        ('x in ["a", "b"]', "(in x (list a b))"),
        ("x not in [1, 2]", "(absent x (list 1.0 2.0))"),
        ('x matches "a\\d+\\"b"', '(matches x a\\d+"b)'),
        ("x == 'it'", "(== x it)"),
        ("E before F", "(before E F)"),
        ("E within 60s of F", "(within E 60.0 F)"),
        ("p95(x while y > 1 overall)", "(call p95 (overall (while x (> y 1.0))))"),
        (
            "count(E where reqs > 3 and phase == 'serving')",
            "(call count (where E (and (> reqs 3.0) (== phase serving))))",
        ),
        ("min(a, b, 3)", "(call min a b 3.0)"),
        ("f()", "(call f)"),
        ("rate(E) > 1/min", "(> (call rate E) 0.016666666666666666)"),
        ("1/min(a, b)", "(/ 1.0 (call min a b))"),
        ("order or android", "(or order android)"),
        ("true and false", "(and True False)"),
        ("[]", "(list)"),
        ("  a\n  and b ", "(and a b)"),
    ],
)
def test_tree(text: str, tree: str) -> None:
    assert shape(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12", 12, ""),
        ("0.5", 0.5, ""),
        ("1_000", 1000, ""),
        ("1e3", 1000, ""),
        ("95%", 0.95, "ratio"),
        ("30s", 30, "seconds"),
        ("5m", 300, "seconds"),
        ("2h", 7200, "seconds"),
        ("100ms", 0.1, "seconds"),
        ("2GiB", 2, "gib"),
        ("512MiB", 0.5, "gib"),
        ("8k", 8192, ""),
        ("1/min", 1 / 60, "1/s"),
        ("3/s", 3, "1/s"),
        ("36/h", 0.01, "1/s"),
    ],
)
def test_literal(text: str, value: float, unit: str) -> None:
    assert parse(text).args == (value, unit)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("share(x > 1", 12, "ends too early: expected ')'"),
        ("share(x > 1))", 13, "expected the end, found ')'"),
        ("a < b < c", 7, "comparisons do not chain"),
        ("a = b", 3, "did you mean ==?"),
        ("a && b", 3, "did you mean and?"),
        ("a AND b", 3, "did you mean and?"),
        ("5mn > a", 1, "unknown unit 'mn'; did you mean"),
        ("5gib > a", 1, "did you mean GiB?"),
        ('a == "b', 6, 'not closed with "'),
        ("", 1, "ends too early: expected a value"),
        ("a and", 6, "ends too early: expected a value"),
        ("a b", 3, "found 'b'"),
        ("a within 3s F", 13, "expected 'of'"),
        ("x while y", 3, "inside the brackets of one function"),
        ("count(E) per 1m >= 3", 10, "did you mean peak(EVENT, 1m)?"),
        ("+3", 1, "needs no '+'"),
        ("f(1,)", 5, "expected a value"),
    ],
)
def test_error(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert raised.value.column == column
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"column {column}: ")


def test_every_node_keeps_its_text() -> None:
    root = parse("(a or  b) and share(x >= 95%) > 0.5")
    assert [node.text for node in walk(root)] == [
        "(a or  b) and share(x >= 95%) > 0.5",
        "a or  b",
        "a",
        "b",
        "share(x >= 95%) > 0.5",
        "share(x >= 95%)",
        "x >= 95%",
        "x",
        "95%",
        "0.5",
    ]


def test_locate_finds_equal_nodes_by_identity() -> None:
    root = parse("(n and n)")
    left, right = root.args
    assert (locate(root, left), locate(root, right)) == (2, 8)


NAMES = st.sampled_from(["a", "kv.usage", "E1"])
NUMBERS = st.integers(0, 10**6).map(str) | st.sampled_from(["95%", "30s", "1/min", "8k"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["and", "or", "+", "*", "else"]), inner)
    return (
        pair.map(lambda parts: f"({' '.join(parts)})")
        | inner.map(lambda text: f"(not {text})")
        | inner.map(lambda text: f"f({text} while {text})")
    )


@given(st.recursive(NAMES | NUMBERS, _grown, max_leaves=12))
def test_json_round_trip(text: str) -> None:
    node = parse(text)
    assert from_json(json.loads(json.dumps(to_json(node)))) == node


@given(st.text(max_size=40))
def test_any_text_parses_or_is_explained(text: str) -> None:
    try:
        parse(text)
    except ExpressionError as error:
        assert 1 <= error.column <= len(text) + 1
        assert error.message


def test_evaluating_does_not_import_lark() -> None:
    modules = "diagnoser.rules.evaluating.evaluate, diagnoser.rules.evaluating.format"
    code = f"import sys, {modules}; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
