"""Under the findings: runs, figures, configuration, comparison, checklist and inputs."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.figurerows import FigureRow
from diagnoser.contracts.findings import Plan, Report, RunReport
from diagnoser.contracts.story import Chart, RunStory, Story
from diagnoser.language import Say
from diagnoser.reports import compared, fleetwords, spreadrows
from diagnoser.reports.html.closing import timeline, unrecognised, unseen
from diagnoser.reports.html.drawing import marked, shaded
from diagnoser.reports.safe import line
from diagnoser.reports.summary import ending, engine_name, focus, objective, pairs, profile, recognised
from diagnoser.reports.units import quantity, size, span

#: Rows of each table: a page is read, a JSON report is searched.
RUNS, INPUTS, MOMENTS, FACTS, SETTINGS, UNKNOWN, UNRECOGNISED, PROBLEMS, NAMES, COMPARED = (
    40,
    60,
    120,
    80,
    80,
    40,
    40,
    40,
    12,
    80,
)
_VALUE, _TEXT = 300, 400

_MARKS = {"pass": "✓", "fail": "✕", "unknown": "?", "n/a": "–"}


def sections(report: Report, story: Story | None, say: Say) -> dict[str, Any]:
    """Return what the lower half of the page shows; parts with nothing to say are empty."""
    known = recognised(report)
    run = focus(report) if known else None
    stories = {one.run: one for one in story.runs} if story is not None else {}
    return {
        "figures": _figures(run, say) if run is not None else [],
        "profile": profile(run, say) if run is not None else "",
        "spreads": _spreads(run, say) if run is not None else [],
        "objectives": [objective(one, say=say) for one in run.objectives] if run is not None else [],
        "drawn": _drawn(report, run, stories, say),
        "runs": _runs(report, run, say) if len(report.runs) > 1 else [],
        "more_runs": max(0, len(report.runs) - RUNS),
        "fleet": _fleet(report, say) if known and report.fleet is not None else None,
        "odd": [compared.stands_out(one, say) for one in report.odd],
        "plan": _plan(report.plan),
        "settings": _settings(run, say) if run is not None else [],
        "facts": _facts(run) if run is not None else [],
        "baseline": _baseline(report, say),
        **timeline(report, stories, say),
        "checklist": [
            {
                "id": one.id,
                "title": one.title,
                "state": one.state,
                "mark": _MARKS.get(one.state, "?"),
                "reason": one.reason,
            }
            for one in report.checklist
        ]
        if known
        else [],
        "unseen": unseen(report, say) if known else [],
        **unrecognised(report, story, say),
        "inputs": [
            {
                "name": one.name,
                "kind": one.kind,
                "envelope": one.envelope,
                "lines": f"{one.lines:,}",
                "size": size(one.bytes),
                "problems": one.problems[:PROBLEMS],
            }
            for one in sorted(report.inputs, key=lambda one: not one.problems)[:INPUTS]
        ],
        "more_inputs": max(0, len(report.inputs) - INPUTS),
    }


def _fleet(report: Report, say: Say) -> dict[str, Any]:
    assert report.fleet is not None
    return {
        "heading": fleetwords.heading(report, say),
        "kinds": [
            {"servers": f"{one.servers:,}", "text": fleetwords.kind(one, say)} for one in report.fleet.kinds[:NAMES]
        ],
        "findings": [
            {
                "severity": one.severity,
                "id": one.id,
                "title": one.title,
                "share": fleetwords.share(one, say),
                "since": fleetwords.since(one, say),
                "first": fleetwords.first(one, say),
            }
            for one in report.fleet.findings[:RUNS]
        ],
        "apart": fleetwords.apart(report.fleet, say)[:RUNS],
    }


def _title(row: FigureRow) -> str:
    return row.title + {"tokens/s": " tok/s", "events/min": " /min"}.get(row.unit, "")


def _figures(run: RunReport, say: Say) -> list[dict[str, str]]:
    return [
        {
            "title": _title(row),
            "median": quantity(row.median, row.unit, say),
            "max": quantity(row.max, row.unit, say),
            "min": quantity(row.min, row.unit, say),
        }
        for name, row in run.figures.items()
        if not name.startswith("profile.")
    ]


def _spreads(run: RunReport, say: Say) -> list[dict[str, Any]]:
    return [
        {
            "title": row.title,
            "values": row.cells,
            "below": row.below,
            "of": row.note,
        }
        for row in spreadrows.rows(run, say, "–")
    ]


def _drawn(report: Report, focused: RunReport | None, stories: dict[int, RunStory], say: Say) -> list[dict[str, Any]]:
    """Name the runs that have charts: the one that the head is about first."""
    places = {run.id: at for at, run in enumerate(report.runs, 1)}
    drawn = [run for run in report.runs if run.id in stories and stories[run.id].charts]
    drawn.sort(key=lambda run: run is not focused)
    return [
        {
            "id": run.id,
            "name": " · ".join(
                part
                for part in (
                    say("run {number}").format(number=places[run.id]),
                    run.stream or next((name.rpartition("/")[2] for name in run.sources), ""),
                    span(run.started, run.ended, "–"),
                )
                if part
            ),
            "open": at == 0,
            "charts": [_chart(chart, say) for chart in stories[run.id].charts],
            "kinds": marked(stories[run.id]),
            "shaded": [shade.finding for shade in shaded(report, stories[run.id])],
        }
        for at, run in enumerate(drawn)
    ]


def _chart(chart: Chart, say: Say) -> dict[str, str]:
    title = say.pair(say(chart.title), say(chart.part)) if chart.part else say(chart.title)
    title = say("{title}, tok/s").format(title=title) if chart.unit == "tokens/s" else title
    most = [
        f"{say(curve.title)} {quantity(max(known), chart.unit)}"
        for curve in chart.curves
        if (known := [value for value in curve.values if value is not None])
    ]
    return {"name": chart.name, "title": title, "told": say("at most {values}").format(values=say(", ").join(most))}


def _runs(report: Report, focused: RunReport | None, say: Say) -> list[dict[str, Any]]:
    causes = {run: finding for finding in reversed(report.findings) if finding.role == "root" for run in finding.runs}
    rows = []
    for place, run in enumerate(report.runs[:RUNS], 1):
        cause = causes.get(run.id)
        rows.append(
            {
                "place": place,
                "focused": run is focused,
                "stream": run.stream or next((name.rpartition("/")[2] for name in run.sources), ""),
                "engine": engine_name(run, say),
                "span": span(run.started, run.ended, "–"),
                "ending": ending(report, run, say),
                "cause": say.pair(say(cause.severity), cause.title) if cause is not None else "",
            }
        )
    return rows


def _plan(plan: Plan | None) -> dict[str, Any]:
    if plan is None:
        return {}
    return {
        "finding": plan.finding,
        "remove": pairs(plan.remove),
        "add": pairs([*plan.env, *plan.add]),
        "command": plan.command,
    }


def _settings(run: RunReport, say: Say) -> list[dict[str, str]]:
    rows = [
        {
            "flag": flag,
            "value": _value(setting.value, flag),
            "state": say("set") if setting.state == "set" else say("printed"),
        }
        for flag, setting in run.settings.items()
    ]
    return rows[:SETTINGS]


def _facts(run: RunReport) -> list[dict[str, str]]:
    return [{"name": name, "value": _value(value, name)} for name, value in list(run.facts.items())[:FACTS]]


def _value(value: Any, name: str) -> str:
    """Return a value, bounded; what it is called tells whether it is a secret."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = line(f"{name}={text}")[len(line(name)) + 1 :]
    return text if len(text) <= _VALUE else text[: _VALUE - 1] + "…"


def _baseline(report: Report, say: Say) -> dict[str, Any]:
    found = report.baseline
    if found is None:
        return {}
    return {
        "verdict": compared.verdict(found, say),
        "side": compared.side(found.before, say),
        "text": found.attribution_text,
        "configuration": [
            [*compared.change(one, say), say(title)]
            for title, differences in compared.kinds(found)
            for one in differences
        ][:COMPARED],
        "figures": [compared.cells(one, say) for one in found.figures][:COMPARED],
        "findings": [
            say.pair(f"{say(one.change)} {say(one.after or one.before or '')}", f"{one.title} ({one.id})")
            for one in found.findings
        ][:COMPARED],
        "messages": [f"{one.level}, {one.count}: {one.text[:_TEXT]}" for one in found.messages][:COMPARED],
    }
