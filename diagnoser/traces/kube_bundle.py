"""The manifest of what `kubectl diagnose-llm` collected: what could not be had is told as it was when it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces.base import Wanted

NAME = "kube-bundle"
ORDER = 15
KINDS = ("json",)
SAMPLES = [
    ('{\n  "format": "diagnose-bundle/1",\n  "not_collected": []\n}\n', 0),
]

#: Bytes read of a manifest, faults told of it, and characters of each part of one.
MOST, TOLD, TEXT = 4 << 20, 40, 300
_FORMAT = re.compile(r'\A\s*\{\s*"format":\s*"diagnose-bundle/\d+"')


def recognise(head: str) -> bool:
    """Tell a manifest by its first key."""
    return _FORMAT.match(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield a Problem for everything that could not be collected, with the command to get it by hand."""
    try:
        manifest = json.loads(source.content(MOST))
    except (ValueError, RecursionError):
        yield Problem(source.name, None, Sentence("is no whole manifest: what could not be collected is not known"))
        return
    missing = manifest.get("not_collected")
    told = missing if isinstance(missing, list) else []
    for one in told[:TOLD]:
        if isinstance(one, dict):
            yield Problem(source.name, None, _said(one))
    if len(told) > TOLD:
        yield Problem(source.name, None, Sentence("{count} more could not be collected", count=len(told) - TOLD))


def _said(one: dict[str, Any]) -> str:
    what, why, by_hand = (str(one.get(key) or "")[:TEXT] for key in ("what", "why", "by_hand"))
    told = {"what": what or Sentence("something"), "why": why or Sentence("no reason")}
    if by_hand:
        return Sentence("not collected: {what}: {why}; by hand: {by_hand}", by_hand=by_hand, **told)
    return Sentence("not collected: {what}: {why}", **told)
