"""The one next experiment: one change, so that what follows can be attributed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.contracts.findings import Finding, Plan
from diagnoser.remedies.command import command, masked
from diagnoser.remedies.context import Context
from diagnoser.remedies.proposals import Proposal


def next_experiment(
    findings: Sequence[Finding], settled: Mapping[str, Sequence[Proposal]], contexts: Mapping[int, Context]
) -> Plan | None:
    """Return the first change of a flag or variable that the first root proposes.

    Roots as severe as the first may step in where it has only actions. Less severe ones may not: tuning a server whose
    GPU is broken proves nothing.
    """
    roots = [finding for finding in findings if finding.role == "root"]
    for finding in roots:
        if finding.severity != roots[0].severity:
            break
        for proposal in settled.get(finding.id, ()):
            if proposal.is_experiment:
                env = [proposal.env] if proposal.env else []
                context = contexts[finding.runs[-1]]
                return Plan(
                    finding=finding.id,
                    remove=[masked(word) for word in proposal.remove],
                    add=list(proposal.add),
                    env=env,
                    command=command(context, proposal.remove, proposal.add, env),
                )
    return None
