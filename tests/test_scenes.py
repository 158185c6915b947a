"""Every part of a rule's condition is needed: scenes in which an example differs in one thing, and what comes of it.

`tests/data/scenes.yaml` holds them by rule (their language: `tools/scenes.py`). A rule that loses a condition, an
`unless` or a level of severity says something else of one of them. A scene that a change of the rule makes wrong is to
be corrected or taken away: `python -m tools.mutate rules ID` tells what then goes unnoticed.
"""

from __future__ import annotations

import random
from itertools import zip_longest

import pytest

from diagnoser import __version__
from diagnoser.judging.loading import Knowledge
from diagnoser.rules.matching.matcher import Matcher
from tools import mutate, mutate_patterns, readings, scenes, sentences, survivors

#: As many rules are taken apart in each run: others with each version.
_SAMPLE = 8


@pytest.fixture(scope="module")
def stage(written: Knowledge) -> scenes.Stage:
    return scenes.Stage(written)


@pytest.mark.parametrize("rule", sorted(scenes.stored()))
def test_scenes_of_a_rule(stage: scenes.Stage, rule: str) -> None:
    wrong = [
        f"{said} instead of {scene['then']}: {scene}"
        for scene in scenes.stored()[rule]
        if (said := stage.verdict(stage.knowledge.base.rules[rule], scene)) != scene["then"]
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_left_out_is_noticed(stage: scenes.Stage) -> None:
    """Parts of some rules, taken away one at a time: all are noticed but those that are listed as known."""
    known = survivors.explained()
    for rule in random.Random(__version__).sample(sorted(stage.knowledge.base.rules), _SAMPLE):
        left = mutate.survivors(stage.knowledge.base.rules[rule], stage)
        new = [one for one in left if not one.startswith("boundary") and one not in known]
        assert not new, "\n".join(new)


def test_what_readers_make_of_stored_inputs() -> None:
    """All that is read of logs and traces, value by value; `python -m tools.readings` writes it anew."""
    wrong = [
        f"== {one.title} {one.lines[:3]}: {said!r} instead of {kept!r}"
        for one in readings.documents()
        for said, kept in zip_longest(one.reading(), one.read)
        if said != kept
    ]
    assert not wrong, "\n".join(wrong[:20])


def test_every_stored_sentence_is_read(stage: scenes.Stage) -> None:
    """Each wording of each event, in the form of its engine: found, with the fields that it had when it was stored."""
    events = stage.knowledge.base.events
    matchers = {name: Matcher([spec]) for name, spec in events.items()}
    wrong = [
        one
        for one in sentences.stored()
        if one.event not in events or sentences.read(one.event, one.engine, one.line, matchers[one.event]) != one.fields
    ]
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_what_wordings_lose_is_noticed(stage: scenes.Stage) -> None:
    """Wordings of some events, taken away one at a time: a stored line, or another wording that reads it alike."""
    chosen = random.Random(__version__).sample(sorted(stage.knowledge.base.events), 40)
    assert sentences.messages(chosen) == 0


def test_what_patterns_lose_is_noticed() -> None:
    """Alternatives and parts of some patterns, taken away one at a time: a stored reading, or a known reason."""
    chosen = random.Random(__version__).sample([one.title for one in mutate_patterns.listed()], 16)
    assert mutate_patterns.patterns(chosen) == 0


def test_every_wording_has_its_sentence(stage: scenes.Stage) -> None:
    """A wording that was added has none yet: `python -m tools.sentences > tests/data/sentences.txt`."""
    kept = {(one.event, one.engine) for one in sentences.stored()}
    events = stage.knowledge.base.events.values()
    missing = [
        (spec.name, one.engine) for spec in events for one in spec.templates if (spec.name, one.engine) not in kept
    ]
    assert not missing
