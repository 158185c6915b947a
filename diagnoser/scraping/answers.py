"""What is wrong with an answer that should be a metrics page."""

from __future__ import annotations

from diagnoser.language import Sentence
from diagnoser.scraping.fetch import Answer
from diagnoser.sources import Source


def no_page(source: Source, answer: Answer) -> str:
    """Say why an answer is no metrics page; "" when it is one."""
    if not answer.body.strip():
        return Sentence("an empty answer")
    if source.kind != "metrics":
        head = source.head().lstrip()
        if head[:64].lower().startswith(("<!doctype", "<html", "<?xml")):
            return Sentence("a web page, not a metrics page: is the path right?")
        if source.kind == "json":
            return Sentence("JSON, not a metrics page; a Prometheus server is asked with prom://HOST:PORT")
        return (
            Sentence("not a metrics page: {head}", head=f"{head[:40]!r}")
            if source.kind == "log"
            else Sentence("not a metrics page")
        )
    if not answer.told and not answer.body.endswith(b"\n"):
        return Sentence("the page ends in the middle of a line")
    return ""
