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
from diagnoser.rules.matcher import Match, Matcher
from diagnoser.rules.model import EventSpec, Template
from diagnoser.table import Origin
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


def rendered(text: str, kinds: Mapping[str, str] | None = None) -> str:
    """Return a template with something put into its holes, options said."""
    kinds = kinds or {}

    def fill(hit: re.Match[str]) -> str:
        if hit[4] is not None:
            return rendered(hit[4], kinds)
        if hit[3] is not None:
            return hit[3].split("|")[0]
        return _SAID.get(hit[2] or kinds.get(hit[1], ""), "12")

    said = _HOLE.sub(fill, text.replace("{{", "\0").replace("}}", "\1"))
    return said.replace("\0", "{").replace("\1", "}")


def spoken(spec: EventSpec, template: Template) -> Iterator[str]:
    """Yield lines that may be the wording in its writer's form, the likeliest first."""
    kinds = dict(template.converters)
    texts = [rendered(template.text, kinds), rendered(template.text, dict.fromkeys(kinds, "int")), template.anchor]
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


def told(spec: EventSpec, template: Template, matcher: Matcher) -> str | None:
    """Return the stored line of a wording; None when no line can be made that it alone reads so."""
    for line in spoken(spec, template):
        fields = read(spec.name, template.engine, line, matcher)
        if fields is not None and "\t" not in line and "\n" not in line:
            return f"{spec.name}\t{template.engine}\t{json.dumps(fields)}\t{line}"
    return None


def without(spec: EventSpec, at: int) -> EventSpec:
    """Return an event without one of its wordings."""
    return replace(spec, templates=tuple(one for number, one in enumerate(spec.templates) if number != at))


def messages(only: list[str]) -> int:
    """Print the wordings that no stored line needs."""
    base = Knowledge(Options()).base
    kept: dict[str, list[Sentence]] = {}
    for one in stored():
        kept.setdefault(one.event, []).append(one)
    made = survived = 0
    for spec in base.events.values():
        if only and spec.name not in only:
            continue
        for at, template in enumerate(spec.templates):
            made += 1
            matcher = Matcher([without(spec, at)])
            if all(read(spec.name, one.engine, one.line, matcher) == one.fields for one in kept.get(spec.name, [])):
                survived += 1
                print(f"message: {spec.name}: {template.engine}: {template.text[:140]}")
    print(f"messages: {made} mutants, {made - survived} noticed, {survived} survived")
    return survived


def main() -> int:
    """Write a line for every wording that one can be made for."""
    base = Knowledge(Options()).base
    for spec in base.events.values():
        matcher = Matcher([spec])
        for template in spec.templates:
            said = told(spec, template, matcher)
            print(said) if said else print(f"no line for {spec.name}: {template.text}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
