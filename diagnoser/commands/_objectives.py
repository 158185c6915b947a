"""Service level objectives as they are written on the command line: ``ttft=500ms,tpot=50ms``."""

from __future__ import annotations

import argparse

from diagnoser.patterns import lazily

#: Time to first token, time per output token, between two tokens, end to end.
NAMES = ("ttft", "tpot", "itl", "e2e")
_ENTRY = lazily(r"\s*([A-Za-z0-9_]+)\s*(?:=|<=?)\s*([0-9.]+)\s*(ms|s|m|min)?\s*")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}


def objectives(text: str) -> dict[str, float]:
    """Return the objectives in seconds."""
    from diagnoser.knowledge.words import hint

    out: dict[str, float] = {}
    for entry in text.split(","):
        found = _ENTRY.fullmatch(entry)
        if not found:
            raise argparse.ArgumentTypeError(f"'{entry.strip()}' is not NAME=TIME, such as ttft=500ms")
        name, number, unit = found.group(1).lower(), found.group(2), found.group(3)
        if name not in NAMES:
            raise argparse.ArgumentTypeError(
                f"unknown objective '{name}'{hint(name, NAMES)} (one of {', '.join(NAMES)})"
            )
        if unit is None:
            raise argparse.ArgumentTypeError(f"'{entry.strip()}' lacks a unit: {name}={number}ms or {name}={number}s")
        if name in out:
            raise argparse.ArgumentTypeError(f"{name} is given twice")
        try:
            out[name] = float(number) * _SECONDS[unit]
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{number}' is not a number") from None
    return out
