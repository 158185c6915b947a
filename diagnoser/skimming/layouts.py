"""The shape of a line as an expression: what stands still, where numbers are, what they mean, by trying others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.envelopes import Peeler, cleaned
from diagnoser.formats.base import StatsLine
from diagnoser.formats.records import RecordReader
from diagnoser.formats.skipping import SkippingReader
from diagnoser.model import Record
from diagnoser.patterns import lazily
from diagnoser.skimming.trials import Asked, Value, events_of, values_of
from diagnoser.table import Group
from diagnoser.values import dataclass, replace

#: Longest line that is learnt.
LONGEST = 2000

#: What looks for a date and a time of so many characters; whether they are is asked once of each.
STAMP = "([0-9 :-]{%d})"

#: How a request's line ends whose text is over (``vllm.request_complete``).
REQUEST_END = b"lora_request: None."

_DIGITS = lazily(rb"\d+")
_TIME = lazily(rb"(?:(\d{4})-)?(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?![.,\d])")
# How far from the start of a line its time ends.
_TIME_REACH = 200
# What a number belongs to that is a part of a name: ``TP0``, ``pid=88``, ``Engine 001``.
_NAMED = lazily(rb"(?:[A-Za-z_=]|Engine )\Z")
_REQUEST = lazily(rb"Received request [\w-]{1,100}+: (?:prompt|params): ")
_COLOURS = lazily(rb"(?:\x1b\[[0-9;]{0,32}m)+|\r\Z")
# Bytes that send a line another way: terminal codes, several records in one line, lines that were cut.
_STRANGE = lazily(rb"[\x00-\x08\x0a-\x1f\x7f-\xff|]|across cluster\]|% ?\|")


#: Digits of one number: no server prints a larger one, and as many are exact in a float.
MOST_DIGITS = 15

# A user's text up to the end of a request's line.
_REST = (
    r"Received request [A-Za-z0-9_-]{1,100}+: (?:prompt|params): [^\n]*+(?<=" + re.escape(REQUEST_END.decode()) + ")"
)
_NUMBER = f"[0-9]{{1,{MOST_DIGITS}}}"


@dataclass(slots=True)
class Layout:
    """A shape: ``tokens`` are expressions, one after the other; what stands still has one for each character.

    Tokens in brackets are groups: ``timed`` says whether the first is a date and a time, the others hold the numbers
    that ``values`` counts from 0. ``kind`` is that of the records, ``known`` what is known of their times, ``text``
    where the record's text begins in the line. ``codes`` and ``returns`` count terminal codes and carriage returns that
    stand in the line as it is, and not in what is read of it.
    """

    tokens: tuple[str, ...]
    timed: bool
    kind: str
    dialect: str
    level: str
    tag: str
    known: str
    text: int = 0
    group: Group = ()
    values: tuple[Value, ...] = ()
    answered: bool = False
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    process: str = ""
    ranks: Group = ()
    codes: int = 0
    returns: int = 0


def learn(line: bytes, asked: Asked) -> Layout | None:
    """Return the shape of a line, None for lines that must be read one by one."""
    if b"\x1b" not in line and not line.endswith(b"\r"):
        return _learn(line, asked)
    clean, woven = _clean(line)
    # What is left is read as if nothing else had been there.
    if clean != cleaned(line.decode("utf-8", "replace")).encode():
        return None
    found = _learn(clean, asked)
    tokens = _woven(found.tokens, clean, woven) if found is not None else None
    if found is None or tokens is None:
        return None
    return replace(found, tokens=tokens, codes=line.count(b"\x1b"), returns=line.count(b"\r"))


def _clean(line: bytes) -> tuple[bytes, dict[int, bytes]]:
    """Take colours and the carriage return at the end away; what stood before which byte of the rest."""
    clean, at = b"", 0
    woven: dict[int, bytes] = {}
    for code in _COLOURS.finditer(line):
        clean += line[at : code.start()]
        woven[len(clean)] = woven.get(len(clean), b"") + code.group()
        at = code.end()
    return clean + line[at:], woven


def _woven(tokens: Sequence[str], clean: bytes, woven: Mapping[int, bytes]) -> tuple[str, ...] | None:
    """Put what was taken away back between tokens; None where it stood inside of one."""
    at, left = 0, dict(woven)
    made: list[str] = []
    for token in tokens:
        made += map(re.escape, left.pop(at, b"").decode())
        found = re.compile(token).match(clean.decode("latin-1"), at)
        if found is None:
            return None
        at = found.end()
        if token == _REST:
            # It runs to the end of the line, whatever that is.
            token = f"{token[:-1]}{re.escape(left.pop(at, b'').decode())})"
        made.append(token)
    made += map(re.escape, left.pop(at, b"").decode())
    return None if left or at != len(clean) else tuple(made)


def _learn(line: bytes, asked: Asked) -> Layout | None:
    request = _REQUEST.search(line, 0, _TIME_REACH)
    if request is None and (len(line) > LONGEST or _STRANGE.search(line)):
        return None
    record = _read(line)
    timed = _TIME.search(line, 0, _TIME_REACH)
    if record is None or bool(record.time_known) != (timed is not None) or line[:1].isdigit():
        return None
    if request is not None:
        return _request(line, record, request, timed) if record.kind == "request" and timed is not None else None
    if record.kind not in ("stats", "access") or not line.endswith(record.text.encode()):
        return None
    offset = len(line) - len(record.text)
    runs = [run.span() for run in _DIGITS.finditer(line)]
    free = _free(line, record.kind, offset, runs)
    told = asked.stats(record) if record.kind == "stats" else StatsLine((), {})
    values = values_of(record, told, line, offset, free, asked.stats) if told is not None and told.values else []
    events = events_of(record, line, offset, free, asked)
    if told is None or values is None or events is None:
        return None
    if timed is not None and timed.end() > offset:
        return None
    tokens = _tokens(line, timed, runs, free, values)
    if tokens is None:
        return None
    answered = record.kind == "access" and '" 200' in record.text and "POST " in record.text
    return Layout(
        tokens, timed is not None, record.kind, record.dialect, record.level if record.kind == "access" else "",
        SkippingReader().tag_of(line.decode()), record.time_known, offset, told.group, tuple(values), answered,
        tuple(events), record.process, record.ranks,
    )  # fmt: skip


def _tokens(
    line: bytes,
    timed: re.Match[bytes] | None,
    runs: Sequence[tuple[int, int]],
    free: Mapping[int, tuple[int, int]],
    values: Sequence[Value],
) -> tuple[str, ...] | None:
    """Write the expressions of a line; None where two numbers share digits."""
    text = line.decode("latin-1")
    # Where each group begins, where it ends, and what it looks for.
    groups: dict[int, tuple[int, str]] = {}
    for one in sorted({(one.whole, one.fraction) for one in values if one.whole >= 0}):
        whole, fraction = one
        start, end = free[whole]
        if start in groups or any(start < last for last, _ in groups.values()):
            return None
        look = _NUMBER
        if fraction >= 0:
            if line[end : free[fraction][0]] != b".":
                return None
            end, look = free[fraction][1], rf"{_NUMBER}\.{_NUMBER}"
        groups[start] = end, f"({look})"
    order = {start: number for number, start in enumerate(sorted(groups))}
    for value in values:
        value.group = order[free[value.whole][0]] if value.whole >= 0 else -1
    if timed is not None:
        groups[timed.start()] = timed.end(), STAMP % (timed.end() - timed.start())
    loose = {start: (end, _NUMBER) for start, end in free.values()} | groups
    tokens, at = [], 0
    while at < len(text):
        if at in loose:
            at, token = loose[at]
        else:
            token, at = re.escape(text[at]), at + 1
        tokens.append(token)
    return tuple(tokens)


def _read(line: bytes) -> Record | None:
    """Read one line alone, as a line in the middle of a bare log; None when it is not one whole record."""
    peeler = Peeler()
    lines = list(peeler.lines([("", 1, line)]))
    if len(lines) != 1 or lines[0].envelope != "bare" or lines[0].text != line.decode("utf-8", "replace"):
        return None
    reader = RecordReader()
    found = [*reader.feed(lines[0]), *reader.flush()]
    return found[0] if len(found) == 1 else None


def _free(line: bytes, kind: str, offset: int, runs: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return the runs of digits that may be any number: none that is a part of a name."""
    # What an access line says behind its address stands still.
    still = line.find(b' - "', offset) if kind == "access" else len(line)
    return {
        number: (start, end)
        for number, (start, end) in enumerate(runs)
        if offset <= start < still and not _NAMED.search(line[max(0, start - 8) : start])
    }


def _request(line: bytes, record: Record, request: re.Match[bytes], timed: re.Match[bytes]) -> Layout | None:
    if not line.endswith(REQUEST_END) or record.dialect != "vllm" or _STRANGE.search(line, 0, request.start()):
        return None
    # The year, which vLLM does not print, would have to be compared too.
    if timed.group(1) is not None or timed.end() > request.start():
        return None
    text = line.decode("latin-1")
    before, between = text[: timed.start()], text[timed.end() : request.start()]
    tokens = (*map(re.escape, before), STAMP % (timed.end() - timed.start()), *map(re.escape, between), _REST)
    tag = SkippingReader().tag_of(line.decode("utf-8", "replace"))
    return Layout(tokens, True, "request", "vllm", "", tag, record.time_known)
