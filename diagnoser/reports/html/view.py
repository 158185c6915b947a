"""The head and the findings of the page: the report's data in the order and the words in which they are shown."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.findings import Advice, Evidence, Finding, Report, RunReport
from diagnoser.contracts.story import Story
from diagnoser.language import Say
from diagnoser.reports.excerpt import excerpt, stems
from diagnoser.reports.fleetwords import servers
from diagnoser.reports.safe import line
from diagnoser.reports.summary import answer, ending, engine_name, focus, gpus, looked, parallelism, recognised
from diagnoser.reports.units import clock, day, plural, short_window, size, span
from diagnoser.reports.words import current, proposed
from diagnoser.times import duration

#: Findings that are told in full; characters of evidence and of an excerpt.
FINDINGS = 40
EVIDENCE = 1500
EXCERPT = 180
INPUTS = 3
#: A line belongs to a record if it holds the beginning of one of its lines, and that beginning tells anything.
PIECE, TELLING = 60, 12

_STATES = {"cause": "✕", "suspect": "!", "ok": "✓", "unknown": "?", "n/a": "–"}


def view(report: Report, story: Story | None, say: Say) -> dict[str, Any]:
    """Return what the upper half of the page shows."""
    known = recognised(report)
    run = focus(report) if known else None
    ids = {finding.id for finding in report.findings}
    tops = [one for one in report.findings if one.explained_by not in ids - {one.id}]
    level, title = answer(report, say)
    return {
        "level": level or ("ok" if report.healthy else "unknown"),
        "title": title if level else title[:1].upper() + title[1:],
        "answered": bool(level),
        "recognised": known,
        "healthy": report.healthy,
        "looked": looked(report, say),
        "tool": report.tool,
        "server": _server(report, run, say) if run is not None else [],
        "extent": _extent(report, run, say),
        "notes": run.notes if run is not None else [],
        "stages": [
            {"name": one.name, "state": one.state, "mark": _STATES.get(one.state, "?"), "reason": one.reason}
            for one in report.stages
        ]
        if known
        else [],
        "findings": [_finding(report, one, at, story, {one.id}, say) for at, one in enumerate(tops[:FINDINGS], 1)],
        "more_findings": max(0, len(tops) - FINDINGS),
        "next": _next(report, say),
    }


def _server(report: Report, run: RunReport, say: Say) -> list[str]:
    items = [
        engine_name(run, say),
        str(run.facts.get("model.name") or ""),
        gpus(run.facts),
        parallelism(run.facts),
    ]
    if len(report.runs) > 1:
        items.append(say("run {place} of {count}").format(place=report.runs.index(run) + 1, count=len(report.runs)))
    items.append(ending(report, run, say))
    return [item for item in items if item]


def _extent(report: Report, run: RunReport | None, say: Say) -> list[str]:
    ordered = sorted(report.inputs, key=lambda source: source.kind != "log")
    names = say(", ").join(source.name for source in ordered[:INPUTS])
    if len(ordered) > INPUTS:
        names = say("{names} and {count} more").format(names=names, count=len(ordered) - INPUTS)
    items = [names]
    if run is not None:
        items.append(span(run.started, run.ended, "–"))
    items.append(plural(sum(source.lines for source in report.inputs), "line", say=say))
    items.append(size(sum(source.bytes for source in report.inputs)))
    wrapped = {source.envelope for source in report.inputs} - {"", "plain", "none", "bare"}
    items += sorted(wrapped)
    if run is not None and run.stats_samples:
        items.append(plural(run.stats_samples, "statistics line", say=say))
        if run.stats_interval:
            items.append(say("every {time}").format(time=duration(run.stats_interval)))
    if run is not None and run.scrapes:
        items.append(plural(run.scrapes, "scrape", say=say))
    return [item for item in items if item]


def _next(report: Report, say: Say) -> str:
    """Return the next experiment in a few words: the first change of the finding that the plan is for."""
    if report.plan is None:
        return ""
    found = next((one for one in report.findings if one.id == report.plan.finding), None)
    for item in found.remedies if found is not None else ():
        if not item.action and item.proposed:
            return _change(item, say)
    return ""


def _change(item: Advice, say: Say) -> str:
    name = item.flag or item.env or ""
    now, then = current(item.current or "", say), proposed(item.proposed or "", say)
    return f"{name} {now} → {then}" if now else f"{name} {then}"


def _finding(
    report: Report, finding: Finding, place: int, story: Story | None, seen: set[str], say: Say
) -> dict[str, Any]:
    below = [other for other in report.findings if other.explained_by == finding.id and other.id not in seen]
    seen |= {other.id for other in below}
    dates = {day(item.time) for item in finding.evidence if item.time}
    stem = stems(say.english(finding.title), finding.id, finding.impact)
    return {
        "place": place,
        "id": finding.id,
        "anchor": finding.id.replace(".", "-"),
        "title": finding.title,
        "severity": finding.severity,
        "role": say("root cause") if finding.role == "root" else say("consequence"),
        "confidence": finding.confidence,
        "window": short_window(finding.window),
        "runs": _runs(report, finding, say),
        "meaning": [part for part in finding.meaning.splitlines() if part.strip()],
        "impact": [part for part in finding.impact.splitlines() if part.strip()],
        "evidence": [_evidence(item, story, stem, len(dates) > 1) for item in finding.evidence],
        "remedies": [_advice(item, say) for item in finding.remedies],
        "verify": " ".join(finding.verify.split()),
        "docs": finding.docs,
        "below": [_finding(report, other, 0, story, seen, say) for other in below],
    }


def _runs(report: Report, finding: Finding, say: Say) -> str:
    if len(report.runs) < 2:
        return ""
    places = [str(at) for at, run in enumerate(report.runs, 1) if run.id in finding.runs]
    if report.fleet is not None:
        return next((servers(one, say) for one in report.fleet.findings if one.id == finding.id), "")
    if len(places) > 6:
        return say("in {count} of {runs} runs").format(count=len(places), runs=len(report.runs))
    return say("run {number}").format(number=", ".join(places)) if places else ""


def _evidence(item: Evidence, story: Story | None, stem: Any, dated: bool) -> dict[str, Any]:
    around = story.around.get((item.source, item.line), []) if story is not None else []
    whole = [line(part) for part in item.text[:EVIDENCE].splitlines()]
    short = excerpt(item.text, stem, EXCERPT)
    pieces = [part for each in item.text.splitlines() if len(part := each.strip()[:PIECE]) >= TELLING]
    moment = f"{day(item.time)} {clock(item.time)}".strip() if dated else clock(item.time)
    return {
        "source": item.source.rpartition("/")[2] or item.source,
        "path": item.source,
        "line": item.line,
        "time": moment,
        "labels": [f"{name} {value}" for name, value in item.labels.items()],
        "short": short,
        "around": [
            {"number": number, "text": text, "hit": number == item.line or any(part in text for part in pieces)}
            for number, text in around
        ],
        "whole": whole if not around and (len(whole) > 1 or len(whole[0] if whole else "") > len(short)) else [],
    }


def _advice(item: Advice, say: Say) -> dict[str, Any]:
    return {
        "name": item.flag or item.env or "",
        "action": " ".join((item.action or "").split()),
        "current": current(item.current or "", say),
        "proposed": proposed(item.proposed or "", say),
        "text": " ".join(item.text.split()),
        "tradeoff": " ".join(item.tradeoff.split()),
    }
