"""Python files out of a release's archive, one at a time: nothing is unpacked to disk and nothing is imported."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

#: The longest source file read, bytes; generated ones are longer and say nothing.
MOST = 4 * 1024 * 1024
_TESTS = ("/test/", "/tests/", "/testing/", "/py_test/", "/e2e_test/")


def python_files(path: Path, package: str) -> Iterator[tuple[str, str]]:
    """Yield (path below the package's folder, text) of its modules, tests left out, in a fixed order."""
    found = dict(_wheel(path, package) if zipfile.is_zipfile(path) else _source(path, package))
    yield from sorted(found.items())


def _source(path: Path, package: str) -> Iterator[tuple[str, str]]:
    with tarfile.open(path, "r|*") as file:
        for member in file:
            name = _below(member.name, package)
            if name and member.isfile() and member.size <= MOST and (opened := file.extractfile(member)):
                yield name, opened.read().decode("utf-8", "replace")


def _wheel(path: Path, package: str) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as file:
        for member in file.infolist():
            name = _below(member.filename, package)
            if name and member.file_size <= MOST:
                yield name, file.read(member).decode("utf-8", "replace")


def _below(name: str, package: str) -> str:
    """Return a module's path below the package; "" for what is not read."""
    if not name.endswith(".py") or any(part in name for part in _TESTS):
        return ""
    head, found, rest = f"/{name}".partition(f"/{package}/")
    return rest if found and head.count("/") < 6 else ""
