"""`python -m tools.sentences`: a line for every wording of every event, as its writer would print it.

What it prints is kept in `tests/data/sentences.txt`: event, engine, fields as JSON, line. A wording that goes
missing, or no longer reads its fields, fails a test until the file is written anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import regex

from diagnoser.api import Knowledge, Options
from diagnoser.formats.records import RecordReader
from diagnoser.model import Line, Record
from diagnoser.rules.matching.matcher import Match, Matcher
from diagnoser.rules.model import EventSpec, Template
from diagnoser.tables.table import Origin
from diagnoser.values import replace

STORED = Path(__file__).parent.parent / "tests" / "data" / "sentences.txt"
#: What stands before a message, by engine. A level that passes every `level:`.
_PREFIX = {"vllm": "ERROR 07-12 10:00:00 [core.py:1] ", "sglang": "[2025-07-12 10:00:00] "}
_SAID = {
    "int": "12", "float": "1.5", "gib": "12.50 GiB", "word": "w0rd", "quoted": "'quoted'", "rest": "and the rest",
    "text": "some text", "": "some text",
}  # fmt: skip
_HOLE = re.compile(r"\{(\w*)(?::(\w+))?\}|\{(?:\w+:)?([^{}|]*(?:\|[^{}|]*)+)\}|\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\?")


class Sentence(NamedTuple):
    """A stored line, and what an event must read in it."""

    event: str
    engine: str
    fields: dict[str, Any]
    line: str


def stored() -> Iterator[Sentence]:
    """Yield the stored lines."""
    for row in STORED.read_text(encoding="utf-8").splitlines():
        event, engine, fields, line = row.split("\t", 3)
        yield Sentence(event, engine, json.loads(fields), line)


def rendered(text: str, kinds: Mapping[str, str] | None = None, other: tuple[int, int] | None = None) -> str:
    """Return a template with something put into its holes, options said, the first of alternatives chosen.

    ``other`` is a hole by its place and which alternative it takes instead; an optional part is then left out.
    """
    kinds = kinds or {}
    place = -1

    def fill(hit: re.Match[str]) -> str:
        nonlocal place
        place += 1
        chosen = other[1] if other is not None and other[0] == place else 0
        if hit[4] is not None:
            return "" if chosen else rendered(hit[4], kinds)
        if hit[3] is not None:
            return hit[3].split("|")[chosen]
        return _SAID.get(hit[2] or kinds.get(hit[1], ""), "12")

    said = _HOLE.sub(fill, text.removeprefix("{^}").replace("{{", "\0").replace("}}", "\1"))
    return said.replace("\0", "{").replace("\1", "}")


def choices(text: str) -> Iterator[tuple[int, int]]:
    """Yield what a template may say otherwise: each further alternative, and no optional part."""
    for place, hit in enumerate(_HOLE.finditer(text.removeprefix("{^}").replace("{{", "\0").replace("}}", "\1"))):
        if hit[4] is not None:
            yield place, 1
        elif hit[3] is not None:
            yield from ((place, number) for number in range(1, len(hit[3].split("|"))))


def spoken(template: Template, other: tuple[int, int] | None = None) -> Iterator[str]:
    """Yield lines that may be the wording in its writer's form, the likeliest first."""
    kinds = dict(template.converters)
    texts = [rendered(template.text, kinds, other), rendered(template.text, dict.fromkeys(kinds, "int"), other)]
    if other is None:
        texts += [template.anchor, *(rendered(template.text, dict.fromkeys(kinds, kind)) for kind in _SAID)]
    for text in dict.fromkeys(texts):
        if regex.search(template.pattern, text):
            prefix = _PREFIX.get(template.engine, "")
            yield from (prefix + text, text) if template.engine != "any" else (text, _PREFIX["vllm"] + text)


def read(event: str, engine: str, line: str, matcher: Matcher) -> dict[str, Any] | None:
    """Return the fields that an event reads in a line of an engine, None when it is not found there."""
    if engine == "kubernetes":
        records = [Record(Origin("x", 1), line, dialect="kubernetes")]
    else:
        reader = RecordReader()
        records = [*reader.feed(Line("x", 1, line, None, "", "")), *reader.flush()]
    run = "" if engine in ("any", "kubernetes") else engine
    found: list[Match] = [one for record in records for one in matcher.match(record, run)]
    for kind in ("message", "traceback", "access", "stats"):
        # Lines that make an event only beside others of their kind.
        found = found or matcher.match(Record(Origin("x", 1), line, kind), run)
    return next((one.fields for one in found if one.spec.name == event), None)


def told(spec: EventSpec, at: int, matcher: Matcher, lone: Matcher, other: tuple[int, int] | None = None) -> str | None:
    """Return the stored line of a wording; None when no line can be made that it reads.

    ``lone`` lacks the wording: a line that it does not read so is the best.
    """
    template = spec.templates[at]
    found: list[tuple[str, dict[str, Any]]] = []
    for line in spoken(template, other):
        fields = read(spec.name, template.engine, line, matcher)
        if fields is not None and "\t" not in line and "\n" not in line:
            found.append((line, fields))
            if read(spec.name, template.engine, line, lone) != fields:
                found = found[-1:]
                break
    return f"{spec.name}\t{template.engine}\t{json.dumps(found[0][1])}\t{found[0][0]}" if found else None


def without(spec: EventSpec, at: int) -> EventSpec:
    """Return an event without one of its wordings."""
    return replace(spec, templates=tuple(one for number, one in enumerate(spec.templates) if number != at))


def lines(spec: EventSpec) -> Iterator[str]:
    """Yield the lines of an event: one for each wording, and for each way in which it may be said otherwise."""
    matcher = Matcher([spec])
    for at, template in enumerate(spec.templates):
        lone = Matcher([without(spec, at)])
        said = told(spec, at, matcher, lone)
        yield said or f"no line for {spec.name}: {template.text}"
        yield from (line for one in choices(template.text) if (line := told(spec, at, matcher, lone, one)) is not None)


def alike(spec: EventSpec, at: int, lone: Matcher) -> bool:
    """Tell whether all that is known to be said in a wording is read the same without it: others cover it."""
    template, matcher = spec.templates[at], Matcher([spec])
    every = [line for one in (None, *choices(template.text)) for line in spoken(template, one)]
    whole = [read(spec.name, template.engine, line, matcher) for line in every]
    return any(one is not None for one in whole) and whole == [
        read(spec.name, template.engine, line, lone) for line in every
    ]


def messages(only: list[str]) -> int:
    """Print the wordings that no stored line needs and no other wording covers; return how many."""
    base = Knowledge(Options()).base
    kept: dict[str, list[Sentence]] = {}
    for one in stored():
        kept.setdefault(one.event, []).append(one)
    made = covered = survived = 0
    for spec in base.events.values():
        if only and spec.name not in only:
            continue
        for at, template in enumerate(spec.templates):
            made += 1
            lone = Matcher([without(spec, at)])
            if any(read(spec.name, one.engine, one.line, lone) != one.fields for one in kept.get(spec.name, [])):
                continue
            if alike(spec, at, lone):
                covered += 1
            else:
                survived += 1
                print(f"message: {spec.name}: {template.engine}: {template.text[:140]}")
    seen = made - covered - survived
    print(f"messages: {made} mutants, {seen} noticed, {covered} read alike by another wording, {survived} survived")
    return survived


def main() -> int:
    """Write the lines of all events."""
    seen: set[str] = set()
    for spec in Knowledge(Options()).base.events.values():
        for said in lines(spec):
            if said not in seen:
                print(said, file=sys.stderr if said.startswith("no line for ") else sys.stdout)
            seen.add(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
