"""journalctl ``-o short-iso``, ``short-iso-precise`` and rsyslog files: ``TIME host unit[pid]: text``."""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch, writer
from diagnoser.patterns import lazily

NAME = "journald iso"
ORDER = 51
#: Nanoseconds are a container runtime's.
_ISO = rf"{TIME}(?<!\.\d{{9}}Z)(?<!\.\d{{9}}[+-]\d\d:\d\d)"
#: The process number is required, except of the kernel: a container's line may also begin with two words and a colon.
_WRITER = r"(?:[^\s\[:|]{1,255}+ )?(?:[^\s\[|(]{1,200}+\[\d{1,10}\]|kernel):(?: |\Z)"
FIRST = string.digits
HEAD = rf"{_ISO} {_WRITER}"
SAMPLES: list[Sample] = [
    ("2026-11-29T12:00:00+0000 gpu-1 vllm[77]: INFO:     x", "INFO:     x", 1795953600.0, "vllm"),
    ("2026-11-29T12:00:00.250000+00:00 gpu-1 vllm.service[77]: x", "x", 1795953600.25, "vllm"),
    ("2026-11-29T13:00:00+01:00 gpu-1 kernel: NVRM: Xid (PCI:0000:01:00): 79", "NVRM: Xid (PCI:0000:01:00): 79",
     1795953600.0, "kernel"),
]  # fmt: skip

_LINE = lazily(
    rf"({_ISO}) "
    r"(?:[^\s\[:|]{1,255}+ )?(?:([^\s\[|(]{1,200}+)\[\d{1,10}\]|kernel):(?: |\Z)"
)


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is the unit or identifier without its process number, "kernel" for the kernel."""
    match = _LINE.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    return Peeled(rest, epoch(match[1]), writer(match[2] or "kernel", rest))
