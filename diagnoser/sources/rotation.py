"""Rotated files of one log, put in the order they were written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from diagnoser.patterns import lazily
from diagnoser.sources.part import Part

_COMPRESSION = lazily(r"\.(?:gz|bz2|xz|zst|zstd)\Z", re.IGNORECASE)
#: ``server.log.2`` (the higher the older); a date ``server.log-20260101``, ``server.log.2026-01-01``,
#: ``0.log.20260101-120000`` or ``server.log-20260101-1735725600``.
_NUMBERED = lazily(r"(?P<base>.+)\.(?P<number>\d{1,4})\Z")
_DATED = lazily(r"(?P<base>.+?)[.-](?P<date>\d{4}-?\d\d-?\d\d(?:[-_T.]?\d{2,10}(?:[-:]\d\d){0,2})?)\Z")
#: logrotate's ``extension``: ``server-20260101.log``, ``server.1.log``. Only believed beside a ``server.log``.
_INFIX = lazily(r"(?P<stem>.+?)(?:\.(?P<number>\d{1,4})|-(?P<date>\d{8}(?:-?\d{2,10})?))(?P<ext>\.[A-Za-z]{2,5})\Z")
#: What ``kubectl logs --previous`` gave, beside the log of the container that runs now: ``vllm.previous.log``.
_PREVIOUS = lazily(r"(?P<stem>.+?)\.previous(?P<ext>\.[A-Za-z]{2,5})\Z")
#: The kubelet names a container's logs by restart: ``0.log``, ``1.log``.
_RESTART = lazily(r"(\d{1,4})\.log\Z")

_Place = tuple[int, int, str, int]


def in_sets(parts: Iterable[Part]) -> list[list[Part]]:
    """Group parts that are rotations of one log; groups stand where their first part stood, oldest part first."""
    parts = list(parts)
    present = {(_folder(part), _COMPRESSION.sub("", part.place.name)) for part in parts if part.place}
    groups: dict[object, list[tuple[_Place, Part]]] = {}
    for part in parts:
        if part.place is None:
            groups[id(part)] = [((0, 0, "", 0), part)]
            continue
        folder = _folder(part)
        base, place = _placed(_COMPRESSION.sub("", part.place.name), folder, present)
        groups.setdefault((folder, base), []).append((place, part))
    return [[part for _, part in sorted(group, key=lambda pair: pair[0])] for group in groups.values()]


def _folder(part: Part) -> str:
    return str(part.place.parent) if part.place else ""


def _placed(name: str, folder: str, present: set[tuple[str, str]]) -> tuple[str, _Place]:
    """Give the name of the set and the place in it: (restart, dated 0 / numbered 1 / current 2, date, -number)."""
    base, rank, date, number = name, 2, "", 0
    if match := _DATED.match(name):
        base, rank, date = match["base"], 0, re.sub(r"\D", "", match["date"])
    elif match := _NUMBERED.match(name):
        base, rank, number = match["base"], 1, -int(match["number"])
    elif (match := _INFIX.match(name)) and (folder, match["stem"] + match["ext"]) in present:
        base = match["stem"] + match["ext"]
        rank, date, number = (0, match["date"], 0) if match["date"] else (1, "", -int(match["number"]))
    elif (match := _PREVIOUS.match(name)) and (folder, match["stem"] + match["ext"]) in present:
        base, rank = match["stem"] + match["ext"], 1
    restart = _RESTART.match(base)
    if restart:
        return "", (int(restart[1]), rank, date, number)
    return base, (0, rank, date, number)
