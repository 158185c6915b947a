"""Kubernetes objects in JSON or YAML: one or several, lists unrolled, and the line where each key stands."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from json.decoder import JSONDecoder, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Protocol

from diagnoser.knowledge.yamlfile import Document, YamlError, documents
from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.values import dataclass

#: Objects read of one input: the pods and events of a large namespace.
MOST_OBJECTS = 20_000
#: Brackets open at once in a JSON text that was cut and is to be closed again.
DEEPEST = 100

Steps = tuple[str | int, ...]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],"]', re.DOTALL)
#: Lists whose members are taken whole or not at all.
_SEALED = frozenset({'"containers"', '"initContainers"', '"containerStatuses"', '"initContainerStatuses"'})
_BLANK = re.compile(r"\s*")


class Places(Protocol):
    """Tells where a part of an object stands."""

    def line(self, path: Steps) -> int:
        """Return the 1-based line of the last step of ``path`` that exists."""


@dataclass(slots=True, frozen=True)
class Thing:
    """One Kubernetes object: its data as read, and where the parts of it stand (``base`` leads to it)."""

    data: Mapping[str, Any]
    places: Places
    base: Steps = ()

    @property
    def kind(self) -> str:
        """The object's kind, such as Pod, Event or Node."""
        return text(self.data.get("kind"))

    def get(self, *path: str | int) -> Any:
        """Return what stands at ``path``; None where anything on the way is missing or of another shape."""
        return reach(self.data, path)

    def line(self, *path: str | int) -> int:
        """Return the line of a part."""
        return self.places.line((*self.base, *path))


def text(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def reach(value: Any, path: Sequence[str | int]) -> Any:
    """Follow ``path`` through mappings and lists; None where it leads nowhere."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def things(source: str, content: str) -> Iterator[Thing | Problem]:
    """Yield every object of a JSON or YAML text, members of lists one by one, and a Problem for what is damaged."""
    found = _json_documents(source, content) if content.lstrip()[:1] in ("{", "[") else _yaml_documents(source, content)
    count = 0
    for one in found:
        if isinstance(one, Problem):
            yield one
            continue
        for thing in _unrolled(one):
            if count >= MOST_OBJECTS:
                yield Problem(
                    source,
                    None,
                    Sentence("more than {most} objects; the rest was passed over", most=MOST_OBJECTS),
                )
                return
            count += 1
            yield thing


def _unrolled(thing: Thing) -> Iterator[Thing]:
    """Yield the items of a List (PodList, EventList, a bare JSON list), or the object itself."""
    items = thing.data.get("items")
    if not isinstance(items, list):
        yield thing
        return
    kind = thing.kind.removesuffix("List")
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            data = item if "kind" in item or not kind else {**item, "kind": kind}
            yield Thing(data, thing.places, (*thing.base, "items", index))


class _Object(dict[str, Any]):
    """A JSON object that knows at which character it begins."""

    at = 0


@dataclass(slots=True, frozen=True)
class _JsonPlaces:
    root: Any
    content: str
    breaks: list[int]

    def line(self, path: Steps) -> int:
        at, value = 0, self.root
        for step in path:
            deeper = reach(value, (step,))
            if isinstance(value, _Object):
                at = value.at
                key = self.content.find(json.dumps(step), at)
                at = key if key >= 0 else at
            if deeper is None:
                break
            value = deeper
        if isinstance(value, _Object):
            at = max(at, value.at)
        return bisect_left(self.breaks, at) + 1


def _json_documents(source: str, content: str) -> Iterator[Thing | Problem]:
    decoder = JSONDecoder()

    def parse_object(started: tuple[str, int], *rest: Any) -> tuple[_Object, int]:
        value, end = JSONObject(started, *rest)
        made = _Object(value)
        made.at = started[1] - 1
        return made, end

    decoder.parse_object = parse_object  # type: ignore[attr-defined]
    decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    at = len(content) - len(content.lstrip())
    breaks = [hit.start() for hit in re.finditer("\n", content)]
    while at < len(content):
        closed = content
        try:
            value, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError) as error:
            damage = getattr(error, "pos", at)
            line = content.count("\n", 0, damage) + 1
            yield Problem(source, line, Sentence("is no whole JSON from here on; what stands before it was read"))
            closed, end = _closed(content[:damage] if damage > at else content, at), len(content)
            try:
                value, _ = decoder.raw_decode(closed, at)
            except (ValueError, RecursionError):
                return
        if isinstance(value, list):
            value = {"items": value}
        if isinstance(value, dict):
            yield Thing(value, _JsonPlaces(value, closed, breaks))
        at = _BLANK.match(content, end).end()  # type: ignore[union-attr]


def _closed(content: str, start: int) -> str:
    """Close a JSON text behind the last value that is whole.

    Of a container only the whole is taken: what a probe or a limit lacks would pass for its default.
    """
    open_: list[str] = []
    sealed, word = 0, ""
    end, closing = start, ""
    for token in _TOKEN.finditer(content, start):
        sign = token[0]
        if sign in "{[":
            open_.append("}" if sign == "{" else "]")
            if sign == "[" and not sealed and word in _SEALED:
                sealed = len(open_)
            if len(open_) > DEEPEST:
                break
        elif sign in "}]":
            if not open_ or open_.pop() != sign:
                break
            sealed = sealed if len(open_) >= sealed else 0
            if len(open_) <= sealed or not sealed:
                end, closing = token.end(), "".join(reversed(open_))
        elif sign == "," and (len(open_) <= sealed or not sealed):
            end, closing = token.start(), "".join(reversed(open_))
        elif sign == '"':
            break
        elif sign != ",":
            word = sign
    return content[:end] + closing


@dataclass(slots=True, frozen=True)
class _YamlPlaces:
    document: Document

    def line(self, path: Steps) -> int:
        return self.document.place(path)[0]


def _yaml_documents(source: str, content: str) -> Iterator[Thing | Problem]:
    lines = 0
    try:
        for document in documents(content, source):
            if isinstance(document.data, dict):
                yield Thing(document.data, _YamlPlaces(document))
            lines = document.root.end_mark.line if document.root is not None else lines
    except YamlError as error:
        yield Problem(source, error.line, Sentence("is no YAML from here on: {error}", error=error.text[:170]))
        # A block text that was cut is whole up to the line before.
        kept = content.split("\n")[lines : max(error.line - 1, lines)]
        try:
            for document in documents("\n" * lines + "\n".join(kept), source):
                if isinstance(document.data, dict):
                    yield Thing(document.data, _YamlPlaces(document))
        except YamlError:
            return
