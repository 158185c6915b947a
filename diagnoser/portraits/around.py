"""The lines around evidence: the inputs are read a second time, as far as the last line that is wanted.

Keeping the last lines while reading would cost every reading of every format; this costs one format a look through the
raw lines, without taking any of them apart, and works as well for evidence that is found only at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from diagnoser.contracts.findings import Evidence
from diagnoser.contracts.story import Lines
from diagnoser.envelopes import Peeler
from diagnoser.sources import Source
from diagnoser.values import dataclass

BEFORE, AFTER = 4, 5
#: Lines of one record (a traceback) that are shown, characters of a line, and of all lines together.
RECORD = 24
WIDTH = 400
TOTAL = 150_000
#: The beginning of an excerpt by which its line is known again, and how long one must be to tell anything.
SIGN = 40
TELLING = 12


@dataclass(slots=True)
class _Stretch:
    """Lines first to last of a part, wanted for one piece of evidence."""

    evidence: Evidence
    first: int
    last: int


def around(sources: Sequence[Source], wanted: Iterable[Evidence]) -> dict[tuple[str, int], Lines]:
    """Return the lines around each piece of evidence, by input and line, as far as ``TOTAL`` goes.

    What cannot be read again is left out, and so is a file whose lines are no longer those that were judged.
    """
    stretches: dict[str, dict[int, _Stretch]] = {}
    for one in wanted:
        if one.line > 0:
            more = min(one.text.count("\n"), RECORD)
            stretch = _Stretch(one, max(1, one.line - BEFORE), one.line + more + AFTER)
            stretches.setdefault(one.source, {}).setdefault(one.line, stretch)
    out: dict[tuple[str, int], Lines] = {}
    room = TOTAL
    for source in sources:
        parts = {part.name: list(stretches[part.name].values()) for part in source.parts if part.name in stretches}
        if not parts or source.kind == "sqlite":
            continue
        for name, found in _read(source, parts).items():
            if source.kind == "log" and not _same(parts[name], found):
                continue
            for line, lines in found.items():
                room -= sum(len(text) for _, text in lines)
                if room < 0:
                    return out
                out[name, line] = lines
    return out


def _read(source: Source, parts: dict[str, list[_Stretch]]) -> dict[str, dict[int, Lines]]:
    """Return the lines of each stretch by part and line of evidence."""
    last = [part.name for part in source.parts if part.name in parts][-1]
    ends = {name: max(one.last for one in stretches) for name, stretches in parts.items()}
    numbers = {
        name: {number for one in stretches for number in range(one.first, one.last + 1)}
        for name, stretches in parts.items()
    }
    none: set[int] = set()
    kept: dict[str, list[tuple[int, bytes]]] = {name: [] for name in parts}
    try:
        for name, number, data in source.raw_lines():
            if number in numbers.get(name, none):
                kept[name].append((number, data))
            if name == last and number >= ends[last]:
                break
    except OSError:
        return {}
    out: dict[str, dict[int, Lines]] = {}
    for name, stretches in parts.items():
        plain = dict(_plain(source, name, kept[name]))
        out[name] = {
            one.evidence.line: [
                (number, plain[number][:WIDTH]) for number in range(one.first, one.last + 1) if number in plain
            ]
            for one in stretches
            if one.evidence.line in plain
        }
    return out


def _plain(source: Source, name: str, raw: list[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Yield lines without their envelopes; pieces of one physical line are put together again."""
    if source.kind != "log":
        yield from ((number, data[: 4 * WIDTH].decode("utf-8", "replace")) for number, data in raw)
        return
    texts: dict[int, str] = {}
    for line in Peeler().lines((name, number, data[: 64 * WIDTH]) for number, data in raw):
        before = texts.get(line.number)
        texts[line.number] = line.text if before is None else f"{before} {line.text}"
    yield from texts.items()


def _same(stretches: Sequence[_Stretch], found: dict[int, Lines]) -> bool:
    """Whether these are still the lines that were judged: a log may have been rotated in between."""
    signs = {one.evidence.line: one.evidence.text.strip().partition("\n")[0][:SIGN].strip() for one in stretches}
    telling = {line: sign for line, sign in signs.items() if len(sign) >= TELLING and line in found}
    return not telling or any(sign in text for line, sign in telling.items() for _, text in found[line])
