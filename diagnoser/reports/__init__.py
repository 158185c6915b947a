"""Output formats. This folder is the list: a module or package with a ``NAME`` is a format, found by listing.

A format is one file with ``NAME``, ``DESCRIPTION`` and ``render(report, options) -> str``; modules without a
``NAME`` (``safe``, ``layout``, ...) are what the formats share. ``render`` here is the way from a report to text.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import cast

from diagnoser.contracts.findings import Report
from diagnoser.listing import modules
from diagnoser.reports.base import Format, RenderOptions

__all__ = ["Format", "RenderOptions", "UnknownFormatError", "formats", "get", "redacts", "render"]


class UnknownFormatError(ValueError):
    """No such output format; the message names the nearest one."""


def formats() -> dict[str, Format]:
    """Every format of this folder by name."""
    found: dict[str, Format] = {}
    for name in modules(__path__):
        candidate = _format(import_module(f"{__name__}.{name}"))
        if candidate is not None:
            found[candidate.NAME] = candidate
    return found


def get(name: str) -> Format:
    """Return one format. A format's file is named like the format, so that asking for one imports no other."""
    if name in modules(__path__):
        candidate = _format(import_module(f"{__name__}.{name}"))
        if candidate is not None and name == candidate.NAME:
            return candidate
    from diagnoser.knowledge.words import hint

    known = formats()
    raise UnknownFormatError(f"unknown format '{name}'{hint(name, known)} (formats: {', '.join(known)})")


def redacts(chosen: Format) -> bool:
    """Whether a format's text is made to be handed on: then it is redacted unless somebody says otherwise."""
    return bool(getattr(chosen, "REDACT", True))


def render(report: Report, name: str, options: RenderOptions, redact: bool | None = None) -> str:
    """Return a report in the format of this name, redacted where asked for or (None) where the format is handed on."""
    chosen = get(name)
    if redacts(chosen) if redact is None else redact:
        from diagnoser.reports.redacting import Redactor  # nobody else pays for it
        from diagnoser.values import field_names

        redactor = Redactor(options.folder)
        report = redactor.of(report)
        # Whatever else of the log is handed over beside the report.
        beside = {name: redactor.of(value) for name, value in options._asdict().items() if field_names(value)}
        options = options._replace(**beside)
    return chosen.render(report, options)


def _format(module: ModuleType) -> Format | None:
    return cast(Format, module) if isinstance(getattr(module, "NAME", None), str) else None
