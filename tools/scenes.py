"""What an example shows, with one thing changed: samples, facts, messages by the names that rules use.

A scene is ``{like: NAME OF AN EXAMPLE, but: {name: value, ...}, then: silent|info|warning|critical}``, in a file of
scenes by rule; `tools/scene_changes.py` tells what a name and a value may be. ``holds`` lists causes that hold beside
it, so that the rule gives way to them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diagnoser.api import Knowledge, Options, Session
from diagnoser.commands._ruletests import played
from diagnoser.inference import Theory, infer
from diagnoser.knowledge.yamlfile import load as load_yaml
from diagnoser.model import Run
from diagnoser.ranking.sighting import severity_of
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.evaluating.evaluate import Options as Beside
from diagnoser.rules.model import SEVERITIES, Example, Node, Rule
from diagnoser.values import replace
from tools.scene_changes import CAUSE, RESTARTS, changed

STORED = Path(__file__).parent.parent / "tests" / "data" / "scenes.yaml"
TRUE = Node("bool", (True,), "true", "bool")


@functools.cache
def stored() -> dict[str, list[dict[str, Any]]]:
    """Return the scenes by rule."""
    found: dict[str, list[dict[str, Any]]] = load_yaml(STORED).data
    return found


class Stage:
    """Plays scenes; reads each example once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self._sessions: dict[tuple[str, int], Session] = {}
        self._beside: dict[tuple[str, ...], bool] = {}
        self._played: dict[str, list[Evaluator]] = {}

    def example(self, rule: Rule, example: Example) -> Session:
        """Return what an example of a rule was judged as."""
        key = (rule.id, id(example))
        if key not in self._sessions:
            self._sessions[key] = played(example, Options(), self.knowledge)
        return self._sessions[key]

    def like(self, rule: Rule, name: str) -> Session:
        """Return what the example of that name was judged as. Raises ValueError when there is none."""
        example = next((one for one in (*rule.fires, *rule.silent) if one.name == name), None)
        if example is None:
            raise ValueError(f"{rule.id} has no example named {name!r}")
        return self.example(rule, example)

    def verdict(self, rule: Rule, scene: Mapping[str, Any]) -> str:
        """Return "silent", or the highest severity that the rule gives some run of the scene."""
        key = f"{rule.id} {scene['like']} {scene.get('but')}"
        if key not in self._played:
            but = scene.get("but", {})
            runs = [one.run for one in self.like(rule, scene["like"]).judgements]
            self._played[key] = [self.evaluator(changed(run, but, self.knowledge), but) for run in runs]
        return verdict(rule, self._played[key], self.beside(rule, scene.get("holds", ())))

    def evaluator(self, run: Run, but: Mapping[str, Any]) -> Evaluator:
        """Return what judges a changed run; a scene names the causes that its conditions ask for."""
        options = Beside(restarts=int(but.get(RESTARTS, 0)))
        made = Evaluator(run, self.knowledge.base, self.knowledge.vocabulary, options)
        made.causes.update({name[len(CAUSE) :]: value for name, value in but.items() if name.startswith(CAUSE)})
        return made

    def beside(self, rule: Rule, causes: Sequence[str]) -> bool:
        """Whether a rule would give way to causes that hold, by inference."""
        if not causes:
            return False
        key = (rule.id, *rule.unless, "", *causes)
        if key in self._beside:
            return self._beside[key]
        rules = [
            replace(one, when=TRUE, unless=()) if one.id in causes else one
            for one in self.knowledge.base.rules.values()
            if one.id != rule.id
        ]
        problem = Theory([*rules, replace(rule, when=TRUE)]).problem(lambda node: node is TRUE or None)
        self._beside[key] = next(one for one in infer(problem) if one.id == rule.id).holds is not True
        return self._beside[key]


def verdict(rule: Rule, evaluators: Sequence[Evaluator], silenced: bool = False) -> str:
    """Return "silent", or the highest severity of the runs in which the rule's condition holds."""
    found = [
        severity_of(rule, lambda node, one=one: one.value(node) is True)  # type: ignore[misc]
        for one in evaluators
        if not silenced and one.value(rule.when) is True
    ]
    return max(found, key=SEVERITIES.index, default="silent")
