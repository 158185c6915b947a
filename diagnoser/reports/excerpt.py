"""Cuts a long log line to the part that proves the finding."""

from __future__ import annotations

from collections.abc import Mapping

from diagnoser.patterns import lazily
from diagnoser.reports import layout
from diagnoser.reports.safe import line as harmless

_WORD = lazily(r"[a-z]{4,}|kv|gpu|oom")
_DULL = frozenset(
    {"with", "from", "that", "this", "were", "have", "been", "into", "than", "then", "when", "while", "they", "their"}
    | {"there", "what", "which", "each", "more", "most", "only", "does", "cannot", "could", "should", "would", "used"}
    | {"request", "requests", "server", "engine", "number", "high", "full", "using"}
)
#: Words that prove something in any finding, by their stems.
_TELLING = (
    "error",
    "except",
    "fail",
    "out of memory",
    "timeout",
    "timed out",
    "exceed",
    "killed",
    "abort",
    "invalid",
    "insufficient",
)
#: The prefix of a logger: its time is shown beside the excerpt, its file name proves nothing.
_PREFIX = lazily(
    r"(?:\(\w+(?: pid=\d+)?\)\s+)?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)[: ]\s*)?"
    r"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*\s+(?:\[[\w./-]+:\d+\]\s+)?|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]\s+"
)
#: A sample line of a metrics page, and the labels that tell which number it is.
_METRIC = lazily(r"([A-Za-z_:][\w:.]*)\{(.*)\} (\S+)")
_TELLING_LABELS = frozenset({"le", "engine", "dp_rank", "gpu", "reason", "finished_reason", "cache_source", "status"})
#: Stem to weight.
Words = Mapping[str, int]
_FIELD_END = lazily(r"(?<=[,;]) ")
_STEM = 6


def stems(title: str, *more: str) -> Words:
    """Return the word stems of a finding's texts with their weight: a line that holds them is about the finding."""
    found = dict.fromkeys((word for text in more for word in _words(text)), 1)
    return found | dict.fromkeys([*_words(title), *_TELLING], 2)


def _words(text: str) -> list[str]:
    return sorted({word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _DULL})


def excerpt(text: str, words: Words, width: int, mark: str = "…") -> str:
    """One harmless line of at most ``width`` cells around the words; of a traceback the line that says most."""
    pieces = [piece for piece in text.splitlines() if piece.strip()] or [""]
    # Names of files and functions in a frame are no words about a finding.
    pieces = [piece for piece in pieces if not ('File "' in piece and '", line ' in piece)] or pieces
    piece = max(pieces, key=lambda each: _score(each.lower(), words)) if len(pieces) > 1 else pieces[0]
    whole = harmless(piece).strip()
    if layout.cells(whole) <= width:
        return whole
    if (sample := _METRIC.fullmatch(whole)) is not None:
        return _metric(sample[1], sample[2], sample[3], width, mark)
    prefix = _PREFIX.match(whole)
    start = prefix.end() if prefix else 0
    room = width - (len(mark) + 1 if start else 0)
    if layout.cells(whole[start:]) > room:
        fields = _fields(whole[start:], width, words, mark)
        if fields:
            return fields
        start = _best_start(whole, start, width - len(mark) - 1, words)
    lead = f"{mark} " if start else ""
    return layout.cut(lead + whole[start:].lstrip(), width, mark)


def _metric(name: str, labels: str, value: str, width: int, mark: str) -> str:
    """Shorten a sample line of a metrics page in its labels: name and value are what proves."""
    kept: list[str] = []
    pieces = [piece for piece in labels.split(",") if piece]
    for piece in sorted(pieces, key=lambda one: one.partition("=")[0] not in _TELLING_LABELS):
        longer = f"{name}{{{','.join([*kept, piece])},{mark}}} {value}"
        if layout.cells(longer) <= width:
            kept.append(piece)
    inside = ",".join([*kept, mark] if len(kept) < len(pieces) else kept)
    return layout.cut(f"{name}{{{inside}}} {value}", width, mark)


def _fields(text: str, width: int, words: Words, mark: str) -> str:
    """Of a line of fields ("a: 1, b: 2, ...") the telling ones, then their neighbours; empty when it is none."""
    pieces = _FIELD_END.split(text)
    hits = [{word for word in words if word in piece.lower()} for piece in pieces]
    if len(pieces) < 4 or not any(hits):
        return ""
    kept: set[int] = set()
    told: set[str] = set()
    while len(kept) < len(pieces):
        # The field that adds most words first, so that two fields saying the same do not push out a third.
        rest = [i for i in range(len(pieces)) if i not in kept]
        gain, i = max((sum(words[word] for word in hits[i] - told), -i) for i in rest)
        if not gain or layout.cells(_joined(pieces, kept | {-i}, mark)) > width:
            break
        kept.add(-i)
        told |= hits[-i]
    if not kept:
        return ""
    anchors = tuple(kept)
    for i in sorted(range(len(pieces)), key=lambda each: min(abs(each - anchor) for anchor in anchors)):
        if layout.cells(_joined(pieces, kept | {i}, mark)) <= width:
            kept.add(i)
    return _joined(pieces, kept, mark)


def _joined(pieces: list[str], kept: set[int], mark: str) -> str:
    out: list[str] = [] if 0 in kept else [mark]
    for i, piece in enumerate(pieces):
        if i in kept:
            out.append(piece)
        elif i - 1 in kept:
            out.append(mark)
    return " ".join(out)


def _best_start(whole: str, floor: int, width: int, words: Words) -> int:
    """Return where to begin so that most different words are in view; the earliest such place."""
    lower = whole.lower()
    spots = sorted({spot for word in words for spot in _spots(lower, word, floor)})
    best, best_score = floor, _score(lower[floor : floor + width], words)
    for spot in spots:
        start = _phrase_start(whole, spot, floor)
        score = _score(lower[start : start + width], words)
        if score > best_score:
            best, best_score = start, score
    return best


def _spots(lower: str, word: str, floor: int) -> list[int]:
    found: list[int] = []
    spot = lower.find(word, floor)
    while spot >= 0 and len(found) < 8:
        found.append(spot)
        spot = lower.find(word, spot + 1)
    return found


def _phrase_start(whole: str, spot: int, floor: int) -> int:
    """Go back to the last comma or sentence end, at most a few words away, so that a field keeps its label."""
    near = max(floor, spot - 24)
    for stop in (", ", ". ", "; ", ": "):
        found = whole.rfind(stop, near, spot)
        if found >= 0:
            return found + len(stop)
    found = whole.rfind(" ", near, spot)
    return found + 1 if found >= 0 else spot


def _score(lower: str, words: Words) -> int:
    return sum(weight for word, weight in words.items() if word in lower)
