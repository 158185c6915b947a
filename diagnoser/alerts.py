"""What an alert asks: bodies that Alertmanager and Grafana send, as a stretch of time and the servers it is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any

from diagnoser.model import Run
from diagnoser.patterns import lazily
from diagnoser.values import dataclass, field

#: Before an alert starts its condition held already, for its window and for what stands under ``for``.
BEFORE = timedelta(minutes=15)
AFTER = timedelta(minutes=5)
#: No body of a webhook is larger.
MOST_BYTES = 8 << 20
_MOST_ALERTS = 10_000
#: Labels that name a server, by what scrapers and collectors call them.
NAMES: Mapping[str, str] = {
    "pod": "pod",
    "pod_name": "pod",
    "exported_pod": "pod",
    "kubernetes_pod_name": "pod",
    "container": "container",
    "container_name": "container",
    "instance": "instance",
    "exported_instance": "instance",
    "replica": "replica",
    "namespace": "namespace",
}
_DIGITS = lazily(r"\d+")
_TEXT = 200


class AlertError(ValueError):
    """A body that nobody can read; the text says what was expected."""


@dataclass(slots=True)
class Alert:
    """Alerts of one body together: ``since`` and ``until`` in UTC, None where open; ``labels`` name servers.

    ``cause`` is the finding that an exported rule (`diagnose rules export`) was made of, "" for others. ``used`` are
    the labels that picked something among the inputs, ``unseen`` those that no input shows.
    """

    names: list[str]
    status: str
    since: datetime | None = None
    until: datetime | None = None
    labels: dict[str, list[str]] = field(default_factory=dict)
    cause: str = ""
    used: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def bounds(self, zone: timedelta) -> tuple[str | None, str | None]:
        """Return the ends of the time filter as text, in a clock that is ``zone`` ahead of UTC."""
        out = []
        for moment, margin in ((self.since, -BEFORE), (self.until, AFTER)):
            out.append(None if moment is None else f"{moment + margin + zone:%Y-%m-%dT%H:%M:%S}")
        return out[0], out[1]


def read(text: str) -> Alert:
    """Read the body of a webhook. Raises AlertError."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AlertError(f"expected JSON as Alertmanager or Grafana sends it: {error}") from None
    if isinstance(body, dict) and "alerts" not in body and ("evalMatches" in body or "ruleName" in body):
        return _legacy(body)
    alerts = body if isinstance(body, list) else body.get("alerts") if isinstance(body, dict) else None
    if not isinstance(alerts, list) or not alerts or not all(isinstance(one, dict) for one in alerts):
        raise AlertError('expected a list "alerts" (Alertmanager, Grafana), or "evalMatches" (Grafana before 9)')
    return _joined(alerts[:_MOST_ALERTS])


def _joined(alerts: Sequence[Mapping[str, Any]]) -> Alert:
    """Put alerts together: their window reaches from the first start to the last end."""
    starts = [_moment(one, "startsAt") for one in alerts]
    ends = [None if _firing(one) else _moment(one, "endsAt") for one in alerts]
    labels = [_labels(one.get("labels")) for one in alerts]
    causes = {one["cause"] for one in labels if "." in one.get("cause", "")}
    return Alert(
        list(dict.fromkeys(one.get("alertname", "an alert without a name") for one in labels)),
        "firing" if any(map(_firing, alerts)) else "resolved",
        min((one for one in starts if one is not None), default=None),
        None if any(one is None for one in ends) else max(one for one in ends if one is not None),
        _servers(labels),
        causes.pop() if len(causes) == 1 else "",
    )


def _legacy(body: Mapping[str, Any]) -> Alert:
    """Read what Grafana's dashboard alerts sent until version 8: no times, labels only of the series that matched."""
    matches = body.get("evalMatches") or []
    tags = [one.get("tags") for one in matches if isinstance(one, dict)] if isinstance(matches, list) else []
    labels = [_labels(one) for one in (*tags, body.get("tags"))]
    state = "resolved" if body.get("state") == "ok" else "firing"
    return Alert([str(body.get("ruleName") or body.get("title") or "an alert")[:_TEXT]], state, labels=_servers(labels))


def _firing(one: Mapping[str, Any]) -> bool:
    status = one.get("status")
    if isinstance(status, dict):  # Alertmanager's own API
        return status.get("state") != "resolved"
    return status != "resolved"


def _moment(one: Mapping[str, Any], name: str) -> datetime | None:
    text = one.get(name)
    if text is None or text == "":
        return None
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise AlertError(f'"{name}" is no time such as 2026-11-29T10:00:00Z: {str(text)[:40]!r}') from None
    if moment.year < 1971:  # Go's zero time stands for none
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _labels(found: Any) -> dict[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise AlertError('"labels" is no object of texts')
    return {str(name): str(value)[:_TEXT] for name, value in found.items()}


def _servers(labels: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for one in labels:
        for name, value in one.items():
            kind = NAMES.get(name)
            if kind and value and value not in out.setdefault(kind, []):
                out[kind].append(value)
    return {kind: values for kind, values in out.items() if values}


def select(alert: Alert, runs: list[Run]) -> list[Run]:
    """Return the runs that an alert may be about, and note which of its labels the inputs show.

    A run is left out only where it shows another server than the alert names, and some other run shows that one.
    """
    kept = runs
    for kind, values in alert.labels.items():
        hits = [run for run in kept if any(_shows(run, value) for value in values)]
        told = f"{kind}={'|'.join(values)}"
        if not hits:
            alert.unseen.append(told)
            continue
        alert.used.append(told)
        kept = [run for run in kept if run in hits or not _other(run, hits)]
    for number, run in enumerate(kept):
        run.id = number
    return kept


def _shows(run: Run, value: str) -> bool:
    """Whether a run's stream, or the name of its file, is of this pod, container or address."""
    host = value.rpartition(":")[0] if value.rpartition(":")[2].isdigit() else value
    parts = {run.stream, *run.stream.split("/")}
    return value in parts or (bool(host) and host in parts) or any(_stem(name) in (value, host) for name in run.sources)


def _other(run: Run, hits: Sequence[Run]) -> bool:
    """Whether a run shows another server: in its stream, or by a file name that differs in its number alone."""
    if run.stream:
        return any(hit.stream for hit in hits)
    names = {_DIGITS.sub("", _stem(name)) for hit in hits if not hit.stream for name in hit.sources}
    return any(_DIGITS.sub("", _stem(name)) in names for name in run.sources)


def _stem(name: str) -> str:
    return PurePath(name).name.split(".")[0]


def offset(text: str) -> timedelta:
    """Read how far a clock is ahead of UTC: ``+08:00``, ``-0500``, ``Z``. Raises ValueError."""
    try:
        found = datetime.fromisoformat(f"2000-01-01T00:00:00{text.strip()}").utcoffset()
    except ValueError:
        found = None
    if found is None:
        raise ValueError(f"'{text}' is no offset from UTC such as +08:00, -05:00 or Z")
    return found
