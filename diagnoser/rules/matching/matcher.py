"""Which events a record is: one scan for every template's literal, then exact patterns on the lines that hold one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import ahocorasick_rs

from diagnoser.model import Record
from diagnoser.patterns import lazily
from diagnoser.rules.compiling.template import convert
from diagnoser.rules.matching.overdue import TIME_LIMIT, Overdue
from diagnoser.rules.matching.tracebacks import Parts
from diagnoser.rules.model import EventSpec, Template
from diagnoser.rules.searching import Search

#: Characters of a line that a pattern sees on either side of its anchor. Argument dumps print tens of kilobytes a line.
REACH = 4096

#: Writers of sentences about servers, rather than servers.
PLATFORMS = ("kubernetes",)

_RANK = {"TRACE": 0, "DEBUG": 1, "INFO": 2, "WARNING": 3, "WARN": 3, "ERROR": 4, "CRITICAL": 5, "FATAL": 5}
_NO_LEVEL = 9
#: Record kinds that each `in:` word looks at. Requests quote their users' text, so no word includes them.
_KINDS = {
    "message": frozenset({"message", "raw", "traceback"}),
    "traceback": frozenset({"message", "raw", "traceback"}),
    "stats": frozenset({"stats"}),
    "access": frozenset({"access"}),
    "everything": frozenset({"message", "raw", "traceback", "stats", "access"}),
}


_DIGITS = lazily(r"\d+")


class Match(NamedTuple):
    """One event found in a record: typed ``fields``, the matched ``line`` and its 0-based number in the record."""

    spec: EventSpec
    template: Template
    fields: dict[str, Any]
    line: str
    line_offset: int


class _Entry:
    """A template with what decides quickly whether it applies; its regex is compiled on the first use."""

    __slots__ = (
        "engine",
        "kinds",
        "level",
        "literal",
        "order",
        "search",
        "spec",
        "template",
        "where",
    )

    def __init__(self, order: int, spec: EventSpec, template: Template) -> None:
        self.order = order
        self.spec = spec
        self.template = template
        self.engine = template.engine
        self.where = spec.where
        self.kinds = _KINDS[spec.where]
        self.level = _RANK.get(spec.level, 0)
        self.literal = template.pattern == re.escape(template.anchor)
        # A word with a blank behind it ends there and nowhere else.
        pattern = template.pattern
        self.search = Search(pattern, pattern.count("}?)") - pattern.count(r"\S{1,400}?)\ "))

    def fields(self, line: str, anchor: int) -> dict[str, Any] | None:
        """Typed fields when the pattern matches ``line``, None when it does not. Raises TimeoutError."""
        if self.literal:
            return {}
        hit = self.search(line, max(0, anchor - REACH), anchor + REACH, TIME_LIMIT)
        if hit is None:
            return None
        found = {}
        for name, kind in self.template.converters:
            value = hit[name]
            if value is not None:
                found[name] = convert(kind, value)
        return found


class Matcher:
    """All templates behind one automaton, which is cheap to build (about 5 µs a template)."""

    def __init__(self, specs: Iterable[EventSpec]) -> None:
        written: dict[str, list[tuple[int, EventSpec, int]]] = {}
        order = 0
        for spec in specs:
            for at, anchor in enumerate(spec.anchors):
                written.setdefault(anchor, []).append((order, spec, at))
                order += 1
        self.anchors = tuple(written)
        self._written = tuple(written.values())
        #: What is ready to be tried. Few of the anchors ever come up in one log: the others stay as they were written.
        self._entries: list[list[_Entry] | None] = [None] * len(written)
        self._numbers: dict[str, str] | None = None
        #: What took too long; whoever begins a reading empties it.
        self.overdue = Overdue()
        self._find = ahocorasick_rs.AhoCorasick(self.anchors).find_matches_as_indexes if written else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where a text would hold literals with digits in them, if the digits of the text were others."""
        if self._numbers is None:
            self._numbers = {}
            for anchor in self.anchors:
                if (plain := _DIGITS.sub("0", anchor)) != anchor or "0" in anchor:
                    self._numbers[plain] = anchor
        plain = _DIGITS.sub("0", text)
        found = []
        for one in self._numbers:
            if one in plain:
                pattern = r"\d+".join(map(re.escape, one.split("0")))
                found += [hit.span(1) for hit in re.finditer(f"(?=({pattern}))", text)]
        return found

    def _at(self, anchor: int) -> list[_Entry]:
        """Return the templates behind an anchor, by its number."""
        entries = self._entries[anchor]
        if entries is None:
            entries = self._entries[anchor] = [
                _Entry(order, spec, spec.templates[at]) for order, spec, at in self._written[anchor]
            ]
        return entries

    def match(self, record: Record, engine: str) -> list[Match]:
        """Return the events of ``record``.

        ``engine`` is the run's engine, "" while unknown: then the templates of every engine are tried. An event is
        returned at most once, from the first line that matches; on one line the template written first wins.
        """
        if self._find is None or record.kind == "request":
            return []
        hits = self._find(record.text, overlapping=True)
        return self._confirm(record, engine, hits) if hits else []

    def _confirm(self, record: Record, engine: str, hits: list[tuple[int, int, int]]) -> list[Match]:
        """Try the exact patterns on the lines that hold their anchors."""
        text, kind = record.text, record.kind
        level = _RANK.get(record.level, _NO_LEVEL)
        candidates = []
        for anchor, start, end in hits:
            for entry in self._at(anchor):
                if kind == "access" and text.find(" HTTP/", end) >= 0:
                    continue  # in the path, which clients write
                if kind in entry.kinds and level >= entry.level and _meant(entry.engine, engine, record.dialect):
                    begin = text.rfind("\n", 0, start) + 1
                    candidates.append((begin, entry.order, start, end, entry))
        if len(candidates) > 1:
            candidates.sort()
        parts = Parts(text)
        found: dict[str, Match] = {}
        for begin, _, start, end, entry in candidates:
            spec = entry.spec
            if spec.name in found or not _readable(entry.where, kind, parts, begin):
                continue
            stop = text.find("\n", end)
            line = text[begin : stop if stop >= 0 else len(text)]
            if self.overdue and self.overdue.given_up(entry.template):
                continue
            try:
                fields = entry.fields(line, start - begin)
            except TimeoutError:
                self.overdue.note(spec, entry.template, record)
                continue
            if fields is not None:
                found[spec.name] = Match(spec, entry.template, fields, line, text.count("\n", 0, begin))
        return list(found.values())


def _meant(writer: str, engine: str, dialect: str) -> bool:
    """Whether a template of this writer may look at a record: a platform's only at its own sentences, and no other."""
    if writer in PLATFORMS or dialect in PLATFORMS:
        return dialect == writer
    return not engine or writer in (engine, "any")


def _readable(where: str, kind: str, parts: Parts, begin: int) -> bool:
    """Whether a template with this `in:` may look at the line of the record that begins at ``begin``."""
    if where == "message":
        return begin == 0 if kind == "traceback" else parts.at(begin) == "message"
    return where != "traceback" or parts.at(begin) != "stack"
