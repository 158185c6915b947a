"""Learning the shape of a line from one of its kind: it is read alone, and again with other digits in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from diagnoser.envelopes import epoch
from diagnoser.formats.process import colourless
from diagnoser.formats.skipping import SkippingReader
from diagnoser.patterns import lazily
from diagnoser.skimming.forms import NAME, Chunk, Form, Stamps, form_of
from diagnoser.skimming.layouts import ASKS, LONGEST, REQUEST, REQUEST_END, TAIL, Layout, Request, Shape, breaks
from diagnoser.skimming.reads import Reading, put, read, same
from diagnoser.skimming.trials import TRIALS, Asked, changed, events_of, values_of

# Numbers in a line; no line of statistics has more.
_MOST_NUMBERS = 100
_NUMBER = lazily(rb"[0-9]+")
_TIME = lazily(rb"(?:([0-9]{4})-)?([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?![.,0-9])")
_OUTER = lazily(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})"
)
# Times that are put in place of others; one of them is not the other.
_TIMES = (b"04:05:06", b"17:28:39")
# How far from the start of a line its own time ends.
_TIME_REACH = 400
# What a number belongs to that is a part of a name: ``TP0``, ``pid=88``, ``Engine 001``.
_NAMED = lazily(r"(?:[A-Za-z_=]|Engine )\Z")
# Bytes that send a line another way: terminal codes, several records in one line, lines that were cut.
_STRANGE = lazily(rb"[\x00-\x08\x0a-\x1f\x7f-\xff|]|across cluster\]|% ?\|")


def learn(line: bytes, asked: Asked) -> Layout | Request | None:
    """Return the shape of a line, None for lines that must be read one by one."""
    base = read(line)
    if base is None or base.record.kind not in ("stats", "access", "request"):
        return None
    stamp = _TIME.search(line, 0, _TIME_REACH)
    # Its time is its envelope's, which prints no year: only the lines before it tell which one.
    if stamp is None and base.line.undated is not None:
        return None
    outer = None
    if base.line.time is not None and (outer := _outer(line, base)) is None:
        return None
    if bool(base.record.time_known) != (stamp is not None or outer is not None):
        return None
    if stamp is not None and not _tells(line, base, stamp):
        return None
    if base.record.kind == "request":
        return _request(line, base, stamp, outer) if stamp is not None else None
    return _template(line, base, stamp, outer, asked) if len(line) <= LONGEST else None


def _outer(line: bytes, base: Reading) -> re.Match[bytes] | None:
    """Find the time in a line that is its envelope's: the one that moves it."""
    for found in _OUTER.finditer(line):
        other = line[: found.start(1)] + _another(line, found.start(1), found.end(3)) + line[found.end(3) :]
        moved = read(other)
        time = epoch(other[found.start() : found.end()].decode())
        if moved is not None and moved.line.time == time and same(base, moved, text=base.record.text):
            return found
    return None


def _tells(line: bytes, base: Reading, stamp: re.Match[bytes]) -> bool:
    """Whether the time found in a line is the one that its record has."""
    other = _another(line, stamp.start(4), stamp.end(6))
    moved = read(line[: stamp.start(4)] + other + line[stamp.end(6) :])
    if moved is None or not same(base, moved, text=base.record.text):
        return False
    time, before = moved.record.time, base.record.time
    ahead = _seconds(*other.split(b":")) - _seconds(*stamp.group(4, 5, 6))
    return time is not None and before is not None and time - before == ahead


def _another(line: bytes, start: int, end: int) -> bytes:
    """Return a time of day that is not the one there."""
    return _TIMES[line[start:end] == _TIMES[0]]


def _seconds(hour: bytes, minute: bytes, second: bytes) -> int:
    return int(hour) * 3600 + int(minute) * 60 + int(second)


def _template(
    line: bytes, base: Reading, stamp: re.Match[bytes] | None, outer: re.Match[bytes] | None, asked: Asked
) -> Layout | None:
    record, text = base.record, base.record.text
    numbers = [number.span() for number in _NUMBER.finditer(line)]
    if _STRANGE.search(text.encode()) or len(numbers) > _MOST_NUMBERS:
        return None
    free = _free(text, record.kind)
    told = asked.stats(record) if record.kind == "stats" else None
    if record.kind == "stats" and (told is None or not told.values):
        return None
    values = values_of(record, told, free, asked.stats) if told is not None else []
    events = events_of(record, free, asked)
    if values is None or events is None:
        return None
    places = _places(line, base, numbers, free)
    if places is None or not _holds(line, base, numbers, free, places):
        return None
    for value in values:
        if value.whole >= 0:
            value.whole = places[value.whole]
        if value.fraction >= 0:
            value.fraction = places[value.fraction]
    written = _Written(line, numbers, set(places.values()), stamp, outer)
    wrap = None
    if outer is not None and (wrap := written.outer()) is None:
        return None
    shape = _shape(base)
    shape.answered = record.kind == "access" and '" 200' in text and "POST " in text
    shape.clear = line.isascii() and colourless(base.line.text) == line.decode()
    shape.events = tuple(events)
    if outer is None and _plain(line, text):
        shape.text = len(line) - len(text.encode())
    form, key = written.part(0, len(line))
    group = told.group if told is not None else ()
    return Layout(shape, form, key, outer=wrap, group=group, values=tuple(values))


def _plain(line: bytes, text: str) -> bool:
    """Whether a line ends with its record's text as it is."""
    return line.endswith(text.encode()) and b"\x1b" not in line


def _shape(base: Reading) -> Shape:
    record, inner = base.record, base.line
    return Shape(
        record.kind, record.dialect, record.level if record.kind == "access" else "",
        SkippingReader().tag_of(inner.text), inner.stream, inner.envelope, inner.time is not None,
        process=record.process, ranks=record.ranks,
    )  # fmt: skip


def _free(text: str, kind: str) -> dict[int, tuple[int, int]]:
    """Return the numbers of a text that may be any: none that is a part of a name."""
    # What an access line says behind its address stands still.
    still = text.find(' - "') if kind == "access" else len(text)
    return {
        number: found.span()
        for number, found in enumerate(re.finditer("[0-9]+", text))
        if found.start() < still and not _NAMED.search(text[max(0, found.start() - 8) : found.start()])
    }


def _places(
    line: bytes, base: Reading, numbers: list[tuple[int, int]], free: Mapping[int, tuple[int, int]]
) -> dict[int, int] | None:
    """Return which number of the line each free one of its record's text is."""
    text = base.record.text
    if _plain(line, text):
        offset = len(line) - len(text.encode())
        at = {start: number for number, (start, _) in enumerate(numbers)}
        return {number: at[start + offset] for number, (start, _) in free.items()}
    starts = {start: number for number, (start, _) in free.items()}
    found: dict[int, int] = {}
    for place, span in enumerate(numbers):
        moved = read(put(line, [span], b"7305182"))
        start = moved.record.text.find("7305182") if moved is not None else -1
        if moved is not None and start in starts and starts[start] not in found:
            other = changed(text, {start: free[starts[start]]}, b"7305182")
            if same(base, moved, text=other):
                found[starts[start]] = place
    return found if len(found) == len(free) else None


def _holds(
    line: bytes, base: Reading, numbers: list[tuple[int, int]], free: Mapping[int, tuple[int, int]],
    places: Mapping[int, int],
) -> bool:  # fmt: skip
    """Whether nothing but the text changes when all free numbers are others."""
    spans = sorted(numbers[place] for place in places.values())
    for digits in TRIALS:
        moved = read(put(line, spans, digits))
        if moved is None or not same(base, moved, text=changed(base.record.text, free, digits)):
            return False
        if moved.record.time != base.record.time:
            return False
    return True


def _request(line: bytes, base: Reading, stamp: re.Match[bytes], outer: re.Match[bytes] | None) -> Request | None:
    asks = line.find(ASKS)
    words = REQUEST.match(line, asks + len(ASKS)) if 0 <= asks <= LONGEST - len(ASKS) else None
    end = line.rfind(REQUEST_END)
    text = base.record.text.encode()
    quoted = not line.endswith(text)
    if quoted and json.dumps(base.record.text, ensure_ascii=False)[1:-1].encode() not in line:
        return None
    # The year, which vLLM does not print, would have to be compared too.
    if words is None or end < words.end() or base.record.dialect != "vllm" or stamp[1] is not None:
        return None
    if not text.endswith(REQUEST_END) or stamp.end() > asks or breaks(line[words.end() : end], quoted):
        return None
    parts = (0, words.start()), (end, len(line))
    spans = [number.span() for part in parts for number in _NUMBER.finditer(line, *part)]
    written = _Written(line, spans, set(), stamp, outer)
    wrap = None
    if len(line) - end > TAIL or (outer is not None and (wrap := written.outer()) is None):
        return None
    (head, key), (tail, more) = [written.part(*part) for part in parts]
    named = line[words.end(1) : words.end()]
    head = Form((*head.chunks, Chunk(named)), (*head.numbers, NAME))
    return Request(_shape(base), head, tail, quoted, (*key, named, *more), wrap)


class _Written:
    """A line that was read, to be written as forms: ``loose`` numbers may be any, so may its times."""

    def __init__(
        self, line: bytes, numbers: list[tuple[int, int]], loose: set[int], stamp: re.Match[bytes] | None,
        outer: re.Match[bytes] | None,
    ) -> None:  # fmt: skip
        self._line, self._numbers = line, numbers
        self._outer = outer
        at = {start: number for number, (start, _) in enumerate(numbers)}
        self._fraction = -1 if outer is None or outer[4] is None else at[outer.start(4)]
        self._loose = loose | {self._fraction}
        first = -1 if stamp is None else at[stamp.start()]
        hour = -1 if outer is None else at[outer.start(1)]
        self._stamps = Stamps(first, stamp is not None and stamp[1] is not None, hour)

    def part(self, at: int, stop: int) -> tuple[Form, tuple[bytes, ...]]:
        """Return the form of a part of the line, and what stands still in it on any day."""
        form = form_of(self._line, self._numbers, self._loose, self._stamps, at, stop)
        if self._outer is None:
            return form, tuple(chunk.text for chunk in form.chunks)
        start, end = self._outer.start(), self._outer.start(1)
        undated = self._line[:start] + re.sub(rb"[0-9]", b"0", self._line[start:end]) + self._line[end:]
        same = form_of(undated, self._numbers, self._loose, self._stamps, at, stop)
        return form, tuple(chunk.text for chunk in same.chunks)

    def outer(self) -> tuple[float, int] | None:
        """Return when the day of the envelope's time began, and which number its fraction is; None for no day."""
        assert self._outer is not None
        found = self._outer
        whole = epoch((self._line[found.start() : found.end(3)] + found[5]).decode())
        return None if whole is None else (whole - _seconds(*found.group(1, 2, 3)), self._fraction)
