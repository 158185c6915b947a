"""`python -m tools.scene_search [RULE ...]`: finds scenes for the parts of rules that nothing notices.

It starts from the examples of a rule and turns, one after the other, the conditions that keep a part from mattering.
A scene that it prints pins what the rule says today: look at each before it goes to `tests/data/scenes.yaml`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from diagnoser.api import Knowledge, Options
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.model import Node, Rule
from tools.mutants import Mutant
from tools.mutate import unnoticed
from tools.scene_changes import changed
from tools.scene_goals import Goal, goals, nearness, unmet
from tools.scene_moves import moves
from tools.scenes import Stage, verdict

#: States that are followed further at once, changes that a scene may have.
_WIDTH, _DEPTH = 4, 7

State = tuple[str, dict[str, Any]]


class Found(NamedTuple):
    """A scene, and the parts that it is needed for."""

    scene: dict[str, Any]
    killed: list[Mutant]


class Search:
    """Looks for scenes of one rule."""

    def __init__(self, stage: Stage, rule: Rule) -> None:
        self.stage, self.rule = stage, rule
        self._moves: dict[Node, list[dict[str, Any]]] = {}

    def evaluators(self, state: State) -> list[Evaluator]:
        """Return what judges the runs of a scene, of an example alone those that only that has."""
        runs = [one.run for one in self.stage.like(self.rule, state[0]).judgements]
        return [self.stage.evaluator(changed(run, state[1], self.stage.knowledge), state[1]) for run in runs]

    def scenes(self, left: list[Mutant], seconds: float) -> Iterator[Found]:
        """Yield scenes until every part is noticed or its time is over."""
        left = [one for one in left if one.kind != "unless"]
        while left:
            mutant = left.pop(0)
            state = self._reach(mutant, seconds)
            if state is None:
                print(f"# not found: {mutant.rule}: {mutant.where}: {mutant.text}", file=sys.stderr, flush=True)
                continue
            state = self._short(mutant, state)
            evaluators = self.evaluators(state)
            said = verdict(self.rule, evaluators)
            killed = [one for one in left if verdict(one.changed, evaluators) != said]
            left = [one for one in left if one not in killed]
            yield Found({"like": state[0], "but": state[1], "then": said}, [mutant, *killed])

    def _differ(self, mutant: Mutant, evaluators: Sequence[Evaluator]) -> bool:
        return verdict(self.rule, evaluators) != verdict(mutant.changed, evaluators)

    def _reach(self, mutant: Mutant, seconds: float) -> State | None:
        wanted = goals(self.rule, mutant.changed, self.stage.knowledge.base.symptoms)
        end = time.monotonic() + seconds
        states: list[State] = [(one.name, {}) for one in (*self.rule.fires, *self.rule.silent)]
        for goal in wanted:
            ranked = self._ranked(mutant, goal, states)
            seen: set[str] = set()
            for _ in range(_DEPTH):
                made: list[tuple[float, State, Evaluator]] = []
                for _, state, evaluator in ranked[:_WIDTH]:
                    for change in self._tried(evaluator, goal):
                        one = (state[0], {**state[1], **change})
                        key = json.dumps(one, sort_keys=True)
                        if key in seen:
                            continue
                        seen.add(key)
                        if time.monotonic() > end:
                            return None
                        try:
                            evaluators = self.evaluators(one)
                            if self._differ(mutant, evaluators):
                                return one
                            made.append(self._best(one, evaluators, goal))
                        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError):
                            continue
                made.sort(key=lambda one: (-one[0], len(one[1][1])))
                ranked = _varied([*made, *ranked])
        return None

    def _tried(self, evaluator: Evaluator, goal: list[Goal]) -> Iterator[dict[str, Any]]:
        for one in goal:
            for leaf in dict.fromkeys(unmet(evaluator, one)):
                if leaf not in self._moves:
                    self._moves[leaf] = list({json.dumps(move): move for move in moves(leaf)}.values())
                yield from self._moves[leaf]

    def _ranked(self, mutant: Mutant, goal: list[Goal], states: list[State]) -> list[tuple[float, State, Evaluator]]:
        found = [self._best(one, self.evaluators(one), goal) for one in states]
        return sorted(found, key=lambda one: -one[0])

    def _best(self, state: State, evaluators: list[Evaluator], goal: list[Goal]) -> tuple[float, State, Evaluator]:
        near = [sum(nearness(one, part) for part in goal) for one in evaluators]
        at = max(range(len(near)), key=near.__getitem__)
        return near[at], state, evaluators[at]

    def _short(self, mutant: Mutant, state: State) -> State:
        """Leave out every change that is not needed."""
        like, but = state
        for name in list(but):
            fewer = {key: value for key, value in but.items() if key != name}
            if self._differ(mutant, self.evaluators((like, fewer))):
                but = fewer
        return like, but


def _varied(ranked: list[tuple[float, State, Evaluator]]) -> list[tuple[float, State, Evaluator]]:
    """Return the nearest first, of equally near ones of one example only two."""
    ranked.sort(key=lambda one: (-one[0], len(one[1][1])))
    kept, seen = [], {}  # type: ignore[var-annotated]
    for one in ranked:
        key = (round(one[0], 6), one[1][0])
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 2:
            kept.append(one)
    return kept[: _WIDTH * 3]


def main() -> int:
    """Print scenes, rule by rule, as lines of the file of scenes."""
    parser = argparse.ArgumentParser("tools.scene_search", description=__doc__)
    parser.add_argument("only", nargs="*", help="ids of rules")
    parser.add_argument("--seconds", type=float, default=20.0, help="for one part")
    parser.add_argument("--kinds", default="condition,severity", help="kinds of parts, with commas between")
    args = parser.parse_args()
    stage = Stage(Knowledge(Options()))
    for rule in stage.knowledge.base.rules.values():
        if args.only and rule.id not in args.only:
            continue
        left = [one for one in unnoticed(rule, stage) if one.kind in args.kinds.split(",")]
        said = False
        for found in Search(stage, rule).scenes(left, args.seconds):
            if not said:
                print(f"{rule.id}:")
            said = True
            print(f"- {json.dumps(found.scene)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
