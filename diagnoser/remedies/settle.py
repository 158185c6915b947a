"""Several findings, one launch command: each knob is moved once, by the root that matters most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.contracts.findings import Advice, Finding
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.remedies.proposals import Proposal
from diagnoser.values import replace

_WISHES = {
    1: phrase("{finding} alone would raise it"),
    -1: phrase("{finding} alone would lower it"),
    0: phrase("{finding} alone would change it"),
}


def settle(
    findings: Sequence[Finding], proposed: Mapping[str, Sequence[Proposal]], say: Say = ENGLISH
) -> dict[str, list[Proposal]]:
    """Return the proposals that stay, by finding.

    Roots choose before consequences, each in rank order. Who comes later and would move a knob the other way, or set it
    to another word, loses that advice; the winner's trade-off says so. The same way is not said twice: a later root
    points to the winner, a consequence leaves it out.
    """
    kept: dict[str, list[Proposal]] = {finding.id: [] for finding in findings}
    winners: dict[str, tuple[str, Proposal]] = {}
    against: dict[str, dict[str, int]] = {}
    for finding in sorted(findings, key=lambda finding: finding.role != "root"):
        for proposal in proposed.get(finding.id, ()):
            subject = proposal.subject
            if not subject:
                kept[finding.id].append(proposal)
            elif subject not in winners:
                winners[subject] = (finding.id, proposal)
                kept[finding.id].append(proposal)
            elif _contrary(winners[subject][1], proposal):
                against.setdefault(subject, {}).setdefault(finding.id, proposal.direction)
            elif finding.role == "root" and winners[subject][0] != finding.id:
                kept[finding.id].append(_pointer(*winners[subject], say))
    for subject, losers in against.items():
        _, winner = winners[subject]
        winner.advice = _noted(winner.advice, losers, say)
    return kept


def _contrary(winner: Proposal, other: Proposal) -> bool:
    if winner.direction and other.direction:
        return winner.direction != other.direction
    return winner.advice.proposed != other.advice.proposed


def _pointer(finding: str, winner: Proposal, say: Say) -> Proposal:
    name = winner.advice.flag or winner.advice.env or ""
    words = f"{name} {say(winner.advice.proposed)}" if winner.advice.proposed else name
    said = say("{change}, as advised for {finding}").format(change=words, finding=finding)
    return Proposal(Advice(None, None, said, None, None, "", ""))


def _noted(advice: Advice, losers: Mapping[str, int], say: Say) -> Advice:
    """Add who wants the opposite to the price of an advice."""
    wishes = [say(_WISHES[direction]).format(finding=finding) for finding, direction in losers.items()]
    return replace(advice, tradeoff=say("; ").join([advice.tradeoff, *wishes] if advice.tradeoff else wishes))
