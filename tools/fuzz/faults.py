"""Faults injected into whole inputs: what a report says of a damaged input must be true of the whole one.

A fault has a number; the number picks a sample, one of its files, the kind of fault and its place. The report must come
(or a clear error), and no finding at warning or above may appear whose condition does not hold in the whole sample.
``FAIR`` says where that cannot be asked.
"""

from __future__ import annotations

import functools
import gzip
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from diagnoser import reports
from diagnoser.api import Session
from diagnoser.sources import InputError, open_inputs
from tools.fuzz.targets import ROOT, knowledge

#: Damage that leaves well-formed lines with other words in them: nobody can tell these from what was written. The
#: report of a changed digit is right for that digit; text of a user that lost the line around it is a line of its own.
FAIR = frozenset({"flip", "swap", "drop", "packed", "zeros"})
#: What says of itself that the log is cut: the rule, and its symptom.
_SAYS_CUT = ("platform.engine_dead", "only_the_wrapper_is_left")
_LEVELS = ("warning", "critical")


class Outcome(NamedTuple):
    """What came of one fault: the new findings, or the error that refused the input, and what was told of damage."""

    sample: str
    file: str
    fault: str
    new: frozenset[str]
    missed: frozenset[str]
    error: str
    problems: int


def cut(data: bytes, dice: random.Random) -> bytes:
    """End the file early: the writer was killed, or the disk was full."""
    return data[: dice.randrange(len(data) + 1)]


def behead(data: bytes, dice: random.Random) -> bytes:
    """Begin the file late, at a byte and not at a line, as rotation by size does."""
    return data[dice.randrange(len(data) + 1) :]


def flip(data: bytes, dice: random.Random) -> bytes:
    """Change single bits."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 4, 40))):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def drop(data: bytes, dice: random.Random) -> bytes:
    """Leave a block out."""
    start, size = _block(data, dice)
    return data[:start] + data[start + size :]


def repeat(data: bytes, dice: random.Random) -> bytes:
    """Write a block twice, as a shipper that tries again does."""
    start, size = _block(data, dice)
    return data[: start + size] + data[start:]


def swap(data: bytes, dice: random.Random) -> bytes:
    """Put two blocks in each other's place."""
    start, size = _block(data, dice)
    other = dice.randrange(len(data) + 1)
    first, second = sorted((start, other))
    middle = max(first + size, second)
    return (
        data[:first]
        + data[middle : middle + size]
        + data[first + size : middle]
        + data[first : first + size]
        + data[middle + size :]
    )


def zeros(data: bytes, dice: random.Random) -> bytes:
    """Leave a hole of NULs where a block was never written."""
    start, size = _block(data, dice)
    return data[:start] + bytes(min(size, len(data) - start)) + data[start + size :]


def packed(data: bytes, dice: random.Random) -> bytes:
    """Compress the file, then cut it or change its bits."""
    whole = gzip.compress(data, mtime=0)
    return cut(whole, dice) if dice.random() < 0.5 else flip(whole, dice)


def _block(data: bytes, dice: random.Random) -> tuple[int, int]:
    return dice.randrange(len(data) + 1), dice.choice((16, 512, 4096))


FAULTS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": cut, "behead": behead, "flip": flip, "drop": drop, "repeat": repeat, "swap": swap, "zeros": zeros,
    "packed": packed,
}  # fmt: skip
#: What goes through a pipe: it comes in pieces of any size, and may end with its writer.
PIPED: dict[str, Callable[[bytes, random.Random], bytes]] = {"killed": cut, "delayed": lambda data, dice: data}


class Drops:
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, dice: random.Random) -> None:
        self._data, self._dice, self._at = data, dice, 0

    def seekable(self) -> bool:
        """Whether it can be read twice: it cannot."""
        return False

    def read(self, size: int = -1) -> bytes:
        """Give the next bytes, of any number up to ``size``."""
        most = self._dice.choice((1, 100, 4096, 70_000))
        given = self._data[self._at : self._at + (min(size, most) if size > 0 else most)]
        self._at += len(given)
        return given


@functools.cache
def cases() -> tuple[Path, ...]:
    """Return the folders of the samples."""
    return tuple(sorted(path.parent for path in (ROOT / "samples").glob("*/expected.yaml")))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != "expected.yaml")


@functools.cache
def _whole(folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return what the whole sample gives, and what it supports: conditions that hold, also behind another cause."""
    session = Session([str(path) for path in _files(folder)], knowledge=knowledge())
    rules = knowledge().base.rules
    causes = {cause.id: judged for judged in session.judgements for cause in judged.causes}
    held = {name for name, judged in causes.items() if judged.evaluator.value(rules[name].when) is True}
    return _found(session), frozenset(held)


def _found(session: Session) -> frozenset[str]:
    return frozenset(one.id for one in session.report.findings if one.severity in _LEVELS)


@functools.cache
def kinds() -> dict[str, tuple[Path, ...]]:
    """Return the files of the samples by what a reader takes them for."""
    found: dict[str, list[Path]] = {}
    for path in (path for folder in cases() for path in _files(folder)):
        opened = open_inputs([str(path)], None)
        found.setdefault(opened[0].kind if len(opened) == 1 else "archive", []).append(path)
    return {kind: tuple(paths) for kind, paths in found.items()}


def inject(number: int, kind: str = "", fault: str = "") -> Outcome:
    """Inject the fault of this number and return what came of it. Raises what no input may raise.

    ``kind`` and ``fault`` choose what is damaged and how; by default the number does.
    """
    dice = random.Random(number)
    folder = dice.choice(cases())
    hit = dice.choice(kinds()[kind] if kind else _files(folder))
    folder = hit.parent
    name = fault or dice.choice([*FAULTS, *PIPED])
    data = hit.read_bytes()
    with tempfile.TemporaryDirectory() as place:
        names: list[str] = []
        stdin: BinaryIO | None = None
        for path in _files(folder):
            target = Path(place, path.name)
            if path != hit:
                target.write_bytes(path.read_bytes())
            elif name in PIPED:
                stdin = cast(BinaryIO, Drops(PIPED[name](data, dice), dice))
                names.append("-")
                continue
            else:
                target.write_bytes(FAULTS[name](data, dice))
            names.append(str(target))
        try:
            session = Session(names, stdin=stdin, knowledge=knowledge())
        except InputError as error:
            return Outcome(folder.name, hit.name, name, frozenset(), frozenset(), str(error), 1)
        for kind in ("text", "json"):
            assert reports.get(kind).render(session.report, reports.RenderOptions())
    (whole, supported), found = _whole(folder), _found(session)
    if any(one.evaluator.symptom(_SAYS_CUT[1]).value is True for one in session.judgements):
        found -= {_SAYS_CUT[0]}
    problems = sum(len(one.problems) for one in session.report.inputs)
    return Outcome(folder.name, hit.name, name, found - whole - supported, whole - found, "", problems)
