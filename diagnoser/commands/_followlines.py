"""Findings that come and go, one line each: JSON for programs (docs/follow.schema.json), words for plain terminals."""

from __future__ import annotations

from datetime import UTC, datetime

from diagnoser.following import Change
from diagnoser.language import Say, phrase
from diagnoser.reports.json import one_line
from diagnoser.reports.safe import line
from diagnoser.reports.units import clock

#: Version of the lines; the first number changes when a reader would break.
SCHEMA_VERSION = "1.0"
#: What happens to a finding, and why it closes; programs get these words as they are.
EVENTS = (phrase("opened"), phrase("updated"), phrase("closed"), phrase("cleared"), phrase("restarted"), phrase("gone"))


def for_programs(change: Change, now: float) -> str:
    """Return the line of a change. ``now`` is the time of day; everything else is in the log's own clock."""
    one = change.finding
    data = {
        "schema_version": SCHEMA_VERSION,
        "event": change.event,
        "id": one.id,
        "severity": one.severity,
        "confidence": one.confidence,
        "role": one.role,
        "explained_by": one.explained_by,
        "stage": one.stage,
        "title": one.title,
        "log_time": change.time,
        "since": change.since,
        "told_at": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "servers": change.servers,
        "was": change.was,
        "reason": change.reason or None,
        "window": one.window,
        "meaning": one.meaning,
        "impact": one.impact,
        "first": change.first,
        "evidence": one.evidence,
        "remedies": one.remedies,
        "verify": one.verify,
        "docs": one.docs,
    }
    return one_line(data)


def for_people(change: Change, say: Say) -> str:
    """Return the same as a sentence."""
    one, event = change.finding, say(change.event)
    what = say("{event} ({reason})").format(event=event, reason=say(change.reason)) if change.reason else event
    lead = f"{clock(change.time)} {what}".lstrip()
    text = say.pair(lead, f"{say(one.severity).upper()} {line(one.title)} [{line(one.id)}]")
    proof = one.evidence[-1] if one.evidence and change.event != "closed" else None
    return text + (f" {line(proof.source)}:{proof.line} {line(proof.text)[:200]}" if proof else "") + "\n"
