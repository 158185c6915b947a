"""`python -m tools.mutate`: takes conditions of rules and patterns of readers away; what no test notices survives.

``rules`` leaves out every part of every condition, and makes every comparison true, one at a time; the examples of that
rule must notice. ``patterns`` lets every pattern of dialects and envelopes match nothing; their tests must notice.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from diagnoser.api import Knowledge, Options, Session
from diagnoser.commands._cases import Case, cases
from diagnoser.commands._ruletests import played
from diagnoser.inference import Cause
from diagnoser.judging import judge
from diagnoser.rules.model import Node, Rule
from diagnoser.values import replace

_ROOT = Path(__file__).parent.parent
_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "!=", "compare", "in", "matches", "not in"})
_TRUE = Node("bool", (True,), "true", "bool")
_NEVER = "(?!)"
#: Tests of the readers, quick ones first; a mutant runs until the first of them fails.
_READER_TESTS = (
    "test_formats",
    "test_envelopes",
    "test_sglang_format",
    "test_records",
    "test_pyrepr",
    "test_event_text",
)


class Mutant(NamedTuple):
    """One change: what was done to which text, and the condition that is left."""

    rule: str
    change: str
    text: str
    node: Node


def mutants(rule: Rule, symptoms: dict[str, Node]) -> Iterator[Mutant]:
    """Yield every condition that lacks a part, or has a comparison that is always true."""
    own = dict(rule.symptoms)
    for change, text, node in _changed(_opened(rule.when, own, symptoms)):
        yield Mutant(rule.id, change, text, node)


def _opened(node: Node, own: dict[str, Node], symptoms: dict[str, Node]) -> Node:
    """Return a condition with the rule's own symptoms written out."""
    if node.op == "symptom" and str(node.args[0]) in own:
        return _opened(own[str(node.args[0])], own, symptoms)
    args = tuple(_opened(arg, own, symptoms) if isinstance(arg, Node) else arg for arg in node.args)
    return replace(node, args=args)


def _changed(node: Node) -> Iterator[tuple[str, str, Node]]:
    parts = [at for at, arg in enumerate(node.args) if isinstance(arg, Node)]
    if node.op in ("and", "or"):
        for at in parts:
            rest = [node.args[other] for other in parts if other != at]
            left = rest[0] if len(rest) == 1 else replace(node, args=tuple(rest))
            yield "left out", node.args[at].text, left
    if node.op in _COMPARED:
        yield "always true", node.text, _TRUE
        return
    if node.op in ("and", "or", "not", "else", "if"):
        for at in parts:
            for change, text, inner in _changed(node.args[at]):
                yield change, text, replace(node, args=(*node.args[:at], inner, *node.args[at + 1 :]))


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


def _holds(session: Session, node: Node) -> list[bool]:
    """Return whether a condition is true, run by run."""
    return [one.evaluator.value(node) is True for one in session.judgements]


def _fires(session: Session, rule: Rule, knowledge: Knowledge) -> bool:
    """Judge a session by a rule base in which one rule is another."""
    base = replace(knowledge.base, rules={**knowledge.base.rules, rule.id: rule})
    causes: list[Cause] = []
    for one in session.judgements:
        causes += judge(one.run, base, knowledge.vocabulary, "plain").causes
    return any(one.id == rule.id and one.holds is True for one in causes)


def rules(only: list[str]) -> int:
    """Print what no example notices, rule by rule."""
    knowledge = Knowledge(Options())
    made = survived = by_cases = 0
    every = cases([str(_ROOT / "samples"), str(_ROOT / "tests" / "cases")])
    labelled = [(one, _labelled(one, knowledge)) for one in every]
    for rule in knowledge.base.rules.values():
        if only and rule.id not in only:
            continue
        examples = [("fires", one) for one in rule.fires] + [("silent", one) for one in rule.silent]
        sessions = [(kind, played(one, Options(), knowledge)) for kind, one in examples]
        plain = [_holds(session, rule.when) for _, session in sessions]
        # A label says of a rule that it must fire, or, where it is neither named nor let pass, that it must not.
        judged = [one for case, one in labelled if _asserted(case, rule.id)]
        known = [_holds(one, rule.when) for one in judged]
        for mutant in mutants(rule, knowledge.base.symptoms):
            made += 1
            now = [_holds(session, mutant.node) for _, session in sessions]
            if now == plain and any(_holds(one, mutant.node) != said for one, said in zip(judged, known, strict=True)):
                by_cases += 1
            elif now == plain:
                survived += 1
                print(f"{rule.id}: {mutant.change}: {mutant.text[:140]}")
        for name in rule.unless:
            made += 1
            lone = replace(rule, unless=tuple(one for one in rule.unless if one != name))
            if not any(kind == "silent" and _fires(session, lone, knowledge) for kind, session in sessions):
                survived += 1
                print(f"{rule.id}: left out: unless {name}")
    seen = made - survived
    print(f"rules: {made} mutants, {seen} noticed, {by_cases} of them by labelled cases alone, {survived} survived")
    return 0


def _patterns() -> Iterator[tuple[str, str]]:
    """Yield (module, name) of every pattern of a reader, and the heads of envelopes."""
    for room in ("formats", "envelopes"):
        for path in sorted((_ROOT / "diagnoser" / room).glob("*.py")):
            name = f"diagnoser.{room}.{path.stem}"
            module = importlib.import_module(name)
            for key, value in sorted(vars(module).items()):
                own = f"{key} = lazily(" in path.read_text(encoding="utf-8")
                if (own and type(value).__name__ == "lazily") or (key == "HEAD" and isinstance(value, str)):
                    yield name, key


def patterns(only: list[str]) -> int:
    """Print which patterns can go without a test that notices."""
    if not _passes("", ""):
        print("patterns: the tests of the readers fail as they are", file=sys.stderr)
        return 1
    chosen = [one for one in _patterns() if not only or any(word in ".".join(one) for word in only)]
    survived = []
    for module, name in chosen:
        alive = _passes(module, name)
        survived += [name] * alive
        print(f"{module}.{name}: {'survives' if alive else 'noticed'}", flush=True)
    print(f"patterns: {len(chosen)} mutants, {len(chosen) - len(survived)} noticed, {len(survived)} survived")
    return 0


def _passes(module: str, name: str) -> bool:
    """Run the tests of the readers without one pattern; the change dies with its process."""
    import pytest

    child = os.fork()
    if child == 0:
        hush = os.open(os.devnull, os.O_WRONLY)
        os.dup2(hush, 1)
        os.dup2(hush, 2)
        if module:
            _blind(module, name)
        paths = [str(_ROOT / "tests" / f"{one}.py") for one in _READER_TESTS]
        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *paths]) != 0))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _blind(module: str, name: str) -> None:
    holder: Any = importlib.import_module(module)
    value = getattr(holder, name)
    if isinstance(value, str):
        setattr(holder, name, _NEVER)
    else:
        value.__dict__.clear()
        value.__dict__["_said"] = (_NEVER, 0)


def main() -> int:
    """Run one kind of mutation, or both."""
    parser = argparse.ArgumentParser("tools.mutate", description=__doc__)
    parser.add_argument("kind", choices=("rules", "patterns", "all"))
    parser.add_argument("only", nargs="*", help="ids of rules, or parts of pattern names")
    args = parser.parse_args()
    begun = time.monotonic()
    if args.kind in ("rules", "all"):
        rules(args.only)
    if args.kind in ("patterns", "all"):
        patterns(args.only)
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
