"""What a caller may fix, and the error for what cannot be used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.language import ORIGINAL
from diagnoser.values import dataclass

if TYPE_CHECKING:
    from diagnoser.alerts import Alert

Name = str | os.PathLike[str]


class UsageError(ValueError):
    """An option that cannot be used: the message names it, what was expected and the nearest right word."""


@dataclass(slots=True, frozen=True)
class Options:
    """What a caller may fix. Texts as on the command line; None means: read it from the input.

    ``since`` and ``until`` are times in the log's own clock ("10:00", "2026-11-29 10:00") or stretches back from its
    end ("15m"). ``rules`` are folders with further rule files. ``cache_dir`` may hold compiled rules between calls.
    ``lang`` is the language of titles, meanings and other prose; names, levels and states are English in all.
    ``slo`` maps "ttft", "tpot", "itl", "e2e" to the most that a request may take, seconds. ``alert`` picks the servers
    that it names; its time is in ``since`` and ``until``.
    """

    since: str | None = None
    until: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    gpu: str | None = None
    rules: Sequence[Name] = ()
    inference: str = "plain"
    cache_dir: Path | None = None
    slo: Mapping[str, float] | None = None
    alert: Alert | None = None
    lang: str = ORIGINAL
