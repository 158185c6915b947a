"""Several records on one physical line: carriage returns, and progress bars that a record ran into."""

from __future__ import annotations

from diagnoser.envelopes._shapes import LOGGED, RECORD_START
from diagnoser.patterns import lazily

#: The end of a tqdm bar: ``[00:05<00:00,  4.1it/s]``, with a postfix at most.
_BAR_END = lazily(
    r"\[[\d:?]{2,12}(?:<[\d:? days,]{1,24})?, {1,4}[\d.?a-zA-Z]{1,16}/[a-zA-Z]{1,8}(?:, [^\[\]]{0,200})?\] ?"
)
#: Bars on one line; a line of more is left whole.
_MAX_BARS = 64


def split(text: str) -> list[str]:
    """Cut a line where a terminal would have started over; empty pieces go, unless nothing else is left."""
    if "\r" not in text and "\n" not in text:
        return split_bars(text)
    pieces = [piece for part in text.replace("\r", "\n").split("\n") if part for piece in split_bars(part)]
    return pieces or [""]


def split_bars(text: str) -> list[str]:
    """Cut ``bar]record`` into bar and record. A line that began as a record is not cut: it may quote a bar."""
    if "|" not in text:
        return [text]
    pieces: list[str] = []
    start = 0
    for count, bar in enumerate(_BAR_END.finditer(text)):
        if count >= _MAX_BARS or LOGGED.match(text, start):
            break
        if RECORD_START.match(text, bar.end()):
            pieces.append(text[start : bar.end()].rstrip())
            start = bar.end()
    pieces.append(text[start:])
    return pieces
