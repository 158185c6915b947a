"""What the page's script draws: charts with marked moments and shaded findings, as plain data, and its few words."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.findings import Report
from diagnoser.contracts.story import Chart, RunStory, Shade, Story
from diagnoser.language import Say

#: Findings whose stretch is shaded.
SHADES = 2
#: Marks of one kind in the charts of a run.
MARKS = 60
#: A start or an end this near to the samples (share of their span) is drawn with them.
NEAR = 0.25
#: Kinds of moments that are marked; what is drawn later lies above. Of two at one place (share of the span) the error
#: is shown.
MARKED = ("start", "ready", "end", "preemption", "unknown", "error")
SAME = 0.01


def drawing(report: Report, story: Story | None, say: Say) -> dict[str, Any]:
    """Return the data of the page, bounded by the bounds of the story."""
    runs = [_run(report, one, say) for one in story.runs if one.charts] if story is not None else []
    return {"runs": runs, "words": _words(say)}


def _run(report: Report, one: RunStory, say: Say) -> dict[str, Any]:
    span = _span(one)
    return {
        "id": one.run,
        "clock": one.clock,
        "span": span,
        "charts": [_chart(chart, say) for chart in one.charts],
        "shades": [{"severity": shade.severity, "at": [shade.start, shade.end]} for shade in shaded(report, one)],
        "marks": _marks(one, span),
    }


def shaded(report: Report, one: RunStory) -> list[Shade]:
    """Return the stretches that are shaded: those of the first root causes; all of them would shade everything."""
    roots = [finding.id for finding in report.findings if finding.role == "root" and finding.severity != "info"]
    found = {shade.finding: shade for shade in one.shades}
    return [found[name] for name in roots if name in found][:SHADES]


def marked(one: RunStory) -> set[str]:
    """Return the kinds of moments that the charts of a run mark."""
    return {mark["kind"] for mark in _marks(one, _span(one))}


def _span(one: RunStory) -> list[float] | None:
    """Return what the axis of time shows: the samples, and what began or ended near them."""
    timed = [time for chart in one.charts if chart.timed for time in chart.times]
    if not timed:
        return None
    start, end = min(timed), max(timed)
    room = (end - start) * NEAR
    moments = [time for moment in one.moments for time in moment.times]
    moments += [time for shade in one.shades for time in (shade.start, shade.end)]
    near = [time for time in moments if start - room <= time <= end + room]
    return [min([start, *near]), max([end, *near])]


def _marks(one: RunStory, span: list[float] | None) -> list[dict[str, Any]]:
    if span is None:
        return []
    out: list[dict[str, Any]] = []
    failed = [time for moment in one.moments if moment.kind == "error" for time in moment.times]
    close = (span[1] - span[0]) * SAME
    for kind in MARKED:
        times = sorted(
            {
                time
                for moment in one.moments
                if moment.kind == kind
                for time in moment.times
                if span[0] <= time <= span[1] and (kind != "end" or all(abs(time - other) > close for other in failed))
            }
        )
        if len(times) > MARKS:
            times = [times[at * (len(times) - 1) // (MARKS - 1)] for at in range(MARKS)]
        if times:
            shown = "error" if kind == "unknown" else kind
            out.append({"kind": shown, "at": times})
    return out


def _chart(chart: Chart, say: Say) -> dict[str, Any]:
    return {
        "name": chart.name,
        "unit": chart.unit,
        "medium": chart.medium,
        "kind": chart.kind,
        "timed": chart.timed,
        "limit": chart.limit,
        "x": chart.times,
        "curves": [{"title": say(curve.title), "y": curve.values} for curve in chart.curves],
    }


def _words(say: Say) -> dict[str, str]:
    return {
        "limit": say("limit"),
        "most": say("max"),
        "row": say("line"),
        "scrape": say("scrape"),
        "copied": say("copied"),
    }
