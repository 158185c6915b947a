"""``journalctl -o json``: one object per line with ``MESSAGE`` (text, bytes or null) and ``__REALTIME_TIMESTAMP``."""

import json
from typing import Any

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import writer

NAME = "journald json"
ORDER = 52
FIRST = "{"
HEAD = r"\{\s{0,4}\"[A-Z_][A-Z0-9_]{1,63}\"\s{0,4}:"
SAMPLES: list[Sample] = [
    (
        '{"__REALTIME_TIMESTAMP":"1767182400250000","_SYSTEMD_UNIT":"vllm.service","SYSLOG_IDENTIFIER":"python3",'
        '"_PID":"7","MESSAGE":"INFO:     x"}',
        "INFO:     x",
        1767182400.25,
        "vllm",
    ),
    ('{"MESSAGE":[72,105,27,91,48,109],"SYSLOG_IDENTIFIER":"vllm","PRIORITY":"6"}', "Hi\x1b[0m", None, "vllm"),
    ('{"_SYSTEMD_UNIT":"init.scope","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"llm-7.service: Failed"}',
     "llm-7.service: Failed", None, "llm-7"),
    ('{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1767182400250000"}', "", 1767182400.25, ""),
    ('{"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid"}', "NVRM: Xid", None, "kernel"),
    ('{"CONTAINER_NAME":"vllm","CONTAINER_PARTIAL_MESSAGE":"true","_SYSTEMD_UNIT":"docker.service","MESSAGE":"half "}',
     "half ", None, "vllm"),
    ('{"_TRANSPORT":"stdout","_LINE_BREAK":"line-max","_SYSTEMD_UNIT":"vllm.service","MESSAGE":"48 KiB of it "}',
     "48 KiB of it ", None, "vllm"),
]  # fmt: skip


def peel(text: str) -> Peeled | None:
    """Peel one object; None for JSON that is something else."""
    if '"MESSAGE"' not in text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    message = _message(value.get("MESSAGE"))
    stream = _writer(value, message)
    return Peeled(
        message,
        _time(value.get("__REALTIME_TIMESTAMP")),
        stream,
        # journald itself cuts what a unit prints at 48 KiB (LineMax=) and says so.
        partial=value.get("CONTAINER_PARTIAL_MESSAGE") == "true" or value.get("_LINE_BREAK") == "line-max",
        key=stream,
    )


def _writer(value: dict[str, Any], message: str) -> str:
    """Name the container, else the unit, else what the program calls itself."""
    for key in ("CONTAINER_NAME", "_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "SYSLOG_IDENTIFIER", "_COMM"):
        name = value.get(key)
        # systemd speaks from init.scope; its identifier says more.
        if isinstance(name, str) and name and name != "init.scope":
            return writer(name, message)
    return ""


def _message(message: Any) -> str:
    """Read a message; journald gives bytes when the text has control characters, a list when a field came twice."""
    if isinstance(message, list) and message and all(isinstance(item, int) and 0 <= item < 256 for item in message):
        text = bytes(message).decode("utf-8", "replace")
    elif isinstance(message, list):
        text = "\n".join(item for item in message if isinstance(item, str))
    else:
        text = message if isinstance(message, str) else ""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
    return text.rstrip("\r\n")


#: The last second that the calendar knows (9999-12-31); a larger one is no time.
_LATEST = 253_402_300_799


def _time(microseconds: Any) -> float | None:
    try:
        seconds = int(microseconds) / 1e6
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= _LATEST else None
