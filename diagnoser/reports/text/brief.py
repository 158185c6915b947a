"""The compact form: a verdict, then one line a finding, in the same columns on every screen, for grep and awk."""

from __future__ import annotations

from diagnoser.contracts.findings import Finding, Report
from diagnoser.reports.excerpt import excerpt, stems
from diagnoser.reports.safe import line
from diagnoser.reports.summary import graded
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import short_window

#: Cells of a proof: the same on every terminal, so that the line is too.
_PROOF = 120
_JOINT = " | "


def write(page: Page, report: Report) -> None:
    """``VERDICT text``, then ``SEVERITY id confidence | title | window | source:line proof``.

    The words before the first bar, and a verdict's severity, are the same in every language.
    """
    said = graded(report, page.say)
    page.add(("VERDICT", "label"), f" {said}")
    for finding in report.findings:
        severity = line(finding.severity).upper()
        words = f" {_word(finding.id)} {_word(finding.confidence)}"
        page.add((severity, line(finding.severity)), _JOINT.join([words, *_fields(page, finding)]))


def _fields(page: Page, finding: Finding) -> list[str]:
    proof = ""
    if finding.evidence:
        first = finding.evidence[0]
        place = f"{line(first.source)}:{first.line}" if first.line else line(first.source)
        words = stems(page.say.english(finding.title), finding.id, finding.impact)
        proof = f"{place} {excerpt(first.text, words, _PROOF, page.mark)}"
    # A bar inside a field would be one field more.
    return [text.replace("|", "¦") or "-" for text in (line(finding.title), short_window(line(finding.window)), proof)]


def _word(text: str) -> str:
    return "_".join(line(text).split()) or "-"
