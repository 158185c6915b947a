"""The report as SARIF 2.1.0, for code scanning: every finding is a result, what could not be looked at a notification.

Only findings are results: code scanning shows whatever is in there as an alert, also what "passed". A healthy server
has an empty list, which says by the standard that was looked and nothing found.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from diagnoser.contracts.findings import PAGES, Evidence, Finding, Report, RunReport
from diagnoser.patterns import lazily
from diagnoser.reports import ci
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.remedytext import proposal, reasons
from diagnoser.reports.safe import json_text, line, lines, markdown
from diagnoser.reports.summary import engine_name, focus, recognised, verdict

NAME = "sarif"
DESCRIPTION = "SARIF 2.1.0, for code scanning"

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: What GitHub's code scanning keeps of a run: results shown, locations a result, characters a text, tags a rule.
_RESULTS, _LOCATIONS, _TEXT = 5000, 100, 1024
#: Notifications of each kind: a folder of unreadable files is told by its first ones.
_TOLD = 100
_SNIPPET = 600
#: Ids of rules, which are the names of their pages too. Whose page there is none of, a pack's, has the help text.
_ID = lazily(r"[a-z]+\.[a-z0-9_]+")
_LEVELS = {"critical": "error", "warning": "warning", "info": "note"}
_PROBLEMS = {"critical": "error", "warning": "warning", "info": "recommendation"}
_PRECISION = {"certain": "very-high", "likely": "high", "possible": "medium"}


def render(report: Report, options: RenderOptions) -> str:
    """One run with one rule for each cause; equal reports give equal bytes."""
    return json_text(json.dumps(_log(report, options), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def _log(report: Report, options: RenderOptions) -> dict[str, Any]:
    rules = list(dict.fromkeys(finding.id for finding in report.findings))
    first = {finding.id: finding for finding in reversed(report.findings)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "diagnose",
                "fullName": line(" ".join(report.tool.get(key, "") for key in ("name", "version"))).strip(),
                "version": line(report.tool.get("version", "")),
                "rules": [_rule(first[name]) for name in rules],
            }
        },
        "automationDetails": {"id": "diagnose/"},
        "invocations": [_invocation(report, options)],
    }
    if recognised(report):
        run["results"] = list(_results(report, rules, options.folder))
    focused = focus(report) if recognised(report) else None
    run["properties"] = {
        "verdict": ci.cut(verdict(report), _TEXT),
        "healthy": report.healthy,
        **({"engine": engine_name(focused)} if focused is not None else {}),
        "rules": dict(report.rules),
        "schemaVersion": line(report.schema_version),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> dict[str, Any]:
    title, meaning = ci.cut(finding.title, _TEXT), ci.cut(" ".join(lines(finding.meaning)), _TEXT)
    name = line(finding.id)
    fixes = [(proposal(item), "; ".join(reasons(item))) for item in finding.remedies]
    more = f"More: diagnose explain {name}"
    plain = [meaning, *(f"Fix: {fix}{f' ({why})' if why else ''}" for fix, why in fixes)]
    marked = [markdown(meaning), *(f"- {markdown(fix)}{f' ({markdown(why)})' if why else ''}" for fix, why in fixes)]
    if finding.verify:
        plain.append(f"Verify: {line(finding.verify)}")
        marked.append(f"\n**Verify**: {markdown(finding.verify)}")
    return {
        "id": name,
        "name": name[:255],
        "shortDescription": {"text": title or name},
        "fullDescription": {"text": meaning or title or name},
        **({"helpUri": f"{PAGES}/{name.replace('.', '/')}.md"} if _ID.fullmatch(name) else {}),
        "help": {
            "text": "\n".join([text for text in plain if text] + [more]),
            "markdown": "\n".join(
                [text for text in marked if text] + [f"\nMore: `diagnose explain {name.replace('`', '')}`"]
            ),
        },
        "defaultConfiguration": {"level": _LEVELS.get(finding.severity, "warning")},
        "properties": {
            "tags": [line(finding.stage), "llm-inference"],
            "precision": _PRECISION.get(finding.confidence, "medium"),
            "problem.severity": _PROBLEMS.get(finding.severity, "warning"),
        },
    }


def _results(report: Report, rules: list[str], folder: str) -> Iterator[dict[str, Any]]:
    runs = {run.id: run for run in report.runs}
    seen: Counter[str] = Counter()
    for finding in sorted(report.findings, key=_urgency)[:_RESULTS]:
        seen[finding.id] += 1
        shown = [runs[run] for run in finding.runs if run in runs]
        level = _LEVELS.get(finding.severity, "warning")
        result: dict[str, Any] = {
            "ruleId": line(finding.id),
            "ruleIndex": rules.index(finding.id),
            "level": level,
            "message": _message(finding),
            "locations": [_primary(report, finding, shown, folder)],
            "partialFingerprints": _fingerprints(finding, shown, seen[finding.id]),
        }
        more = finding.evidence[1:_LOCATIONS]
        if more:
            result["relatedLocations"] = [
                {"id": i, **_location(item, folder), "message": {"text": ci.cut(item.text, _SNIPPET)}}
                for i, item in enumerate(more, 1)
            ]
        result["properties"] = {
            "confidence": line(finding.confidence),
            "role": line(finding.role),
            "explained_by": line(finding.explained_by) if finding.explained_by else None,
            "explains": [line(name) for name in finding.explains],
            "window": line(finding.window),
            "stage": line(finding.stage),
            "evidence": len(finding.evidence),
        }
        yield result


def _urgency(finding: Finding) -> int:
    return -ci.LEVELS.index(finding.severity) if finding.severity in ci.LEVELS else 0


def _message(finding: Finding) -> dict[str, str]:
    """Say what is wrong, how bad, and what to change; log text stands in snippets."""
    fixes = [proposal(item) for item in finding.remedies]
    sentences = [finding.title, *lines(finding.impact), *(f"Fix: {fix}" for fix in fixes)]
    said = [text for text in map(line, sentences) if text]
    marked = [f"**{markdown(finding.title)}**", *(markdown(text) for text in lines(finding.impact) if text)]
    marked += ["\n".join(f"- {markdown(fix)}" for fix in fixes)] if fixes else []
    # "[x](1)" is a link in SARIF's plain text.
    text = _joined(said).replace("](", "] (")
    return {"text": text or line(finding.id), "markdown": "\n\n".join(marked)}


def _joined(sentences: list[str]) -> str:
    """Join as many whole sentences as there is room for: half a flag is a wrong one."""
    kept = ""
    for sentence in sentences:
        longer = f"{kept}. {sentence.rstrip('.')}" if kept else ci.cut(sentence.rstrip("."), _TEXT // 2)
        kept = longer if len(longer) <= _TEXT else kept
    return kept


def _fingerprints(finding: Finding, runs: list[RunReport], time: int) -> dict[str, str]:
    """Tell the same alert in the next upload by cause and engine: lines, times and names of logs are others by then."""
    said = "\0".join([finding.id, *sorted({run.engine for run in runs}), str(time)])
    digest = hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()
    return {"primaryLocationLineHash": f"{digest[:16]}:{time}", "diagnoserFinding/v1": digest}


def _primary(report: Report, finding: Finding, runs: list[RunReport], folder: str) -> dict[str, Any]:
    """Return where the finding shows; code scanning refuses results without a place."""
    if finding.evidence:
        return _location(finding.evidence[0], folder)
    sources = [source for run in runs for source in run.sources] or [one.name for one in report.inputs]
    return _location(Evidence(sources[0] if sources else "stdin", 0, None, ""), folder)


def _location(item: Evidence, folder: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": ci.uri(item.source, folder)}}
    if item.line > 0:
        physical["region"] = {"startLine": item.line}
        if item.text:
            physical["region"]["snippet"] = {"text": ci.cut(item.text, _SNIPPET)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if ci.is_address(item.source):
        location["logicalLocations"] = [{"fullyQualifiedName": line(item.source) or "stdin", "kind": "resource"}]
    if item.time:
        location["properties"] = {"time": line(item.time)}
    return location


def _invocation(report: Report, options: RenderOptions) -> dict[str, Any]:
    code = ci.code(report, options.fail_on) if options.exit_code is None else options.exit_code
    return {
        "executionSuccessful": recognised(report),
        "exitCode": code,
        "toolExecutionNotifications": [*_notifications(report, options.folder)],
    }


def _notifications(report: Report, folder: str) -> Iterator[dict[str, Any]]:
    if not recognised(report):
        yield {"level": "error", "message": {"text": ci.NOTHING}}
    problems = [(one.name, problem) for one in report.inputs for problem in one.problems]
    for name, problem in problems[:_TOLD]:
        place = {"physicalLocation": {"artifactLocation": {"uri": ci.uri(name, folder)}}}
        yield {
            "level": "warning",
            "message": {"text": f"{ci.cut(name, 200)}: {ci.cut(problem, _TEXT)}"},
            "locations": [place],
        }
    unseen = {one.rule: one.reason or f"needs: {one.needs or 'more of the log'}" for one in report.unknown if one.rule}
    for rule, why in list(unseen.items())[:_TOLD]:
        text = f"could not be decided, {ci.cut(why, _TEXT)}"
        yield {"level": "note", "message": {"text": f"{line(rule)} {text}"}, "associatedRule": {"id": line(rule)}}
    for item in report.unrecognised[:_TOLD]:
        place = _location(item.first, folder)
        text = f"{item.count} {line(item.level)} lines that no rule knows: {ci.cut(item.template, _SNIPPET)}"
        yield {"level": "note", "message": {"text": text}, "locations": [place]}
    left = [max(0, len(some) - _TOLD) for some in (problems, unseen, report.unrecognised)]
    left.append(max(0, len(report.findings) - _RESULTS))
    if any(left):
        yield {
            "level": "note",
            "message": {"text": "left out: {} problems, {} rules, {} messages, {} findings".format(*left)},
        }
