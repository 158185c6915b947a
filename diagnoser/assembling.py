"""Judgements of all runs to one report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import diagnoser
from diagnoser import figures, needed
from diagnoser.comparing.odd import odd
from diagnoser.evidence import drift, possible
from diagnoser.findings import (
    SCHEMA_VERSION,
    Answered,
    Check,
    Evidence,
    Input,
    Report,
    RunReport,
    Unknown,
    Unrecognised,
)
from diagnoser.judging import Judgement
from diagnoser.knowledge.versions import parse_version
from diagnoser.language import Say
from diagnoser.latencies import spreads
from diagnoser.loading import Knowledge
from diagnoser.model import Run
from diagnoser.objectives import objectives
from diagnoser.ranking import rank
from diagnoser.remedies import Context, recommend
from diagnoser.rules.checklist import evaluate, over_runs
from diagnoser.rules.format import render
from diagnoser.rules.model import RuleBase
from diagnoser.settings import settings
from diagnoser.stages import Look, stages
from diagnoser.times import stamp
from diagnoser.values import replace

if TYPE_CHECKING:
    from diagnoser.alerts import Alert


def report(judgements: Sequence[Judgement], inputs: Sequence[Input], knowledge: Knowledge) -> Report:
    """Rank what holds in any run and add what people need around it."""
    base = knowledge.base
    explains = {rule.id: rule.explains for rule in base.rules.values()}
    say = knowledge.say
    findings = rank((sighting for one in judgements for sighting in one.sightings), explains, say)
    verdicts = {cause.id: cause.holds for one in judgements for cause in one.causes if cause.holds is not True}
    fired = {finding.id for finding in findings}
    unknown = sorted(name for name, holds in verdicts.items() if holds is None and name not in fired)
    clear = [name for name, holds in verdicts.items() if holds is False and name not in fired]
    contexts = {one.run.id: _context(one, knowledge) for one in judgements}
    plan = recommend(findings, base.rules, contexts)
    serious = any(finding.severity != "info" for finding in findings)
    watched = any(one.run.engine or any(medium != "gpu" for medium, _ in one.run.tables) for one in judgements)
    runs = [_run(one, knowledge) for one in judgements]
    return Report(
        schema_version=SCHEMA_VERSION,
        tool={"name": "diagnoser", "version": diagnoser.__version__},
        healthy=False if serious else True if watched else None,
        runs=runs,
        findings=findings,
        stages=stages(findings, _looks(judgements, base, say), _gpus(judgements), say),
        checklist=over_runs({one.run.id: _checks(one, knowledge) for one in judgements if one.run.engine}, say),
        plan=plan,
        unknown=list(_unknowns(unknown, judgements, knowledge)),
        unrecognised=_residue(judgements),
        inputs=list(inputs),
        rules={"fired": len(fired), "clear": len(clear), "unknown": len(unknown), "not_applicable": 0},
        odd=odd(runs, findings),
        clear=sorted(clear),
    )


def answered(alert: Alert, inputs: Sequence[Input], runs: Sequence[Run], say: Say) -> Answered:
    """Say which alert a report answers, and where its clock may not be the log's."""
    logs = [one for one in inputs if one.kind == "log"]
    zoned = all(any(name in one.envelope for name in _ZONED) for one in logs)
    note = ""
    if logs and not zoned and (alert.since or alert.until):
        note = say(
            "the alert's times are UTC and the log names no zone: --log-zone, such as +08:00, where it is not UTC"
        )
    if not (alert.since or alert.until):
        note = say("the alert tells no times: nothing was left out by time")
    since, until = (None if one is None else f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in (alert.since, alert.until))
    return Answered(alert.names, alert.status, since, until, list(alert.used), list(alert.unseen), alert.cause, note)


#: Envelopes whose times name their zone.
_ZONED = ("cri", "docker", "kubectl", "loki", "cloudwatch", "iso", "json")


def _context(judgement: Judgement, knowledge: Knowledge) -> Context:
    evaluator = judgement.evaluator
    nodes = {text: node for rule in knowledge.base.rules.values() for text, node in rule.placeholders}
    return Context(
        judgement.run,
        evaluator,
        knowledge.catalog,
        knowledge.titles,
        lambda text: render(text, evaluator, nodes),
        knowledge.say,
    )


def _checks(judgement: Judgement, knowledge: Knowledge) -> list[Check]:
    evaluator = judgement.evaluator
    return evaluate(
        knowledge.base.checklist, evaluator, lambda text, nodes: render(text, evaluator, nodes), knowledge.say
    )


def _looks(judgements: Sequence[Judgement], base: RuleBase, say: Say) -> Iterable[Look]:
    states = {True: "fired", False: "clear", None: "unknown"}
    for one in judgements:
        for cause in one.causes:
            rule = base.rules[cause.id]
            needs = needed.inputs(rule.needs, one.evaluator.answer(rule.when).needs, one.run, say)
            yield Look(rule.id, rule.stage, states[cause.holds], needs if cause.holds is None else "")


def _gpus(judgements: Sequence[Judgement]) -> int | None:
    """TP x PP x DP of the largest server, None when no log says."""
    sizes = []
    for one in judgements:
        parts = [one.run.facts.get(f"parallel.{name}") for name in ("tp", "pp", "dp")]
        if parts[0] is not None and isinstance(parts[0].value, int):
            counts = [part.value for part in parts if part is not None]
            sizes.append(math.prod(count for count in counts if isinstance(count, int) and count > 0))
    return max(sizes, default=None)


def _notes(judgement: Judgement, knowledge: Knowledge) -> list[str]:
    evaluator, run, say = judgement.evaluator, judgement.run, knowledge.say
    said = evaluate(knowledge.base.notes, evaluator, lambda text, nodes: render(text, evaluator, nodes))
    notes = [note.reason for note in said if note.state == "pass"]
    notes += figures.disagreements(run, knowledge.titles, say)
    notes += [say(text).format(**fields) for text, fields in run.assumed]
    notes += drift.sentences(run, say) + possible.sentences(run, say)
    if run.version and run.engine in ("vllm", "sglang"):
        newest = knowledge.catalog.newest(run.engine) or ""
        here, last = parse_version(run.version), parse_version(newest)
        if here is not None and last is not None and here > last:
            told = say("version {version} is newer than the newest that was checked ({newest})")
            notes.append(told.format(version=run.version, newest=newest))
    return notes


def _run(judgement: Judgement, knowledge: Knowledge) -> RunReport:
    run = judgement.run
    return RunReport(
        id=run.id,
        stream=run.stream,
        engine=run.engine,
        engine_version=run.version,
        started=stamp(run.started, run.time_known),
        ended=stamp(run.ended, run.time_known),
        end=run.end,
        complete_start=run.complete_start,
        lines=run.lines,
        stats_samples=figures.samples(run),
        stats_interval=figures.interval(run),
        facts={name: _plain(fact.value) for name, fact in sorted(run.facts.items())},
        figures=figures.figures(run, knowledge.titles),
        notes=_notes(judgement, knowledge),
        settings=settings(run, knowledge.catalog, knowledge.vocabulary),
        spreads=spreads(run, knowledge.titles),
        ranks=figures.ranks(run, knowledge.vocabulary),
        sources=list(run.sources),
        scrapes=figures.scrapes(run),
        objectives=[replace(one, title=knowledge.say(one.title)) for one in objectives(run)],
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | dict) or value is None else str(value)


def _unknowns(ids: Iterable[str], judgements: Sequence[Judgement], knowledge: Knowledge) -> Iterable[Unknown]:
    for name in ids:
        rule = knowledge.base.rules[name]
        for one in judgements:
            result = one.evaluator.result(rule.when)
            if result.unknown:
                yield Unknown(rule.when.text, name, needed.inputs(rule.needs, result.needs, one.run, knowledge.say))
                break


def _residue(judgements: Sequence[Judgement]) -> list[Unrecognised]:
    """Join the shapes of all runs: the first sighting of the first run stands for each, the worst level counts."""
    merged: dict[str, Unrecognised] = {}
    for one in judgements:
        known = one.run.time_known
        for residue in one.run.residue.values():
            first, last = residue.first, stamp(residue.last.time, known)
            before = merged.get(residue.template)
            if before is not None:
                before.count += residue.count
                before.level = min(before.level, residue.level, key=_urgency)
                before.last_time = last or before.last_time
                continue
            sample = Evidence(
                first.origin.source, first.origin.line, stamp(first.time, known), first.text, dict(first.ranks)
            )
            merged[residue.template] = Unrecognised(residue.template, residue.count, residue.level, sample, last)
    return sorted(merged.values(), key=lambda item: (_urgency(item.level), -item.count, item.template))


def _urgency(level: str) -> int:
    return {"CRITICAL": 0, "FATAL": 0, "ERROR": 1, "WARNING": 2}.get(level, 3)
