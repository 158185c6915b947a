"""What no event template recognised: WARNING and ERROR records by shape, so that nothing is passed over."""

from __future__ import annotations

import re

from diagnoser.model import Event, Record, Residue, Run
from diagnoser.patterns import lazily

#: Shapes kept per run. A log that invents a new shape per line must not grow memory.
LIMIT = 400

_MASKS = (
    (lazily(r"https?://\S+"), "<url>"),
    (lazily(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (lazily(r"0x[0-9a-fA-F]+"), "<hex>"),
    (lazily(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f-]{8,}\b"), "<id>"),
    (lazily(r"(?<![\w.])(?:/[\w.+@=-]+){2,}/?"), "<path>"),
    (lazily(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\""), "<text>"),
    (lazily(r"(?<![A-Za-z_])[-+]?\d[\d,_]*(?:\.\d+)?(?:e[-+]?\d+)?"), "<n>"),
)

#: SGLang prints no level: these words in its own messages stand for one.
_WORDS = lazily(
    r"\b(?:(error|exception|fatal|failed|failure|crash(?:ed)?|abort(?:ed)?|traceback|cannot|timed? ?out)"
    r"|(warn(?:ing)?|deprecated))\b",
    re.IGNORECASE,
)


def level_of(record: Record) -> str:
    """Return the record's level, or one read from its words where the dialect prints none ("" means unremarkable)."""
    if record.level or record.dialect != "sglang":
        return record.level
    if record.kind == "traceback":
        return "ERROR"
    hit = _WORDS.search(record.text[:300])
    if hit is None:
        return ""
    return "ERROR" if hit.group(1) else "WARNING"


def shape(text: str) -> str:
    """Return the first line of a message with everything that varies masked."""
    head = next((line for line in text.split("\n") if line.strip()), "")[:240]
    for pattern, mask in _MASKS:
        head = pattern.sub(mask, head)
    return head.strip()


def exception_line(text: str) -> str:
    """Return the line that names the exception: the last unindented line of a traceback, else the first line."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1 and "Traceback (most recent call last)" in text:
        for line in reversed(lines):
            if not line.startswith((" ", "\t")):
                return line
    return lines[0] if lines else ""


def keep(run: Run, record: Record, level: str, event: Event) -> None:
    """Count one unrecognised WARNING/ERROR record under its shape."""
    template = shape(exception_line(record.text) if record.kind == "traceback" else record.text)
    known = run.residue.get(template)
    if known is not None:
        known.count += 1
        known.last = event
    elif template and len(run.residue) < LIMIT:
        run.residue[template] = Residue(template, level, 1, event, event)
