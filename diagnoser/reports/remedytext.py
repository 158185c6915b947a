"""One remedy in words of plain text: what to change from what to what, and why. A flag is never cut."""

from __future__ import annotations

from diagnoser.findings import Advice
from diagnoser.reports.safe import line, lines


def proposal(item: Advice, arrow: str = "->") -> str:
    """``--max-num-seqs 256 (set) -> 139``, or the sentence of an action."""
    if item.action:
        return " ".join(line(text) for text in lines(item.action))
    name = line(item.flag or item.env or "")
    current, proposed = line(item.current or ""), line(item.proposed or "")
    if current and proposed:
        return f"{name} {current} {arrow} {proposed}"
    return f"{name} {arrow} {proposed}" if proposed else f"{name} {current}".strip()


def reasons(item: Advice) -> list[str]:
    """Return why, and what it costs."""
    why = [" ".join(line(text) for text in lines(item.text))] if item.text else []
    return why + ([f"costs: {' '.join(line(text) for text in lines(item.tradeoff))}"] if item.tradeoff else [])
