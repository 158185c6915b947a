"""stern: ``pod container text``, with a namespace before or a time after on request, and ``+ pod › container`` notes.

A pod's name ends in a dash and a random suffix or an ordinal, but so may words: without ``›`` the envelope is weak,
unless both suffixes of a deployment's pod are there, drawn from an alphabet that spells no words.
"""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.patterns import lazily

NAME = "stern"
ORDER = 70
_NOTE = (
    r"[+-] (?:[a-z0-9][a-z0-9-]{0,62} › )?[a-z0-9][a-z0-9.-]{0,252} › [a-z0-9][a-z0-9-]{0,62}(?: \([^()]{1,40}\))?\Z"
)
_POD = r"[a-z0-9][a-z0-9.-]{0,240}-(?:[a-z0-9]{5}|\d{1,4})"
_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = rf"(?:{_NAME} )?{_POD} {_NAME}(?: |\Z)"
_ARROW = rf"{_POD} (?:› {_NAME}|{_NAME} ›)(?: |\Z)"
FIRST = string.ascii_lowercase + string.digits + "+-"
HEAD = rf"{_NOTE}|{_ARROW}|{_PLAIN}"
SAMPLES: list[Sample] = [
    ("vllm-7d9f8b6c5d-x2k4q vllm INFO:     x", "INFO:     x", None, "vllm-7d9f8b6c5d-x2k4q/vllm"),
    ("prod llm-0 server [2026-03-01 12:34:56] x", "[2026-03-01 12:34:56] x", None, "llm-0/server"),
    ("vllm-7d9f8b6c5d-x2k4q vllm 2026-03-01T12:34:56.000000001Z x", "2026-03-01T12:34:56.000000001Z x", None,
     "vllm-7d9f8b6c5d-x2k4q/vllm"),
    ("vllm-7d9f8b6c5d-x2k4q › vllm anything", "anything", None, "vllm-7d9f8b6c5d-x2k4q/vllm"),
    ("vllm-7d9f8b6c5d-x2k4q vllm › anything", "anything", None, "vllm-7d9f8b6c5d-x2k4q/vllm"),
    ("+ vllm-7d9f8b6c5d-x2k4q › vllm", None, None, ""),
    ("- prod › vllm-7d9f8b6c5d-x2k4q › vllm", None, None, ""),
]  # fmt: skip

_DROP = lazily(_NOTE)
#: Kubernetes leaves out vowels and what looks like them.
_DEPLOYED = lazily(r"-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
_STRONG = lazily(rf"({_POD}) (?:› ({_NAME})|({_NAME}) ›)(?: |\Z)")
_WEAK = lazily(rf"(?:{_NAME} )??({_POD}) ({_NAME})(?: |\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is ``pod/container``."""
    if _DROP.match(text):
        return Peeled("", drop=True)
    if match := _STRONG.match(text):
        return Peeled(text[match.end() :], stream=f"{match[1]}/{match[2] or match[3]}")
    if match := _WEAK.match(text):
        return Peeled(text[match.end() :], stream=f"{match[1]}/{match[2]}", weak=not _DEPLOYED.search(match[1]))
    return None
