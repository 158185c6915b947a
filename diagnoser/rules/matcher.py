"""Which events a record is: one scan for every template's literal, then exact patterns on the lines that hold one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import ahocorasick_rs
import regex

from diagnoser.model import Record
from diagnoser.rules.model import EventSpec, Template
from diagnoser.rules.template import convert
from diagnoser.rules.tracebacks import Parts

#: Seconds one pattern may take on one line. Log text is hostile; a pattern that runs longer counts as no match.
TIME_LIMIT = 0.05

#: Characters of a line that a pattern sees, around its anchor. Argument dumps print tens of kilobytes on one line.
REACH = 4096

_RANK = {"DEBUG": 1, "TRACE": 0, "INFO": 2, "WARNING": 3, "WARN": 3, "ERROR": 4, "CRITICAL": 5, "FATAL": 5}
#: Record kinds that each `in:` word looks at. Requests quote their users' text, so no word includes them.
_KINDS = {
    "message": frozenset({"message", "raw", "traceback"}),
    "traceback": frozenset({"message", "raw", "traceback"}),
    "stats": frozenset({"stats"}),
    "access": frozenset({"access"}),
    "everything": frozenset({"message", "raw", "traceback", "stats", "access"}),
}


class Match(NamedTuple):
    """One event found in a record: typed ``fields``, the matched ``line`` and its 0-based number in the record."""

    spec: EventSpec
    template: Template
    fields: dict[str, Any]
    line: str
    line_offset: int


class Matcher:
    """All templates behind one automaton. Building is cheap (about 5 µs a template); regexes compile on first use."""

    def __init__(self, specs: Iterable[EventSpec]) -> None:
        entries: dict[str, list[tuple[int, EventSpec, Template]]] = {}
        order = 0
        for spec in specs:
            for template in spec.templates:
                entries.setdefault(template.anchor, []).append((order, spec, template))
                order += 1
        self.anchors = tuple(entries)
        self._entries = tuple(entries.values())
        self._find = ahocorasick_rs.AhoCorasick(self.anchors).find_matches_as_indexes if entries else None
        self._compiled: dict[str, regex.Pattern[str]] = {}

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
        text, level = record.text, _RANK.get(record.level, 9)
        candidates = []
        for anchor, start, end in hits:
            for order, spec, template in self._entries[anchor]:
                if template.engine not in (engine, "any") and engine:
                    continue
                if record.kind in _KINDS[spec.where] and level >= _RANK.get(spec.level, 0):
                    candidates.append((text.rfind("\n", 0, start) + 1, order, start, end, spec, template))
        if not candidates:
            return []
        candidates.sort(key=lambda candidate: candidate[:3])
        parts = Parts(text)
        found: dict[str, Match] = {}
        for begin, _, start, end, spec, template in candidates:
            if spec.name in found or not _readable(spec.where, record.kind, parts.at(begin), begin):
                continue
            stop = text.find("\n", end)
            line = text[begin : stop if stop >= 0 else len(text)]
            fields = self._fields(template, line, start - begin)
            if fields is not None:
                found[spec.name] = Match(spec, template, fields, line, text.count("\n", 0, begin))
        return list(found.values())

    def _fields(self, template: Template, line: str, anchor: int) -> dict[str, Any] | None:
        """Typed fields when the pattern matches ``line``; None when it does not or takes too long."""
        pattern = self._compiled.get(template.pattern)
        if pattern is None:
            pattern = self._compiled[template.pattern] = regex.compile(template.pattern)
        try:
            hit = pattern.search(line, max(0, anchor - REACH), anchor + REACH, timeout=TIME_LIMIT)
        except TimeoutError:
            return None
        if hit is None:
            return None
        fields: dict[str, Any] = {}
        for name, kind in template.converters:
            value = hit.group(name)
            if value is not None:
                fields[name] = convert(kind, value)
        return fields


def _readable(where: str, kind: str, part: str, begin: int) -> bool:
    """Whether a template with this `in:` may look at a line: part of the record, position of the line."""
    if where == "message":
        return begin == 0 if kind == "traceback" else part == "message"
    return where != "traceback" or part != "stack"
