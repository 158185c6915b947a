"""The end of the page: events in the order of time, what was not observed, and what no rule knows."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.findings import Report
from diagnoser.contracts.story import Moment, RunStory, Story
from diagnoser.language import Say
from diagnoser.reports.undecided import asked
from diagnoser.reports.units import clock, day, plural

#: Rows of each table, characters of a message.
MOMENTS, UNKNOWN, UNRECOGNISED, NAMES = 120, 40, 40, 12
TEXT = 400


def timeline(report: Report, stories: dict[int, RunStory], say: Say) -> dict[str, Any]:
    """Return the events of all runs in their order; what every start prints stands apart."""
    every = [
        (at, moment)
        for at, run in enumerate(report.runs, 1)
        for moment in (stories[run.id].moments if run.id in stories else ())
    ]
    every.sort(key=lambda pair: pair[1].time if pair[1].time is not None else float("inf"))  # keeps a run's own order
    several = len(report.runs) > 1
    days = len({day(moment.stamp) for _, moment in every if moment.stamp}) > 1
    events = [pair for pair in every if not pair[1].startup]
    startup = [pair for pair in every if pair[1].startup]
    return {
        "events": [_moment(at if several else 0, one, days, say) for at, one in events[:MOMENTS]],
        "more_events": max(0, len(events) - MOMENTS),
        "startup": [_moment(at if several else 0, one, days, say) for at, one in startup[:MOMENTS]],
    }


def _moment(place: int, one: Moment, days: bool, say: Say) -> dict[str, Any]:
    names = {
        "start": say("server starts"),
        "ready": say("ready to serve"),
        "stop": say("begins to stop"),
        "end": say("crashed") if one.name == "crash" else say("killed") if one.name == "killed" else say("stopped"),
    }
    times = [f"{day(time)} {clock(time)}".strip() if days else clock(time) for time in (one.stamp, one.last) if time]
    life = one.kind in names
    first = next((part for part in one.text.splitlines() if part.strip()), "")
    return {
        "kind": "error" if one.kind == "unknown" else one.kind,
        "name": names.get(one.kind, one.name),
        "life": life,
        "time": " – ".join(times),
        "run": place,
        "count": one.count,
        "where": f"{one.source.rpartition('/')[2]}:{one.line}" if one.line else "",
        "text": first if len(first) <= TEXT else first[: TEXT - 1] + "…",
    }


def unseen(report: Report, say: Say) -> list[dict[str, Any]]:
    """Return the inputs that are missing with the rules that they would decide, what decides most first."""
    told = (say("would decide"), say("could rule out"))
    return [
        {
            "needs": one.needs,
            "parts": [
                {"told": word, "rules": rules[:NAMES], "more": max(0, len(rules) - NAMES)}
                for word, rules in zip(told, (one.decided, one.ruled_out), strict=True)
                if rules
            ],
        }
        for one in asked(report.unknown, say)[:UNKNOWN]
    ]


def unrecognised(report: Report, story: Story | None, say: Say) -> dict[str, Any]:
    """Return warnings and errors that no rule knows, one row for each shape."""
    rows = []
    for item in report.unrecognised[:UNRECOGNISED]:
        first = item.first
        text = first.text or item.template
        around = story.around.get((first.source, first.line), []) if story is not None else []
        since, until = clock(first.time), clock(item.last_time)
        rows.append(
            {
                "level": item.level or "–",
                "count": item.count,
                "where": f"{first.source.rpartition('/')[2]}:{first.line}",
                "when": f"{since} – {until}" if until and until != since else since,
                "text": (text.splitlines() or [""])[0][:TEXT],
                "around": [{"number": number, "text": told, "hit": number == first.line} for number, told in around],
            }
        )
    total = sum(item.count for item in report.unrecognised)
    told = plural(len(report.unrecognised), "kind", say=say)
    return {
        "unrecognised": rows,
        "unrecognised_told": say("{kinds} of warning or error that no rule knows, {lines}").format(
            kinds=told, lines=plural(total, "line", say=say)
        ),
        "more_unrecognised": max(0, len(report.unrecognised) - UNRECOGNISED),
    }
