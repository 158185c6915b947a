"""journalctl ``-o short-iso``, ``short-iso-precise``, ``short-full``, rsyslog files: ``TIME host unit[pid]: text``."""

import re
import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch, unit

NAME = "journald iso"
ORDER = 51
#: Nanoseconds are a container runtime's.
_ISO = rf"{TIME}(?<!\.\d{{9}}Z)(?<!\.\d{{9}}[+-]\d\d:\d\d)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
_FULL = _DAY + r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [A-Z]{2,5}"
#: The process number is required, except of the kernel: a container's line may also begin with two words and a colon.
_WRITER = r"(?:[^\s\[:|]{1,255} )?(?:[^\s\[|(]{1,200}\[\d{1,10}\]|kernel):(?: |\Z)"
FIRST = string.digits + "MTWFS"
HEAD = rf"{_ISO} {_WRITER}"
SAMPLES: list[Sample] = [
    ("2026-11-29T12:00:00+0000 gpu-1 vllm[77]: INFO:     x", "INFO:     x", 1795953600.0, "vllm"),
    ("2026-11-29T12:00:00.250000+00:00 gpu-1 vllm.service[77]: x", "x", 1795953600.25, "vllm"),
    ("2026-11-29T13:00:00+01:00 gpu-1 kernel: NVRM: Xid (PCI:0000:01:00): 79", "NVRM: Xid (PCI:0000:01:00): 79",
     1795953600.0, "kernel"),
    ("Sun 2026-11-29 12:00:00 UTC gpu-1 systemd[1]: Started vllm.service.", "Started vllm.service.", 1795953600.0,
     "systemd"),
    ("Sun 2026-11-29 13:00:00 CET gpu-1 systemd[1]: x", "x", None, "systemd"),
]  # fmt: skip

_LINE = re.compile(
    rf"(?:({_ISO})|{_DAY}(\d{{4}}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{{1,6}})?) ([A-Z]{{2,5}})) "
    r"(?:[^\s\[:|]{1,255} )?(?:([^\s\[|(]{1,200})\[\d{1,10}\]|kernel):(?: |\Z)"
)


def peel(text: str) -> Peeled | None:
    """Peel one line; a zone that is only a name other than UTC gives no time."""
    match = _LINE.match(text)
    if match is None:
        return None
    iso, date, clock, zone, name = match.groups()
    time = epoch(iso) if iso else epoch(f"{date}T{clock}Z") if zone in ("UTC", "GMT") else None
    return Peeled(text[match.end() :], time, unit(name or "kernel"))
