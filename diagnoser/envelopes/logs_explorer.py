"""Rows copied out of Google Cloud's Logs Explorer: ``SEVERITY TIME [resource.labels.containerName: vllm] text``."""

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch
from diagnoser.patterns import lazily

NAME = "logs_explorer"
ORDER = 56
FIRST = "DINWECA"
_SEVERITY = r"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY)"
# The fields that the reader chose to see in front of each row; the severity and the time alone are no envelope.
_FIELD = r"\[[a-zA-Z]{4,20}\.[^\]:]{1,120}: [^\]]{0,200}\]"
HEAD = rf"{_SEVERITY} {TIME} {_FIELD}"
SAMPLES: list[Sample] = [
    (
        "INFO 2026-11-29T12:00:00.250000000Z [resource.labels.containerName: vllm] (APIServer pid=1) x",
        "(APIServer pid=1) x",
        1795953600.25,
        "vllm",
    ),
    (
        "ERROR 2026-11-29T12:00:00Z [resource.labels.podName: llm-0] [resource.labels.containerName: vllm]   File y",
        "  File y",
        1795953600.0,
        "llm-0/vllm",
    ),
]

_LINE = lazily(rf"{_SEVERITY} ({TIME})((?: {_FIELD}){{1,6}})(?: |\Z)")
_VALUE = lazily(r": ([^\]]{0,200})\]")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is what the fields say of its writer."""
    match = _LINE.match(text)
    if match is None:
        return None
    return Peeled(text[match.end() :], epoch(match[1]), "/".join(_VALUE.findall(match[2])))
