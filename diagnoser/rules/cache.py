"""The compiled rule base on disk, so that a run needs neither YAML nor pydantic nor lark to start."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.util import source_hash
from pathlib import Path
from typing import Any, TypeVar

import diagnoser
from diagnoser.rules.packs import Pack, rule_files

#: Entries kept of one kind: one per set of rules in use; the oldest go first.
KEEP = 8

#: Bytes of one file that decide: more than any file of rules or of the catalogue has.
MOST = 16 << 20

#: The kinds of entries.
RULES, VOCABULARY = "rules", "vocabulary"

_SUFFIX = ".json"
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError)
_T = TypeVar("_T")


class Cache:
    """A folder of compiled knowledge. Everything that goes wrong with it is silent: it is then compiled anew.

    Files hold plain JSON and are read only when they and the folder belong to this user and nobody else may write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _program(self) -> list[bytes]:
        """The code that decides what a compiled form is, to be digested."""
        return _contents(_code())

    def key(self, files: Iterable[str | Path], *more: str) -> str:
        """Return a digest of everything a compiled form depends on: files' contents, ``more``, this code, Python."""
        parts = [f"{diagnoser.__version__} {sys.version} {sys.byteorder}", *more]
        digested = ["\n".join(parts).encode(errors="surrogateescape")]
        digested += (*_contents(files), *self._program)
        # What Python itself trusts to tell whether a compiled file is stale. hashlib would load a library for it.
        return source_hash(b"".join(digested)).hex()

    def read(self, kind: str, key: str, decode: Callable[[Any], _T]) -> _T | None:
        """Return what is stored under ``key``, decoded; None when there is nothing that can be trusted and read."""
        path = self._path(kind, key)
        try:
            if not _private(self.folder.stat()):
                return None
            with path.open("rb") as file:
                if not _private(os.fstat(file.fileno())):
                    return None
                return _decoded(file.read(), key, decode)
        except _UNREADABLE:
            return None

    def write(self, kind: str, key: str, plain: Any) -> None:
        """Store plain data under ``key``."""
        body = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _private(self.folder.stat()):
                _replace(self._path(kind, key), _head(key, body) + b"\n" + body)
                self._prune(kind)

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{key}{_SUFFIX}"

    def _prune(self, kind: str) -> None:
        """Drop all but the newest entries of one kind."""
        found = [path for path in self.folder.glob(f"{kind}-*{_SUFFIX}") if path.is_file()]
        for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))[:-KEEP]:
            path.unlink(missing_ok=True)


class Shipped:
    """What a wheel brings compiled, so that not even the first run compiles: one file of each kind, beside the rules.

    A checkout has none. A file that does not fit the rules, the code or the version is left alone.
    """

    #: The folder in that of the rules, and what stands in the files for that of the rules itself.
    NAME, HERE = "compiled", "\ue000rules"

    def __init__(self, rules: Path) -> None:
        self.rules = rules
        self.folder = rules / self.NAME

    def read(self, kind: str, files: Callable[[], Iterable[str | Path]], decode: Callable[[Any], _T]) -> _T | None:
        """Return what was made of these files, decoded; None where there is nothing, or it is of others."""
        try:
            content = (self.folder / f"{kind}{_SUFFIX}").read_bytes()
            here = json.dumps(str(self.rules), ensure_ascii=False)[1:-1]
            return _decoded(content, self._key(files()), decode, (self.HERE, here))
        except _UNREADABLE:
            return None

    def content(self, files: Iterable[str | Path], plain: Any) -> bytes:
        """Return what a wheel is to bring of plain data that was made of these files."""
        here = json.dumps(str(self.rules), ensure_ascii=False)[1:-1]
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).replace(here, self.HERE)
        return _head(self._key(files), text.encode()) + b"\n" + text.encode()

    def _key(self, files: Iterable[str | Path]) -> str:
        """Return a digest of the version and of all contents, wherever they lie."""
        digested = [diagnoser.__version__.encode(), *_contents(files, str(self.rules))]
        digested += _contents(_code(), str(Path(__file__).parent.parent))
        return source_hash(b"".join(digested)).hex()


def rule_inputs(folders: Sequence[Path], catalog: Path, packs: Sequence[Pack]) -> list[str | Path]:
    """Return every file that a compiled rule base is made of, beside this package's own code."""
    every = [*folders, *(pack.folder for pack in packs if pack.folder)]
    messages = [path for folder in _folders(catalog / "catalog") for path in _files(folder, "messages.jsonl")]
    tables = _files(catalog / "catalog", ".jsonl")
    return [*(path for folder in every for path in _files(folder, ".yaml")), *rule_files(every), *messages, *tables]


def _decoded(content: bytes, key: str, decode: Callable[[Any], _T], put: tuple[str, str] | None = None) -> _T | None:
    """Return what an entry holds, with one word ``put`` for another; None when it is damaged or another's."""
    head, _, body = content.partition(b"\n")
    if head != _head(key, body):
        return None
    with _no_collecting():
        return decode(json.loads(body.decode().replace(*put) if put else body))


def _contents(files: Iterable[str | Path], folder: str = "") -> list[bytes]:
    """Return names (as they are below ``folder``), lengths and contents of files."""
    found: list[bytes] = []
    for path in files:
        try:
            with open(path, "rb", opener=_at_once) as file:
                content = file.read(MOST)
        except OSError:
            content = b"?"
        name = str(path).removeprefix(folder).replace(os.sep, "/") if folder else path
        found += (f"\n{name} {len(content)}\n".encode(errors="surrogateescape"), content)
    return found


def _at_once(name: str, flags: int) -> int:
    """Open a file without waiting: what lies in a folder of rules may be a pipe that nobody writes to."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _code() -> Iterator[str]:
    """Yield the files of this package that decide what a compiled form is."""
    here = Path(__file__).parent
    folders: list[str | Path] = [here, *_folders(here)]
    for folder in folders:
        yield from _files(folder, (".py", ".lark"))
    yield from _files(here.parent / "knowledge", ".py")


def _files(folder: str | Path, ends: str | tuple[str, ...]) -> list[str]:
    """Return the files of a folder whose names end so, in order. `Path.glob` takes several times as long."""
    try:
        return sorted(one.path for one in os.scandir(folder) if one.name.endswith(ends))
    except OSError:
        return []


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(one.path for one in os.scandir(folder) if one.is_dir())
    except OSError:
        return []


def _head(key: str, body: bytes) -> bytes:
    """Return the first line of an entry: a file cut short or damaged does not fit it."""
    return f"{key} {len(body)} {zlib.crc32(body):08x}".encode()


@contextlib.contextmanager
def _no_collecting() -> Iterator[None]:
    """None of the ten thousand objects that are decoded is garbage, so nobody should look for some."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
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
