"""The line shape of Rust's ``tracing`` crate, shared by the routers and by engines that Dynamo embeds.

``2026-11-29 18:10:44 ERROR http_request{uri=/v1}: smg::response: src/middleware.rs:169: request failed latency=63``
"""

from __future__ import annotations

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily
from diagnoser.values import dataclass

_START = lazily(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)? +"
    r"(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL) +"
)
_TARGET = lazily(r"([A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_<]\w*>?)*):(?: |$)")
# Spans stand in front of the target: ``a{k=v}:b{k="}"}: ``. Quoted values may hold braces.
_SPANS = lazily(r"""(?:[A-Za-z_][\w.-]*\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}:)+ """)
# A URI with a lone quote in it; the target is then the first path behind a closing brace.
_BROKEN_SPANS = lazily(r"[A-Za-z_][\w.-]*\{.{0,4000}?\}: (?=[a-z_]\w*(?:::\w+)+: )")
_FILE = lazily(r"(\S+\.(?:rs|py):\d+): ")


@dataclass(slots=True)
class Traced:
    """One tracing line: its head with the printed time and level, the spans it ran in, and the module that spoke."""

    head: Head
    target: str


def parse(text: str, dialect: str, process: str) -> Traced | None:
    """Read a tracing line; None when the line has another shape or names no module.

    The message keeps its spans (``http_request{...}: ``) in front: they hold the status and the URI.
    """
    start = _START.match(text)
    if start is None:
        return None
    spans = _SPANS.match(text, start.end()) or _BROKEN_SPANS.match(text, start.end())
    spans_end = spans.end() if spans else start.end()
    target = _TARGET.match(text, spans_end)
    if target is None:
        return None
    place = _FILE.match(text, target.end())
    where = target.group(1) if place is None else f"{target.group(1)} {place.group(1)}"
    message = text[target.end() if place is None else place.end() :]
    year, month, day, hour, minute, second, level = start.groups()
    head = Head(
        dialect,
        "message",
        text[start.end() : spans_end] + message,
        level="WARNING" if level == "WARN" else level,
        process=process,
        where=where,
    ).at(year, month, day, hour, minute, second)
    return Traced(head, target.group(1))
