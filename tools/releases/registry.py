"""The package registry, by the address that pip has: which releases there are, and the archive of one."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import urllib3
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

#: The listing of a project, as PEP 691 defines it.
_JSON = "application/vnd.pypi.simple.v1+json"
#: No archive that is worth reading is larger, bytes: source archives of vLLM have 9 to 50 MB.
MOST = 600 * 1024 * 1024
_PIECE = 1024 * 1024
#: Where pip may be told of an index: what comes first counts.
_SETTINGS = (":env:", "download", "install", "global")


class RegistryError(Exception):
    """The registry cannot be asked, or does not have what was asked for."""


class Archive(NamedTuple):
    """One file of a release: its name says what it is, its hash is the registry's."""

    name: str
    version: Version
    size: int
    url: str
    sha256: str

    @property
    def is_source(self) -> bool:
        """Whether it is a source archive: smaller than a wheel, and the same Python files."""
        return self.name.endswith(".tar.gz")


def index_address() -> str:
    """Return the index that pip is set to; its own default where nothing is set."""
    told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    listed = dict(line.split("=", 1) for line in told.stdout.splitlines() if "=" in line)
    for name in _SETTINGS:
        if address := listed.get(f"{name}.index-url", "").strip("'\""):
            return address.rstrip("/")
    default = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    told = subprocess.run([sys.executable, "-c", default], capture_output=True, text=True, check=False)
    if told.returncode:
        raise RegistryError("pip is not there to say which index it uses: python -m ensurepip")
    return told.stdout.strip().rstrip("/")


def archives(project: str) -> list[Archive]:
    """Return the files of every release of a project, oldest release first, yanked ones left out."""
    page = _get(f"{index_address()}/{project}/", {"Accept": _JSON})
    try:
        files: list[dict[str, Any]] = json.loads(page.data)["files"]
    except (ValueError, KeyError):
        raise RegistryError(f"the index has no JSON listing of {project}") from None
    found = []
    for item in files:
        version = _version(item["filename"])
        if version is not None and not item.get("yanked"):
            size, digest = item.get("size") or 0, item.get("hashes", {}).get("sha256", "")
            found.append(Archive(item["filename"], version, size, item["url"], digest))
    return sorted(found, key=lambda one: (one.version, one.name))


def choose(files: list[Archive], version: str) -> Archive:
    """Return the file to read for a version: the source archive, else the smallest wheel."""
    wanted = Version(version)
    own = [one for one in files if one.version == wanted]
    if not own:
        near = ", ".join(str(one) for one in sorted({one.version for one in files})[-3:])
        raise RegistryError(f"the registry has no version {version}; its newest are {near}")
    return min(own, key=lambda one: (not one.is_source, one.size))


def fetch(one: Archive, folder: Path) -> Path:
    """Download an archive into ``folder`` unless it is there; check it against the registry's hash."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / one.name
    if path.is_file() and _hash(path) == one.sha256:
        return path
    if one.size > MOST:
        raise RegistryError(f"{one.name} has {one.size:,} bytes: more than {MOST:,}")
    part = path.with_suffix(".part")
    answer = _get(one.url, {}, preload=False)
    with part.open("wb") as out:
        for piece in answer.stream(_PIECE):
            out.write(piece)
            if out.tell() > MOST:
                raise RegistryError(f"{one.name} is larger than {MOST:,} bytes")
    answer.release_conn()
    if one.sha256 and _hash(part) != one.sha256:
        part.unlink()
        raise RegistryError(f"{one.name} is not what the registry lists: its hash differs")
    part.replace(path)
    return path


def _get(url: str, headers: dict[str, str], preload: bool = True) -> urllib3.BaseHTTPResponse:
    try:
        answer = urllib3.request("GET", url, headers=headers, preload_content=preload, timeout=60, retries=3)
    except urllib3.exceptions.HTTPError as error:
        raise RegistryError(f"the registry does not answer: {error}") from None
    if answer.status != 200:
        raise RegistryError(f"the registry answers {answer.status} for {url.rsplit('/', 2)[-2]}")
    return answer


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(name: str) -> Version | None:
    try:
        return parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None
