"""Objectives: the share of requests that meets each, and goodput, one line each."""

from __future__ import annotations

from diagnoser.contracts.findings import Report, RunReport
from diagnoser.reports.safe import line
from diagnoser.reports.summary import objective
from diagnoser.reports.text.page import Page


def write(page: Page, report: Report, run: RunReport | None) -> None:
    """Objectives of the run that the head is about."""
    if run is None or not run.objectives:
        return
    texts = [line(objective(one, page.source(one.source), page.say)) for one in run.objectives]
    page.labelled(page.say("objectives"), texts, 0, 18)
    page.gap()
