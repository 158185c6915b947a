"""SQLite files of other programs, opened so that they can do no harm: read only, no code of theirs, bounded work."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from diagnoser.sources import Source

#: Steps of SQLite's machine that one query may take: a few minutes. A billion rows take longer.
STEPS = 2_000_000_000
#: Bytes of one value, and of a file that cannot be read in place.
VALUE = 16 << 20
STREAMED = 512 << 20
#: Rows asked for at once.
BATCH = 4096
T = TypeVar("T")


class Tables:
    """The tables of one file. Queries raise ``sqlite3.Error`` for what cannot be read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._left = 0
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            self._run(f"PRAGMA {pragma}")
        connection.set_progress_handler(self._step, 1_000_000)
        # Views and virtual tables run what the file says; only plain tables are looked at.
        found = self._run(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' LIMIT 10000"
        )
        self.names = frozenset(str(name) for (name,) in found)
        self._columns: dict[str, frozenset[str]] = {}

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table, none where there is no such table."""
        if table not in self.names:
            return frozenset()
        if table not in self._columns:
            rows = self._run("SELECT name FROM pragma_table_info(?) LIMIT 1000", (table,))
            self._columns[table] = frozenset(str(name) for (name,) in rows)
        return self._columns[table]

    def rows(self, query: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; names in it must be the caller's own, never the file's."""
        self._left = STEPS // 1_000_000
        cursor = self._run(query, given)
        while batch := self._asked(lambda: cursor.fetchmany(BATCH)):
            yield from batch

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def _run(self, query: str, given: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._asked(lambda: self._connection.execute(query, given))

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except UnicodeDecodeError:  # the message of an error quotes the file, whatever bytes it has there
            raise sqlite3.DatabaseError("malformed, in words that are no text") from None
        except sqlite3.OperationalError as error:
            # Ctrl-C while SQLite works comes in `_step`, of whose exceptions SQLite tells nothing but that it ended.
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and self._left >= 0:
                raise KeyboardInterrupt from None
            raise

    def _step(self) -> bool:
        self._left -= 1
        return self._left < 0


def open_tables(source: Source) -> Tables:
    """Open a file in place, or from memory where it is compressed or streamed. Raises ``sqlite3.Error``."""
    path = source.path
    if path is not None and path.exists():
        # immutable: no lock, no journal, nothing written beside the file.
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    else:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(source.content(STREAMED))
    try:
        return Tables(connection)
    except sqlite3.Error:
        connection.close()
        raise
