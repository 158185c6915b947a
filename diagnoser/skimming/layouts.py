"""The shape of a line: what stands still in it, where its numbers are, and what they mean, by trying them out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.envelopes import Peeler
from diagnoser.formats.base import StatsLine
from diagnoser.formats.records import RecordReader
from diagnoser.formats.skipping import SkippingReader
from diagnoser.model import Record
from diagnoser.patterns import lazily
from diagnoser.skimming.trials import Asked, Value, events_of, values_of
from diagnoser.table import Group
from diagnoser.values import dataclass

#: Longest line that is learnt.
LONGEST = 2000

#: How a request's line ends whose text is over (``vllm.request_complete``).
REQUEST_END = b"lora_request: None."

_DIGITS = lazily(rb"\d+")
_TIME = lazily(rb"(?:(\d{4})-)?(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?![.,\d])")
# How far from the start of a line its time ends.
_TIME_REACH = 200
# What a number belongs to that is a part of a name: ``TP0``, ``pid=88``, ``Engine 001``.
_NAMED = lazily(rb"(?:[A-Za-z_=]|Engine )\Z")
_REQUEST = lazily(rb"Received request [\w-]{1,100}+: (?:prompt|params): ")
# Bytes that send a line another way: terminal codes, several records in one line, lines that were cut.
_STRANGE = lazily(rb"[\x00-\x08\x0a-\x1f\x7f-\xff|]|across cluster\]|% ?\|")


@dataclass(slots=True)
class Layout:
    """A shape: the line without its digits, and what is known of each run of digits.

    ``offsets`` says where the runs stand in what is left without digits; ``still`` are the runs that never change,
    ``date`` those of year (where there is one), month and day, ``clock`` those of hour, minute and second. ``kind`` is
    that of the records, ``known`` what is known of their times, ``text`` where the record's text begins in the line.
    """

    skeleton: bytes
    offsets: tuple[int, ...]
    still: tuple[tuple[int, bytes], ...]
    date: tuple[int, ...]
    clock: tuple[int, ...]
    kind: str
    dialect: str
    level: str
    tag: str
    known: str
    text: int
    group: Group = ()
    values: tuple[Value, ...] = ()
    answered: bool = False
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    process: str = ""
    ranks: Group = ()


@dataclass(slots=True)
class RequestLayout:
    """A request line: ``head`` matches up to where a user's text may begin; its groups are day and time."""

    head: re.Pattern[bytes]
    tag: str
    known: str


def learn(line: bytes, asked: Asked) -> Layout | RequestLayout | None:
    """Return the shape of a line, None for lines that must be read one by one."""
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
    date: tuple[int, ...] = ()
    clock: tuple[int, ...] = ()
    if timed is not None:
        if timed.end() > offset:
            return None
        starts = [start for start, _ in runs]
        date = tuple(starts.index(timed.start(part)) for part in (1, 2, 3) if timed.start(part) >= 0)
        clock = tuple(starts.index(timed.start(part)) for part in (4, 5, 6))
    gone, offsets = 0, []
    for start, end in runs:
        offsets.append(start - gone)
        gone += end - start
    moving = {*free, *date, *clock}
    answered = record.kind == "access" and '" 200' in record.text and "POST " in record.text
    still = tuple((at, line[start:end]) for at, (start, end) in enumerate(runs) if at not in moving)
    return Layout(
        _DIGITS.sub(b"", line), tuple(offsets), still, date, clock, record.kind, record.dialect,
        record.level if record.kind == "access" else "", SkippingReader().tag_of(line.decode()), record.time_known,
        offset, told.group, tuple(values), answered,
        tuple(events), record.process, record.ranks,
    )  # fmt: skip


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


def _request(line: bytes, record: Record, request: re.Match[bytes], timed: re.Match[bytes]) -> RequestLayout | None:
    if not line.endswith(REQUEST_END) or record.dialect != "vllm" or _STRANGE.search(line, 0, request.start()):
        return None
    # The year, which vLLM does not print, would have to be compared too.
    if timed.group(1) is not None or timed.end() > request.start():
        return None
    before, between = re.escape(line[: timed.start()]), re.escape(line[timed.end() : request.start()])
    head = before + rb"(\d\d-\d\d) (\d\d:\d\d:\d\d)" + between + _REQUEST.pattern
    return RequestLayout(re.compile(head), SkippingReader().tag_of(line.decode("utf-8", "replace")), record.time_known)
