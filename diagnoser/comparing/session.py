"""One run as a row of a tuning session: its configuration and its figures, and what moved since the row before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from diagnoser.comparing import configuration
from diagnoser.comparing.sides import chosen
from diagnoser.contracts.comparison import Difference
from diagnoser.contracts.figurerows import Setting
from diagnoser.contracts.findings import Report, RunReport

#: Columns of a session's table, where a run has them: figure, heading, unit.
COLUMNS = (
    ("gen.tps", "gen tok/s", "tokens/s"),
    ("requests.running", "running", "requests"),
    ("requests.waiting", "waiting", "requests"),
    ("kv.usage", "KV use", "ratio"),
    ("cache.hit_rate", "hits", "ratio"),
    ("preemptions", "preempt", "events"),
    ("latency.ttft.p50", "TTFT p50", "seconds"),
    ("latency.ttft.p99", "TTFT p99", "seconds"),
    ("latency.itl.p50", "ITL p50", "seconds"),
    ("latency.queue.p50", "queue p50", "seconds"),
)


@dataclasses.dataclass(slots=True)
class Row:
    """One run. ``run`` holds engine, version, settings and facts, as much as it takes to tell two rows apart.

    ``bounds`` maps the figures that were read off a histogram to [least, most] (most: None where it has no end); in
    ledgers of version 1 there are none.
    """

    started: str | None
    ended: str | None
    inputs: list[str]
    run: dict[str, Any]
    figures: dict[str, float]
    finding: str
    severity: str
    bounds: dict[str, list[float | None]] = dataclasses.field(default_factory=dict)


def row(reports: Sequence[Report]) -> Row | None:
    """Return the row of a side's last run that served, None when there is no run."""
    runs = chosen(reports)
    if not runs:
        return None
    run = runs[-1]
    figures = {name: one.median for name, one in run.figures.items()}
    bounds: dict[str, list[float | None]] = {}
    for name, spread in run.spreads.items():
        for label, values in spread.percentiles.items():
            if values[0] is not None:
                figures[f"{name}.{label}"] = values[0]
                if label in spread.bounds:
                    bounds[f"{name}.{label}"] = spread.bounds[label]
    found = [one for report in reports for one in report.findings]
    top = next((one for one in found if run.id in one.runs), found[0] if found else None)
    kept = {
        "engine": run.engine,
        "engine_version": run.engine_version,
        "settings": {name: dataclasses.asdict(setting) for name, setting in run.settings.items()},
        "facts": run.facts,
    }
    inputs = [one.name for report in reports for one in report.inputs]
    finding, severity = (top.id, top.severity) if top else ("", "")
    return Row(run.started, run.ended, inputs, kept, figures, finding, severity, bounds)


def moved(before: Row, after: Row) -> list[Difference]:
    """Return the parameters that changed from one row to the next."""
    found = configuration.differences(_run(before), _run(after))
    return [one for one in found if one.kind == "parameter"]


def _run(one: Row) -> RunReport:
    settings = {name: Setting(**setting) for name, setting in one.run["settings"].items()}
    return RunReport(
        0,
        "",
        one.run["engine"],
        one.run["engine_version"],
        one.started,
        one.ended,
        "",
        True,
        0,
        0,
        None,
        one.run["facts"],
        {},
        settings=settings,
    )
