"""The report as JUnit XML: every rule is a test case, so that a build server shows what was found and what not seen.

Failed is a finding at or above --fail-on, skipped a rule that could not look (with what it needs), passed one that
looked and found nothing. A finding below the level passes and says so in its output. The checklist is a suite of its
own: its points are advice, so that one that is not kept fails only with --fail-on info.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from diagnoser.contracts.findings import Evidence, Finding, Report
from diagnoser.patterns import lazily
from diagnoser.reports import ci, safe
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.remedytext import proposal, reasons
from diagnoser.reports.summary import engine_name, focus, recognised, verdict
from diagnoser.values import dataclass, field

NAME = "junit"
DESCRIPTION = "JUnit XML, for build servers"

_EVIDENCE_SHOWN = 5
_EXCERPT = 600
_PROBLEMS_SHOWN = 100
#: What ``safe.line`` lets pass and XML 1.0 does not.
_NOT_XML = lazily("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class _Case:
    """A test case. ``state`` is "passed", "failure", "error" or "skipped"; ``lines`` are its output."""

    suite: str
    name: str
    state: str = "passed"
    message: str = ""
    kind: str = ""
    lines: list[str] = field(default_factory=list)


def render(report: Report, options: RenderOptions) -> str:
    """Suites ``rules``, ``checklist`` and ``inputs``. No times: equal reports give equal bytes."""
    suites = {"rules": [*_rules(report, options.fail_on)]}
    if report.checklist:
        suites["checklist"] = [*_checklist(report, options.fail_on)]
    suites["inputs"] = [*_inputs(report)]
    every = [case for cases in suites.values() for case in cases]
    out = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="diagnose" {_counts(every, skipped=False)}>']
    for name, cases in suites.items():
        out.append(f"  <testsuite name={_attribute(name)} {_counts(cases)}>")
        if name == "rules":
            out += _properties(report)
        for case in cases:
            out += _testcase(case)
        out.append("  </testsuite>")
    return "\n".join([*out, "</testsuites>"]) + "\n"


def _rules(report: Report, level: str) -> Iterator[_Case]:
    told: set[str] = set()
    for finding in report.findings:
        # A name is one test in a build server's history.
        if finding.id not in told:
            told.add(finding.id)
            yield _found(report, [one for one in report.findings if one.id == finding.id], level)
    for item in report.unknown:
        name = item.rule or item.symptom
        if name not in told:
            told.add(name)
            why = item.reason or f"needs {item.needs or 'more of the log'}"
            yield _Case(_suite(name), name, "skipped", f"could not look: {why}")
    for name in report.clear:
        if name not in told:
            yield _Case(_suite(name), name)


def _found(report: Report, findings: list[Finding], level: str) -> _Case:
    failed = [finding for finding in findings if ci.fails(finding, level)]
    worst = (failed or findings)[0]
    texts = [text for finding in findings for text in _lines(report, finding)]
    if failed:
        return _Case(_suite(worst.id), worst.id, "failure", f"{worst.severity}: {worst.title}", worst.severity, texts)
    return _Case(_suite(worst.id), worst.id, lines=[f"below --fail-on {level}", *texts])


def _lines(report: Report, finding: Finding) -> Iterator[str]:
    role = "root cause" if finding.role == "root" else f"consequence of {finding.explained_by or 'another'}"
    yield f"{finding.severity}: {finding.title}"
    yield f"{role}, {finding.confidence}" + (f", {finding.window}" if finding.window else "")
    yield from (text for text in [*safe.lines(finding.meaning), *safe.lines(finding.impact)] if text)
    yield from (_proof(item) for item in finding.evidence[:_EVIDENCE_SHOWN])
    if len(finding.evidence) > _EVIDENCE_SHOWN:
        yield f"  {len(finding.evidence) - _EVIDENCE_SHOWN} more lines of evidence"
    for item in finding.remedies:
        why = "; ".join(reasons(item))
        yield f"fix: {proposal(item)}" + (f" ({why})" if why else "")
    if finding.verify:
        yield f"verify: {finding.verify}"
    yield f"more: diagnose explain {finding.id}"


def _proof(item: Evidence) -> str:
    where = f"{item.source}:{item.line}" if item.line else item.source
    return "  " + "  ".join(part for part in (where, item.time or "", ci.cut(item.text, _EXCERPT)) if part)


def _checklist(report: Report, level: str) -> Iterator[_Case]:
    """Yield a case for each point. One that is not kept is advice: it fails where findings of level info do."""
    told: Counter[str] = Counter()
    for point in report.checklist:
        told[point.id] += 1
        name = f"{point.id} {point.title}" + (f" ({told[point.id]})" if told[point.id] > 1 else "")
        if point.state == "fail" and level == ci.LEVELS[0]:
            yield _Case("diagnose.checklist", name, "failure", point.reason, "checklist")
        elif point.state == "fail":
            yield _Case("diagnose.checklist", name, lines=[f"not kept, below --fail-on {level}: {point.reason}"])
        elif point.state == "pass":
            yield _Case("diagnose.checklist", name, lines=[point.reason] if point.reason else [])
        else:
            why = "does not apply" if point.state == "n/a" else "could not look"
            yield _Case("diagnose.checklist", name, "skipped", f"{why}: {point.reason}" if point.reason else why)


def _inputs(report: Report) -> Iterator[_Case]:
    names: dict[str, list[str]] = {}
    for one in report.inputs:
        names.setdefault(one.name, []).extend(one.problems)
    for name, problems in names.items():
        shown = problems[:_PROBLEMS_SHOWN]
        rest = len(problems) - len(shown)
        yield _Case(
            "inputs", name, lines=[f"not readable: {text}" for text in shown] + ([f"{rest} more"] if rest else [])
        )
    if not recognised(report):
        yield _Case("inputs", "an inference server", "error", ci.NOTHING, "input")


def _suite(rule: str) -> str:
    return f"diagnose.{rule.partition('.')[0]}"


def _counts(cases: list[_Case], skipped: bool = True) -> str:
    counts = {"tests": len(cases)}
    for name, state in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        if skipped or name != "skipped":
            counts[name] = sum(case.state == state for case in cases)
    return " ".join(f'{name}="{count}"' for name, count in counts.items())


def _properties(report: Report) -> Iterator[str]:
    run = focus(report) if recognised(report) else None
    said = {
        "verdict": verdict(report),
        "engine": engine_name(run) if run is not None else "",
        "version": report.tool.get("version", ""),
    }
    yield "    <properties>"
    for name, value in said.items():
        if value:
            yield f"      <property name={_attribute(name)} value={_attribute(value)}/>"
    yield "    </properties>"


def _testcase(case: _Case) -> Iterator[str]:
    head = f"    <testcase classname={_attribute(case.suite)} name={_attribute(case.name)}"
    body = "\n".join(escape(_xml(text)) for text in case.lines)
    if case.state == "passed" and not body:
        yield f"{head}/>"
        return
    yield f"{head}>"
    if case.state == "passed":
        yield f"      <system-out>{body}</system-out>"
    else:
        kind = f" type={_attribute(case.kind)}" if case.kind else ""
        tag = f"      <{case.state} message={_attribute(case.message)}{kind}"
        yield f"{tag}>{body}</{case.state}>" if body else f"{tag}/>"
    yield "    </testcase>"


def _xml(text: str) -> str:
    """One harmless line that XML 1.0 can hold: what it forbids becomes a visible escape."""
    return _NOT_XML.sub(lambda found: safe.escape(found.group()), safe.line(text))


def _attribute(text: str) -> str:
    return quoteattr(_xml(text))
