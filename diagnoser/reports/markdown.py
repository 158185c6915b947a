"""The report as Markdown, for a ticket, a pull request or a step summary."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.findings import Advice, Evidence, Finding, Plan, Report, RunReport
from diagnoser.reports import comparedmarkdown
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.safe import code, fence, line, lines, markdown
from diagnoser.reports.summary import (
    answers,
    ending,
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
)
from diagnoser.reports.units import plural, quantity, span

NAME = "markdown"
DESCRIPTION = "for a ticket or a step summary"

_EVIDENCE_SHOWN = 5
_EXCERPT = 600
_UNRECOGNISED_SHOWN = 10
_MARKS = {"pass": "x", "fail": " ", "unknown": " "}


def render(report: Report, options: RenderOptions) -> str:
    """Headings, lists and fenced blocks only: they survive every tracker. Log text stands in code, never in prose."""
    run = focus(report) if recognised(report) else None
    parts = [*_head(report, run)]
    if run is not None and run.figures:
        parts.append(_figures(run))
    if run is not None and run.spreads:
        parts.append(_spreads(run))
    if run is not None and run.objectives:
        parts.append("\n".join(f"- **objective**: {markdown(objective(one))}" for one in run.objectives))
    parts += comparedmarkdown.stand_out(report.odd)
    known = {finding.id for finding in report.findings}
    place = 0
    for finding in report.findings:
        if finding.explained_by not in known - {finding.id}:
            place += 1
            parts += _finding(report, finding, place, options)
    if recognised(report) and (not report.findings or report.healthy):
        parts.append(markdown(looked(report)))
    if report.baseline is not None:
        parts += comparedmarkdown.section(report.baseline)
    if report.plan is not None:
        parts += _plan(report.plan)
    parts += [*_unseen(report, options)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(report: Report, run: RunReport | None) -> Iterator[str]:
    yield f"## diagnose: {markdown(verdict(report))}"
    if run is None:
        return
    items = [
        engine_name(run),
        line(str(run.facts.get("model.name") or "")),
        gpus(run.facts),
        parallelism(run.facts),
        f"run {report.runs.index(run) + 1} of {len(report.runs)}, {ending(report, run)}",
        span(run.started, run.ended),
    ]
    scrapes = f" · {plural(run.scrapes, 'scrape')}" if run.scrapes else ""
    yield "\n".join(
        [
            f"- **server**: {markdown(' · '.join(item for item in items if item))}",
            f"- **read**: {', '.join(code(source.name) for source in report.inputs)}{scrapes}",
            *(f"- **alert**: {markdown(told)}" for told in answers(report)),
            *(f"- **note**: {markdown(note)}" for note in run.notes),
            f"- **stages**: {', '.join(_stage(stage.name, stage.state) for stage in report.stages)}",
        ]
    )


def _stage(name: str, state: str) -> str:
    return f"{markdown(name)} **{state}**" if state in ("cause", "suspect") else f"{markdown(name)} {state}"


def _figures(run: RunReport) -> str:
    head = ["| figure | median | max | min |", "|---|---:|---:|---:|"]
    rows: list[str] = []
    for row in (row for name, row in run.figures.items() if not name.startswith("profile.")):
        unit = " tok/s" if row.unit == "tokens/s" else ""
        cells = (quantity(value, row.unit) for value in (row.median, row.max, row.min))
        rows.append(f"| {markdown(row.title)}{unit} | {' | '.join(cells)} |")
    profiled = f"profile: {markdown(profile(run))}" if profile(run) else ""
    return "\n\n".join(filter(None, ["\n".join(head + rows) if rows else "", profiled]))


def _spreads(run: RunReport) -> str:
    rows = ["| per request | mean | p50 | p90 | p99 | of |", "|---|---:|---:|---:|---:|---:|"]
    for row in run.spreads.values():
        known = [row.mean, *(row.percentiles.get(name, [None])[0] for name in ("p50", "p90", "p99"))]
        values = ("-" if value is None else quantity(value, row.unit) for value in known)
        rows.append(f"| {markdown(row.title)} | {' | '.join(values)} | {row.count:,} |")
    return "\n".join(rows)


def _finding(report: Report, finding: Finding, place: int, options: RenderOptions) -> Iterator[str]:
    yield f"### {place}. {finding.severity.upper()}: {markdown(finding.title)}"
    role = "root cause" if finding.role == "root" else "consequence"
    yield " · ".join(
        [code(finding.id), role, finding.confidence] + ([markdown(finding.window)] if finding.window else [])
    )
    yield "\n\n".join(markdown(text) for text in [*lines(finding.meaning), *lines(finding.impact)] if text.strip())
    yield _evidence(finding.evidence, len(finding.evidence) if options.verbose else _EVIDENCE_SHOWN)
    below = [other for other in report.findings if other.explained_by == finding.id and other.id != finding.id]
    if below:
        yield "Explains:\n\n" + "\n".join(f"- {code(other.id)} {markdown(other.title)}" for other in below)
    if finding.remedies:
        label = "Fix, one at a time" if len(finding.remedies) > 1 else "Fix"
        yield f"**{label}**\n\n" + "\n".join(f"{i}. {_advice(item)}" for i, item in enumerate(finding.remedies, 1))
    if finding.verify:
        yield f"**Verify**: {markdown(' '.join(lines(finding.verify)))}"


def _evidence(evidence: list[Evidence], most: int) -> str:
    if not evidence:
        return ""
    texts = []
    for item in evidence[:most]:
        where = f"{item.source}:{item.line}" if item.line else item.source
        text = line(item.text.replace("\n", " ⏎ "))
        cut = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
        texts.append("  ".join(part for part in (where, item.time or "", cut) if part))
    if len(evidence) > most:
        texts.append(f"… {len(evidence) - most} more")
    return fence(texts)


def _advice(item: Advice) -> str:
    if item.action:
        said = markdown(" ".join(lines(item.action)))
    else:
        said = code(item.flag or item.env or "")
        said += f": {code(item.current)} →" if item.current and item.proposed else " →" if item.proposed else ""
        said += f" {code(item.proposed)}" if item.proposed else ""
    reasons = [" ".join(lines(item.text))] if item.text else []
    reasons += [f"costs: {' '.join(lines(item.tradeoff))}"] if item.tradeoff else []
    return said + (f" ({markdown('; '.join(reasons))})" if reasons else "")


def _plan(plan: Plan) -> Iterator[str]:
    yield "### Next experiment"
    yield f"One change, for {code(plan.finding)}, under the same load."
    difference = [f"- {word}" for word in pairs(plan.remove)] + [f"+ {word}" for word in pairs([*plan.env, *plan.add])]
    if difference:
        yield fence(difference, "diff")
    if plan.command:
        yield fence([plan.command], "sh")


def _unseen(report: Report, options: RenderOptions) -> Iterator[str]:
    if report.checklist and recognised(report):
        yield "### Checklist"
        yield "\n".join(
            f"- [{_MARKS[check.state]}] {markdown(check.id)} {markdown(check.title)}: {check.state}"
            + (f" ({markdown(check.reason)})" if check.reason else "")
            for check in report.checklist
            if check.state in _MARKS
        )
    needs: dict[str, set[str]] = {}
    for item in report.unknown:
        needs.setdefault(item.needs or "more of the log", set()).add(item.rule or item.symptom)
    if needs and recognised(report):
        yield "### Not observed"
        yield "\n".join(f"- {markdown(need)}: would decide {_names(sorted(rules))}" for need, rules in needs.items())
    if report.unrecognised:
        every = options.verbose or options.unrecognised
        shown = report.unrecognised if every else report.unrecognised[:_UNRECOGNISED_SHOWN]
        rest = len(report.unrecognised) - len(shown)
        yield "### Not recognised"
        yield fence(
            [
                f"{item.level} x{item.count}  {item.first.source}:{item.first.line}  {_short(item.template)}"
                for item in shown
            ]
            + ([f"… {rest} more"] if rest else [])
        )
    problems = [(source.name, problem) for source in report.inputs for problem in source.problems]
    if problems:
        yield "### Not readable"
        yield "\n".join(f"- {code(name)}: {markdown(problem)}" for name, problem in problems)


def _short(text: str) -> str:
    text = line(text)
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _names(names: list[str]) -> str:
    shown = ", ".join(code(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
