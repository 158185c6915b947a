"""Syslog priorities before a line: ``<3>text`` (sd-daemon), ``<13>Nov 29 …`` (RFC 3164) and RFC 5424 headers."""

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch, unit
from diagnoser.patterns import lazily

NAME = "syslog"
ORDER = 60
_STRUCTURED = r"(?:-|(?:\[[^\]\n]{1,1024}\])+)"
FIRST = "<1"
HEAD = rf"<\d{{1,3}}>|1 {TIME} \S{{1,255}} \S{{1,128}} \S{{1,128}} \S{{1,32}} {_STRUCTURED}(?: |\Z)"
SAMPLES: list[Sample] = [
    ("<3>ERROR 11-29 12:00:00 [core.py:1] x", "ERROR 11-29 12:00:00 [core.py:1] x", None, ""),
    ("<13>Nov 29 12:00:00 gpu-1 vllm[7]: x", "Nov 29 12:00:00 gpu-1 vllm[7]: x", None, ""),
    ("<165>1 2026-11-29T12:00:00.250Z gpu-1 vllm 7 - - INFO:     x", "INFO:     x", 1795953600.25, "vllm"),
    ('1 2026-11-29T12:00:00Z gpu-1 kernel - - [a@1 b="c"] NVRM: Xid', "NVRM: Xid", 1795953600.0, "kernel"),
]

_LINE = lazily(
    rf"(?:<\d{{1,3}}>)?(?:1 ({TIME}) \S{{1,255}} (\S{{1,128}}) \S{{1,128}} \S{{1,32}} {_STRUCTURED}(?: |\Z))?"
)


def peel(text: str) -> Peeled | None:
    """Peel one line; RFC 3164 text after the priority is left for the journald envelope, which it resembles."""
    match = _LINE.match(text)
    if match is None or not match.end():
        return None
    time, name = match.groups()
    return Peeled(text[match.end() :].removeprefix("\ufeff"), epoch(time) if time else None, unit(name or ""))
