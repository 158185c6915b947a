"""Dialects of log lines: one module per writer, found by listing this folder.

A module is a dialect when it defines ``NAME``, ``ORDER`` and ``head`` (see ``base.Dialect``). It may define
``stats`` too: the reader of its statistics lines.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import cast

from diagnoser.formats.base import Dialect, Head, StatsLine
from diagnoser.listing import modules
from diagnoser.tables.table import Group

__all__ = ["Dialect", "Head", "StatsLine", "dialects", "stats_readers"]


@functools.cache
def _modules() -> list[ModuleType]:
    found = [importlib.import_module(f"{__name__}.{name}") for name in modules(__path__)]
    return [module for module in found if all(hasattr(module, part) for part in ("NAME", "ORDER", "head"))]


def dialects() -> tuple[Dialect, ...]:
    """All dialects in the order in which they are asked for a line."""
    found = [cast(Dialect, module) for module in _modules()]
    return tuple(sorted(found, key=lambda dialect: (dialect.ORDER, dialect.NAME)))


def stats_readers() -> dict[str, Callable[[str, Group], StatsLine | None]]:
    """``Record.dialect`` to the function that takes text and ranks of a record of kind "stats" apart."""
    return {module.NAME: module.stats for module in _modules() if hasattr(module, "stats")}
