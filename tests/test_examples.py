"""Examples: how their logs expand, and how results are judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from diagnoser.rules.compiling.examples import ExampleError, expand, seconds
from diagnoser.rules.compiling.schema_examples import ExampleModel
from diagnoser.rules.compiling.template import parse_template
from diagnoser.rules.model import EventSpec, Example, Node, Point, Rule, RuleBase
from diagnoser.rules.testing import coverage, run_examples


def lines(log: Any) -> list[str]:
    return list(expand(ExampleModel.model_validate({"log": log}).log))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (["INFO {t} [a.py:1] x"], ["INFO 07-12 10:00:00 [a.py:1] x"]),
        (["INFO {t} a.py:1] x"], ["INFO 07-12 10:00:00 a.py:1] x"]),
        (["(EngineCore pid=7) ERROR {t} [a.py:1] x"], ["(EngineCore pid=7) ERROR 07-12 10:00:00 [a.py:1] x"]),
        (["[{t} TP0] a", "[{t}] b"], ["[2025-07-12 10:00:00 TP0] a", "[2025-07-12 10:00:01] b"]),
        (["{t} a", {"wait": "30s"}, "{t} b"], ["2025-07-12 10:00:00 a", "2025-07-12 10:00:31 b"]),
        (
            [{"repeat": 3, "every": "10s", "line": "{t} {i} {x} {other}", "values": {"x": [5, "six"]}}],
            [
                "2025-07-12 10:00:00 0 5 {other}",
                "2025-07-12 10:00:10 1 six {other}",
                "2025-07-12 10:00:20 2 six {other}",
            ],
        ),
        ("{t} a\n{t} b\n", ["2025-07-12 10:00:00 a", "2025-07-12 10:00:01 b"]),
        (["a\n  b"], ["a", "  b"]),
        (
            [{"repeat": 2, "every": "1m", "line": "{t} a\nb"}],
            ["2025-07-12 10:00:00 a", "b", "2025-07-12 10:01:00 a", "b"],
        ),
        (["dict {'a': 1} {}"], ["dict {'a': 1} {}"]),
    ],
)
def test_expand(log: Any, expected: list[str]) -> None:
    assert lines(log) == expected


@pytest.mark.parametrize(
    ("log", "index", "key"),
    [
        (["a", {"wait": "soon"}], 1, "wait"),
        ([{"line": "a", "every": "10"}], 0, "every"),
        ([{"repeat": 2}], 0, "line"),
    ],
)
def test_what_cannot_be_expanded(log: Any, index: int, key: str) -> None:
    with pytest.raises(ExampleError) as caught:
        lines(log)
    assert (caught.value.index, caught.value.key) == (index, key)


@pytest.mark.parametrize(
    ("text", "expected"), [("30s", 30), ("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400)]
)
def test_spans(text: str, expected: float) -> None:
    assert seconds(text) == expected


@dataclass
class Finding:
    id: str
    severity: str = "warning"
    remedies: list[Any] = field(default_factory=list)


def rule(**changes: Any) -> Rule:
    when = Node("symptom", ("full",), "full", "bool")
    words: dict[str, Any] = dict.fromkeys(("meaning", "impact", "false_positives", "needs", "verify"), "")
    words |= {
        "title": "T",
        "stage": "memory",
        "status": "stable",
        "severity": (("info", None),),
        "gain": 1,
        "source": (),
    }
    words |= {"symptoms": (("full", Node("event", ("pool.full",), "pool.full", "bool")),), "when": when, "unless": ()}
    words |= {"supports": (), "confidence": "likely", "explains": (), "remedies": ()}
    return Rule(id="memory.full", **(words | changes))


FIRES = Example("full", ("pool is full",), "critical", ("--max-num-seqs",), ("--swap-space",))
SILENT = Example("near", ("pool is nearly full",))


@pytest.mark.parametrize(
    ("findings", "problems"),
    [
        (
            [Finding("memory.full", "critical", [("--max-num-seqs", "96")])],
            ["", "fires (critical), but must stay silent"],
        ),
        ([Finding("other.cause")], ["does not fire; found: other.cause", ""]),
        ([], ["does not fire; found: nothing", ""]),
        ([Finding("memory.full")], ["severity is warning, expected critical", "fires (warning), but must stay silent"]),
        (
            [Finding("memory.full", "critical", [("--max-num-seqs", "96"), ("--swap-space", "8")])],
            ["a remedy that must not be there: --swap-space 8", "fires (critical), but must stay silent"],
        ),
        (
            [Finding("memory.full", "critical", [("--other", "1")])],
            ["no remedy names --max-num-seqs; there are: --other 1", "fires (critical), but must stay silent"],
        ),
    ],
)
def test_results(findings: list[Finding], problems: list[str]) -> None:
    for finding in findings:
        finding.remedies = [
            SimpleNamespace(flag=flag, env=None, action=None, proposed=value) for flag, value in finding.remedies
        ]

    def diagnose(example: Example) -> Any:
        return SimpleNamespace(findings=findings)

    base = RuleBase(rules={"memory.full": rule(fires=(FIRES,), silent=(SILENT,))})
    results = run_examples(base, diagnose)
    assert [result.problem for result in results] == problems
    assert [result.kind for result in results] == ["fires", "silent"]
    assert run_examples(base, diagnose, []) == []


def test_coverage() -> None:
    def event(name: str, text: str, **words: Any) -> EventSpec:
        return EventSpec(name, name, (parse_template(text),), **words)

    events = [
        event("pool.full", "pool is full"),
        event("pool.gone", "pool is gone"),
        event("ready", "is ready", role="ready"),
        event("pool.noted", "pool is noted"),
        event("pool.checked", "pool is checked"),
        event("pool.derived", "pool is derived"),
    ]
    seen = {name: Node("event", (name,), name, "bool") for name in ("pool.noted", "pool.checked", "pool.derived")}
    base = RuleBase(
        rules={"memory.full": rule(fires=(FIRES,))},
        events={spec.name: spec for spec in events},
        symptoms={"full": rule().symptoms[0][1], "idle": rule().when},
        derived={"fact": seen["pool.derived"]},
        checklist=[Point("D1", "D1", {"fail": seen["pool.checked"]})],
        notes=[Point("n", "n", {}, {}, {"pool.noted": seen["pool.noted"]})],
    )
    found = coverage(base)
    assert found.unproven == ("memory.full",)
    assert found.unmatched == ("pool.checked", "pool.derived", "pool.gone", "pool.noted", "ready")
    assert found.unused_events == ("pool.gone",)
    assert found.unused_symptoms == ("idle",)
