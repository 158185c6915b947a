"""One remedy in words of plain text: what to change from what to what, and why. A flag is never cut."""

from __future__ import annotations

from diagnoser.contracts.findings import Advice
from diagnoser.language import ENGLISH, Say
from diagnoser.reports.safe import line, lines
from diagnoser.reports.words import current, proposed


def proposal(item: Advice, arrow: str = "->", say: Say = ENGLISH) -> str:
    """``--max-num-seqs 256 (set) -> 139``, or the sentence of an action."""
    if item.action:
        return " ".join(line(text) for text in lines(item.action))
    name = line(item.flag or item.env or "")
    now, then = line(current(item.current or "", say)), line(proposed(item.proposed or "", say))
    if now and then:
        return f"{name} {now} {arrow} {then}"
    return f"{name} {arrow} {then}" if then else f"{name} {now}".strip()


def reasons(item: Advice, say: Say = ENGLISH) -> list[str]:
    """Return why, and what it costs."""
    why = [" ".join(line(text) for text in lines(item.text))] if item.text else []
    price = " ".join(line(text) for text in lines(item.tradeoff))
    return why + ([say("costs: {what}").format(what=price)] if item.tradeoff else [])
