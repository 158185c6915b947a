"""Configuration dumps of the engines: which messages hold one, and its arguments as Python values.

``ServerArgs(model_path='...', ...)`` and ``server_args={'model_path': ...}`` of SGLang, ``non-default args: {...}``,
``args: Namespace(...)`` and ``... with config: model='...', dtype=torch.bfloat16, ...`` of vLLM, the start line of the
Rust routers. A dump that is cut at either end, or holds a value nobody foresaw, gives what can be had.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from diagnoser.formats._pyvalue import parse_value
from diagnoser.formats._spans import Cut, cut
from diagnoser.patterns import lazily
from diagnoser.values import dataclass, field

__all__ = ["Dump", "Value", "find_dump", "parse_dump"]

#: Longest text looked at, in characters; real dumps have 1 to 30 thousand.
SIZE_LIMIT = 256 * 1024

_HEAD = lazily(
    r"server_args ?[=:] ?(?=\{)|non-default args: (?=\{)|with config: (?=[A-Za-z_]\w*=)|Starting router on (?=\S+ \| )"
    r"|\b(?=(?:ServerArgs|Namespace|RouterArgs|(?:Async)?EngineArgs)\()"
)
# One of these stands in every head: most messages hold none and cost no more than finding that out.
_WORDS = ("rgs", "with config: ", "Namespace(", "Starting router on ")
_KINDS = {"server_args": "server_args", "non-default": "non_default_args", "with config": "engine_config"}
_CALL = lazily(r"([A-Za-z_][\w.]*)\(")
_CALL_KINDS = {"ServerArgs": "server_args", "RouterArgs": "router_args"}
_KEY = lazily(r"[A-Za-z_]\w*=")
# A log that begins inside a dump: many arguments, among them one that every such dump has had.
_HEADLESS = lazily(r"(?:, [a-z_]\w*=[^,]*){8}|(?:, '[a-z_]\w*': [^,]*){8}")
_HEADLESS_KINDS = (
    ("tp_size", lazily(r"[ '](?:tp_size=|tp_size': )"), "server_args"),
    ("max_seq_len=", lazily(r" max_seq_len="), "engine_config"),
    ("device_config=", lazily(r" device_config="), "engine_config"),
    ("tensor_parallel_size=", lazily(r" tensor_parallel_size="), "namespace"),
)
_HEADLESS_LENGTH = 120
_UNSET = object()


@dataclass(slots=True)
class Value:
    """One argument. ``raw`` is its printed value; ``start`` and ``end`` bound ``key=value`` in the text searched."""

    raw: str
    start: int
    end: int
    _parsed: object = field(default=_UNSET, repr=False, compare=False)

    @property
    def value(self) -> object:
        """The Python object; read on first use, because most nested values are never asked for."""
        if self._parsed is _UNSET:
            self._parsed = parse_value(self.raw)
        return self._parsed


@dataclass(slots=True)
class Dump:
    """The arguments of one dump, in printed order.

    ``kind``: "server_args", "non_default_args", "namespace", "engine_config" or "router_args". ``complete`` is False
    when the text begins or ends inside the dump; a value that the end cuts through is left out.
    """

    kind: str
    values: dict[str, Value]
    start: int
    end: int
    complete: bool


def find_dump(text: str) -> Dump | None:
    """Find the dump in a message; None when it holds none. Spans count from the start of ``text``."""
    text = text[:SIZE_LIMIT]
    head = _HEAD.search(text) if any(word in text for word in _WORDS) else None
    if head is None:
        return _headless(text)
    if head.group().startswith("Starting router"):
        return _router(text, head.end())
    kind = next((kind for word, kind in _KINDS.items() if head.group().startswith(word)), "")
    return _unwrapped(text, head.end(), kind)


def parse_dump(text: str) -> Dump | None:
    """Read a text that is a dump from its first character; None when it has no argument."""
    text = text[:SIZE_LIMIT]
    return _unwrapped(text, len(text) - len(text.lstrip()), "") or _headless(text)


def _unwrapped(text: str, start: int, kind: str) -> Dump | None:
    """Read the dump off the first line; when it does not end there, a terminal has wrapped it: join the lines.

    A dump is printed as one line, and lines that merely follow it (a progress bar) must not become part of a value.
    """
    end = text.find("\n", start)
    if end < 0:
        return _parse(text, start, kind)
    first = _parse(text[:end], start, kind)
    if first is not None and first.complete:
        return first
    breaks = [match.start() for match in re.finditer("\n", text)]
    whole = _parse(text.replace("\n", ""), start - bisect_left(breaks, start), kind)
    if whole is None or (first is not None and len(first.values) >= len(whole.values)):
        return first
    places = [position - index for index, position in enumerate(breaks)]
    for value in whole.values.values():
        value.start += bisect_right(places, value.start)
        value.end += bisect_left(places, value.end)
    whole.start, whole.end = start, whole.end + bisect_left(places, whole.end)
    return whole


def _parse(text: str, start: int, kind: str) -> Dump | None:
    call = _CALL.match(text, start)
    if call is not None:
        name = call.group(1).rpartition(".")[2]
        kind = kind or _CALL_KINDS.get(name, "namespace")
        return _dump(kind, start, cut(text, call.end(), dictionary=False), text)
    if text[start : start + 1] == "{":
        kind = kind or ("server_args" if "'model_path': " in text[start : start + 1000] else "non_default_args")
        return _dump(kind, start, cut(text, start + 1, dictionary=True), text)
    if _KEY.match(text, start):
        return _dump(kind or "engine_config", start, cut(text, start, dictionary=False), text)
    return None


def _dump(kind: str, start: int, found: Cut, text: str, *, headless: bool = False) -> Dump | None:
    if not found.spans:
        return None
    values = {key: Value(text[value:end], begin, end) for key, begin, value, end in found.spans}
    # vLLM's engine configuration mostly has no bracket to close it; its seed has always stood near the end.
    closed = found.closed or (kind == "engine_config" and "seed" in values and not found.broken)
    last_key, _, _, last_end = found.spans[-1]
    if not closed and not text[last_end:].lstrip().startswith(","):
        del values[last_key]
    return Dump(kind, values, start, found.end, closed and not headless) if values else None


def _headless(text: str) -> Dump | None:
    if len(text) < _HEADLESS_LENGTH:
        return None
    for word, mark, kind in _HEADLESS_KINDS:
        found = mark.search(text) if word in text else None
        if found is not None and _HEADLESS.search(text):
            pieces = cut(text, 0, dictionary="'" in found.group(), headless=True)
            # The first key may be the rest of a longer one.
            if pieces.spans and pieces.spans[0][1] == 0:
                del pieces.spans[0]
            return _dump(kind, 0, pieces, text, headless=True)
    return None


def _router(text: str, start: int) -> Dump:
    """Read ``HOST:PORT | mode: Regular { ... } | policy: ... | max_payload: 512MB`` of the Rust routers."""
    values: dict[str, Value] = {}
    begin = start
    line = text[: end if (end := text.find("\n", start)) >= 0 else len(text)]
    for piece in line[start:].split(" | "):
        key, colon, raw = piece.partition(": ")
        if begin == start:
            key, raw = "address", piece
        if colon or begin == start:
            values[key] = Value(raw, begin, begin + len(piece))
        begin += len(piece) + 3
    return Dump("router_args", values, start, len(line), True)
