"""`python -m tools.readings`: writes anew what the readers make of the stored inputs.

`tests/data/readings.txt` holds documents, each with a first line ``== log``, ``== records`` (a log that no envelope
is peeled off), ``== lines`` (no more than peeled), ``== heads`` (what each dialect says of a line), ``== trace`` or
``== sample READER N`` (a sample that stands in the reader's module). Its lines follow after ``> ``, then after two
blanks everything that is read of them, value by value: a pattern that stops matching, or loses one of its
alternatives, changes some line of it. Terminal codes, carriage returns, tabs and blanks at the end stand as the
pictures of Unicode.
"""

from __future__ import annotations

import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from diagnoser.envelopes import Peeler
from diagnoser.formats import dialects
from diagnoser.formats.records import RecordReader
from diagnoser.model import Line, Record
from diagnoser.session.reading import Readers
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of, readers
from diagnoser.values import dataclass, field

STORED = Path(__file__).parent.parent / "tests" / "data" / "readings.txt"
#: Characters of one value that are stored; a checksum stands for the rest.
_SHOWN = 240
_PICTURES = {"\x1b": "⎋", "\r": "␍", "\0": "␀", "\t": "␉"}
_LETTERS = {picture: letter for letter, picture in _PICTURES.items()}
#: What a record is when nothing is said of it.
_PLAIN = {"kind": "raw", "dialect": "", "level": "", "process": "", "ranks": (), "where": "", "stream": ""}


@dataclass(slots=True)
class Document:
    """Some input and what is read of it."""

    title: str
    lines: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def reading(self) -> list[str]:
        """Return what is read of it now."""
        if self.title in ("log", "records"):
            return list(of_log(self.lines, peeled=self.title == "log"))
        if self.title == "lines":
            return [
                _short(f"{one.number} {one.time} {one.stream} {one.envelope}: {one.text}")
                for one in _peeled(self.lines)
            ]
        if self.title == "heads":
            heads = [(line, dialect.NAME, dialect.head(line)) for line in self.lines for dialect in dialects()]
            return [_short(f"{name} {head}") for _, name, head in heads if head is not None]
        if self.title == "trace":
            return list(of_trace("".join(f"{line}\n" for line in self.lines).encode()))
        _, name, number = self.title.split()
        return list(of_trace(next(one for one in readers() if name == one.NAME).SAMPLES[int(number)][0]))


def documents(path: Path = STORED) -> list[Document]:
    """Return the stored documents."""
    found: list[Document] = []
    for row in path.read_text(encoding="utf-8").split("\n"):
        if row.startswith("== "):
            found.append(Document(row[3:]))
        elif row.startswith(">"):
            found[-1].lines.append(_from_pictures(row[2:]))
        elif row.startswith("  "):
            found[-1].read.append(row[2:])
    return found


def written(found: Iterable[Document]) -> str:
    """Return documents as they are stored, with what is read of them now."""
    rows: list[str] = []
    for one in found:
        rows += [f"== {one.title}", *(f"> {_pictures(line)}".rstrip() for line in one.lines)]
        rows += [f"  {said}" for said in one.reading()]
    return "\n".join(rows) + "\n"


def _peeled(lines: Iterable[str]) -> Iterator[Line]:
    yield from Peeler().lines(("log", number, line.encode()) for number, line in enumerate(lines, 1))


def of_log(lines: Iterable[str], peeled: bool) -> Iterator[str]:
    """Yield a line for each record of a log, and for what it tells in numbers or arguments."""
    told, peeler, reader = Readers(), Peeler(), RecordReader()
    if peeled:
        raw = [("log", number, line.encode()) for number, line in enumerate(lines, 1)]
        ready = list(peeler.lines(raw))
    else:
        ready = [Line("log", number, line, None, "", "bare") for number, line in enumerate(lines, 1)]
    reader.foresee(ready)
    for line in ready:
        for record in reader.feed(line):
            yield from _record(record, told)
    for record in reader.flush():
        yield from _record(record, told)
    yield _short(f"lines: {dict(peeler.seen)} {dict(peeler.repairs)}")


def _record(record: Record, told: Readers) -> Iterator[str]:
    said = [f"{record.origin.line}-{record.last_line}"]
    said += [f"{name}={value}" for name, plain in _PLAIN.items() if (value := getattr(record, name)) != plain]
    if record.time is not None:
        said.append(f"{record.time_known} {record.time:.6f}")
    yield _short(f"{' '.join(said)}: {record.text!r}")
    stats = told.stats(record)
    if stats is not None:
        yield _short(f"  {stats.form} {stats.group} {stats.values}")
    dump: Any = told.dump(record)
    if dump is not None:
        values = {name: one.value for name, one in dump.values.items()}
        yield _short(f"  {dump.kind} {dump.start}-{dump.end} {'whole' if dump.complete else 'cut'} {values}")


def of_trace(content: bytes | str) -> Iterator[str]:
    """Yield a line for each observation."""
    (source,) = open_inputs(["-"], io.BytesIO(content if isinstance(content, bytes) else content.encode()))
    reader = reader_of(source)
    yield f"{source.kind}, read by {reader.NAME if reader else 'nobody'}"
    if reader is not None:
        yield from (_short(re.sub(r" object at 0x[0-9a-f]+", "", repr(one))) for one in reader.read(source, _every))


def _every(_: Any) -> bool:
    return True


def _short(said: str) -> str:
    said = _pictures(said.replace("\n", "\\n"))
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}... {zlib.crc32(said.encode()):08x}"


def _pictures(text: str) -> str:
    text = "".join(_PICTURES.get(letter, letter) for letter in text)
    return text[:-1] + "␠" if text.endswith(" ") else text


def _from_pictures(text: str) -> str:
    text = "".join(_LETTERS.get(letter, letter) for letter in text)
    return text[:-1] + " " if text.endswith("␠") else text


def main() -> int:
    """Write the file anew."""
    said = written(documents())
    STORED.write_text(said, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
