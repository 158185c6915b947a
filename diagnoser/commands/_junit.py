"""Results of rule examples as JUnit XML, for build servers."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from diagnoser.commands._ruletests import label
from diagnoser.reports.safe import line
from diagnoser.rules.testing import ExampleResult


def render(results: Sequence[ExampleResult]) -> str:
    """One test case for each example; the class name is the rule's id. No times: equal rules give equal bytes."""
    failed = sum(not result.ok for result in results)
    counts = f'tests="{len(results)}" failures="{failed}" errors="0" skipped="0"'
    out = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="diagnose rules test" {counts}>']
    out.append(f'  <testsuite name="rules" {counts}>')
    for result in results:
        case = f"    <testcase classname={quoteattr(result.rule)} name={quoteattr(label(result))}"
        if result.ok:
            out.append(f"{case}/>")
            continue
        problem = line(result.problem)
        out += [
            f"{case}>",
            f"      <failure message={quoteattr(problem)}>{escape(problem)}</failure>",
            "    </testcase>",
        ]
    return "\n".join([*out, "  </testsuite>", "</testsuites>"]) + "\n"
