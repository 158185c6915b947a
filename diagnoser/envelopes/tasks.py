"""Starters of many tasks that number their lines: ``srun --label`` (``0: text``), mpirun (``[1,0]<stdout>:text``).

A number before a colon may be anything, so srun's is weak. The tasks are one server's: their lines stay together.
"""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.patterns import lazily

NAME = "tasks"
ORDER = 75
FIRST = string.digits + "[ "
HEAD = r"\[\d{1,6},\d{1,6}\]<std(?:out|err|diag)>:| {0,5}\d{1,6}: "
SAMPLES: list[Sample] = [
    ("[1,0]<stdout>:[2026-03-01 12:34:56 TP0] x", "[2026-03-01 12:34:56 TP0] x", None, ""),
    ("[1,12]<stderr>: Traceback (most recent call last):", "Traceback (most recent call last):", None, ""),
    ("0: [2026-03-01 12:34:56 TP0] x", "[2026-03-01 12:34:56 TP0] x", None, ""),
    (" 7: INFO 03-01 12:34:56 [x.py:1] y", "INFO 03-01 12:34:56 [x.py:1] y", None, ""),
    ("11:   File \"x.py\", line 1, in f", '  File "x.py", line 1, in f', None, ""),
]  # fmt: skip

_MPI = lazily(r"\[\d{1,6},\d{1,6}\]<std(?:out|err|diag)>: ?(?=\S)|\[\d{1,6},\d{1,6}\]<std(?:out|err|diag)>:")
_SRUN = lazily(r" {0,5}\d{1,6}: ")


def peel(text: str) -> Peeled | None:
    """Peel one line."""
    match = _MPI.match(text)
    if match is not None:
        return Peeled(text[match.end() :])
    match = _SRUN.match(text)
    return None if match is None else Peeled(text[match.end() :], weak=True)
