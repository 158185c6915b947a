"""A log shipper's stamp in brackets before vLLM's own lines: ``[2026-11-29 12:00:00] (APIServer pid=1) INFO 11-29 …``.

It looks like the beginning of SGLang's lines, so only vLLM's prefix right behind it makes it an envelope.
"""

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import LEVEL, PROCESS
from diagnoser.patterns import lazily

NAME = "stamped"
ORDER = 95
FIRST = "["
_STAMP = r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]:? {1,2}"
HEAD = rf"{_STAMP}(?=(?:{PROCESS})?{LEVEL} \d\d-\d\d \d\d:\d\d:\d\d )"
SAMPLES: list[Sample] = [
    (
        "[2025-11-29 10:00:00] (APIServer pid=1) INFO 11-29 10:00:00 [a.py:1896] vLLM API server version 0.11.0",
        "(APIServer pid=1) INFO 11-29 10:00:00 [a.py:1896] vLLM API server version 0.11.0",
        None,
        "",
    ),
    ("[2025-11-29T10:00:00.25Z] ERROR 11-29 10:00:00 [core.py:1] x", "ERROR 11-29 10:00:00 [core.py:1] x", None, ""),
]

_LINE = lazily(_STAMP)


def peel(text: str) -> Peeled | None:
    """Peel one line. The stamp names no zone and tells no more than the line inside does."""
    match = _LINE.match(text)
    return Peeled(text[match.end() :]) if match else None
