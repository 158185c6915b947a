"""Names, kinds and units of expressions."""

from __future__ import annotations

import json

import pytest
from expression_runs import NAMES, expression

from diagnoser.rules.compiling.check import Names, check, references
from diagnoser.rules.compiling.expression import ExpressionError, parse
from diagnoser.rules.evaluating.fields import evaluate_fields
from diagnoser.rules.evaluating.value import UNKNOWN
from diagnoser.rules.nodes import from_json, to_json


@pytest.mark.parametrize(
    ("text", "op", "kind"),
    [
        ("kv_full", "symptom", "bool"),
        ("E", "event", "bool"),
        ("memory.kv", "cause", "bool"),
        ("limits.running", "fact", "number"),
        ("gpu.name", "fact", "text"),
        ("engine", "run", "text"),
        ("version", "run", "version"),
        ("run.loaded", "run", "number"),
        ("kv_full and (E or memory.kv)", "and", "bool"),
        ("p95(kv.usage)", "aggregate", "number"),
        ("max(kv.usage)", "aggregate", "number"),
        ("max(limits.running, 3)", "max", "number"),
        ("share(kv.usage > 95% while requests.waiting > 0)", "aggregate", "number"),
        ("share(requests.running >= 0.9 * limits.running)", "aggregate", "number"),
        ("share(decode.graph)", "aggregate", "number"),
        ("share(decode.graph == false)", "aggregate", "number"),
        ("sustained(kv.usage >= 95%, 30s)", "aggregate", "bool"),
        ("most(p50(requests.waiting))", "ranked", "number"),
        ("rate(preemptions) > 1/min", ">", "bool"),
        ("rate(kv.retracted) > 1/min", ">", "bool"),
        ("count(kv.retracted where reqs > 3 and phase == 'serving')", "events", "number"),
        ("max(kv.retracted.reqs)", "eventfield", "number"),
        ("last(kv.retracted.who)", "eventfield", "text"),
        ("first(oom.size) > 2GiB", ">", "bool"),
        ("time(E) - run.ready < 60s", "<", "bool"),
        ("E within 60s of F", "within", "bool"),
        ("survived(E)", "survived", "bool"),
        ('arg("x")', "arg", "any"),
        ("not arg('x')", "not", "bool"),
        ("knob(running_limit) > 3", ">", "bool"),
        ("isset(limits.running)", "isset", "bool"),
        ('version >= "0.9.0"', ">=", "bool"),
        ("known(gpu.name)", "known", "bool"),
        ("if(kv_full, 1, 2)", "if", "number"),
        ("limits.running else 256", "else", "number"),
        ("floor(kv.capacity_tokens / 900)", "floor", "number"),
        ('"fp8"', "text", "text"),
    ],
)
def test_kind(text: str, op: str, kind: str) -> None:
    node = expression(text)
    assert (node.op, node.kind) == (op, kind)
    assert from_json(json.loads(json.dumps(to_json(node)))) == node


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("kv.usge > 3", 1, "unknown name 'kv.usge'; did you mean kv.usage?"),
        ("kv_full and p50(kv.usge) > 1%", 17, "did you mean kv.usage?"),
        ("kv.usage > 95%", 1, "is a sample: say which value of it"),
        ("kv_ful", 1, "did you mean kv_full?"),
        ("p50(gen.tps) > 1 and shere(kv.usage > 1%) > 1%", 22, "unknown function 'shere'; did you mean share?"),
        ("p50(kv.usage) > 95", 17, "ratio between 0 and 1: write 95%"),
        ("share(kv.usage > 98) > 0.5", 18, "write 98%"),
        ("share(kv.usage > 98%) > 50", 25, "write 50%"),
        ("share(ttft > 5%) > 0.5", 14, "ratio cannot be compared with seconds"),
        ("longest(kv.usage > 98%) > 5%", 27, "ratio cannot be compared with seconds"),
        ("memory.free_gib > 30s", 19, "seconds cannot be compared with gib"),
        ("p50(kv.usage) + 30s > 1", 1, "ratio and seconds cannot be added"),
        ("p50(p90(gen.tps)) > 1", 5, "inside another aggregate"),
        ("count(E where red > 3)", 15, "the event E has no field 'red'"),
        ("count(kv.retracted where rqs > 3)", 26, "did you mean reqs?"),
        ("first(kv.retracted.rqs) > 1", 7, "did you mean reqs?"),
        ("count(oon)", 7, "unknown event 'oon'; did you mean oom?"),
        ("sustained(kv.usage > 1%)", 1, "takes 2 arguments, not 1"),
        ("sustained(kv.usage > 1%, 30)", 26, "needs a unit: 30s"),
        ("known(kv_full, E)", 1, "takes 1 argument, not 2"),
        ("kv_full > 3", 1, "cannot be compared"),
        ('p50(requests.running) > "a"', 1, "cannot be compared"),
        ("gpu.name > 'a'", 1, "compares numbers and versions only"),
        ("p50(requests.running) and kv_full", 1, "a condition is needed here; this is a number"),
        ('version >= "abc"', 1, "'abc' is not a version"),
        ("version >= 0.9", 1, 'compared with a text such as "0.9.0"'),
        ("share(kv.usage)", 7, "a condition is needed here"),
        ("mean(kv.usage > 3%)", 6, "use share()"),
        ("share(E)", 7, "is an event"),
        ("knob(runing_limit)", 6, "did you mean running_limit?"),
        ("isset(limits.runing)", 7, "did you mean limits.running?"),
        ("arg(foo)", 5, "in quotes"),
        ("max(kv.capacity_tokens)", 5, "there is none in it"),
        ("kv.retracted.reqs > 3", 1, "is a field of an event"),
        ("mean(kv.retracted.who)", 6, "needs a field that is a number"),
        ("E before kv_full", 10, "unknown event 'kv_full'"),
        ('gpu.name matches "("', 18, "not a regular expression"),
        ("gpu.name matches gpu.name", 18, "in quotes"),
        ("1 + kv_full", 5, "'+' needs numbers"),
        ("count(E while gen.tps > 3)", 7, "narrowed with 'where'"),
        ("p50(gen.tps where gen.tps > 3)", 5, "narrowed with 'while'"),
        ("most(E)", 6, "takes a number over samples"),
        ("gpu.name in 'a' and kv_full in 3", 32, "a list belongs after 'in'"),
        ("if(kv_full, 1, 'a')", 16, "of one kind"),
        ("share(known(kv.usage))", 7, "use 'else'"),
        ("((kv_fool))", 3, "did you mean kv_full?"),
    ],
)
def test_error(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        expression(text)
    assert (raised.value.column, message in str(raised.value)) == (column, True), str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "p50(gen.tps) / p50(requests.running) > 20",
        "p95(kv.usage) > 1",
        "share(kv.usage > 0.95) > 0.5",
        "max(requests.running) >= 95% * limits.running",
        "rate(preemptions) > 3",
        "count(E) > 3",
        "run.duration > 600",
        "mean(gen.tps) > 1/min",
    ],
)
def test_no_false_alarm(text: str) -> None:
    assert expression(text, "bool").kind == "bool"


def test_wanted_kind() -> None:
    with pytest.raises(ExpressionError, match="condition"):
        expression("p50(gen.tps)", "bool")
    with pytest.raises(ExpressionError, match="expected a number"):
        expression("kv_full", "number")
    assert expression("arg('x')", "bool").op == "truth"


def test_references() -> None:
    node = expression(
        "kv_full and memory.kv and share(kv.usage > 1% while requests.waiting > 0) > 1% "
        "and count(kv.retracted where reqs > 1) > "
        "limits.running and first(oom.size) > 1 and arg('a') and argset('b') and isset(gpu.name) and E before F "
        "and knob(eager) and run.served"
    )
    found = references(node)
    assert found.symptoms == {"kv_full"}
    assert found.causes == {"memory.kv"}
    assert found.series == {"kv.usage", "requests.waiting"}
    assert found.events == {"kv.retracted", "oom", "E", "F"}
    assert found.facts == {"limits.running", "gpu.name"}
    assert found.args == {"a", "b"}
    assert found.knobs == {"eager"}
    assert found.run == {"run.served"}


def test_expressions_over_fields() -> None:
    names = Names(fields={"tokens": "int", "size": "gib", "dtype": "word"}, facts=NAMES.facts)
    node = check(parse("tokens * 16"), names)
    assert evaluate_fields(node, {"tokens": 10}) == 160
    assert evaluate_fields(node, {}) is UNKNOWN
    assert evaluate_fields(check(parse("dtype"), names), {"dtype": "fp8"}) == "fp8"
    with pytest.raises(ExpressionError, match="tokens"):
        check(parse("token"), names)
    with pytest.raises(ExpressionError, match="whole run"):
        check(parse("count(tokens)"), names)
