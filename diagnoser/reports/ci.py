"""What the formats of build servers share: severities as they count there, inputs by the names they have there."""

from __future__ import annotations

from urllib.parse import quote

from diagnoser.contracts.findings import Finding, Report
from diagnoser.reports.safe import line
from diagnoser.reports.summary import recognised

#: From the mildest to the worst.
LEVELS = ("info", "warning", "critical")
NOTHING = "nothing in the input is the log or another trace of an inference server"


def fails(finding: Finding, level: str) -> bool:
    """Whether a finding is at or above a severity; none is above "never"."""
    return level in LEVELS and finding.severity in LEVELS[LEVELS.index(level) :]


def code(report: Report, level: str) -> int:
    """Return the exit code of a report by itself: 0 nothing at or above the level, 1 something, 2 nothing seen."""
    return int(any(fails(finding, level) for finding in report.findings)) if recognised(report) else 2


def is_address(source: str) -> bool:
    """Whether an input is no file: an address that was scraped, or standard input."""
    return "://" in source or source in ("", "-", "stdin")


def path(source: str, folder: str) -> str:
    """Return an input's path as a checkout has it: relative to the working directory where it lies under it."""
    base = folder.rstrip("/\\")
    name = (
        source[len(base) + 1 :]
        if base and source[len(base) : len(base) + 1] in ("/", "\\") and source.startswith(base)
        else source
    )
    name = name.replace("\\", "/")
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def uri(source: str, folder: str) -> str:
    """Return an input as a URI reference, relative where it can be: what is no file has its name for a path."""
    if is_address(source):
        # Code scanning refuses every scheme but file.
        return _quoted(source.partition("://")[2].rstrip("/") or source.strip("-/") or "stdin")
    name = path(source, folder)
    if name.startswith("/"):
        return "file://" + _quoted(name)
    if name[1:3] == ":/":  # C:/logs
        return "file:///" + _quoted(name)
    return _quoted(name)


def _quoted(name: str) -> str:
    return quote(name.encode("utf-8", "backslashreplace"), safe="/")


def cut(text: str, most: int) -> str:
    """Return one harmless line of at most so many characters."""
    text = line(text)
    return text if len(text) <= most else text[: most - 1] + "…"
