"""Reports that were saved with --format json, read back: their version is checked first, then every field's type."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

from diagnoser.contracts import comparison, findings, fleetrows
from diagnoser.contracts.findings import SCHEMA_VERSION, Report

#: A report is some hundred kilobytes; a document far beyond it is something else.
LARGEST = 64 << 20


class SavedReportError(ValueError):
    """A document that is no report that this version can read; the message says why in one line."""


def is_report(head: bytes) -> bool:
    """Whether a document begins as a saved report does (of any version)."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"{") and b'"schema_version"' in text[:200]


def read(text: str | bytes, name: str) -> Report:
    """Return the report in a JSON document. Raises SavedReportError, with ``name`` in its message."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SavedReportError(f"{name}: not a saved report: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("schema_version"), str) or "runs" not in value:
        raise SavedReportError(f"{name}: JSON, but not a report saved with diagnose --format json")
    version = value["schema_version"]
    major = SCHEMA_VERSION.partition(".")[0]
    if version.partition(".")[0] != major:
        raise SavedReportError(
            f"{name}: a report of schema {version[:20]}; this version reads schema {major}.x: make it anew from its log"
        )
    value = {**value, "baseline": None}
    try:
        report = _made(Report, value, "report")
    except (TypeError, KeyError) as error:
        raise SavedReportError(f"{name}: not a whole report: {str(error)[:200]}") from None
    assert isinstance(report, Report)
    return report


def _made(kind: Any, value: Any, place: str) -> Any:
    """Build a value of a dataclass' field: unknown keys are of a newer minor version and left out."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{place} is no object")
        hints = typing.get_type_hints(kind, {**vars(findings), **vars(comparison), **vars(fleetrows)})
        known = {field.name for field in dataclasses.fields(kind)}
        made = {name: _made(hints[name], value[name], f"{place}.{name}") for name in value if name in known}
        return kind(**made)  # type: ignore[operator]
    if origin is types.UnionType or origin is typing.Union:
        if value is None:
            return None
        return _made(next(one for one in typing.get_args(kind) if one is not type(None)), value, place)
    if origin is list and isinstance(value, list):
        (inner,) = typing.get_args(kind)
        return [_made(inner, one, f"{place}[{at}]") for at, one in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        _, inner = typing.get_args(kind)
        return {str(key): _made(inner, one, f"{place}.{key}") for key, one in value.items()}
    if kind is Any:
        return value
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if (kind is int and isinstance(value, bool)) or not isinstance(kind, type) or not isinstance(value, kind):
        raise TypeError(f"{place} is {type(value).__name__}")
    return value
