"""The score card: labelled cases are read, counted right, and the page of them is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnoser.api import Knowledge
from diagnoser.cli import main
from diagnoser.commands._cases import Case, cases
from diagnoser.commands._score import Score, Tally, Verdict, score
from diagnoser.commands._scorepage import page

ROOT = Path(__file__).parent.parent
NAMES = ["samples", "tests/cases"]


@pytest.fixture(scope="module")
def card(knowledge: Knowledge) -> Score:
    return score(cases([str(ROOT / name) for name in NAMES]), list(knowledge.base.rules), knowledge)


def test_the_page_is_current(card):
    wanted = page(card, NAMES)
    told = "diagnose rules score samples tests/cases -o docs/accuracy.md"
    assert (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8") == wanted, told


def test_the_repository_can_measure_itself(card):
    made = [one.case for one in card.verdicts if one.case.lines]
    assert len(made) >= 60
    assert {one.engine for one in made} == {"vllm", "sglang"}
    stages = {cause.split(".")[0] for one in card.verdicts for cause in one.case.causes}
    assert stages >= {"ingress", "scheduling", "memory", "cache", "compute", "comms", "platform"}
    assert sum(not one.causes for one in made) >= 15
    assert all(one.about for one in made)
    names = [one.case.name for one in card.verdicts]
    assert len(names) == len(set(names))


def test_no_healthy_server_is_accused_and_misses_have_reasons(card):
    accused = [one.case.name for one in card.verdicts if not one.case.causes and not one.right]
    silent = [one.case.name for one in card.verdicts if (one.missed or one.wrong) and not one.case.missed]
    assert not accused and not silent


def test_labels_are_rules(card):
    known = set(card.rules)
    for one in card.verdicts:
        assert {*one.case.causes, *one.case.also} <= known


@pytest.mark.parametrize(
    ("causes", "also", "must_not", "found", "serious", "missed", "wrong", "right"),
    [
        (["a"], [], None, ["a"], ["a"], [], [], True),
        (["a"], [], None, ["b", "a"], ["b", "a"], [], ["b"], False),
        (["a"], ["b"], None, ["b", "a"], ["b", "a"], [], [], False),
        (["a"], [], None, [], [], ["a"], [], False),
        (["a"], [], None, ["a"], [], [], [], True),  # below warning, but alone
        ([], [], None, ["b"], [], [], [], True),
        ([], [], None, ["b"], ["b"], [], ["b"], False),
        (["a"], [], ["c"], ["a", "b"], ["a", "b"], [], [], True),
        (["a"], [], ["b"], ["a", "b"], ["a", "b"], [], ["b"], True),
    ],
)
def test_a_verdict(causes, also, must_not, found, serious, missed, wrong, right):
    one = Verdict(Case("x", "", "", causes, also, must_not), found, serious, (serious or found or [""])[0])
    assert (one.missed, one.wrong, one.right) == (missed, wrong, right)


def test_precision_and_recall():
    assert Tally(hits=3, misses=1, false=1).precision == 0.75
    assert Tally(hits=3, misses=1, false=1).recall == 0.75
    assert Tally().precision is None and Tally().recall is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("one:\n  cause: [x]\n", "keys are"),
        ("one:\n  causes: [x]\n  log:\n    - {use: nothing}\n", "no part 'nothing'"),
        ("one:\n  causes: [x]\n  log:\n    - {line: x, every: soon}\n", "no time span"),
        ("- one\n", "names with their cases"),
        ("one: [\n", "cases.yaml"),
    ],
)
def test_faulty_cases_get_one_line(text, says, tmp_path, capsys):
    path = tmp_path / "cases.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["rules", "score", str(path)]) == 2
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1


def test_no_cases_is_an_error(tmp_path, capsys):
    assert main(["rules", "score", str(tmp_path)]) == 2
    assert main(["rules", "score"]) == 2
    assert main(["rules", "score", str(tmp_path / "missing")]) == 2
    assert "no file or folder" in capsys.readouterr().err
