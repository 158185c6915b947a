"""The table of changes: what, from what to what, why, and what it costs."""

from __future__ import annotations

from diagnoser.contracts.findings import Advice
from diagnoser.reports import layout
from diagnoser.reports.safe import line, lines
from diagnoser.reports.text.page import Page
from diagnoser.reports.words import current, proposed

_INDENT = 3
_BODY = 5


def write(page: Page, remedies: list[Advice]) -> None:
    """In order, to be tried one at a time."""
    if not remedies:
        return
    page.add(" " * _INDENT, (page.say("fix, one at a time") if len(remedies) > 1 else page.say("fix"), "label"))
    changes = [item for item in remedies if not item.action]
    names = max((layout.cells(_name(item)) for item in changes), default=0)
    moves = max((layout.cells(_move(item, page)) for item in changes), default=0)
    column = _BODY + names + 2 + moves + 3
    # Reasons stand beside the change where they get a third of the page, else below it.
    beside = page.width - column >= max(34, page.width // 3)
    for item in remedies:
        if item.action:
            _action(page, item)
        else:
            _change(page, item, names, moves, column if beside else 0)


def _name(item: Advice) -> str:
    return line(item.flag or item.env or "")


def _move(item: Advice, page: Page) -> str:
    now, then = current(line(item.current or ""), page.say), proposed(line(item.proposed or ""), page.say)
    if now and then:
        return f"{now} {page.arrow} {then}"
    return f"{page.arrow} {then}" if then else now


def _reasons(item: Advice, page: Page) -> list[str]:
    reasons = [text for text in lines(item.text) if text]
    return reasons + ([page.say("costs: {what}").format(what=line(item.tradeoff))] if item.tradeoff else [])


def _change(page: Page, item: Advice, names: int, moves: int, column: int) -> None:
    name, move = _name(item), _move(item, page)
    room = page.width - (column or _BODY + 2)
    pieces = [piece for reason in _reasons(item, page) for piece in layout.wrap(reason, room)]
    lead = f"{' ' * _BODY}{layout.pad(name, names)}  "
    first = pieces.pop(0) if column and pieces else ""
    if layout.cells(lead) + layout.cells(move) > page.width:
        page.add((lead, "add"))
        for piece in layout.wrap(move, page.width - _BODY - 2):
            page.add(" " * (_BODY + 2), (piece, "title"))
    else:
        page.add((lead, "add"), (layout.pad(move, moves) if first else move, "title"), "   " if first else "", first)
    for piece in pieces:
        page.add(" " * (column or _BODY + 2), (piece, "dim" if not column else ""))


def _action(page: Page, item: Advice) -> None:
    for text in lines(item.action or ""):
        page.prose(text, _BODY)
    for reason in _reasons(item, page):
        page.prose(reason, _BODY + 2, "dim")
