"""One run and the rule base to what holds in it: the right half of the flow up to ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from operator import eq

from diagnoser.contracts.findings import Evidence
from diagnoser.inference import Cause, Theory, infer
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Run
from diagnoser.ranking import Sighting, Window, severity_of
from diagnoser.rules.evaluating.evaluate import Evaluator, Options
from diagnoser.rules.evaluating.format import render, render_known
from diagnoser.rules.evaluating.value import UNKNOWN, Proof
from diagnoser.rules.model import Node, Rule, RuleBase
from diagnoser.rules.names import references
from diagnoser.times import stamp
from diagnoser.values import dataclass, field, replace

#: Lines of proof that a finding keeps per run; ranking thins them further over runs and ranks.
PROOFS = 8

#: How many of them come first from the medium that the condition was judged by.
SHARED = 4

#: The distribution that counts tokens rather than requests.
TOKENS = "latency.itl"

_LOADED = Node("run", ("run.loaded",), "run.loaded", "number")


@dataclass(slots=True)
class Judgement:
    """What the rule base says of one run. ``causes`` has a verdict on every rule that applies."""

    run: Run
    evaluator: Evaluator
    causes: list[Cause] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)


def judge(run: Run, base: RuleBase, vocabulary: Vocabulary, backend: str, options: Options | None = None) -> Judgement:
    """Evaluate every rule over one run, infer the causes and describe those that hold.

    ``options`` say what a run does not know of itself. Raises InferenceError for an unknown or missing back end.
    """
    evaluator = Evaluator(run, base, vocabulary, options or Options())
    judgement = Judgement(run, evaluator)
    if base.theory is None:
        base.theory = Theory(rule for rule in base.rules.values() if rule.status != "deprecated")
    judgement.causes = infer(base.theory.problem(evaluator.value), backend)
    # Conditions that name causes can be proved only once inference has decided those.
    evaluator.causes.update({one.id: UNKNOWN if one.holds is None else one.holds for one in judgement.causes})
    for cause in judgement.causes:
        if cause.holds is True:
            rule = base.rules[cause.id]
            views = _views(rule, evaluator, base, vocabulary, options or Options())
            judgement.sightings.append(_sighting(rule, run, base, evaluator, views))
    return judgement


def _views(
    rule: Rule, evaluator: Evaluator, base: RuleBase, vocabulary: Vocabulary, options: Options
) -> dict[str, tuple[Proof, ...]]:
    """Return the media that show a cause each on its own, with their proofs; only where log and metrics both speak."""
    run = evaluator.run
    if not run.lines or not any(table.medium == "metrics" for table in run.tables.values()):
        return {}
    found = {}
    for medium in ("log", "metrics"):
        tables = {key: table for key, table in run.tables.items() if table.medium == medium}
        logged = medium == "log"
        view = replace(run, tables=tables, spreads={} if logged else run.spreads, events=run.events if logged else {})
        alone = Evaluator(view, base, vocabulary, options)
        alone.causes = evaluator.causes
        result = alone.result(rule.when)
        if result.true:
            found[medium] = result.proof
    return found


def _sighting(
    rule: Rule, run: Run, base: RuleBase, evaluator: Evaluator, views: Mapping[str, Sequence[Proof]]
) -> Sighting:
    supports = [result for node in rule.supports if (result := evaluator.result(node)).true]
    own = _proofs(rule, evaluator)
    told = {proof.medium for proof in own}
    # Where a second medium shows the same, its best lines stand beside the first ones.
    others = [
        proof for medium, found in views.items() if medium not in told for proof in found if proof.medium == medium
    ]
    supporting = (proof for result in supports for proof in result.proof)
    proofs = _distinct([*own[:SHARED], *others[: PROOFS - SHARED], *own[SHARED:], *supporting])
    return Sighting(
        rule=rule,
        run=run.id,
        severity=severity_of(rule, lambda node: evaluator.value(node) is True),
        proofs=[evidence(proof, run) for proof in proofs[:PROOFS]],
        impact=render_known(rule.impact, evaluator, rule.placeholders),
        meaning=render(rule.meaning, evaluator, rule.placeholders),
        verify=render(rule.verify, evaluator, rule.placeholders),
        onset=_onset(proofs, run),
        crash=run.end == "crash" and any(proof.kind == "event" for proof in proofs),
        window=_window(rule, proofs, base, evaluator),
        supports=len(supports),
        kinds=frozenset(views) | {proof.medium for proof in proofs if proof.kind != "fact"},
    )


def _proofs(rule: Rule, evaluator: Evaluator) -> list[Proof]:
    """Proofs of the rule's own condition, those of events first: a message says more than a level."""
    kinds = ("event", "sample", "fact")
    return sorted(evaluator.result(rule.when).proof, key=lambda proof: kinds.index(proof.kind))


def _distinct(proofs: Sequence[Proof]) -> list[Proof]:
    seen: set[tuple[str, int, str]] = set()
    kept = []
    for proof in proofs:
        # A dump holds many arguments on one line: each excerpt is a proof of its own.
        key = (proof.source, proof.line, proof.text if proof.kind == "fact" else "")
        if key not in seen:
            seen.add(key)
            kept.append(proof)
    return kept


def evidence(proof: Proof, run: Run) -> Evidence:
    """Write a proof as the report shows it."""
    labels = dict(proof.labels)
    if run.stream:
        labels["stream"] = run.stream
    return Evidence(proof.source, proof.line, stamp(proof.time, run.time_known), proof.text, labels)


def _onset(proofs: Sequence[Proof], run: Run) -> float:
    """Place of the first event that proves it, else of the first sample; facts stand at the start and say no time."""
    timed = [proof for proof in proofs if proof.kind == "event"] or [p for p in proofs if p.kind == "sample"]
    last = run.place(run.last.source, run.last.line) if run.last else 0.0
    return min((run.place(proof.source, proof.line) for proof in timed), default=last)


def _window(rule: Rule, proofs: Sequence[Proof], base: RuleBase, evaluator: Evaluator) -> Window:
    run = evaluator.run
    times = [proof.time for proof in proofs if proof.time is not None and proof.kind != "fact"]
    _, series = named(rule.when, base)
    # Without a row of any of its series it rests on events and facts alone.
    samples = _samples(run, series) or None
    events = sum(run.events[name].count for name in _proving(rule.when, evaluator, set()) if name in run.events)
    start, end = (min(times), max(times)) if times else (None, None)
    loaded = evaluator.value(_LOADED) if samples and not events else 0.0
    return Window(
        stamp(start, run.time_known),
        stamp(end, run.time_known),
        (end - start) if start is not None and end is not None else 0.0,
        float(loaded) if isinstance(loaded, int | float) else 0.0,
        samples,
        events,
        (start, end) if start is not None and end is not None else None,
    )


def named(node: Node, base: RuleBase) -> tuple[set[str], set[str]]:
    """Return the events and the series that a condition and the symptoms in it name."""
    events: set[str] = set()
    series: set[str] = set()
    opened: set[str] = set()
    waiting = [node]
    while waiting:
        used = references(waiting.pop())
        events |= used.events
        series |= used.series
        waiting += [base.symptoms[name] for name in used.symptoms - opened]
        opened |= used.symptoms
    return events, series


def _proving(node: Node, evaluator: Evaluator, opened: set[str]) -> set[str]:
    """Return the events that a condition is true by: not those that are denied, nor those of what does not hold."""
    if node.op in ("and", "or"):
        true = [arg for arg in node.args if evaluator.value(arg) is True]
        return set().union(*(_proving(arg, evaluator, opened) for arg in true))
    if node.op == "not":
        return set()
    if node.op == "if":
        return _proving(node.args[1 if evaluator.value(node.args[0]) is True else 2], evaluator, opened)
    if node.op == "symptom":
        if node.args[0] in opened or node.args[0] not in evaluator.symptoms:
            return set()
        opened.add(node.args[0])
        return _proving(evaluator.symptoms[node.args[0]], evaluator, opened)
    used = references(node)
    return {*used.events, *(name for one in used.symptoms for name in references(evaluator.symptoms[one]).events)}


def _samples(run: Run, series: set[str]) -> int:
    """Return how many rows stand behind a condition: of the log where it has some, else rows or requests.

    Tokens count only where nothing else does: thousands of them come from a few requests.
    """
    logged = max((_rows(run, name).get("log", 0) for name in series), default=0)
    if logged:
        return logged
    rows = (max(_rows(run, name).values(), default=0) for name in series)
    requests = (max((int(one.count) for one in run.spreads.get(name, ())), default=0) for name in series - {TOKENS})
    most = max((*rows, *requests), default=0)
    return most or max((int(one.count) for one in run.spreads.get(TOKENS, ())), default=0) * (TOKENS in series)


def _rows(run: Run, series: str) -> dict[str, int]:
    """Return how many rows of each medium tell a series."""
    counts: dict[str, float] = {}
    for table in run.tables.values():
        column = table.columns.get(series, ())
        rows = sum(compress(table.weight, map(eq, column, column)))  # NaN equals nothing
        counts[table.medium] = counts.get(table.medium, 0.0) + rows
    return {medium: int(count) for medium, count in counts.items()}
