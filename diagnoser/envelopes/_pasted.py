"""What a whole paste stands behind: marks of quotation (``> ``) or the blanks of a block, on each of its lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from diagnoser.envelopes._shapes import RECORD_START

#: Quotations inside one another, and blanks of a block.
_MOST_MARKS = 4
_MOST_BLANKS = 40


def head_of(lines: Sequence[bytes]) -> bytes:
    """Return what all lines begin with and no log does, "" for nothing; one line alone proves nothing."""
    texts = [line for line in lines if line.strip()]
    if len(texts) < 2 or texts[0][:1] not in b"> \t":
        return b""
    head = b""
    for _ in range(_MOST_MARKS):
        more = _mark([text[len(head) :] for text in texts])
        if not more:
            break
        head += more
    if not head or not any(RECORD_START.match(text[len(head) :].decode("utf-8", "replace")) for text in texts):
        return b""
    return head


def _mark(texts: Sequence[bytes]) -> bytes:
    """Return one mark of quotation, or the blanks that no line is without."""
    told = [text for text in texts if text.rstrip() != b">"] or [b""]
    first, last = min(told), max(told)
    shared = first[: next((at for at, char in enumerate(first) if last[at : at + 1] != bytes((char,))), len(first))]
    if shared[:1] == b">":
        return shared[:2] if shared[1:2] == b" " else b">"
    blanks = shared[: len(shared) - len(shared.lstrip(b" \t"))]
    return blanks[:_MOST_BLANKS]


def without(head: bytes, raw: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    """Take the head off the lines; those that have none, and gaps, are handed on as they are."""
    bare = head.rstrip()
    for source, number, data in raw:
        if data.__class__ is bytes and data.startswith(head):
            yield source, number, data[len(head) :]
        elif bare and data == bare:
            yield source, number, b""
        else:
            yield source, number, data
