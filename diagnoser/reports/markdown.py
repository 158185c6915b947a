"""The report as Markdown, for a ticket, a pull request or a step summary."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.contracts.findings import Advice, Evidence, Finding, Plan, Report, RunReport, Stage
from diagnoser.language import Say
from diagnoser.reports import comparedmarkdown, spreadrows
from diagnoser.reports import fleetwords as words
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.safe import code, fence, line, lines, markdown
from diagnoser.reports.summary import (
    answers,
    engine_name,
    focus,
    gpus,
    looked,
    objective,
    pairs,
    parallelism,
    profile,
    recognised,
    verdict,
    which_run,
)
from diagnoser.reports.undecided import asked
from diagnoser.reports.units import plural, quantity, span
from diagnoser.reports.words import current, proposed

NAME = "markdown"
DESCRIPTION = "for a ticket or a step summary"

_EVIDENCE_SHOWN = 5
_EXCERPT = 600
_INPUTS_SHOWN = 20
_UNRECOGNISED_SHOWN = 10
_MARKS = {"pass": "x", "fail": " ", "unknown": " "}


def render(report: Report, options: RenderOptions) -> str:
    """Headings, lists and fenced blocks only: they survive every tracker. Log text stands in code, never in prose."""
    run = focus(report) if recognised(report) else None
    say = options.say
    parts = [*_head(report, run, say)]
    if run is not None and run.figures:
        parts.append(_figures(run, options.say))
    if run is not None and run.spreads:
        parts.append(_spreads(run, options.say))
    if run is not None and run.objectives:
        told = [markdown(objective(one, say=say)) for one in run.objectives]
        parts.append("\n".join(f"- **{say('objective')}**: {text}" for text in told))
    parts += _fleet(report, say) if report.fleet is not None else comparedmarkdown.stand_out(report.odd, say)
    known = {finding.id for finding in report.findings}
    place = 0
    for finding in report.findings:
        if finding.explained_by not in known - {finding.id}:
            place += 1
            parts += _finding(report, finding, place, options)
    if recognised(report) and (not report.findings or report.healthy):
        parts.append(markdown(looked(report, say)))
    if report.baseline is not None:
        parts += comparedmarkdown.section(report.baseline, say)
    if report.plan is not None:
        parts += _plan(report.plan, say)
    parts += [*_unseen(report, options)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(report: Report, run: RunReport | None, say: Say) -> Iterator[str]:
    yield f"## diagnose: {markdown(verdict(report, say))}"
    if run is None:
        return
    items = [
        engine_name(run, say),
        line(str(run.facts.get("model.name") or "")),
        gpus(run.facts),
        parallelism(run.facts),
        which_run(report, run, say),
        span(run.started, run.ended),
    ]
    scrapes = f" · {plural(run.scrapes, 'scrape', say=say)}" if run.scrapes else ""
    yield "\n".join(
        [
            f"- **{say('server')}**: {markdown(' · '.join(item for item in items if item))}",
            f"- **{say('read')}**: {_read(report, say)}{scrapes}",
            *(f"- **{say('alert')}**: {markdown(told)}" for told in answers(report, say)),
            *(f"- **{say('note')}**: {markdown(note)}" for note in run.notes),
            f"- **{say('stages')}**: {', '.join(_stage(stage, say) for stage in report.stages)}",
        ]
    )


def _read(report: Report, say: Say) -> str:
    named = [code(source.name) for source in report.inputs[:_INPUTS_SHOWN]]
    told, more = ", ".join(named), len(report.inputs) - len(named)
    return say("{names} and {count} more").format(names=told, count=f"{more:,}") if more else told


def _fleet(report: Report, say: Say) -> Iterator[str]:
    assert report.fleet is not None
    yield f"### {words.heading(report, say)}"
    yield "\n".join(f"- {one.servers:,}: {markdown(words.kind(one, say))}" for one in report.fleet.kinds)
    if report.fleet.findings:
        heads = (say("severity"), say("finding"), say("servers"), say("since"), say("first"))
        rows = [f"| {' | '.join(heads)} |", "|---|---|---:|---|---|"]
        for one in report.fleet.findings:
            told = (words.share(one, say), words.since(one, say), markdown(words.first(one, say)))
            rows.append(f"| {' | '.join((say(one.severity), markdown(one.id), *told))} |")
        yield "\n".join(rows)
    yield "\n".join(f"- {markdown(one)}" for one in words.apart(report.fleet, say))


def _stage(stage: Stage, say: Say) -> str:
    name, state = markdown(say(stage.name)), say(stage.state)
    return f"{name} **{state}**" if stage.state in ("cause", "suspect") else f"{name} {state}"


def _figures(run: RunReport, say: Say) -> str:
    head = [f"| {say('figure')} | {say('median')} | {say('max')} | {say('min')} |", "|---|---:|---:|---:|"]
    rows: list[str] = []
    for row in (row for name, row in run.figures.items() if not name.startswith("profile.")):
        unit = " tok/s" if row.unit == "tokens/s" else ""
        cells = (quantity(value, row.unit, say) for value in (row.median, row.max, row.min))
        rows.append(f"| {markdown(row.title)}{unit} | {' | '.join(cells)} |")
    told = profile(run, say)
    profiled = f"{say('profile:')} {markdown(told)}" if told else ""
    return "\n\n".join(filter(None, ["\n".join(head + rows) if rows else "", profiled]))


def _spreads(run: RunReport, say: Say) -> str:
    cells = [
        f"| {say('per request')} | {say('mean')} | p50 | p90 | p99 | {say('of')} |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in spreadrows.rows(run, say):
        title = f"{'– ' if row.below else ''}{markdown(row.title)}"
        cells.append(f"| {title} | {' | '.join(row.cells)} | {markdown(row.note)} |")
    return "\n".join(cells)


def _finding(report: Report, finding: Finding, place: int, options: RenderOptions) -> Iterator[str]:
    say = options.say
    yield f"### {place}. {say(finding.severity).upper()}: {markdown(finding.title)}"
    role = say("root cause") if finding.role == "root" else say("consequence")
    items = [code(finding.id), role, say(finding.confidence)]
    yield " · ".join(items + ([markdown(finding.window)] if finding.window else []))
    yield "\n\n".join(markdown(text) for text in [*lines(finding.meaning), *lines(finding.impact)] if text.strip())
    yield _evidence(finding.evidence, len(finding.evidence) if options.verbose else _EVIDENCE_SHOWN, say)
    below = [other for other in report.findings if other.explained_by == finding.id and other.id != finding.id]
    if below:
        yield f"{say('Explains:')}\n\n" + "\n".join(f"- {code(other.id)} {markdown(other.title)}" for other in below)
    if finding.remedies:
        label = say("Fix, one at a time") if len(finding.remedies) > 1 else say("Fix")
        yield f"**{label}**\n\n" + "\n".join(f"{i}. {_advice(item, say)}" for i, item in enumerate(finding.remedies, 1))
    if finding.verify:
        yield f"**{say('Verify')}**: {markdown(' '.join(lines(finding.verify)))}"


def _evidence(evidence: list[Evidence], most: int, say: Say) -> str:
    if not evidence:
        return ""
    texts = []
    for item in evidence[:most]:
        where = f"{item.source}:{item.line}" if item.line else item.source
        text = line(item.text.replace("\n", " ⏎ "))
        cut = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
        texts.append("  ".join(part for part in (where, item.time or "", cut) if part))
    if len(evidence) > most:
        texts.append(f"… {say('{count} more').format(count=len(evidence) - most)}")
    return fence(texts)


def _advice(item: Advice, say: Say) -> str:
    if item.action:
        said = markdown(" ".join(lines(item.action)))
    else:
        said = code(item.flag or item.env or "")
        now, then = current(item.current or "", say), proposed(item.proposed or "", say)
        said += f": {code(now)} →" if now and then else " →" if then else ""
        said += f" {code(then)}" if then else ""
    reasons = [" ".join(lines(item.text))] if item.text else []
    reasons += [say("costs: {what}").format(what=" ".join(lines(item.tradeoff)))] if item.tradeoff else []
    return said + (f" ({markdown(say('; ').join(reasons))})" if reasons else "")


def _plan(plan: Plan, say: Say) -> Iterator[str]:
    yield f"### {say('Next experiment')}"
    yield say("One change, for {finding}, under the same load.").format(finding=code(plan.finding))
    difference = [f"- {word}" for word in pairs(plan.remove)] + [f"+ {word}" for word in pairs([*plan.env, *plan.add])]
    if difference:
        yield fence(difference, "diff")
    if plan.command:
        yield fence([plan.command], "sh")


def _unseen(report: Report, options: RenderOptions) -> Iterator[str]:
    say = options.say
    if report.checklist and recognised(report):
        yield f"### {say('Checklist')}"
        yield "\n".join(
            f"- [{_MARKS[check.state]}] {markdown(check.id)} {say.pair(markdown(check.title), say(check.state))}"
            + (f" ({markdown(check.reason)})" if check.reason else "")
            for check in report.checklist
            if check.state in _MARKS
        )
    reasons: dict[str, set[str]] = {}
    for item in report.unknown:
        if item.reason:
            reasons.setdefault(item.reason, set()).add(item.rule or item.symptom)
    if report.unknown and recognised(report):
        yield f"### {say('Not observed')}"
        groups = asked(report.unknown, say)
        lines = [one.told(markdown(one.needs), lambda rules: _names(sorted(rules), say), say) for one in groups]
        lines += [say.pair(markdown(reason), _names(sorted(rules), say)) for reason, rules in reasons.items()]
        yield "\n".join(f"- {one}" for one in lines)
    if report.unrecognised:
        every = options.verbose or options.unrecognised
        shown = report.unrecognised if every else report.unrecognised[:_UNRECOGNISED_SHOWN]
        rest = len(report.unrecognised) - len(shown)
        yield f"### {say('Not recognised')}"
        yield fence(
            [
                f"{item.level} x{item.count}  {item.first.source}:{item.first.line}  {_short(item.template)}"
                for item in shown
            ]
            + ([f"… {say('{count} more').format(count=rest)}"] if rest else [])
        )
    problems = [(source.name, problem) for source in report.inputs for problem in source.problems]
    if problems:
        yield f"### {say('Not readable')}"
        yield "\n".join(f"- {code(name)}: {markdown(problem)}" for name, problem in problems)


def _short(text: str) -> str:
    text = line(text)
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _names(names: list[str], say: Say) -> str:
    shown, rest = ", ".join(code(name) for name in names[:5]), len(names) - 5
    return say("{names} and {count} more").format(names=shown, count=rest) if rest > 0 else shown
