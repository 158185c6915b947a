"""Docker's json-file driver: ``{"log":"text\\n","stream":"stderr","time":"…"}``; also what fluent-bit makes of it.

Docker cuts lines at 16 KiB: a log without a final newline goes on in the next object of the same stream.
"""

import json
from typing import Any

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import epoch
from diagnoser.patterns import lazily

NAME = "docker json-file"
ORDER = 30
FIRST = "{"
HEAD = r"\{\s{0,4}\"(?:log|stream|time|attrs|date|@timestamp|kubernetes)\"\s{0,4}:"
SAMPLES: list[Sample] = [
    (
        r'{"log":"\u001b[1;36m(VllmWorker rank=1 pid=231)\u001b[0;0m INFO\n","stream":"stderr",'
        r'"time":"2025-05-03T17:36:01.076359815Z"}',
        "\x1b[1;36m(VllmWorker rank=1 pid=231)\x1b[0;0m INFO",
        1746293761.076359,
        "",
    ),
    (r'{"log": "a\n", "stream": "stdout", "time": "2025-05-03T17:36:01Z"}', "a", 1746293761.0, ""),
    (r'{"log":"16 KiB of a","stream":"stdout","time":"2025-05-03T17:36:01Z"}', "16 KiB of a", 1746293761.0, ""),
    (r'{"stream":"stderr","log":"b","kubernetes":{"pod_name":"p-0","container_name":"vllm"}}', "b", None, "p-0/vllm"),
    (r'{"log":"\r\n","stream":"stderr","time":"2025-05-03T17:36:01Z"}', "", 1746293761.0, ""),
    (r'{"log":"cut here by the end of the \"fi', 'cut here by the end of the "fi', None, ""),
]  # fmt: skip

#: An object that the end of the file cut: its text can still be had.
_CUT = lazily(r"\{\s*\"log\"\s*:\s*(\"(?:[^\"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*)")


def peel(text: str) -> Peeled | None:
    """Peel one object; None for JSON that is something else (an engine's own JSON log)."""
    if '"log"' not in text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _salvage(text)
    log = value.get("log") if isinstance(value, dict) else None
    if not isinstance(log, str) or not ("stream" in value or "time" in value):
        return None
    if not log.isascii():
        log = log.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
    whole = log.rstrip("\r\n")
    pure = "stream" in value and "kubernetes" not in value and "logtag" not in value
    tagged = value.get("logtag") == "P"
    time = value.get("time")
    return Peeled(
        whole,
        epoch(time) if isinstance(time, str) else None,
        _pod(value.get("kubernetes")),
        partial=tagged or (pure and not log.endswith("\n")),
        key=str(value.get("stream")),
    )


def restored(text: str) -> str | None:
    """Return an object that lost its beginning, with another in its place; None for what is no such rest.

    The cut may have gone through an escape, so that what is left begins with the character that was escaped.
    """
    if text[:1] == "{" or '","stream":"' not in text:
        return None
    for rest in (text, text[1:]):
        whole = f'{{"log":"{rest}'
        try:
            json.loads(whole)
        except (ValueError, RecursionError):
            continue
        return whole
    return None


def _pod(labels: Any) -> str:
    if not isinstance(labels, dict):
        return ""
    return "/".join(str(labels[key]) for key in ("pod_name", "container_name") if labels.get(key))


def _salvage(text: str) -> Peeled | None:
    match = _CUT.match(text)
    if match is None:
        return None
    try:
        return Peeled(str(json.loads(match[1] + '"')).rstrip("\r\n"))
    except ValueError:
        return None
