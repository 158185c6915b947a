"""``kubectl logs --timestamps``, ``docker logs -t`` and the times of ``docker compose logs -t``: ``TIME text``."""

import string

from diagnoser.envelopes._peeled import Peeled, Sample
from diagnoser.envelopes._shapes import LEVEL, TIME, epoch
from diagnoser.patterns import lazily

NAME = "kubectl --timestamps"
ORDER = 90  # after every other envelope that begins with such a time
#: Rust programs (the routers) print ``TIME  INFO crate::module: text`` themselves, to the microsecond, and Dynamo
#: ``TIME  INFO module.function: text`` for the engine inside.
_RUST = rf" {{1,2}}{LEVEL} (?:[A-Za-z_][\w-]*(?:(?:::|\.)[\w-]+)*|[a-z_]+\{{.*): "
FIRST = string.digits
HEAD = rf"{TIME}(?:(?<=\.\d{{9}}Z)|(?!{_RUST}))(?: |\Z)"
SAMPLES: list[Sample] = [
    (
        "2024-11-21T03:10:02.284970022Z INFO 11-21 03:10:02 api_server.py:339] vLLM API server version 0.5.4",
        "INFO 11-21 03:10:02 api_server.py:339] vLLM API server version 0.5.4",
        1732158602.28497,
        "",
    ),
    ("2024-11-21T03:10:02Z   File \"x.py\", line 1", '  File "x.py", line 1', 1732158602.0, ""),
    ("2024-11-21T03:10:02.284970022Z", "", 1732158602.28497, ""),
    ("2024-11-21T04:10:02.25+01:00 Killed", "Killed", 1732158602.25, ""),
    ("2024-11-21T03:10:02.284970Z INFO:     Started server process [1]", "INFO:     Started server process [1]",
     1732158602.28497, ""),
]  # fmt: skip

_LINE = lazily(rf"({TIME})(?: |\Z)")


def peel(text: str) -> Peeled | None:
    """Peel one line."""
    match = _LINE.match(text)
    return Peeled(text[match.end() :], epoch(match[1])) if match else None
