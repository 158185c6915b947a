"""What an operator has beside logs: metrics pages, GPU tables, benchmarks, profiles, what Kubernetes says.

This folder is the list: a module whose name has no leading underscore reads one kind of trace, recognised by content.
"""

from __future__ import annotations

import importlib
from functools import cache

from diagnoser.listing import modules
from diagnoser.sources import Source
from diagnoser.traces.base import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """Return the readers of this folder in the order in which they are asked."""
    names = [name for name in modules(__path__) if name != "base" and not name.startswith("_")]
    found = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(sorted(found, key=lambda module: (module.ORDER, module.NAME)))


def reader_of(source: Source) -> Reader | None:
    """Return the reader of an input that is not a log, None when nobody here knows it."""
    head = source.head()
    return next((one for one in readers() if source.kind in one.KINDS and one.recognise(head)), None)
