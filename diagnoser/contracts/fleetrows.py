"""What a report tells of many servers at once: how many of what kind, and which of them show what."""

from __future__ import annotations

from typing import Any

from diagnoser.values import dataclass, field


@dataclass(slots=True)
class Kind:
    """Servers of one engine, version, model and layout. ``ends`` counts how their last lifetimes ended.

    ``restarts`` counts lifetimes before the last ones. ``started`` and ``ended`` are the earliest and the latest time.
    """

    engine: str
    engine_version: str
    model: str
    gpu: str
    parallel: str
    servers: int
    restarts: int
    ends: dict[str, int]
    started: str | None
    ended: str | None


@dataclass(slots=True)
class Affected:
    """Servers that show a finding: ``servers`` of ``of``, those of the engines that show it.

    ``first`` is the server that showed it first, at ``since``; both are empty where no time is known or clocks cannot
    be compared. ``until`` is the last time that any showed it. ``names`` are some of them.
    """

    id: str
    title: str
    severity: str
    role: str
    servers: int
    of: int
    since: str | None
    first: str
    until: str | None
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Apart:
    """Servers that stand apart from their peers in one figure or setting: ``values`` of theirs, ``others`` of the rest.

    ``kind`` is "figure", "configuration" or "finding".
    """

    kind: str
    name: str
    title: str
    unit: str
    servers: int
    of: int
    values: list[Any]
    others: Any
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Fleet:
    """Many servers in one report. ``findings`` are in the order of the report's."""

    servers: int
    kinds: list[Kind]
    findings: list[Affected]
    apart: list[Apart]
