"""What every report for people says in the same words: which server it was and how hard was looked."""

from __future__ import annotations

from diagnoser.contracts.figurerows import Objective, exact
from diagnoser.contracts.findings import Report, RunReport
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports.safe import line
from diagnoser.reports.units import number, percent, plural, quantity

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "sglang-router": "SGLang router", "vllm-router": "vLLM router"}
ENDS = {
    "clean": phrase("stopped in order"),
    "crash": phrase("crashed"),
    "killed": phrase("killed from outside"),
    "running": phrase("still serving at the end"),
    "cut": phrase("the log ends during start-up"),
}


def recognised(report: Report) -> bool:
    """Whether anything in the input came from an inference server or was judged: else nothing was looked at."""
    return bool(report.findings) or any(
        run.engine or run.stats_samples or run.scrapes or run.figures or run.objectives for run in report.runs
    )


def profile(run: RunReport, say: Say = ENGLISH) -> str:
    """41 % communication kernels, 22 % GPU idle in the loop, median kernel 6 us: a profile in one line, "" without one.

    Of several profiles (one of each rank) the medians. Kernels of a class that takes nothing are not worth a word.
    """
    shown = [row for name, row in run.figures.items() if name.startswith("profile.")]
    parts = [
        f"{quantity(row.median, row.unit)} {line(row.title)}" for row in shown if row.unit != "seconds" and row.max > 0
    ]
    parts += [f"{line(row.title)} {quantity(row.median, row.unit)}" for row in shown if row.unit == "seconds"]
    count = max((row.samples for row in shown), default=0)
    told = ", ".join(parts)
    return (
        say("{profile} (median of {count} profiles)").format(profile=told, count=count) if count > 1 and parts else told
    )


def verdict(report: Report, say: Say = ENGLISH) -> str:
    """Return the answer in one line: the worst root cause, or that there is none."""
    level, told = answer(report, say)
    return say.pair(say(level), told) if level else told


def graded(report: Report, say: Say = ENGLISH) -> str:
    """Return the same with the severity as the data has it in every language: what programs look for."""
    level, told = answer(report, say)
    return f"{level}: {told}" if level else told


def answer(report: Report, say: Say = ENGLISH) -> tuple[str, str]:
    """Return the severity of the worst root cause and its title; "" and a sentence where there is none."""
    roots = [finding for finding in report.findings if finding.role == "root"] or report.findings
    if roots:
        rest = sum(finding.severity != "info" for finding in roots[1:])
        title = line(roots[0].title)
        told = say("{title} (and {count} more)").format(title=title, count=rest) if rest else title
        return roots[0].severity, told
    if not recognised(report):
        return "", say("no trace of an inference server")
    if report.healthy and (missed := _missed(report)):
        return "", say("nothing found that explains the missed objective ({names})").format(names=missed)
    return "", say("nothing found") if report.healthy else say("too little to tell")


def _missed(report: Report) -> str:
    """Name the objectives that more than one request in a hundred misses, as far as the results tell."""
    every = [one for run in report.runs for one in run.objectives if one.limit is not None]
    names = [one.name.upper() for one in every if (one.share if one.share is not None else one.bounds[1]) < 0.99]
    return ", ".join(dict.fromkeys(names))


def ending(report: Report, run: RunReport, say: Say = ENGLISH) -> str:
    """Return how a run ended, as far as it fits what was found: no order after a fault, no start-up unseen."""
    broken = any(finding.severity == "critical" and run.id in finding.runs for finding in report.findings)
    if run.end == "clean" and broken:
        return say("stopped after a fault")
    if not run.lines:
        return say("known by what was measured")
    if run.end == "cut" and not run.complete_start:
        return say("its end is not in the log")
    return say(ENDS[run.end]) if run.end in ENDS else line(run.end)


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


def engine_name(run: RunReport, say: Say = ENGLISH) -> str:
    """Return the engine as it writes itself, with its version."""
    name = ENGINES.get(run.engine, line(run.engine)) or say("unknown engine")
    version = line(run.engine_version)
    return f"{name} {version}" if version else say("{engine}, version unknown").format(engine=name)


def which_run(report: Report, run: RunReport, say: Say = ENGLISH) -> str:
    """Return which of the runs this is and how it ended: run 2 of 3, crashed."""
    number_of, told = report.runs.index(run) + 1, ending(report, run, say)
    return say("run {place} of {count}, {ending}").format(
        place=f"{number_of:,}", count=f"{len(report.runs):,}", ending=told
    )


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


def looked(report: Report, say: Say = ENGLISH) -> str:
    """31 rules looked and found nothing; 12 could not look."""
    clear, unknown = report.rules.get("clear", 0), report.rules.get("unknown", 0)
    rules = plural(clear, "rule", say=say)
    if not unknown:
        return say("{rules} looked and found nothing.").format(rules=rules)
    if report.unknown:
        told = say("{rules} looked and found nothing; {count} could not look, see what was not observed.")
    else:
        told = say("{rules} looked and found nothing; {count} could not look.")
    return told.format(rules=rules, count=unknown)


def pairs(words: list[str]) -> list[str]:
    """Put a flag and its value on one line."""
    out: list[str] = []
    for word in map(line, words):
        if out and out[-1].startswith("-") and " " not in out[-1] and not word.startswith("-"):
            out[-1] += f" {word}"
        else:
            out.append(word)
    return out


def objective(one: Objective, source: str = "", say: Say = ENGLISH) -> str:
    """TTFT within 500 ms: 94 % of 1,200 requests; goodput 3.2 requests/s: 91 % of 60 meet all."""
    name = source or line(one.source)
    where = f"{name}:{one.line}" if one.line else name
    counted = plural(one.samples, "sample", say=say) if one.name == "itl" else plural(one.samples, "request", say=say)
    if one.limit is None:
        rate = "" if one.rate is None else number(one.rate)
        lead = say("goodput {rate} requests/s").format(rate=rate) if rate else say("goodput")
        told = say("{share} of {requests} meet all")
        met = told.format(share=percent(one.share), requests=counted) if one.share is not None else ""
        failed = say(", {count} failed").format(count=f"{one.failed:,}") if one.failed else ""
        return f"{say.pair(lead, met).rstrip()}{failed} ({where})"
    least, most = one.bounds
    if one.share is not None and exact(one.share, least, most):
        met = say("{share} of {requests}").format(share=percent(one.share), requests=counted)
    elif most >= 1:
        met = say("{share} at least of {requests}").format(share=percent(least), requests=counted)
    elif least:
        told = say("between {least} and {most} of {requests}")
        met = told.format(least=percent(least), most=percent(most), requests=counted)
    else:
        met = say("{share} at most of {requests}").format(share=percent(most), requests=counted)
    lead = say("{name} within {limit}").format(name=one.name.upper(), limit=limit(one.limit))
    return f"{say.pair(lead, met)} ({where})"


def limit(seconds: float) -> str:
    """500 ms, 2.5 s."""
    return f"{number(seconds * 1000)} ms" if seconds < 1 else f"{number(seconds)} s"


#: States of an alert.
STATES = (phrase("firing"), phrase("resolved"))


def answers(report: Report, say: Say = ENGLISH) -> list[str]:
    """Say which alert the report answers, what of its labels picked something, and what is not certain."""
    alert = report.alert
    if alert is None:
        return []
    names, rest = say(", ").join(map(line, alert.names[:3])), len(alert.names) - 3
    if rest > 0:
        names = say("{names} and {count} more").format(names=names, count=rest)
    state = say(alert.status)
    if alert.since:
        state = say("{state} since {time}").format(state=state, time=_utc(alert.since))
    if alert.until:
        state = say("{state} until {time}").format(state=state, time=_utc(alert.until))
    told = [say("answers the alert {names}, {state}").format(names=names, state=state)]
    if alert.cause:
        found = any(finding.id == alert.cause for finding in report.findings)
        here = say("it was made of {rule}, which is found here too")
        gone = say("it was made of {rule}, which is not found here")
        told.append((here if found else gone).format(rule=line(alert.cause)))
    if alert.labels_used:
        told.append(say("looked at {labels}").format(labels=say(", ").join(map(line, alert.labels_used))))
    if alert.labels_unseen:
        unseen = say("no input shows {labels}: nothing was left out by that")
        told.append(unseen.format(labels=say(", ").join(map(line, alert.labels_unseen))))
    return [say("; ").join(told), *([alert.note] if alert.note else [])]


def _utc(stamp: str) -> str:
    return stamp.replace("T", " ").replace("Z", " UTC")
