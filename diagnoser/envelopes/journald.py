"""journalctl's default output and its variants: ``Nov 29 12:00:00 host unit[pid]: text`` (also syslog files).

The short form has no year: its times lie in a nominal one. Some zones are only names; such times are left out.
journalctl's own lines (``-- Boot … --``) are dropped.
"""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import MONTH_DAY_TIME, epoch, undated, writer
from diagnoser.patterns import lazily

NAME = "journald"
ORDER = 50
_NOTE = r"-- (?:Boot [0-9a-f]{32}|Reboot|Journal begins at |Logs begin at |No entries)"
_MONOTONIC = r"\[ {0,8}+[0-9]{1,9}+\.[0-9]{6}\]"
_UNIX = r"\d{9,11}\.\d{6}"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
_CLOCK = r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_FULL = rf"{_DAY}\d{{4}}-\d\d-\d\d {_CLOCK} [A-Z]{{2,5}}"
#: ``host`` is missing with --no-hostname. Only the kernel writes without a process number in the forms whose time
#: could also stand at the start of an ordinary line.
_HOST = r"(?:[^\s\[:|]{1,255}+ )?"
_STRICT = r"(?:[^\s\[|]{1,200}+\[\d{1,10}\]|kernel):(?: |\Z)"
FIRST = "-[JFMASONDTW" + string.digits
HEAD = (
    rf"{_NOTE}|{MONTH_DAY_TIME} {_HOST}[^\s\[]{{1,200}}(?:\[\d{{1,10}}\])?:(?: |\Z)"
    rf"|(?:{_MONOTONIC}|{_UNIX}|{_FULL}) {_HOST}{_STRICT}"
)
SAMPLES: list[Sample] = [
    (
        "Sep 09 21:20:03 node-b3 vllm[15610]: (APIServer pid=15610) INFO 09-09 21:20:03 [api_utils.py:333] ",
        "(APIServer pid=15610) INFO 09-09 21:20:03 [api_utils.py:333] ",
        None,
        "vllm",
    ),
    ("Sep  9 21:20:03.123456 node-b3 vllm.service[15610]: x: y", "x: y", None, "vllm"),
    ("Sep 09 21:42:58 node-b3 kernel: oom-kill:constraint=NONE", "oom-kill:constraint=NONE", None, "kernel"),
    ("Sep 09 21:42:58 kernel: oom-kill:constraint=NONE", "oom-kill:constraint=NONE", None, "kernel"),
    ("Sep 09 21:43:19 node-b3 systemd[1]: vllm.service: Failed", "vllm.service: Failed", None, "vllm"),
    ("Sep 09 21:43:19 node-b3 docker/vllm/3f2a[77]: x", "x", None, "docker/vllm/3f2a"),
    ("Sep 09 21:43:19 node-b3 vllm[1]:", "", None, "vllm"),
    ("-- Boot 3b1c5b1e9f5f4d8f8e2f2f0a4a4b5c6d --", None, None, ""),
    ("-- Journal begins at Mon 2026-01-05 10:00:00 UTC, ends at Tue 2026-01-06 10:00:00 UTC. --", None, None, ""),
    ("[ 1234.567890] node-b3 vllm[12]: INFO:     x", "INFO:     x", None, "vllm"),
    ("1767182400.123456 node-b3 vllm[12]: INFO:     x", "INFO:     x", 1767182400.123456, "vllm"),
    ("Sun 2026-11-29 12:00:00 UTC gpu-1 systemd[1]: Started it.", "Started it.", 1795953600.0, "systemd"),
    ("Sun 2026-11-29 13:00:00 CET gpu-1 kernel: x", "x", None, "kernel"),
]

_DROP = lazily(_NOTE)
_LINE = lazily(
    rf"(?:({MONTH_DAY_TIME}) {_HOST}([^\s\[]{{1,200}}?)(?:\[\d{{1,10}}\])?:(?: |\Z)"
    rf"|(?:{_MONOTONIC}|({_UNIX})|{_DAY}(\d{{4}}-\d\d-\d\d) ({_CLOCK}) ([A-Z]{{2,5}})) "
    rf"{_HOST}(?:([^\s\[|]{{1,200}})\[\d{{1,10}}\]|(kernel)):(?: |\Z))"
)


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is the unit or identifier without its process number, "kernel" for the kernel."""
    if _DROP.match(text):
        return Peeled("", drop=True)
    match = _LINE.match(text)
    if match is None:
        return None
    printed, short, seconds, date, clock, zone, process, kernel = match.groups()
    time = float(seconds) if seconds else epoch(f"{date}T{clock}Z") if zone in ("UTC", "GMT") else None
    rest = text[match.end() :]
    day = undated(printed) if printed else None
    return Peeled(rest, time, writer(short or process or kernel, rest), undated=day)
