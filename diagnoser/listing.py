"""The modules of a package's folder by name: folders are this program's registries."""

from __future__ import annotations

import os
from collections.abc import Iterable

_ENDINGS = ("py", "pyc")


def modules(folders: Iterable[str]) -> list[str]:
    """Return the modules and packages in a package's ``__path__``, sorted. Nothing is imported.

    ``pkgutil.iter_modules`` does the same, and loads ``inspect`` to do it: longer than a short log takes to read.
    """
    return sorted({name for folder in folders for entry in os.scandir(folder) if (name := _module(entry))})


def _module(entry: os.DirEntry[str]) -> str:
    """Return the name of a module or package, "" for anything else."""
    name, dot, ending = entry.name.partition(".")
    if name.startswith("__") or not name.isidentifier():
        return ""
    return name if (ending in _ENDINGS if dot else entry.is_dir()) else ""
