"""Whose a message is, by the name of the logger that printed it."""

from __future__ import annotations

from diagnoser.formats import sglang, vllm

#: Who is known by the first part of a logger's name.
FAMILIES = frozenset(("sglang", "vllm", "uvicorn"))
#: Loggers that say nothing of who speaks.
NAMELESS = frozenset(("", "root", "__main__"))


def speaker(logger: str, message: str, ranked: bool = False) -> str:
    """Name the family of a logger, "" for a stranger's; of a nameless one by what only an engine prints.

    ``ranked``: SGLang's ranks stand beside it. A line that quotes a client is known as such, whoever wrote it.
    """
    family = logger.partition(".")[0]
    if family in FAMILIES:
        return family
    if logger not in NAMELESS:
        return ""
    if ranked or sglang.classify(message).kind in ("stats", "request"):
        return "sglang"
    return "vllm" if vllm.kind_of(message) in ("stats", "request") else ""
