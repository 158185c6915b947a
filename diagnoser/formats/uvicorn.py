"""uvicorn's own lines: ``INFO:     10.0.0.5:51234 - "POST /v1/completions HTTP/1.1" 200 OK``; they print no time."""

from __future__ import annotations

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "uvicorn"
ORDER = 30

# The level word and its colon are padded to ten columns.
_LEVELS = {
    "INFO:     ": "INFO",
    "ERROR:    ": "ERROR",
    "WARNING:  ": "WARNING",
    "CRITICAL: ": "CRITICAL",
    "DEBUG:    ": "DEBUG",
    "TRACE:    ": "TRACE",
}
_ACCESS = lazily(r'\S* ?- "[A-Z]+ .* HTTP/[\d.]+" \d{3}\b')


def is_access(text: str) -> bool:
    """Whether a message (without prefix) is an HTTP access line."""
    return _ACCESS.match(text) is not None


def head(text: str) -> Head | None:
    """Parse a uvicorn line; access lines keep their whole text."""
    level = _LEVELS.get(text[:10])
    if level is None:
        return None
    message = text[10:]
    return Head(NAME, "access" if ' - "' in message and is_access(message) else "message", message, level)


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        'INFO:     10.1.2.3:53012 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        {
            "kind": "access",
            "level": "INFO",
            "text": '10.1.2.3:53012 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
            "hour": None,
        },
    ),
    ('INFO:     ::1:40112 - "GET /health HTTP/1.1" 503 Service Unavailable', {"kind": "access"}),
    ('INFO:      - "GET /health HTTP/1.1" 200 OK', {"kind": "access"}),
    ("INFO:     Started server process [1]", {"kind": "message", "text": "Started server process [1]"}),
    (
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        {"kind": "message", "level": "ERROR"},
    ),
    ("WARNING:  Invalid HTTP request received.", {"level": "WARNING", "text": "Invalid HTTP request received."}),
    ("ERROR:    Exception in ASGI application", {"level": "ERROR", "text": "Exception in ASGI application"}),
]
