"""``kubectl logs --prefix`` (and ``--all-pods``, selectors): ``[pod/NAME/CONTAINER] text``."""

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.patterns import lazily

NAME = "kubectl --prefix"
ORDER = 20
FIRST = "["
HEAD = r"\[pod/[a-z0-9.-]{1,253}/[a-z0-9.-]{1,253}\](?: |\Z)"
SAMPLES: list[Sample] = [
    (
        "[pod/qwen3-14b-5c9d8b-zxcvb/sglang] [2026-03-12 16:00:00] Init torch distributed begin.",
        "[2026-03-12 16:00:00] Init torch distributed begin.",
        None,
        "qwen3-14b-5c9d8b-zxcvb/sglang",
    ),
    ("[pod/dsv3-lws-0/sglang-leader]   warnings.warn(", "  warnings.warn(", None, "dsv3-lws-0/sglang-leader"),
    ("[pod/a/b]", "", None, "a/b"),
]

_LINE = lazily(r"\[pod/([a-z0-9.-]{1,253}/[a-z0-9.-]{1,253})\](?: |\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line; the stream is ``NAME/CONTAINER``."""
    match = _LINE.match(text)
    return Peeled(text[match.end() :], stream=match[1]) if match else None
