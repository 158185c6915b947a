"""What an input is, from its first bytes: a log, a metrics page, JSON, CSV, an SQLite file, or nothing readable."""

from __future__ import annotations

import json
from typing import Any

from diagnoser.patterns import lazily

#: Files that are never text, by their first bytes, with what to tell the person.
_BINARY = {
    b"\x7fELF": "an ELF program",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF-": "a PDF document",
    b"GGUF": "GGUF model weights",
    b"\x93NUMPY": "a NumPy array",
    b"\x80\x02": "a pickle",
    b"\x80\x04\x95": "a pickle",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it first",
    b"LPKSHHRH": "a binary systemd journal: export it with journalctl -o json",
}
_TAR_AT = 257
#: More control or undecodable characters than this share, and it is not text. Logs cut in the middle of a character,
#: holding terminal codes or a hole of NULs left by a truncating rotation stay far below.
_MAX_STRANGE = 0.1
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x1b\x08\x0c")) + b"\x7f"

_METRIC_NAME = r"[A-Za-z_:][A-Za-z0-9_:]*"
_METRIC_NOTE = lazily(rf"# (?:(?:HELP|TYPE|UNIT) {_METRIC_NAME}(?: |\Z)|EOF\Z)")
_METRIC_SAMPLE = lazily(
    rf"{_METRIC_NAME}(?:\{{.*\}})?[ \t]+(?:[+-]?(?:\d[\d.eE+-]*|Inf)|NaN)(?:[ \t]+[-\d.]+)?(?: # .*)?\Z"
)
_COLUMN = lazily(r"\"?[A-Za-z_][\w ./%()\[\]#+-]{0,80}\"?\Z")
#: Keys that a JSON object of a logger has: a text and, beside it, a time or a level.
_TEXT_KEYS = {"log", "message", "msg", "event", "text", "fields", "body"}
_STAMP_KEYS = {
    "stream", "time", "timestamp", "ts", "@timestamp", "asctime", "level", "levelname", "severity", "lvl",
}  # fmt: skip
#: A document over several lines; ``[pod/…]``, ``[2026-…]`` and ``[1;36m`` are no JSON.
_JSON_START = lazily(r"(?:\{\s*(?:\"|\}|\Z)|\[\s*(?:[{\[\]]|\Z|\"[^\"]*\"\s*[,\]]|-?\d[\d.eE+-]*\s*(?:,|\]\s*\Z)))")
_JSON_LOG_START = lazily(r"\{\s*\"(?:log|MESSAGE|asctime|levelname|_[A-Z_]+|PRIORITY|SYSLOG_[A-Z]+)\"\s*:")


def sniff(head: bytes) -> tuple[str, str, str]:
    """Judge the first 64 KiB of an input: (kind, state, why it cannot be read).

    ``kind`` is one of "log", "metrics", "json", "csv", "sqlite", "unknown"; ``state`` is "ok", "empty" or "binary".
    The reason is "" when the state is "ok".
    """
    if not head.strip(b" \t\r\n"):
        return "unknown", "empty", "empty: nothing was written to it"
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite", "ok", ""
    reason = _binary(head)
    if reason:
        return "unknown", "binary", reason
    text = head.decode("utf-8", "replace").replace("\0", "").lstrip()
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if len(lines) > 1:
        del lines[-1]  # probably cut
    return _kind(text, [line for line in lines if line.strip()]), "ok", ""


def _kind(text: str, lines: list[str]) -> str:
    if _is_metrics(lines):
        return "metrics"
    if text[0] in "{[" and (kind := _json_kind(text, lines)):
        return kind
    if _is_csv(lines):
        return "csv"
    if text[:64].lower().startswith(("<!doctype", "<html", "<?xml")):
        return "unknown"
    return "log"


def _binary(head: bytes) -> str:
    """Say what kind of binary ``head`` is; "" for text."""
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            return f"binary: {what}"
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "binary: a tar archive: unpack it first"
    # A safetensors file starts with the length of its JSON header.
    if head[8:10] == b'{"' and b"\0" in head[:8]:
        return "binary: safetensors model weights"
    # NULs at the start are the hole that copy-and-truncate rotation leaves.
    body = head.lstrip(b"\0")
    strange = len(body) - len(body.translate(None, _CONTROL)) + body.decode("utf-8", "replace").count("�")
    if not body or strange > max(4, len(body) * _MAX_STRANGE):
        return "binary: not text"
    return ""


def _is_metrics(lines: list[str]) -> bool:
    """Tell a Prometheus or OpenMetrics page: nothing but notes and samples; one strange line in ten is forgiven."""
    notes = sum(1 for line in lines if _METRIC_NOTE.match(line))
    samples = sum(1 for line in lines if _METRIC_SAMPLE.match(line))
    others = sum(1 for line in lines if line.startswith("#")) - notes
    labelled = sum(1 for line in lines if "{" in line)
    return (notes > 0 or labelled > 0) and notes + samples > 0 and notes + samples + others >= 0.9 * len(lines)


def _json_kind(text: str, lines: list[str]) -> str:
    """Tell "log" (a logger's JSON lines), "json" (any other) and "" (text that only starts with a bracket)."""
    if _JSON_LOG_START.match(text):
        return "log"
    if lines[0].strip() not in ("{", "["):
        for line in lines[:20]:
            if line.startswith(("{", "[")) and (value := _parsed(line)) is not None:
                return "log" if isinstance(value, dict) and _is_log(value) else "json"
    return "json" if _JSON_START.match(text) else ""


def _parsed(line: str) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _is_log(value: dict[str, Any]) -> bool:
    if "MESSAGE" in value or "__REALTIME_TIMESTAMP" in value:
        return True
    keys = {key.lower() for key in value}
    return bool(keys & _TEXT_KEYS) and bool(keys & _STAMP_KEYS)


def _is_csv(lines: list[str]) -> bool:
    """Tell a table: a header of column names and rows with as many cells."""
    if not lines:
        return False
    for separator in ",\t;":
        header = [cell.strip() for cell in lines[0].split(separator)]
        if len(header) < 2 or not all(_COLUMN.match(cell) for cell in header):
            continue
        import csv  # few inputs come this far

        try:
            rows = list(csv.reader(lines[1:40], delimiter=separator))
        except csv.Error:
            continue
        fitting = sum(1 for row in rows if len(row) == len(header))
        if fitting >= 0.9 * len(rows) and (rows or len(header) > 2):
            return True
    return False
