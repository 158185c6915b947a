"""From remedies of rules to advice that can be pasted, and to one next experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.contracts.findings import Finding, Plan
from diagnoser.language import ENGLISH
from diagnoser.remedies.context import Context
from diagnoser.remedies.plan import next_experiment
from diagnoser.remedies.proposals import Proposal, proposals
from diagnoser.remedies.settle import settle
from diagnoser.rules.model import Rule

__all__ = ["Context", "Proposal", "proposals", "recommend"]


def recommend(findings: Sequence[Finding], rules: Mapping[str, Rule], contexts: Mapping[int, Context]) -> Plan | None:
    """Fill ``remedies`` of every finding (in rank order) and return the one next experiment, None when there is none.

    ``contexts`` holds what is known of each run by its id. Values are those of the last run that shows the finding:
    its configuration is the one in force. A knob is moved by one finding only; see ``settle``.
    """
    proposed = {
        finding.id: proposals(rules[finding.id], contexts[finding.runs[-1]])
        for finding in findings
        if finding.id in rules and finding.runs and finding.runs[-1] in contexts
    }
    settled = settle(findings, proposed, next((one.say for one in contexts.values()), ENGLISH))
    for finding in findings:
        finding.remedies = [one.advice for one in settled.get(finding.id, [])]
    return next_experiment(findings, settled, contexts)
