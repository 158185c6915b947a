"""The report as metrics, for the textfile collector of node_exporter: what was found, and how much could be seen.

No time stands in it: the collector has its own. Labels hold names of rules, states and engines, no text of a log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from diagnoser.contracts.findings import Finding, Report
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.ci import LEVELS, cut
from diagnoser.reports.summary import recognised

NAME = "prom"
DESCRIPTION = "metrics for node_exporter's textfile collector"

_LABEL = 100
_STAGE_STATES = ("cause", "suspect", "ok", "unknown", "n/a")
_CHECK_STATES = ("pass", "fail", "unknown", "n/a")

Labels = Mapping[str, str]
Sample = tuple[Labels, int]


def render(report: Report, options: RenderOptions) -> str:
    """Gauges with HELP and TYPE, every state of a stage and every severity also where it is 0."""
    return "".join(_family(*family) for family in _families(report))


def _families(report: Report) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    tool = report.tool.get("version", "")
    yield (
        "diagnoser_info",
        "Version that wrote these metrics.",
        [({"version": tool, "schema_version": report.schema_version}, 1)],
    )
    yield (
        "diagnoser_recognised",
        "Whether anything of an inference server was in the input.",
        [({}, recognised(report))],
    )
    if report.healthy is not None:
        yield (
            "diagnoser_healthy",
            "Whether nothing worse than info was found; absent when too little was seen.",
            [({}, report.healthy)],
        )
    found = [(_finding(report, finding), 1) for finding in report.findings]
    yield "diagnoser_finding", "A cause that was found; always 1.", found
    counts = Counter(finding.severity for finding in report.findings)
    yield (
        "diagnoser_findings",
        "Findings by severity.",
        [({"severity": level}, counts[level]) for level in reversed(LEVELS)],
    )
    rules = {state: report.rules.get(state, 0) for state in ("fired", "clear", "unknown")}
    yield (
        "diagnoser_rules",
        "Rules by outcome; unknown: could not look.",
        [({"state": state}, n) for state, n in rules.items()],
    )
    yield (
        "diagnoser_stage_state",
        "1 for the state that a stage of the request's way is in.",
        _states("stage", ((stage.name, stage.state) for stage in report.stages), _STAGE_STATES),
    )
    yield (
        "diagnoser_check_state",
        "1 for the state that a point of the checklist is in.",
        _states("check", ((check.id, check.state) for check in report.checklist), _CHECK_STATES),
    )
    yield "diagnoser_inputs", "Inputs that were read.", [({}, len(report.inputs))]
    problems = sum(len(one.problems) for one in report.inputs)
    yield "diagnoser_input_problems", "Problems with reading the inputs.", [({}, problems)]
    lines = sum(item.count for item in report.unrecognised)
    yield "diagnoser_unrecognised_lines", "Lines of warnings and errors that no rule knows.", [({}, lines)]


def _finding(report: Report, finding: Finding) -> Labels:
    engines = sorted({run.engine for run in report.runs if run.id in finding.runs and run.engine})
    return {
        "id": finding.id,
        "stage": finding.stage,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "role": finding.role,
        "explained_by": finding.explained_by or "",
        "engine": ",".join(engines),
    }


def _states(name: str, states: Iterable[tuple[str, str]], every: Iterable[str]) -> Iterable[Sample]:
    return (({name: who, "state": state}, int(state == held)) for who, held in states for state in every)


def _family(name: str, said: str, samples: Iterable[Sample]) -> str:
    # One sample for each set of labels: a second one would spoil the whole file.
    rows = [
        f"{name}{labels} {value}"
        for labels, value in {_labels(labels): int(value) for labels, value in samples}.items()
    ]
    return "\n".join([f"# HELP {name} {said}", f"# TYPE {name} gauge", *rows]) + "\n" if rows else ""


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return cut(value, _LABEL).replace("\\", "\\\\").replace('"', '\\"')
