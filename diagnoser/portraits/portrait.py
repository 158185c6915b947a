"""One judged run as a report shows it, beside the findings: made where the run was judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnoser.contracts.findings import Check, RunReport, Unknown
from diagnoser.evidence import drift, possible
from diagnoser.judging.judge import Judgement
from diagnoser.judging.loading import Knowledge
from diagnoser.judging.objectives import objectives
from diagnoser.knowledge.versions import parse_version
from diagnoser.portraits import figures
from diagnoser.portraits.latencies import spreads
from diagnoser.portraits.needed import Want, wanted
from diagnoser.portraits.settings import settings
from diagnoser.portraits.stages import Look
from diagnoser.rules.checklist import evaluate
from diagnoser.rules.evaluating.deciding import Decider
from diagnoser.rules.evaluating.format import render
from diagnoser.rules.needs import QUICKER
from diagnoser.times import stamp
from diagnoser.values import dataclass, replace


@dataclass(slots=True)
class Portrait:
    """What a report says of one run. ``checks`` are empty where no engine is known, ``unknown`` is by rule."""

    run: RunReport
    checks: list[Check]
    looks: list[Look]
    unknown: dict[str, Unknown]


def portrait(judgement: Judgement, knowledge: Knowledge) -> Portrait:
    """Say of a run what its report says."""
    wants = _wants(judgement, knowledge)
    return Portrait(
        run=_run(judgement, knowledge),
        checks=_checks(judgement, knowledge) if judgement.run.engine else [],
        looks=list(_looks(judgement, knowledge, wants)),
        unknown=dict(_unknown(judgement, knowledge, wants)),
    )


def _checks(judgement: Judgement, knowledge: Knowledge) -> list[Check]:
    evaluator = judgement.evaluator
    return evaluate(
        knowledge.base.checklist, evaluator, lambda text, nodes: render(text, evaluator, nodes), knowledge.say
    )


def _looks(one: Judgement, knowledge: Knowledge, wants: Mapping[str, Want]) -> Iterable[Look]:
    states = {True: "fired", False: "clear", None: "unknown"}
    for cause in one.causes:
        rule = knowledge.base.rules[cause.id]
        want = wants[rule.id] if cause.holds is None else Want("")
        yield Look(rule.id, rule.stage, states[cause.holds] if want.applies else "not_applicable", want.needs)


def _wants(one: Judgement, knowledge: Knowledge) -> dict[str, Want]:
    """Return what would decide each rule that is open, or whose condition is."""
    decider, rules = Decider(one.evaluator), knowledge.base.rules
    return {
        cause.id: wanted(rules[cause.id], decider, knowledge.say)
        for cause in one.causes
        if cause.holds is None or (cause.holds is False and one.evaluator.result(rules[cause.id].when).unknown)
    }


def _unknown(one: Judgement, knowledge: Knowledge, wants: Mapping[str, Want]) -> Iterable[tuple[str, Unknown]]:
    for cause in one.causes:
        rule = knowledge.base.rules[cause.id]
        if cause.holds is not True and one.evaluator.result(rule.when).unknown:
            want = wants[rule.id]
            yield rule.id, Unknown(rule.when.text, rule.id, want.needs, want.reason, want.decides)


def _late(judgement: Judgement, knowledge: Knowledge) -> Iterable[str]:
    told = knowledge.say("{rule} could not be judged: on a text of this input it took too long to say {what}")
    for cause in judgement.causes:
        if cause.holds is None:
            needs = judgement.evaluator.answer(knowledge.base.rules[cause.id].when).needs
            for what in sorted(need.removeprefix(QUICKER) for need in needs if need.startswith(QUICKER)):
                yield told.format(rule=cause.id, what=what)


def _notes(judgement: Judgement, knowledge: Knowledge) -> list[str]:
    evaluator, run, say = judgement.evaluator, judgement.run, knowledge.say
    said = evaluate(knowledge.base.notes, evaluator, lambda text, nodes: render(text, evaluator, nodes))
    notes = [note.reason for note in said if note.state == "pass"]
    notes += figures.disagreements(run, knowledge.titles, say)
    notes += [say(text).format(**fields) for text, fields in run.assumed]
    notes += drift.sentences(run, say) + possible.sentences(run, say) + list(_late(judgement, knowledge))
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
