"""The report as one JSON document: the public, versioned contract for programs."""

from __future__ import annotations

import json
from typing import Any

from diagnoser.contracts.findings import Report
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.redact import mask
from diagnoser.reports.safe import json_text
from diagnoser.values import field_names

NAME = "json"
REDACT = False
DESCRIPTION = "one JSON document with a schema_version, for programs"


def render(report: Report, options: RenderOptions) -> str:
    """Keys in the order of the dataclasses, UTF-8, secrets masked; equal input gives equal bytes."""
    return document(report)


def document(value: Any) -> str:
    """Return any of the report's data (a report, a comparison) as one document."""
    return json_text(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def _plain(value: Any) -> Any:
    """Turn the report to what JSON knows. NaN and infinity are not JSON: a number that is none becomes null."""
    if isinstance(value, str):
        return mask(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if names := field_names(value):
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return str(value)


def one_line(value: Any) -> str:
    """Return data as one line of a stream."""
    return json_text(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)) + "\n"
