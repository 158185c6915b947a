"""The eight stages of a request and what is known of each: the first line of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from diagnoser.contracts.findings import Finding, Stage
from diagnoser.language import ENGLISH, Say
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


def stages(
    findings: Sequence[Finding], looks: Iterable[Look], gpus: int | None = None, say: Say = ENGLISH
) -> list[Stage]:
    """Return all stages in the order a request passes them.

    "cause": a root cause at or above warning. "suspect": a consequence, or a cause that is only possible. "ok": at
    least one rule could look and none found a fault. "unknown": none could look. "n/a": no rule applies, or comms on a
    single GPU. ``gpus`` is TP x PP x DP, None when the log does not say. Reasons are in the language of ``say``.
    """
    by_stage: dict[str, list[Look]] = {name: [] for name in STAGES}
    for look in looks:
        if look.stage in by_stage:
            by_stage[look.stage].append(look)
    return [_stage(name, findings, by_stage[name], gpus, say) for name in STAGES]


def _stage(name: str, findings: Sequence[Finding], looks: Sequence[Look], gpus: int | None, say: Say) -> Stage:
    here = [finding for finding in findings if finding.stage == name]
    faults = {finding.id: SEVERITIES.index(finding.severity) > 0 for finding in findings}
    sure = [one for one in here if one.role == "root" and faults[one.id] and one.confidence != "possible"]
    if sure:
        return Stage(name, "cause", ", ".join(one.id for one in sure))
    # A consequence of a fault is a sign of it, however mild it is itself.
    signs = [one for one in here if faults[one.id] or faults.get(one.explained_by or "", False)]
    if signs:
        return Stage(name, "suspect", ", ".join(_sign(one, say) for one in signs))
    if name == "comms" and gpus == 1:
        return Stage(name, "n/a", say("one GPU"))
    looked = {look.rule for look in looks if look.state in ("clear", "fired")}
    if looked:
        told = (say("{count} rule looked") if len(looked) == 1 else say("{count} rules looked")).format(
            count=len(looked)
        )
        if here:
            told = say("{looked}; remark: {rules}").format(looked=told, rules=", ".join(one.id for one in here))
        return Stage(name, "ok", told)
    blind = {look.rule: look.needs for look in looks if look.state == "unknown"}
    if blind:
        return Stage(name, "unknown", _blind(blind, say))
    return (
        Stage(name, "n/a", say("no rule applies")) if looks else Stage(name, "unknown", say("no rule for this stage"))
    )


def _sign(finding: Finding, say: Say) -> str:
    if finding.explained_by:
        return say("{rule} (from {cause})").format(rule=finding.id, cause=finding.explained_by)
    return say("{rule} (possible)").format(rule=finding.id)


def _blind(blind: dict[str, str], say: Say) -> str:
    """Say that no rule could look, and what most of them would need."""
    counts = Counter(needs for needs in blind.values() if needs)
    most = min(counts, key=lambda needs: (-counts[needs], needs)) if counts else ""
    text = say("{count} rule could not look") if len(blind) == 1 else say("{count} rules could not look")
    told = text.format(count=len(blind))
    return say("{blind}: needs {input}").format(blind=told, input=most) if most else told
