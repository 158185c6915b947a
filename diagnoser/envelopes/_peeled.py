"""What one envelope gives back for one line."""

from __future__ import annotations

from diagnoser.values import dataclass

#: A test line of an envelope: line, text inside (None when the line is dropped), epoch time, stream.
Sample = tuple[str, str | None, float | None, str]


@dataclass(slots=True)
class Peeled:
    """The text inside an envelope.

    ``time`` is in epoch seconds UTC, ``undated`` such a time of a form that prints no year, in the nominal one.
    ``stream`` names the writer. ``partial`` says that the text goes on in the next piece with the same ``key``; a None
    key means that this envelope never splits a line. ``weak`` envelopes look like ordinary text: they count only when
    the text inside is an engine's, or after the same stream was seen with such text. ``drop`` marks lines of the
    runtime itself that carry nothing.
    """

    text: str
    time: float | None = None
    stream: str = ""
    partial: bool = False
    key: str | None = None
    weak: bool = False
    drop: bool = False
    undated: float | None = None
