"""Expands the logs of a rule's examples to plain lines, in a time of their own: the same lines on every run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from diagnoser.rules.compiling.schema_examples import LogPart

#: Every example begins at this time.
START = datetime(2025, 7, 12, 10, 0, 0)

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
#: vLLM's own prefix: level, blank, time without a year, bracket.
_VLLM = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \{t\} (?:\[|\w+\.py:)")
_BRACED = re.compile(r"\{(\w+)\}")


class ExampleError(ValueError):
    """An example that cannot be expanded: ``index`` of the part in its log, ``key`` at fault."""

    def __init__(self, text: str, index: int, key: str) -> None:
        super().__init__(text)
        self.text = text
        self.index = index
        self.key = key


def expand(log: Sequence[LogPart]) -> tuple[str, ...]:
    """Return the lines of an example's log. Raises ExampleError for a time span that cannot be read."""
    now = START
    lines: list[str] = []
    for index, part in enumerate(log):
        if part.wait is not None:
            now += _span(part.wait, index, "wait")
        if part.line is None:
            if part.wait is None:
                raise ExampleError("a part of a log needs 'line' or 'wait'", index, "line")
            continue
        every = _span(part.every, index, "every")
        for turn in range(part.repeat):
            words = {name: str(values[min(turn, len(values) - 1)]) for name, values in part.values.items() if values}
            # Lines of a plain block follow each other; those of a repeated one belong to one turn.
            step = timedelta(seconds=1) if part.repeat == 1 and part.every == "1s" else timedelta()
            for number, line in enumerate(_lines(part.line)):
                now += step if number else timedelta()
                lines.append(_fill(line, now, turn, words))
            now += every
    return tuple(lines)


def seconds(text: str) -> float:
    """Return the seconds of a span such as ``10s``, ``5m`` or ``1h30m``; raises ValueError for anything else."""
    if not text or _SPAN.sub("", text).strip():
        raise ValueError(f"'{text}' is no time span; write 30s, 5m or 1h30m")
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(text))


def _span(text: str, index: int, key: str) -> timedelta:
    try:
        return timedelta(seconds=seconds(text))
    except ValueError as error:
        raise ExampleError(str(error), index, key) from None


def _lines(block: str) -> Iterator[str]:
    """Lines of a block string, without the line end that YAML's ``|`` adds."""
    yield from block.removesuffix("\n").split("\n")


def _fill(line: str, now: datetime, turn: int, words: dict[str, str]) -> str:
    """Put in time, repetition and values; every other brace stays what it is."""
    form = "%m-%d %H:%M:%S" if _VLLM.search(line) else "%Y-%m-%d %H:%M:%S"
    known = {**words, "t": now.strftime(form), "i": str(turn)}
    return _BRACED.sub(lambda hit: known.get(hit[1], hit[0]), line)
