"""Shapes that several envelopes share: times, and the beginnings of an engine's own records."""

from __future__ import annotations

import functools
from datetime import UTC, datetime

from diagnoser.patterns import lazily

#: RFC 3339 with up to nanoseconds, as container runtimes and journald print it.
#: Loose on purpose: it is matched on every line, and ``epoch`` refuses what is no date.
TIME = r"[0-9]{4}-[0-9-]{5}T[0-9:.]{8,18}(?:Z|[+-][0-9:]{4,6})"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH_DAY_TIME = rf"(?:{'|'.join(MONTHS)}) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})?"

LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|NOTICE)"
#: ``(EngineCore_DP0 pid=77) ``, ``(VllmWorker rank=2 pid=914) ``, ``(RayWorkerWrapper pid=1, ip=10.0.0.2) ``
PROCESS = r"\([A-Za-z_][\w.-]{0,60}(?: \w{1,20}=\w{1,20}){0,4} pid=\d{1,10}(?:, ip=[\w.:]{1,45})?\) ?"

_LOGGED = (
    rf"(?:{LEVEL} \d\d-\d\d \d\d:\d\d:\d\d"  # vLLM
    rf"|{LEVEL}: {{1,5}}"  # uvicorn
    r"|\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"  # SGLang
    r"|\[[WIEF]?\d{4} \d\d:\d\d:\d\d|[WIEF]\d{4} \d\d:\d\d:\d\d"  # torch, glog
    r"|Traceback \(most recent call last\):"
    r"|\{\"(?:asctime|levelname|timestamp|level)\":)"
)
#: How systemd begins what it says of a service.
_ABOUT = lazily(r"([\w@.\\-]{1,200}?)\.service: ")
#: An engine's record with a level or a time.
LOGGED = lazily(rf"(?:{PROCESS})?{_LOGGED}")
#: How argparse begins its help and its last word, which may be all that a server says.
_PARSER = r"usage: [\w./-]{1,100}+(?: [\w-]{1,40}+){0,3} \[-|[\w./-]{1,100}+(?: [\w-]{1,40}+){0,3}: error: "
#: Text that an inference server, a router or a nested envelope begins with.
RECORD_START = lazily(rf"{PROCESS}|{_LOGGED}|{TIME} |\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|{_PARSER}")


def epoch(text: str) -> float | None:
    """Give epoch seconds of an RFC 3339 time (UTC when it names no offset); None when it is no real date."""
    zone = text[19:].lstrip(".0123456789")
    second = _second(text[:19], zone)
    if second is None or text[19:20] != ".":
        return second
    try:
        return second + float(text[19 : len(text) - len(zone)])
    except ValueError:  # "10:00:00.1.2"
        return None


def undated(text: str) -> float | None:
    """Give epoch seconds of ``Sep  9 21:20:03.5`` in the nominal year 2000, which has a 29 February."""
    month, _, rest = text.partition(" ")
    day, _, clock = rest.strip().partition(" ")
    return epoch(f"2000-{MONTHS.index(month) + 1:02}-{int(day):02}T{clock}Z")


@functools.lru_cache(maxsize=256)
def _second(text: str, zone: str) -> float | None:
    """Read a time without its fraction; a busy log asks for the same second many times."""
    try:
        time = datetime.fromisoformat(text + zone)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def unit(name: str) -> str:
    """Name a journal's writer the same way whether it was printed as unit or as identifier."""
    return name.removesuffix(".service")


def writer(name: str, text: str) -> str:
    """Name the writer of a journal's line; what systemd says of a service stands among the service's own lines."""
    if name == "systemd":
        about = _ABOUT.match(text)
        if about is not None:
            return about[1]
    return unit(name)
