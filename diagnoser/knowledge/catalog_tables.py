"""The catalogue's files as tables, read when first asked for, one table of one engine at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from diagnoser.knowledge import records
from diagnoser.knowledge.metricref import key
from diagnoser.knowledge.records import Env, Flag, Message
from diagnoser.knowledge.versions import VersionList

if TYPE_CHECKING:
    from diagnoser.knowledge.vocabulary import Vocabulary

_T = TypeVar("_T")


class CatalogTables:
    """The files under ``rules/catalog``, as tables. Engines and tables it does not have are empty, not errors."""

    def __init__(self, rules: Path) -> None:
        self.rules = rules
        self._memo: dict[str, Any] = {}

    def memo(self, key: str, make: Callable[[], _T]) -> _T:
        """Return what ``make`` gave the first time for ``key``: for tables derived from this catalogue."""
        if key not in self._memo:
            self._memo[key] = make()
        value: _T = self._memo[key]
        return value

    # -- tables

    def engines(self) -> list[str]:
        """Return the engines that the catalogue knows."""
        return sorted(path.parent.name for path in (self.rules / "catalog").glob("*/versions.json"))

    def version_list(self, engine: str) -> VersionList | None:
        """Return the versions read of an engine; None for an engine that was not read."""
        return self.memo(f"versions {engine}", lambda: self._versions(engine))

    def _versions(self, engine: str) -> VersionList | None:
        path = self.rules / "catalog" / engine / "versions.json"
        return VersionList(json.loads(path.read_bytes())["read"]) if engine and path.is_file() else None

    def rows(self, engine: str, table: str, words: Sequence[str] = ()) -> Iterable[dict[str, Any]]:
        """Yield the raw records of one table: "flags", "env", "metrics", "messages", "stats-fields".

        With ``words`` those in which one of them stands, wherever: a table has hundreds that nobody asks for.
        """
        path = self.rules / "catalog" / engine / f"{table}.jsonl"
        if engine and path.is_file():
            lines = path.read_bytes().splitlines()
            if words:
                wanted = [word.encode() for word in words]
                lines = [line for line in lines if any(word in line for word in wanted)]
            # As one document: to begin anew for each of a thousand lines takes longer than to read them.
            yield from json.loads(b"[" + b",".join(lines) + b"]")

    def flags(self, engine: str) -> dict[str, Flag]:
        """Return every spelling of every flag of an engine, of all versions."""
        return self.memo(f"flags {engine}", lambda: self._flags(engine))

    def _flags(self, engine: str) -> dict[str, Flag]:
        every = [records.flag_from(engine, row) for row in self.rows(engine, "flags")]
        found = {spelled.name: flag for flag in every for spelled in flag.spellings}
        # A flag's own name beats another one's alias.
        return found | {flag.name: flag for flag in every}

    def flags_by_dest(self, engine: str) -> dict[str, list[Flag]]:
        """Return the flags that set each argument of an engine's dumps, of all versions."""

        def rows() -> dict[str, list[Flag]]:
            found: dict[str, list[Flag]] = {}
            for name, flag in self.flags(engine).items():
                if name == flag.name:
                    found.setdefault(flag.dest, []).append(flag)
            return found

        return self.memo(f"flags by dest {engine}", rows)

    def envs(self, engine: str) -> dict[str, Env]:
        """Return the environment variables of an engine by name, of all versions."""
        rows = lambda: {row["name"]: records.env_from(engine, row) for row in self.rows(engine, "env")}  # noqa: E731
        return self.memo(f"env {engine}", rows)

    def messages(self, engine: str) -> list[Message]:
        """Return the messages read from an engine's releases, in order of their ids."""
        rows = lambda: [records.message_from(engine, row) for row in self.rows(engine, "messages")]  # noqa: E731
        return self.memo(f"messages {engine}", rows)

    def seen_live(self) -> list[Message]:
        """Return messages that recorded servers printed and the sources did not show, of all engines."""
        path = self.rules / "catalog" / "seen-live.jsonl"

        def rows() -> list[Message]:
            lines = path.read_bytes().splitlines() if path.is_file() else []
            return [records.message_from(row["engine"], row) for row in map(json.loads, lines)]

        return self.memo("seen live", rows)

    def replaced_at_start(self, engine: str) -> frozenset[tuple[str, Any]]:
        """Return (flag, default) that the engine replaces at start-up and prints as if it had been set."""
        path = self.rules / "catalog" / "replaced-at-start.jsonl"

        def rows() -> frozenset[tuple[str, Any]]:
            lines = map(json.loads, path.read_bytes().splitlines() if path.is_file() else ())
            return frozenset((row["name"], row["default"]) for row in lines if row["engine"] == engine)

        return self.memo(f"replaced {engine}", rows)

    # -- versions

    def versions(self, engine: str) -> tuple[str, ...]:
        """Return the versions read, oldest first; empty for an unknown engine."""
        found = self.version_list(engine)
        return found.read if found else ()

    def newest(self, engine: str) -> str | None:
        """Return the newest version read."""
        found = self.version_list(engine)
        return found.newest if found else None

    def lifetimes(self, engine: str) -> dict[str, tuple[int, int]]:
        """Map every argument of an engine's dumps to the positions of the first and last release read that have it."""
        return self.memo(f"lifetimes {engine}", lambda: self._lifetimes(engine))

    def metric_lifetimes(self, engine: str) -> dict[str, tuple[int, int]]:
        """Map every metric (in ``metricref.key`` spelling) to the positions of the first and last release with it."""
        return self.memo(f"metric lifetimes {engine}", lambda: self._metric_lifetimes(engine))

    def _metric_lifetimes(self, engine: str) -> dict[str, tuple[int, int]]:
        versions = self.version_list(engine)
        found: dict[str, tuple[int, int]] = {}
        for row in self.rows(engine, "metrics") if versions else ():
            assert versions is not None
            life = versions.first_index(row["first"]), versions.last_index(row.get("last"))
            for name in row.get("series") or row.get("exposed") or (row["name"],):
                found[key(name)] = life
        return found

    def _lifetimes(self, engine: str) -> dict[str, tuple[int, int]]:
        place = {version: at for at, version in enumerate(self.versions(engine))}
        newest = len(place) - 1
        found: dict[str, tuple[int, int]] = {}
        for flag in self.flags(engine).values():
            first, last = place.get(flag.first, 0), newest if flag.last is None else place.get(flag.last, newest)
            known = found.get(flag.dest)
            # A renamed flag keeps its argument: the argument lives as long as any of its flags.
            found[flag.dest] = (first, last) if known is None else (min(first, known[0]), max(last, known[1]))
        return found

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary beside this catalogue. Raises VocabularyError."""
        # Only questions about wrong flags need it; the others should not pay for YAML.
        from diagnoser.knowledge.vocabulary import Vocabulary

        return self.memo("vocabulary", lambda: Vocabulary.load(self.rules))
