"""The checklist D1 to D8 and the states of the stages."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from diagnoser.contracts.findings import Check, Finding
from diagnoser.knowledge.paths import rules_dir
from diagnoser.portraits.stages import Look, stages
from diagnoser.rules import checklist
from diagnoser.rules.model import STAGES, Node
from diagnoser.rules.plain import base_from_plain, base_to_plain


@dataclass
class Answer:
    value: object
    needs: frozenset = frozenset()


class Judge:
    """Knows conditions by their text; what it does not know needs metrics."""

    def __init__(self, **values):
        self.values = values

    def result(self, node):
        return Answer(self.values[node.text]) if node.text in self.values else Answer(None, frozenset({"metrics"}))


def plain(text, _nodes):
    return text


def point(**reasons):
    questions = {name: Node("x", (), name) for name in ("not_applicable", "fail", "pass")}
    return checklist.Point("D1", "Title", questions, {"pass": "good", "fail": "bad", "not_applicable": "no", **reasons})


@pytest.mark.parametrize(
    ("values", "reasons", "state", "reason"),
    [
        ({"pass": True, "fail": False, "not_applicable": False}, {}, "pass", "good"),
        ({"pass": True, "fail": True, "not_applicable": False}, {}, "fail", "bad"),
        ({"pass": True, "fail": True, "not_applicable": True}, {}, "n/a", "no"),
        ({"fail": True}, {}, "fail", "bad"),  # whether it applies is not known, that it fails is
        ({"pass": True}, {}, "pass", "good"),
        ({}, {}, "unknown", "needs metrics"),
        ({}, {"unknown": "the log is silent"}, "unknown", "needs metrics"),
        ({"pass": False, "fail": False, "not_applicable": False}, {"unknown": "between"}, "unknown", "between"),
    ],
)
def test_a_point(values, reasons, state, reason):
    assert checklist.evaluate([point(**reasons)], Judge(**values), plain) == [Check("D1", "Title", state, reason)]


def test_reasons_are_rendered():
    (check,) = checklist.evaluate([point()], Judge(**{"pass": True}), lambda text, nodes: f"<{text} {sorted(nodes)}>")
    assert check.reason == "<good []>"


@pytest.mark.parametrize(
    ("states", "state", "reason"),
    [
        (["pass", "pass"], "pass", "1"),
        (["fail", "pass"], "fail", "run 1: 0"),
        (["unknown", "pass", "n/a"], "pass", "run 2: 1"),
        (["n/a", "unknown"], "unknown", "run 2: 1"),
        (["fail", "fail"], "fail", "1"),
    ],
)
def test_over_runs(states, state, reason):
    runs = {run: [Check("D1", "Title", one, str(run))] for run, one in enumerate(states)}
    assert checklist.over_runs(runs) == [Check("D1", "Title", state, reason)]


def test_the_shipped_checklist():
    from diagnoser.knowledge.catalog import Catalog
    from diagnoser.knowledge.vocabulary import Vocabulary
    from diagnoser.rules.loader import load
    from diagnoser.rules.model import EventSpec

    vocabulary = Vocabulary.load(rules_dir())
    base = load([rules_dir()], vocabulary, catalog=Catalog(rules_dir()))
    # The retraction message belongs to the rules of the memory stage; the checklist counts it.
    base.events.setdefault("kv.retracted", EventSpec("kv.retracted", "", ()))
    points = checklist.load(rules_dir() / "checklist.yaml", checklist.compiler(vocabulary, base))
    assert [one.id for one in points] == [f"D{number}" for number in range(1, 9)]
    for one in points:
        assert set(one.questions) | {"unknown"} == set(one.reasons), one.id
    base.checklist = points
    assert base_from_plain(json.loads(json.dumps(base_to_plain(base)))).checklist == points


def test_every_fault_of_a_checklist_at_once(tmp_path):
    path = tmp_path / "checklist.yaml"
    path.write_text("D1:\n  title: One\n  passes: 'true'\nD2:\n  pass: 'x >'\n  reasons: {good: yes, pass: '{x'}\n")

    def compiled(text, want):
        raise ValueError("ends too early")

    with pytest.raises(checklist.ChecklistError) as caught:
        checklist.load(path, compiled)
    text = str(caught.value)
    assert len(caught.value.problems) == 5
    for piece in ("checklist.yaml:3", "passes", "title is missing", "ends too early", "good"):
        assert piece in text


# --- stages -------------------------------------------------------------------------------------------------------


def finding(id_, severity="warning", confidence="likely", parent=None):
    role = "consequence" if parent else "root"
    return Finding(id_, id_.split(".")[0], "", severity, confidence, role, [], parent, [0], "", "", "", [], [], "", "")


def states(findings=(), looks=(), gpus=None):
    return {one.name: (one.state, one.reason) for one in stages(list(findings), list(looks), gpus)}


def look(id_, state="clear", needs=""):
    return Look(id_, id_.split(".")[0], state, needs)


def test_all_stages_in_the_order_of_a_request():
    assert [one.name for one in stages([], [])] == list(STAGES)


@pytest.mark.parametrize(
    ("findings", "looks", "state", "reason"),
    [
        ([finding("memory.a")], [look("memory.b")], "cause", "memory.a"),
        ([finding("memory.a"), finding("memory.b", "critical")], [], "cause", "memory.a, memory.b"),
        ([finding("memory.a", confidence="possible")], [look("memory.b")], "suspect", "memory.a (possible)"),
        ([finding("cache.x"), finding("memory.a", parent="cache.x")], [], "suspect", "memory.a (from cache.x)"),
        ([finding("cache.x"), finding("memory.a", "info", parent="cache.x")], [], "suspect", "memory.a (from cache.x)"),
        ([finding("memory.a", "info")], [look("memory.a", "fired")], "ok", "1 rule looked; remark: memory.a"),
        ([], [look("memory.a"), look("memory.b", "unknown"), look("memory.c")], "ok", "2 rules looked"),
        ([], [look("memory.a"), look("memory.a")], "ok", "1 rule looked"),
        (
            [],
            [
                look("memory.a", "unknown", "metrics"),
                look("memory.b", "unknown", "metrics"),
                look("memory.c", "unknown", "gpu"),
            ],
            "unknown",
            "3 rules could not look: needs metrics",
        ),
        ([], [look("memory.a", "unknown")], "unknown", "1 rule could not look"),
        ([], [look("memory.a", "unknown"), look("memory.b", "not_applicable")], "unknown", "1 rule could not look"),
        ([], [look("memory.a", "not_applicable")], "n/a", "no rule applies"),
        ([], [look("cache.a")], "unknown", "no rule for this stage"),
    ],
)
def test_a_stage(findings, looks, state, reason):
    assert states(findings, looks)["memory"] == (state, reason)


def test_comms_on_one_gpu():
    assert states([], [look("comms.a")], gpus=1)["comms"] == ("n/a", "one GPU")
    assert states([], [look("comms.a")], gpus=2)["comms"][0] == "ok"
    assert states([], [look("comms.a")])["comms"][0] == "ok"
    assert states([finding("comms.a")], gpus=1)["comms"] == ("cause", "comms.a")
