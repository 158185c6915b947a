"""The ledger: experiments in one SQLite file. A row is there whole or not at all, whenever the writer dies.

SQLite's rollback journal with full synchronisation does that; it needs no second file beside the ledger between two
writes, and works on network file systems where a write-ahead log does not.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diagnoser.commands._errors import CommandError
from diagnoser.comparing.session import Row

#: "diag" in ASCII, so that `file` and this program know the file as a ledger.
APPLICATION = 0x64696167
#: 2: rows have the bounds of figures that were read off a histogram. Rows of version 1 are read as they are.
VERSION = 2
_WAIT = 10.0
_TABLE = """CREATE TABLE experiments (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, added TEXT NOT NULL, note TEXT NOT NULL, row TEXT NOT NULL
)"""


@dataclasses.dataclass(slots=True)
class Experiment:
    """One row of the ledger, with its number, when it was added (UTC) and the person's note."""

    number: int
    digest: str
    added: str
    note: str
    row: Row


def add(path: Path, digest: str, added: str, note: str, row: Row) -> tuple[int, bool]:
    """Add a row; return its number and whether it is new: the same content is kept once."""
    with _open(path, create=True) as ledger:
        ledger.execute("BEGIN IMMEDIATE")
        if not _is_ledger(ledger, path):
            ledger.execute(f"PRAGMA application_id = {APPLICATION}")
            ledger.execute(_TABLE)
        known = ledger.execute("SELECT number FROM experiments WHERE digest = ?", (digest,)).fetchone()
        if known is not None:
            ledger.execute("ROLLBACK")
            return int(known[0]), False
        text = json.dumps(dataclasses.asdict(row), ensure_ascii=False)
        number = ledger.execute(
            "INSERT INTO experiments (digest, added, note, row) VALUES (?, ?, ?, ?)", (digest, added, note, text)
        ).lastrowid
        # From the first row on that an older program could not read; it says so then instead of failing at that row.
        ledger.execute(f"PRAGMA user_version = {VERSION}")
        ledger.execute("COMMIT")
        return int(number or 0), True


def read(path: Path) -> list[Experiment]:
    """Return every row, in the order of adding; the file is not made and not changed."""
    if not path.is_file():
        raise CommandError(f"ledger {path}: no such file; diagnose ledger add makes it")
    with _open(path, create=False) as ledger:
        if not _is_ledger(ledger, path):
            return []
        rows = ledger.execute("SELECT number, digest, added, note, row FROM experiments ORDER BY number").fetchall()
    try:
        return [
            Experiment(number, digest, added, note, Row(**json.loads(text)))
            for number, digest, added, note, text in rows
        ]
    except (TypeError, ValueError):
        raise CommandError(f"ledger {path}: holds a row that is none of diagnose's") from None


@contextmanager
def _open(path: Path, create: bool) -> Iterator[sqlite3.Connection]:
    # Reading may have to roll back what a killed writer left, so that it is not opened read-only.
    mode = "rwc" if create else "rw"
    name = path.resolve().as_uri()
    try:
        ledger = sqlite3.connect(f"{name}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)
        try:
            ledger.execute("PRAGMA synchronous = FULL")
            yield ledger
        finally:
            ledger.close()
    except sqlite3.Error as error:
        raise CommandError(f"ledger {path}: {error}") from None


def _is_ledger(ledger: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a ledger; False for an empty one. Raises CommandError for anybody else's database."""
    (application,) = ledger.execute("PRAGMA application_id").fetchone()
    (version,) = ledger.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION:
        if version > VERSION:
            raise CommandError(f"ledger {path}: of a newer version of diagnose ({version})")
        return True
    (tables,) = ledger.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables:
        raise CommandError(f"ledger {path}: a database of another program")
    return False
