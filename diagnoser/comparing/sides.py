"""Two sides, each of one or several reports, to one comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from diagnoser.comparing import configuration, figures, verdict
from diagnoser.contracts.comparison import COMPARISON_VERSION, BootChange, Comparison, FindingChange, NewMessage, Side
from diagnoser.contracts.findings import Finding, Report, RunReport
from diagnoser.language import ENGLISH, Say, phrase

#: Phases of the start, in their order, with what people call them.
BOOT = {
    "boot.weights_seconds": phrase("reading the weights"),
    "boot.compile_seconds": phrase("torch.compile"),
    "boot.graphs_seconds": phrase("capturing graphs"),
    "boot.engine_seconds": phrase("profiling, KV cache, warm-up"),
    "boot.ready_seconds": phrase("start until ready"),
}

_MOST_MESSAGES = 50
_SEVERITIES = ("info", "warning", "critical")


def compare_reports(
    before: Sequence[Report], after: Sequence[Report], tool: dict[str, str], say: Say = ENGLISH
) -> Comparison:
    """Compare what two sides' reports say. Neither side may be empty. Sentences are in the language of ``say``."""
    old, new = chosen(before), chosen(after)
    rows = figures.changes(old, new, say)
    found = _findings(before, after)
    differing = configuration.differences(old[-1], new[-1]) if old and new else []
    load_state, load_text = verdict.load(rows, say)
    ends = (old[-1].end if old else "", new[-1].end if new else "")
    answer, by = verdict.judge(rows, found, ends, load_state, say)
    seen = (bool(old) and configuration.seen(old[-1]), bool(new) and configuration.seen(new[-1]))
    state, text = verdict.attribute(differing, seen, load_state, say)
    return Comparison(
        COMPARISON_VERSION,
        dict(tool),
        answer,
        by,
        state,
        text,
        load_state,
        load_text,
        _side(before, old),
        _side(after, new),
        differing,
        rows,
        found,
        _boot(old, new, say),
        _messages(before, after),
    )


def chosen(reports: Iterable[Report]) -> list[RunReport]:
    """Return the runs of a side that are compared: the last one that served, and all of its configuration.

    Routers are left out where there is an engine. A log of several experiments is compared by its last.
    """
    runs = [run for report in reports for run in report.runs]
    runs = [run for run in runs if not run.engine.endswith("-router")] or runs
    served = [run for run in runs if run.figures or run.spreads]
    if not served:
        return runs[-1:]
    last = served[-1]
    return [run for run in served if run is last or _alike(run, last)]


def _alike(one: RunReport, other: RunReport) -> bool:
    return configuration.seen(one) and not any(
        difference.kind == "parameter" for difference in configuration.differences(one, other)
    )


def _side(reports: Sequence[Report], runs: Sequence[RunReport]) -> Side:
    inputs = list(dict.fromkeys(one.name for report in reports for one in report.inputs))
    last = runs[-1] if runs else None
    return Side(
        inputs,
        last.engine if last else "",
        last.engine_version if last else "",
        len(runs),
        sum(len(report.runs) for report in reports),
        runs[0].started if runs else None,
        last.ended if last else None,
    )


def _findings(before: Sequence[Report], after: Sequence[Report]) -> list[FindingChange]:
    old, new = _by_id(before), _by_id(after)
    out = []
    for name in dict.fromkeys((*new, *old)):
        was, now = old.get(name), new.get(name)
        levels = was.severity if was else None, now.severity if now else None
        if levels[0] != levels[1]:
            change = "gained" if was is None else "lost" if now is None else "severity"
            title = (now or was or next(iter(new.values()))).title
            out.append(FindingChange(name, title, change, *levels))
    return out


def _by_id(reports: Iterable[Report]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for report in reports:
        for one in report.findings:
            known = found.get(one.id)
            if known is None or _rank(one.severity) > _rank(known.severity):
                found[one.id] = one
    return found


def _rank(severity: str) -> int:
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else -1


def _boot(before: Sequence[RunReport], after: Sequence[RunReport], say: Say) -> list[BootChange]:
    out = []
    for name, title in BOOT.items():
        values = [_median(run.facts.get(name) for run in runs) for runs in (before, after)]
        if values != [None, None]:
            out.append(BootChange(name, say(title), *values))
    return out


def _median(values: Iterable[object]) -> float | None:
    numbers = sorted(float(value) for value in values if isinstance(value, int | float))
    return numbers[len(numbers) // 2] if numbers else None


def _messages(before: Sequence[Report], after: Sequence[Report]) -> list[NewMessage]:
    known = {one.template for report in before for one in report.unrecognised}
    counts: Counter[str] = Counter()
    first: dict[str, NewMessage] = {}
    for report in after:
        for one in report.unrecognised:
            if one.template in known:
                continue
            counts[one.template] += one.count
            text = one.first.text.split("\n", 1)[0]
            new = NewMessage(one.template, one.level, 0, one.first.source, one.first.line, text)
            first.setdefault(one.template, new)
    for template, message in first.items():
        message.count = counts[template]
    return list(first.values())[:_MOST_MESSAGES]
