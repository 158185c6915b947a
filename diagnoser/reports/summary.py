"""What every report for people says in the same words: which server it was and how hard was looked."""

from __future__ import annotations

from diagnoser.figurerows import Objective
from diagnoser.findings import Report, RunReport
from diagnoser.reports.safe import line
from diagnoser.reports.units import number, percent, plural, quantity

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "sglang-router": "SGLang router", "vllm-router": "vLLM router"}
ENDS = {
    "clean": "stopped in order",
    "crash": "crashed",
    "killed": "killed from outside",
    "running": "still serving at the end",
    "cut": "the log ends during start-up",
}


def recognised(report: Report) -> bool:
    """Whether anything in the input came from an inference server or was judged: else nothing was looked at."""
    return bool(report.findings) or any(
        run.engine or run.stats_samples or run.scrapes or run.figures or run.objectives for run in report.runs
    )


def profile(run: RunReport) -> str:
    """41 % communication kernels, 22 % GPU idle in the loop, median kernel 6 us: a profile in one line, "" without one.

    Of several profiles (one of each rank) the medians. Kernels of a class that takes nothing are not worth a word.
    """
    shown = [row for name, row in run.figures.items() if name.startswith("profile.")]
    parts = [
        f"{quantity(row.median, row.unit)} {line(row.title)}" for row in shown if row.unit != "seconds" and row.max > 0
    ]
    parts += [f"{line(row.title)} {quantity(row.median, row.unit)}" for row in shown if row.unit == "seconds"]
    count = max((row.samples for row in shown), default=0)
    return ", ".join(parts) + (f" (median of {count} profiles)" if count > 1 and parts else "")


def verdict(report: Report) -> str:
    """Return the answer in one line: the worst root cause, or that there is none."""
    roots = [finding for finding in report.findings if finding.role == "root"] or report.findings
    if roots:
        rest = sum(finding.severity != "info" for finding in roots[1:])
        more = f" (and {rest} more)" if rest else ""
        return f"{roots[0].severity}: {line(roots[0].title)}{more}"
    if not recognised(report):
        return "no trace of an inference server"
    if report.healthy and (missed := _missed(report)):
        return f"nothing found that explains the missed objective ({missed})"
    return "nothing found" if report.healthy else "too little to tell"


def _missed(report: Report) -> str:
    """Name the objectives that more than one request in a hundred misses, as far as the results tell."""
    every = [one for run in report.runs for one in run.objectives if one.limit is not None]
    names = [one.name.upper() for one in every if (one.share if one.share is not None else one.bounds[1]) < 0.99]
    return ", ".join(dict.fromkeys(names))


def ending(report: Report, run: RunReport) -> str:
    """Return how a run ended, as far as it fits what was found: no order after a fault, no start-up unseen."""
    broken = any(finding.severity == "critical" and run.id in finding.runs for finding in report.findings)
    if run.end == "clean" and broken:
        return "stopped after a fault"
    if not run.lines:
        return "known by what was measured"
    if run.end == "cut" and not run.complete_start:
        return "its end is not in the log"
    return ENDS.get(run.end, line(run.end))


def focus(report: Report) -> RunReport | None:
    """Return the run that shows the worst finding, the latest such, and an engine before its router.

    Without findings the last run.
    """
    if not report.runs:
        return None
    runs = {run.id: run for run in report.runs}
    for finding in report.findings:
        found = [runs[run] for run in finding.runs if run in runs]
        if found:
            engines = [run for run in found if not run.engine.endswith("-router")]
            return (engines or found)[-1]
    return report.runs[-1]


def engine_name(run: RunReport) -> str:
    """Return the engine as it writes itself, with its version."""
    name = ENGINES.get(run.engine, line(run.engine)) or "unknown engine"
    return f"{name} {line(run.engine_version)}" if run.engine_version else f"{name}, version unknown"


def parallelism(facts: dict[str, object]) -> str:
    """TP1, or TP2 PP2 DP4: TP always, the others where they split anything."""
    sizes = [(name, facts.get(f"parallel.{name.lower()}")) for name in ("TP", "PP", "DP", "EP")]
    return " ".join(f"{name}{size}" for name, size in sizes if isinstance(size, int) and (size > 1 or name == "TP"))


def gpus(facts: dict[str, object]) -> str:
    """2 x H100: as many as one replica spans."""
    name = facts.get("gpu.name")
    if not name:
        return ""
    tp, pp = facts.get("parallel.tp"), facts.get("parallel.pp")
    if not isinstance(tp, int):
        return line(str(name))
    return f"{tp * (pp if isinstance(pp, int) else 1)} x {line(str(name))}"


def looked(report: Report) -> str:
    """31 rules looked and found nothing; 12 could not look."""
    clear, unknown = report.rules.get("clear", 0), report.rules.get("unknown", 0)
    said = f"{plural(clear, 'rule')} looked and found nothing"
    where = ", see what was not observed" if report.unknown else ""
    return said + (f"; {unknown} could not look{where}." if unknown else ".")


def pairs(words: list[str]) -> list[str]:
    """Put a flag and its value on one line."""
    out: list[str] = []
    for word in map(line, words):
        if out and out[-1].startswith("-") and " " not in out[-1] and not word.startswith("-"):
            out[-1] += f" {word}"
        else:
            out.append(word)
    return out


def objective(one: Objective, source: str = "") -> str:
    """TTFT within 500 ms: 94 % of 1,200 requests; goodput 3.2 requests/s: 91 % of 60 meet all."""
    name = source or line(one.source)
    where = f"{name}:{one.line}" if one.line else name
    counted = plural(one.samples, "sample") if one.name == "itl" else plural(one.samples, "request")
    if one.limit is None:
        rate = f" {number(one.rate)} requests/s:" if one.rate is not None else ":"
        met = f" {percent(one.share)} of {counted} meet all" if one.share is not None else ""
        return f"goodput{rate}{met}" + (f", {one.failed:,} failed" if one.failed else "") + f" ({where})"
    lead = f"{one.name.upper()} within {limit(one.limit)}: "
    if one.share is not None:
        return f"{lead}{percent(one.share)} of {counted} ({where})"
    least, most = one.bounds
    between = f"between {percent(least)} and {percent(most)}" if least else f"{percent(most)} at most"
    return f"{lead}{f'{percent(least)} at least' if most >= 1 else between} of {counted} ({where})"


def limit(seconds: float) -> str:
    """500 ms, 2.5 s."""
    return f"{number(seconds * 1000)} ms" if seconds < 1 else f"{number(seconds)} s"


def answers(report: Report) -> list[str]:
    """Say which alert the report answers, what of its labels picked something, and what is not certain."""
    alert = report.alert
    if alert is None:
        return []
    more = f" and {len(alert.names) - 3} more" if len(alert.names) > 3 else ""
    times = f" since {_utc(alert.since)}" if alert.since else ""
    times += f" until {_utc(alert.until)}" if alert.until else ""
    told = [f"answers the alert {', '.join(map(line, alert.names[:3]))}{more}, {alert.status}{times}"]
    if alert.cause:
        found = any(finding.id == alert.cause for finding in report.findings)
        told.append(f"it was made of {line(alert.cause)}, which is {'found here too' if found else 'not found here'}")
    if alert.labels_used:
        told.append(f"looked at {', '.join(map(line, alert.labels_used))}")
    if alert.labels_unseen:
        told.append(f"no input shows {', '.join(map(line, alert.labels_unseen))}: nothing was left out by that")
    return ["; ".join(told), *([alert.note] if alert.note else [])]


def _utc(stamp: str) -> str:
    return stamp.replace("T", " ").replace("Z", " UTC")
