"""What was not decided, by the one input that would decide it: what that input tells, and what it can only rule out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from diagnoser.contracts.findings import Unknown
from diagnoser.language import Say
from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Asked:
    """One input with the rules that it would decide and those that it could only rule out."""

    needs: str
    decided: list[str] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)

    def told(self, needs: str, names: Callable[[list[str]], str], say: Say) -> str:
        """Say it in one sentence; ``needs`` and ``names`` are made safe for the page by the caller."""
        if not self.ruled_out:
            return say("{needs}: would decide {rules}").format(needs=needs, rules=names(self.decided))
        if not self.decided:
            return say("{needs}: could rule out {rules}").format(needs=needs, rules=names(self.ruled_out))
        told = say("{needs}: would decide {rules}, could rule out {others}")
        return told.format(needs=needs, rules=names(self.decided), others=names(self.ruled_out))


def asked(unknown: Iterable[Unknown], say: Say) -> list[Asked]:
    """Group what an input would decide by that input, the one that decides most first."""
    found: dict[str, Asked] = {}
    for item in unknown:
        if item.reason:  # no input would decide it
            continue
        needs, name = item.needs or say("more of the log"), item.rule or item.symptom
        one = found.setdefault(needs, Asked(needs))
        into = one.ruled_out if item.decides == "false" else one.decided
        if name not in into:
            into.append(name)
    return sorted(found.values(), key=lambda one: (-len(one.decided), -len(one.ruled_out)))
