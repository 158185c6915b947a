"""Labels of statistics lines, read off the texts that a release puts them together from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.releases.messages import Text

#: ``label: value`` inside a text: a label is words, possibly behind '#', and a placeholder follows.
_PIECE = re.compile(r"(?:^|, |\. |: )(#?[A-Za-z][\w /#().-]{1,60}?): (?=[{%])")
#: Files whose texts make statistics lines, by the end of their path.
_FILES = {
    "vllm": ("metrics/loggers.py", "spec_decode/metrics.py", "engine/metrics.py", "kv_connector/v1/metrics.py"),
    "sglang": (
        "scheduler_metrics_mixin.py",
        "managers/scheduler.py",
        "scheduler_output_processor_mixin.py",
        "scheduler_stats_mixin.py",
        "metrics_reporter.py",
        "logging_utils.py",
        "metrics_mixin.py",
    ),
}
_MARKS = {
    "vllm": ("tokens/s", " reqs", "usage: ", "rate: ", "metrics: "),
    "sglang": ("#", "usage: ", "len: ", "graph", "throughput"),
}


def labels(engine: str, found: Iterable[Text]) -> set[str]:
    """Return the labels that a release's statistics lines can have."""
    told: set[str] = set()
    for one in found:
        if engine in _FILES and one.file.endswith(_FILES[engine]) and any(mark in one.text for mark in _MARKS[engine]):
            told.update(_PIECE.findall(one.text))
    return told
