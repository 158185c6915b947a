"""``docker compose logs`` (``podman-compose`` too): ``name-1  | text``, ``name | text``, ``[name]  | text``.

A numbered service or a bracketed name is unmistakable; a bare word before a bar could be a table and is weak.
"""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import LEVEL
from diagnoser.patterns import lazily

NAME = "compose"
ORDER = 40
_WORD = r"[A-Za-z0-9][\w.-]{0,127}+"
_NAME = r"[A-Za-z][\w.-]{0,127}+"
FIRST = string.ascii_letters + string.digits + "["
HEAD = rf"(?:\[{_NAME}\]|{_WORD}) {{1,64}}+\|(?: |\Z)"
SAMPLES: list[Sample] = [
    ("llm-sglang-1  | [2026-08-05 06:11:50] x", "[2026-08-05 06:11:50] x", None, "llm-sglang-1"),
    ("[sglang]       | [2026-06-24 11:41:20] x", "[2026-06-24 11:41:20] x", None, "sglang"),
    ("vllm_1    | INFO:     Started server process [1]", "INFO:     Started server process [1]", None, "vllm_1"),
    ("vllm | INFO 09-19 18:00:03 [x.py:1] y", "INFO 09-19 18:00:03 [x.py:1] y", None,
     "vllm"),
    ("vllm-1  |", "", None, "vllm-1"),
    ("sglang-main  | usage: sglang serve [-h] --model-path M", "usage: sglang serve [-h] --model-path M",
     None, "sglang-main"),
    ("sglang-main  | sglang serve: error: ambiguous option: --x", "sglang serve: error: ambiguous option: --x",
     None, "sglang-main"),
    ("qwen-1  | 2026-09-19T18:00:03.203380094Z INFO: x", "2026-09-19T18:00:03.203380094Z INFO: x",
     None, "qwen-1"),
]  # fmt: skip

_LINE = lazily(rf"(\[?)({_WORD})\]? {{1,64}}\|(?: |\Z)")
_LEVEL = lazily(rf"\[?{LEVEL}[\] ]")
_NUMBERED = lazily(r"[-_]\d{1,4}\Z")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is the container's name."""
    match = _LINE.match(text)
    if match is None or _LEVEL.match(text):
        return None
    bracket, name = match.groups()
    return Peeled(text[match.end() :], stream=name, weak=not bracket and not _NUMBERED.search(name))
