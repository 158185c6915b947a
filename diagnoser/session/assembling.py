"""Judgements of all runs to one report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import diagnoser
from diagnoser.comparing.odd import odd
from diagnoser.contracts.findings import (
    SCHEMA_VERSION,
    Answered,
    Evidence,
    Finding,
    Input,
    Plan,
    Report,
    Unknown,
    Unrecognised,
)
from diagnoser.judging.judge import Judgement
from diagnoser.judging.loading import Knowledge
from diagnoser.language import Say
from diagnoser.model import Run
from diagnoser.portraits.fleets import fleet
from diagnoser.portraits.portrait import Portrait, portrait
from diagnoser.portraits.stages import stages
from diagnoser.ranking import rank
from diagnoser.remedies import Context, recommend
from diagnoser.rules.checklist import over_runs
from diagnoser.rules.evaluating.format import render
from diagnoser.times import stamp
from diagnoser.values import replace

if TYPE_CHECKING:
    from diagnoser.alerts import Alert


def report(
    judgements: Sequence[Judgement],
    inputs: Sequence[Input],
    knowledge: Knowledge,
    portraits: Mapping[int, Portrait] | None = None,
) -> Report:
    """Rank what holds in any run and add what people need around it. ``portraits`` are those made before, by run."""
    say = knowledge.say
    findings, plan = advised(judgements, knowledge)
    verdicts = {cause.id: cause.holds for one in judgements for cause in one.causes if cause.holds is not True}
    fired = {finding.id for finding in findings}
    unknown = sorted(name for name, holds in verdicts.items() if holds is None and name not in fired)
    clear = [name for name, holds in verdicts.items() if holds is False and name not in fired]
    serious = any(finding.severity != "info" for finding in findings)
    watched = any(one.run.engine or any(medium != "gpu" for medium, _ in one.run.tables) for one in judgements)
    portraits = portraits or {}
    shown = [portraits.get(one.run.id) or portrait(one, knowledge) for one in judgements]
    runs = [one.run for one in shown]
    odd_ones = odd(runs, findings)
    could = {look.rule for one in shown for look in one.looks if look.state == "unknown"}
    beside = sum(name not in could for name in unknown)
    sightings = [sighting for one in judgements for sighting in one.sightings]
    return Report(
        schema_version=SCHEMA_VERSION,
        tool={"name": "diagnoser", "version": diagnoser.__version__},
        healthy=False if serious else True if watched else None,
        runs=runs,
        findings=findings,
        stages=stages(findings, [look for one in shown for look in one.looks], _gpus(judgements), say),
        checklist=over_runs({one.run.id: one.checks for one in shown if one.run.engine}, say),
        plan=plan,
        unknown=[one for name in unknown if (one := _undecided(name, shown)) is not None],
        unrecognised=_residue(judgements),
        inputs=[_said(one, say) for one in inputs],
        rules={"fired": len(fired), "clear": len(clear), "unknown": len(unknown) - beside, "not_applicable": beside},
        odd=odd_ones,
        clear=sorted(clear),
        fleet=fleet(runs, {one.run.id: one.run for one in judgements}, sightings, findings, odd_ones),
    )


def advised(judgements: Sequence[Judgement], knowledge: Knowledge) -> tuple[list[Finding], Plan | None]:
    """Rank what holds in any run, each with its remedies, and make one plan of those."""
    rules = knowledge.base.rules
    explains = {rule.id: rule.explains for rule in rules.values()}
    findings = rank((sighting for one in judgements for sighting in one.sightings), explains, knowledge.say)
    return findings, recommend(findings, rules, {one.run.id: _context(one, knowledge) for one in judgements})


def _undecided(rule: str, shown: Sequence[Portrait]) -> Unknown | None:
    """Return what the first run says of a rule that could not decide it, rather one that an input would help."""
    said = [one.unknown[rule] for one in shown if rule in one.unknown]
    return min(said, key=lambda one: bool(one.reason), default=None)


def _said(one: Input, say: Say) -> Input:
    return replace(one, problems=[say.again(text) for text in one.problems]) if one.problems else one


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


def _gpus(judgements: Sequence[Judgement]) -> int | None:
    """TP x PP x DP of the largest server, None when no log says."""
    sizes = []
    for one in judgements:
        parts = [one.run.facts.get(f"parallel.{name}") for name in ("tp", "pp", "dp")]
        if parts[0] is not None and isinstance(parts[0].value, int):
            counts = [part.value for part in parts if part is not None]
            sizes.append(math.prod(count for count in counts if isinstance(count, int) and count > 0))
    return max(sizes, default=None)


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
