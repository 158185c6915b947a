"""`--alert`: what Alertmanager and Grafana send, as a filter over time and servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from serverlogs import knowledge

from diagnoser import alerts
from diagnoser.api import Options, Session
from diagnoser.model import Run
from diagnoser.timefilter import parse_bound

ROOT = Path(__file__).parent.parent
LOG = ROOT / "samples/kv-cache-exhausted/server.log"
ZERO = "0001-01-01T00:00:00Z"


def one(start: str | None = "2026-05-19T08:09:00.828Z", end: str = ZERO, **labels: str) -> dict[str, Any]:
    status = "firing" if end == ZERO else "resolved"
    told = {"status": status, "labels": {"alertname": "Busy", **labels}, "annotations": {}, "endsAt": end}
    return told if start is None else {**told, "startsAt": start}


def body(*found: dict[str, Any], **more: Any) -> str:
    return json.dumps({"receiver": "r", "status": "firing", "version": "4", "alerts": list(found), **more})


BODIES = [
    (body(one()), "firing", "2026-05-19T07:54:00", None),
    (body(one(end="2026-05-19T08:10:00Z")), "resolved", "2026-05-19T07:54:00", "2026-05-19T08:15:00"),
    # Several alerts: from the first start to the last end, open as long as one of them is.
    (
        body(one(end="2026-05-19T08:10:00Z"), one("2026-05-19T08:00:00Z", "2026-05-19T08:20:00Z")),
        "resolved",
        "2026-05-19T07:45:00",
        "2026-05-19T08:25:00",
    ),
    (body(one(end="2026-05-19T08:10:00Z"), one()), "firing", "2026-05-19T07:54:00", None),
    # Grafana writes its own zone, and more digits than a clock has.
    (
        body(one("2026-05-19T10:09:00.157076123+02:00"), orgId=1, state="alerting"),
        "firing",
        "2026-05-19T07:54:00",
        None,
    ),
    # Alertmanager's own API lists alerts without an envelope.
    (json.dumps([{**one(), "status": {"state": "active"}}]), "firing", "2026-05-19T07:54:00", None),
    (body(one(None)), "firing", None, None),
]


@pytest.mark.parametrize(("text", "status", "since", "until"), BODIES)
def test_times(text: str, status: str, since: str | None, until: str | None) -> None:
    alert = alerts.read(text)
    assert (alert.status, *alert.bounds(timedelta())) == (status, since, until)


def test_times_in_the_clock_of_the_log() -> None:
    assert alerts.read(BODIES[0][0]).bounds(alerts.offset("+08:00"))[0] == "2026-05-19T15:54:00"


def test_labels_of_all_alerts_under_the_names_that_scrapers_give_them() -> None:
    alert = alerts.read(body(one(pod="llm-0", instance="10.0.0.5:8000"), one(kubernetes_pod_name="llm-1", team="x")))
    assert alert.labels == {"pod": ["llm-0", "llm-1"], "instance": ["10.0.0.5:8000"]}


def test_grafana_before_version_9() -> None:
    matches = [{"value": 9, "metric": "waiting", "tags": {"pod": "llm-0"}}]
    alert = alerts.read(
        json.dumps({"ruleName": "Queue", "state": "alerting", "evalMatches": matches, "title": "[A] Queue"})
    )
    assert (alert.names, alert.status, alert.labels, alert.since) == (["Queue"], "firing", {"pod": ["llm-0"]}, None)


BAD = [
    ("", "expected JSON as Alertmanager or Grafana sends it"),
    ("[" * 100_000, "expected JSON"),
    ("{}", 'expected a list "alerts"'),
    ("7", 'expected a list "alerts"'),
    ('{"alerts": []}', 'expected a list "alerts"'),
    ('{"alerts": [7]}', 'expected a list "alerts"'),
    (body(one("soon")), "\"startsAt\" is no time such as 2026-11-29T10:00:00Z: 'soon'"),
    (body({**one(), "labels": ["x"]}), '"labels" is no object of texts'),
]


@pytest.mark.parametrize(("text", "told"), BAD, ids=range(len(BAD)))
def test_bad_bodies(text: str, told: str) -> None:
    with pytest.raises(alerts.AlertError, match=None) as error:
        alerts.read(text)
    assert told in str(error.value)


def runs(*shown: tuple[str, str]) -> list[Run]:
    return [Run(id=i, stream=stream, sources=[source]) for i, (stream, source) in enumerate(shown)]


SELECTED = [
    # A stream that shows another pod is left out, what shows none stays.
    ([("llm-0/vllm", "a.log"), ("llm-1/vllm", "a.log"), ("", "b.log")], {"pod": ["llm-0"]}, [0, 2], []),
    # A label that nothing shows leaves nothing out, and that is said.
    ([("llm-0/vllm", "a.log"), ("llm-1/vllm", "a.log")], {"pod": ["llm-7"]}, [0, 1], ["pod=llm-7"]),
    ([("", "a.log")], {"pod": ["llm-0"], "namespace": ["prod"]}, [0], ["pod=llm-0", "namespace=prod"]),
    ([("llm-0/vllm", "a.log"), ("llm-0/proxy", "a.log")], {"container": ["vllm"]}, [0], []),
    # Scrapes are told by their address, files by the pod that they are named after.
    ([("10.0.0.5:8000", "p"), ("10.0.0.6:8000", "p")], {"instance": ["10.0.0.6:8000"]}, [1], []),
    ([("", "x/llm-0.log"), ("", "x/llm-1.log"), ("", "kernel.log")], {"pod": ["llm-1"]}, [1, 2], []),
]


@pytest.mark.parametrize(("shown", "labels", "kept", "unseen"), SELECTED)
def test_servers(
    shown: list[tuple[str, str]], labels: dict[str, list[str]], kept: list[int], unseen: list[str]
) -> None:
    alert = alerts.Alert(["x"], "firing", labels=labels)
    found = runs(*shown)
    assert alerts.select(alert, list(found)) == [found[i] for i in kept]
    assert alert.unseen == unseen


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        ("2026-05-19T08:20:00", "2026-05-19T08:00:00"),
        ("2000-05-19T08:20:00", "2000-05-19T08:00:00"),  # a log without a year takes the day
        ("2000-01-01T08:20:00", "2000-01-01T08:00:00"),  # one with nothing but the time of day takes that
    ],
)
def test_a_full_moment_meets_logs_that_tell_less(end: str, wanted: str) -> None:
    from datetime import UTC, datetime

    seconds = datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp()
    found = parse_bound("2026-05-19T08:00:00").resolve(seconds)
    assert found == datetime.fromisoformat(wanted).replace(tzinfo=UTC).timestamp()


def test_the_report_says_which_alert_it_answers(tmp_path: Path) -> None:
    lines = LOG.read_text(encoding="utf-8").splitlines()
    both = tmp_path / "both.log"
    other = (ROOT / "samples/healthy-vllm/server.log").read_text(encoding="utf-8").splitlines()
    text = [f"[pod/llm-0/vllm] {line}" for line in lines] + [f"[pod/llm-1/vllm] {line}" for line in other]
    both.write_text("\n".join(text) + "\n", encoding="utf-8")
    alert = alerts.read(body(one(cause="memory.kv_cache_exhausted", pod="llm-0", namespace="prod")))
    report = Session([both], knowledge=knowledge(), options=Options(alert=alert)).report
    assert [run.stream for run in report.runs] == ["llm-0/vllm"]
    assert report.alert is not None and report.alert.since == "2026-05-19T08:09:00Z"
    assert (report.alert.labels_used, report.alert.labels_unseen) == (["pod=llm-0"], ["namespace=prod"])


Run_ = Callable[..., Any]


def test_the_command(command: Run_, tmp_path: Path) -> None:
    file = tmp_path / "alert.json"
    file.write_text(body(one(pod="llm-0", cause="memory.kv_cache_exhausted")), encoding="utf-8")
    done = command("--alert", str(file), "--exit-zero", "--width", "400", str(LOG))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "answers the alert Busy, firing since 2026-05-19 08:09:00 UTC" in said
    assert "made of memory.kv_cache_exhausted, which is found here too" in said
    assert "no input shows pod=llm-0: nothing was left out by that" in said
    late = tmp_path / "late.json"
    late.write_text(body(one("2026-06-01T00:00:00Z")), encoding="utf-8")
    done = command("--alert", str(late), str(LOG))
    assert (
        done.returncode == 2
        and f"--alert {late}" in done.stderr
        and "nothing of the input lies in its time" in done.stderr
    )
    # What the options say beats the alert.
    assert command("--alert", str(late), "--since", "1h", "--exit-zero", str(LOG)).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--alert", "nowhere.json", str(LOG)], "--alert nowhere.json: no such file"),
        (["--alert", "-", "-"], "--alert -: standard input is what is diagnosed"),
        (["--alert", str(LOG), str(LOG)], "expected JSON as Alertmanager or Grafana sends it"),
        (["--alert", str(LOG), "--log-zone", "Berlin", str(LOG)], "'Berlin' is no offset from UTC such as +08:00"),
        (["--log-zone", "+08:00", str(LOG)], "--log-zone: is for --alert"),
    ],
)
def test_bad_options(command: Run_, words: list[str], told: str) -> None:
    done = command(*words)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr
