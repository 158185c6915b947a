"""CRI log files of containerd and CRI-O (``/var/log/pods/…/0.log``): ``TIME stdout|stderr F|P text``.

P marks a piece of a line that goes on in the next piece of the same output.
"""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch
from diagnoser.patterns import lazily

NAME = "cri"
ORDER = 10
FIRST = string.digits
HEAD = rf"{TIME} (?:stdout|stderr) [FP](?:[ :]|\Z)"
SAMPLES: list[Sample] = [
    (
        "2025-04-14T08:02:00.247212601+00:00 stderr F INFO 04-14 08:02:00 [__init__.py:239] Automatically",
        "INFO 04-14 08:02:00 [__init__.py:239] Automatically",
        1744617720.247212,
        "",
    ),
    ("2025-04-14T08:02:00Z stdout P first half, ", "first half, ", 1744617720.0, ""),
    ("2025-04-14T10:02:00.5+02:00 stdout F ", "", 1744617720.5, ""),
    ("2025-04-14T08:02:00Z stdout F", "", 1744617720.0, ""),
    ("2025-04-14T08:02:00Z stdout F:tag   indented", "  indented", 1744617720.0, ""),
]

_LINE = lazily(rf"({TIME}) (stdout|stderr) ([FP])(?::[^ ]{{0,64}})?(?: |\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line; pieces of stdout and of stderr are kept apart."""
    match = _LINE.match(text)
    if match is None:
        return None
    time, output, tag = match.groups()
    return Peeled(text[match.end() :], epoch(time), partial=tag == "P", key=output)
