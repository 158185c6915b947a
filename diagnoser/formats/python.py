"""What the Python interpreter, argparse, the shell and service managers print around a server."""

from __future__ import annotations

import re

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "python"
ORDER = 90

TRACEBACK = "Traceback (most recent call last):"
# What announces the traceback that follows.
_ANNOUNCE = lazily(
    r"Process [\w:.-]+(?: \(.*\))?:$|Exception in (?:thread |[\w.]+:$)|Exception ignored in|Exception in callback |"
    r"(?:Task|Future|_GatheringFuture) exception was never retrieved|Error in atexit\._run_exitfuncs:|"
    r"Unhandled exception in event loop"
)
# "torch.OutOfMemoryError: text", "KeyboardInterrupt", "huggingface_hub.errors.LocalEntryNotFoundError: text".
_EXCEPTION = lazily(
    r"(?:[A-Za-z_][\w.]*\.)?(?:[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Cancelled|Closed|Iteration|NotFound)|"
    r"Empty|Full|Timeout|Error)(?::(?: |$)|$)"
)
# At the end of a traceback anything of this shape is the exception, whatever its class is called.
_LAST_LINE = lazily(r"[A-Za-z_][\w.]*(?:\[[\w., ]+\])?(?::(?:\s|$)|$)")
_CHAIN = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_WARNING = lazily(r"(?:<[\w. ]+>|[\w./@+<>=~-]+\.pyx?):(\d+): (\w*Warning): ")
_USAGE_ERROR = lazily(r"[\w./-]+(?: [\w-]+){0,3}: error: ")
_DEATH = lazily(
    r"Killed$|Terminated$|Aborted(?: \(core dumped\))?$|(?:Segmentation fault|Bus error|Floating point exception|"
    r"Illegal instruction)(?: \(core dumped\))?$|Fatal Python error: |terminate called |!+ Segfault encountered !+|"
    r"\S+: line \d+: +\d+ (?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Illegal instruction)\b|"
    r"(?:corrupted |double free|free\(\): |malloc\(\): |munmap_chunk)|\S+: symbol lookup error: |"
    r"\S+: error while loading shared libraries: |(?:bash|sh|\S+\.sh|/\S+): (?:line )?\d+: |command terminated with |"
    r"Command terminated by signal \d+"
)
_EXIT = lazily(
    r"exit(?:ed|s|ing)? (?:with )?(?:\w+ )?(?:code|status)[ :=]*-?\d+|Main process exited, code=\w+|"
    r"Failed with result '|has been killed by the OOM killer|OOMKilled|[Bb]ack-off restarting failed container|"
    r"Scheduled restart job|killed by signal|exit code -?\d+",
)
_EXIT_REACH = 400
_PLAIN = lazily(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):([\w.]+):(.*)", re.DOTALL)
_NAMED = lazily(r"\[([\w.-]+)\] (DEBUG|INFO|WARNING|ERROR|CRITICAL):? +(.*)", re.DOTALL)
# systemd about its unit.
_UNIT = lazily(r"[\w@.\\-]+\.(?:service|scope): ")
_UNIT_TROUBLE = lazily(r"kill|fail|remains running|exited, code|timed out|watchdog|core-dump", re.IGNORECASE)
_STAMPED = lazily(
    # No blank is taken twice: a line of nothing but blanks behind a time would take for ever.
    r"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[,.](\d{1,6}))?\]?\s*+(?:[-|:]\s*+)?"
    r"(?:([\w.]+)(?:\s*+[-|:]\s++|\s++))?\[?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\]?(?:\s*+[-|:]\s++|\s++)(.*)",
    re.DOTALL,
)


def is_exception(text: str) -> bool:
    """Whether a line has the shape of the last line of a traceback."""
    return _LAST_LINE.match(text) is not None


def is_chain(text: str) -> bool:
    """Whether a line ties two tracebacks together."""
    return text.startswith(_CHAIN)


def head(text: str) -> Head | None:
    """Parse a line that Python or the shell prints without any logger."""
    if text.startswith(TRACEBACK) or _ANNOUNCE.match(text):
        return Head(NAME, "traceback", text, "ERROR")
    warning = _WARNING.match(text)
    if warning is not None:
        path, _, _ = text.partition(f":{warning.group(1)}: ")
        return Head(NAME, "message", text, "WARNING", "", (), f"{path.rpartition('/')[2]}:{warning.group(1)}")
    if text.startswith("usage: "):
        return Head(NAME, "message", text, "INFO")
    if _USAGE_ERROR.match(text) or _DEATH.match(text):
        return Head(NAME, "message", text, "ERROR")
    if _EXCEPTION.match(text):
        return Head(NAME, "traceback", text, "ERROR")
    plain = _PLAIN.match(text)
    if plain is not None:
        return Head(NAME, "message", plain.group(3), plain.group(1), "", (), plain.group(2))
    named = _NAMED.match(text)
    if named is not None:
        return Head(NAME, "message", named.group(3), named.group(2), "", (), named.group(1))
    if _UNIT.match(text):
        trouble = _UNIT_TROUBLE.search(text) and not _CLEAN.search(text)
        return Head(NAME, "message", text, "ERROR" if trouble else "INFO", "systemd")
    if text[:1].isdigit() or text[:1] == "[":
        stamped = _STAMPED.match(text)
        if stamped is not None:
            return _stamped(stamped)
    if _EXIT.search(text, 0, _EXIT_REACH):
        return Head(NAME, "message", text, "ERROR" if not _CLEAN.search(text) else "INFO")
    return None


_CLEAN = lazily(r"\b(?:code|status)[ :=]*0(?:\b|/)|code=exited, status=0")


def _stamped(found: re.Match[str]) -> Head:
    year, month, day, hour, minute, second, part, logger, level, text = found.groups()
    return Head(
        NAME, "message", text, level, "", (), logger or "",
        int(year), int(month), int(day), int(hour), int(minute), float(f"{second}.{part or 0}"),
    )  # fmt: skip


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (TRACEBACK, {"kind": "traceback", "level": "ERROR"}),
    ("Process EngineCore_0:", {"kind": "traceback"}),
    ("RuntimeError: Engine core initialization failed. See root cause above.", {"kind": "traceback"}),
    (
        "/usr/lib/python3.12/site-packages/x/y.py:12: UserWarning: some text",
        {"kind": "message", "level": "WARNING", "where": "y.py:12"},
    ),
    ("vllm: error: unrecognized arguments: --no-such-flag", {"kind": "message", "level": "ERROR"}),
    ("launch_server.py: error: argument --tp: invalid int value: 'x'", {"level": "ERROR"}),
    ("vllm serve: error: argument --dtype: expected one argument", {"level": "ERROR"}),
    ("usage: vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ...", {"kind": "message"}),
    ("Killed", {"level": "ERROR", "kind": "message"}),
    ("/entrypoint.sh: line 12:    77 Killed                  vllm serve /models/x", {"level": "ERROR"}),
    ("vllm.service: Main process exited, code=killed, status=9/KILL", {"level": "ERROR"}),
    ("gpu-runner: attempt 1: engine exited with code 1, restarting in 10 s", {"level": "ERROR"}),
    ("terminate called after throwing an instance of 'c10::DistBackendError'", {"level": "ERROR"}),
    ("vllm.service: Unit process 2300 (VLLM::Worker_TP) remains running after unit stopped.", {"process": "systemd"}),
    ("[aiter] WARNING: NUMA balancing is enabled", {"level": "WARNING", "text": "NUMA balancing is enabled"}),
    ("WARNING:root:no GPU", {"level": "WARNING", "text": "no GPU", "where": "root"}),
    (
        "2026-03-01 12:34:56,789 - nixl - ERROR - no such agent",
        {"level": "ERROR", "text": "no such agent", "where": "nixl", "year": 2026, "second": 56.789},
    ),
]
