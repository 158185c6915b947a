"""The eight stages of a request and what is known of each: the first line of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from diagnoser.findings import Finding, Stage
from diagnoser.rules.model import SEVERITIES, STAGES
from diagnoser.values import dataclass


@dataclass(slots=True, frozen=True)
class Look:
    """What one rule saw in one run: ``state`` is "fired", "clear", "unknown" or "not_applicable".

    ``needs`` says what input would have let an unknown one look.
    """

    rule: str
    stage: str
    state: str
    needs: str = ""


def stages(findings: Sequence[Finding], looks: Iterable[Look], gpus: int | None = None) -> list[Stage]:
    """Return all stages in the order a request passes them.

    "cause": a root cause at or above warning. "suspect": a consequence, or a cause that is only possible. "ok": at
    least one rule could look and none found a fault. "unknown": none could look. "n/a": no rule applies, or comms on a
    single GPU. ``gpus`` is TP x PP x DP, None when the log does not say.
    """
    by_stage: dict[str, list[Look]] = {name: [] for name in STAGES}
    for look in looks:
        if look.stage in by_stage:
            by_stage[look.stage].append(look)
    return [_stage(name, findings, by_stage[name], gpus) for name in STAGES]


def _stage(name: str, findings: Sequence[Finding], looks: Sequence[Look], gpus: int | None) -> Stage:
    here = [finding for finding in findings if finding.stage == name]
    faults = {finding.id: SEVERITIES.index(finding.severity) > 0 for finding in findings}
    sure = [one for one in here if one.role == "root" and faults[one.id] and one.confidence != "possible"]
    if sure:
        return Stage(name, "cause", ", ".join(one.id for one in sure))
    # A consequence of a fault is a sign of it, however mild it is itself.
    signs = [one for one in here if faults[one.id] or faults.get(one.explained_by or "", False)]
    if signs:
        return Stage(name, "suspect", ", ".join(_sign(one) for one in signs))
    if name == "comms" and gpus == 1:
        return Stage(name, "n/a", "one GPU")
    looked = {look.rule for look in looks if look.state in ("clear", "fired")}
    if looked:
        remarks = f"; remark: {', '.join(one.id for one in here)}" if here else ""
        return Stage(name, "ok", f"{len(looked)} {'rule' if len(looked) == 1 else 'rules'} looked{remarks}")
    blind = {look.rule: look.needs for look in looks if look.state == "unknown"}
    if blind:
        return Stage(name, "unknown", _blind(blind))
    return Stage(name, "n/a" if looks else "unknown", "no rule applies" if looks else "no rule for this stage")


def _sign(finding: Finding) -> str:
    return f"{finding.id} (from {finding.explained_by})" if finding.explained_by else f"{finding.id} (possible)"


def _blind(blind: dict[str, str]) -> str:
    """Say that no rule could look, and what most of them would need."""
    counts = Counter(needs for needs in blind.values() if needs)
    most = min(counts, key=lambda needs: (-counts[needs], needs)) if counts else ""
    text = f"{len(blind)} {'rule' if len(blind) == 1 else 'rules'} could not look"
    return f"{text}: needs {most}" if most else text
