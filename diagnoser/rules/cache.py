"""The compiled rule base on disk, so that a run needs neither YAML nor pydantic nor lark to start."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import diagnoser
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import Pack, rule_files
from diagnoser.rules.plain import base_from_plain, base_to_plain

#: Compiled rule bases kept: one per set of rules in use; the oldest go first.
KEEP = 8

_PREFIX, _SUFFIX = "rules-", ".json"


@dataclass(slots=True, frozen=True)
class Cache:
    """A folder of compiled rule bases. Everything that goes wrong with it is silent: the rules are then compiled.

    Files hold plain JSON and are read only when they and the folder belong to this user and nobody else may write.
    """

    folder: Path

    def key(self, folders: Sequence[Path], catalog: Path, packs: Sequence[Pack] = ()) -> str:
        """Return a digest of everything a compiled rule base depends on: files' contents, this code, Python."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{diagnoser.__version__} {sys.version} {sys.byteorder}".encode())
        digest.update("".join(f"\n{pack.name} {pack.folder} {pack.problem}" for pack in packs).encode())
        for path in _inputs(folders, catalog):
            try:
                content = path.read_bytes()
            except OSError:
                content = b"?"
            digest.update(f"\n{path} {len(content)}\n".encode(errors="surrogateescape"))
            digest.update(content)
        return digest.hexdigest()

    def read(self, key: str) -> RuleBase | None:
        """Return the rule base stored under ``key``; None when there is none that can be trusted and read."""
        path = self.folder / f"{_PREFIX}{key}{_SUFFIX}"
        try:
            if not _private(self.folder.stat()):
                return None
            with path.open("rb") as file:
                if not _private(os.fstat(file.fileno())):
                    return None
                head, _, body = file.read().partition(b"\n")
            if head.decode() != f"{key} {hashlib.blake2b(body, digest_size=16).hexdigest()}":
                return None
            return _decode(body)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def write(self, key: str, base: RuleBase) -> RuleBase:
        """Store a rule base; return it as `read` will give it (without examples)."""
        plain = base_to_plain(base)
        body = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _private(self.folder.stat()):
                head = f"{key} {hashlib.blake2b(body, digest_size=16).hexdigest()}\n".encode()
                _replace(self.folder / f"{_PREFIX}{key}{_SUFFIX}", head + body)
                self._prune()
        return base_from_plain(plain)

    def _prune(self) -> None:
        """Drop all but the newest compiled rule bases."""
        found = [path for path in self.folder.glob(f"{_PREFIX}*{_SUFFIX}") if path.is_file()]
        for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))[:-KEEP]:
            path.unlink(missing_ok=True)


def _inputs(folders: Sequence[Path], catalog: Path) -> Iterator[Path]:
    """Yield every file that a compiled rule base is made of, this package's own code included."""
    for folder in folders:
        yield from sorted(folder.glob("*.yaml"))
    yield from rule_files(folders)
    yield from sorted(catalog.glob("catalog/*/messages.jsonl"))
    yield from sorted(catalog.glob("catalog/*.jsonl"))
    here = Path(__file__).parent
    yield from sorted((*here.glob("*.py"), *here.glob("*.lark"), *(here.parent / "knowledge").glob("*.py")))


def _decode(body: bytes) -> RuleBase:
    """Return the rule base written as JSON. None of its ten thousand objects is garbage, so nobody looks for some."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return base_from_plain(json.loads(body))
    finally:
        if collecting:
            gc.enable()


def _private(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and only this user may write to it."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the user's own profile folder is private by its access list
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file or nothing: readers see the old one or the new one."""
    import tempfile  # only a run that compiles needs it

    handle, name = tempfile.mkstemp(prefix=".rules-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)  # noqa: PTH105 - the temporary name is a str
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
