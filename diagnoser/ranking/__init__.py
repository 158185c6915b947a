"""From causes per run to ordered findings: roots first, each followed by its consequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diagnoser.contracts.findings import Finding
from diagnoser.language import ENGLISH, Say
from diagnoser.ranking.folding import fold, in_order
from diagnoser.ranking.merging import Group, merge
from diagnoser.ranking.sighting import Sighting, Window, confidence_of, severity_of, window_text

__all__ = ["Sighting", "Window", "confidence_of", "rank", "severity_of", "window_text"]


def rank(
    sightings: Iterable[Sighting], explains: Mapping[str, Iterable[str]] | None = None, say: Say = ENGLISH
) -> list[Finding]:
    """Return one finding per cause in the order in which they should be read and worked on.

    ``explains`` maps causes to what they explain; without it the rules of the sightings are used. The order does not
    depend on the order of the input. A root is at least as severe as what it explains.
    """
    listed = list(sightings)
    graph = explains if explains is not None else {one.rule.id: one.rule.explains for one in listed}
    groups = merge(listed)
    parents = fold(groups, graph)
    return [_finding(group, parents, severity, say) for group, severity in in_order(groups, parents)]


def _finding(group: Group, parents: Mapping[str, str | None], severity: str, say: Say) -> Finding:
    main, rule = group.main, group.main.rule
    parent = parents[rule.id]
    return Finding(
        id=rule.id,
        stage=rule.stage,
        title=rule.title,
        severity=severity,
        confidence=group.confidence,
        role="consequence" if parent else "root",
        explains=sorted(name for name, above in parents.items() if above == rule.id),
        explained_by=parent,
        runs=list(group.runs),
        meaning=main.meaning or rule.meaning,
        impact=main.impact,
        window=window_text(main.window, say),
        evidence=group.evidence,
        remedies=[],
        verify=main.verify or rule.verify,
        docs=f"diagnose explain {rule.id}",
    )
