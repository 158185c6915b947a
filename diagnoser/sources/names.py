"""From names on the command line to files: folders are searched, wrong names get a suggestion."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from diagnoser.patterns import lazily

#: Files of a folder that are worth opening, with or without a rotation suffix and compression. What they hold is
#: decided from their content later. YAML is settings as a rule; pods and events say so in their names.
_WORTH_OPENING = lazily(
    r"""[^/]*(?:pod|event|kube)[^/]*\.ya?ml \Z |
        [^/]*\.(?:log|txt|out|err|stdout|stderr|json|jsonl|ndjson|prom|metrics|om|csv|tsv|sqlite|db|tar|tgz)
        (?:[.-]\d{1,4} | [.-]\d{4}-?\d\d-?\d\d(?:[-_T.]?\d{2,10})?)?
        (?:\.(?:gz|bz2|xz|zst|zstd))? \Z""",
    re.VERBOSE | re.IGNORECASE,
)

#: What was meant for an address: ``host:8000/metrics``; a path has no double slash any more.
_ADDRESS = re.compile(r"(?:https?|proms?):/|[\w.-]+:\d{2,5}(?:/|\Z)")

#: A folder with more candidates than this is a wrong folder (a home directory, a root).
MAX_FILES = 10_000


#: Protocols of shared storage; any other address is a server's.
REMOTE = ("file", "memory", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "hdfs", "sftp", "ssh")


class InputError(Exception):
    """An input that cannot be used; the message names it, says what is wrong and suggests the nearest name."""


def is_remote(name: str | os.PathLike[str]) -> bool:
    """Whether a name is the address of something on shared storage."""
    scheme, mark, _ = os.fspath(name).partition("://")
    return bool(mark) and scheme.lower() in REMOTE and not Path(name).exists()


def expand(name: str, listed: set[tuple[int, int]]) -> Iterator[tuple[Path, str]]:
    """Yield (path, name for evidence) of each file behind ``name``; a file already in ``listed`` is not repeated.

    Raises ``InputError`` when there is no such file or folder, it cannot be read, or the folder holds no log.
    """
    path = Path(name)
    try:
        status = path.stat()
        if not stat.S_ISDIR(status.st_mode):
            if not os.access(path, os.R_OK):
                raise PermissionError
            if _fresh(status, listed):
                yield path, name
            return
        found = _search(path)
    except PermissionError:
        raise InputError(f"cannot read {name}: permission denied") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no such file or folder: {name}{_suggest(path)}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise InputError(
            f"no logs in folder {name}, nor measurements: looked for *.log, *.txt, *.out, *.err, *.json, *.prom, "
            "*.csv, *.sqlite, rotated and compressed ones"
        )
    for path in found:
        try:
            fresh = _fresh(path.stat(), listed)
        except OSError:  # gone since: told when it is opened
            fresh = True
        if fresh:
            yield path, str(path)


def worth_opening(name: str) -> bool:
    """Whether a file of a folder or an archive is opened that nobody named: it is not hidden, and called like a log."""
    return not name.startswith(".") and _WORTH_OPENING.match(name) is not None


def _fresh(status: os.stat_result, listed: set[tuple[int, int]]) -> bool:
    """Tell whether a file is new; pipes and devices may all carry the same numbers and always count as new."""
    identity = (status.st_dev, status.st_ino)
    if identity in listed and stat.S_ISREG(status.st_mode):
        return False
    listed.add(identity)
    return True


def _search(folder: Path) -> list[Path]:
    """Regular, non-hidden files with a log-like name, in path order (links to folders are not followed)."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder, onerror=_refuse_unreadable(folder)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(where, name)
            if worth_opening(name) and path.is_file():
                found.append(path)
        if len(found) > MAX_FILES:
            raise InputError(f"folder {folder} holds more than {MAX_FILES} log files: name a narrower one")
    return found


def _refuse_unreadable(folder: Path) -> Callable[[OSError], None]:
    """Only the folder that was named must be readable; subfolders that are not are passed over."""

    def refuse(error: OSError) -> None:
        if error.filename is not None and Path(error.filename) == folder:
            raise error

    return refuse


def _suggest(path: Path) -> str:
    """Name what exists instead: the nearest sibling, or the folder on the way that is missing."""
    if _ADDRESS.match(path.as_posix()):
        return "; an address begins with http:// (and is read by the command, not from Python)"
    missing = path
    while not missing.parent.is_dir() and missing.parent != missing:
        missing = missing.parent
    try:
        siblings = sorted(entry.name for entry in missing.parent.iterdir())
    except OSError:
        return ""
    import difflib  # only an error message needs it

    close = difflib.get_close_matches(missing.name, siblings, n=1)
    if not close:
        lower = {name.lower(): name for name in siblings}
        close = [lower[missing.name.lower()]] if missing.name.lower() in lower else []
    where = "" if missing == path else f" ({missing} does not exist)"
    return where + (f"; did you mean {missing.parent / close[0]}?" if close else "")
