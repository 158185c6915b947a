"""``aws logs tail`` of a container's log group: ``TIME PREFIX/CONTAINER/TASK text`` (the task is 32 hex digits)."""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch
from diagnoser.patterns import lazily

NAME = "cloudwatch"
ORDER = 81
FIRST = string.digits
HEAD = rf"{TIME} [\w.-]{{1,128}}+/[\w.-]{{1,128}}+/[0-9a-f]{{32}}(?: |\Z)"
SAMPLES: list[Sample] = [
    (
        "2026-11-29T12:00:00.250000+00:00 ecs/vllm/0123456789abcdef0123456789abcdef INFO:     x",
        "INFO:     x",
        1795953600.25,
        "vllm/0123456789abcdef0123456789abcdef",
    ),
]

_LINE = lazily(rf"({TIME}) [\w.-]{{1,128}}+/([\w.-]{{1,128}}+/[0-9a-f]{{32}})(?: |\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is container and task."""
    match = _LINE.match(text)
    return Peeled(text[match.end() :], epoch(match[1]), match[2]) if match else None
