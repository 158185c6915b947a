"""`python -m tools.mutate`: takes conditions of rules and patterns of readers away; what no test notices survives.

``rules`` leaves out every part of every condition and symptom, every `unless` and every level of severity, one at a
time; the examples of that rule or its scenes (`tools/scenes.py`) must notice. ``messages`` takes every wording of every
event away; the stored sentences (`tools/sentences.py`) must. ``patterns`` takes every alternative and every part that
may be missing from the patterns of the readers; the stored readings (`tools/readings.py`) must. What survives for a
reason is listed with it in `tests/data/survivors.txt`; the rest is printed.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diagnoser.api import Knowledge, Options, Session
from diagnoser.commands._cases import Case, cases
from diagnoser.rules.model import Rule
from tools.mutants import Mutant, mutants
from tools.mutate_patterns import patterns
from tools.scenes import Stage, stored, verdict
from tools.sentences import messages
from tools.survivors import explained

_ROOT = Path(__file__).parent.parent


def _labelled(case: Case, knowledge: Knowledge) -> Session:
    log = None if case.paths else io.BytesIO("".join(f"{text}\n" for text in case.lines).encode())
    return Session(case.paths or ["-"], stdin=log, knowledge=knowledge, options=Options(slo=case.slo))


def _asserted(case: Case, rule: str) -> bool:
    """Tell whether a label speaks of a rule: of the healthy and of the rule's own stage, to keep it quick."""
    stage = rule.partition(".")[0] + "."
    near = not case.causes or any(cause.startswith(stage) for cause in case.causes)
    if case.must_not is not None:
        return near and (rule in case.causes or rule in case.must_not)
    return near and not case.missed and rule not in case.also


def survivors(rule: Rule, stage: Stage, labelled: Sequence[tuple[Case, Session]] = ()) -> list[str]:
    """Return what can be left out of a rule and no example, scene or labelled case notices, a line each."""
    left = unnoticed(rule, stage, labelled)
    return [f"{one.kind}: {rule.id}: {one.where}: {' '.join(one.text.split())[:160]}" for one in left]


def unnoticed(rule: Rule, stage: Stage, labelled: Sequence[tuple[Case, Session]] = ()) -> list[Mutant]:
    """Return the changes of a rule that no example, scene or labelled case notices."""
    seen = [
        (one, kind, [judged.evaluator for judged in stage.example(rule, one).judgements])
        for kind, examples in (("fires", rule.fires), ("silent", rule.silent))
        for one in examples
    ]
    judged = [one.evaluator for case, session in labelled if _asserted(case, rule.id) for one in session.judgements]
    scenes = stored().get(rule.id, [])

    def noticed(mutant: Mutant) -> bool:
        changed = mutant.changed
        if mutant.kind != "unless":
            for example, kind, evaluators in seen:
                said = verdict(changed, evaluators)
                if (said == "silent") != (kind == "silent") or (example.severity and said != example.severity):
                    return True
        if any(stage.verdict(changed, scene) != scene["then"] for scene in scenes):
            return True
        # A label says of a rule that it must fire, or, where it is neither named nor let pass, that it must not.
        return any((one.value(changed.when) is True) != (one.value(rule.when) is True) for one in judged)

    return [one for one in mutants(rule) if not noticed(one)]


def rules(only: list[str], with_cases: bool = False) -> int:
    """Print what no test notices and nothing explains, rule by rule, and how many of each kind; return how many."""
    stage = Stage(Knowledge(Options()))
    every = cases([str(_ROOT / "samples"), str(_ROOT / "tests" / "cases")]) if with_cases else []
    labelled = [(one, _labelled(one, stage.knowledge)) for one in every]
    known = explained()
    made: Counter[str] = Counter()
    why: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for rule in stage.knowledge.base.rules.values():
        if only and rule.id not in only:
            continue
        made.update(one.kind for one in mutants(rule))
        for said in survivors(rule, stage, labelled):
            kind = said.partition(":")[0]
            (why if said in known else left)[kind] += 1
            if said not in known:
                print(said, flush=True)
    for kind, number in made.items():
        seen = number - left[kind] - why[kind]
        print(f"rules, {kind}: {number} mutants, {seen} noticed, {why[kind]} explained, {left[kind]} survived")
    return sum(number for kind, number in left.items() if kind != "boundary")


def main() -> int:
    """Run one kind of mutation or all; 1 when something survives that `tests/data/survivors.txt` does not explain."""
    parser = argparse.ArgumentParser("tools.mutate", description=__doc__)
    parser.add_argument("kind", nargs="?", default="all", choices=("rules", "messages", "patterns", "all"))
    parser.add_argument("only", nargs="*", help="ids of rules, names of events, or parts of pattern names")
    parser.add_argument(
        "--cases", action="store_true", help="ask the labelled cases too, where examples notice nothing"
    )
    args = parser.parse_args()
    begun = time.monotonic()
    left = 0
    if args.kind in ("rules", "all"):
        left += rules(args.only, args.cases)
    if args.kind in ("messages", "all"):
        left += messages(args.only)
    if args.kind in ("patterns", "all"):
        left += patterns(args.only)
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
