"""Grafana Loki's ``logcli query``: ``TIME {app="vllm", pod="llm-0"} text``."""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import TIME, epoch
from diagnoser.patterns import lazily

NAME = "loki"
ORDER = 80
_LABEL = r"[a-zA-Z_]\w{0,127}=\"[^\"\n]{0,1024}\""
FIRST = string.digits
HEAD = rf"{TIME} {{1,4}}\{{(?:{_LABEL}(?:, ?{_LABEL}){{0,63}})?\}}(?: |\Z)"
SAMPLES: list[Sample] = [
    (
        '2026-11-29T12:00:00.250Z {app="vllm", container="server", pod="llm-0"} INFO:     x',
        "INFO:     x",
        1795953600.25,
        "llm-0/server",
    ),
    ('2026-11-29T12:00:00Z {job="vllm"} x', "x", 1795953600.0, "vllm"),
    ("2026-11-29T12:00:00Z {} x", "x", 1795953600.0, ""),
]

_LINE = lazily(rf"({TIME}) {{1,4}}(\{{(?:{_LABEL}(?:, ?{_LABEL}){{0,63}})?\}})(?: |\Z)")
_PAIR = lazily(r"(\w+)=\"([^\"]*)\"")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is pod and container, or the first label that names a writer."""
    match = _LINE.match(text)
    if match is None:
        return None
    labels = dict(_PAIR.findall(match[2]))
    named = [labels[key] for key in ("pod", "container") if labels.get(key)]
    named = named or [labels[key] for key in ("app", "service_name", "job", "filename") if labels.get(key)][:1]
    return Peeled(text[match.end() :], epoch(match[1]), "/".join(named))
