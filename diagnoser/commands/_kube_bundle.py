"""What was collected as one tar file, with a manifest; secrets of pod specs and logs are masked on the way in."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

from diagnoser.reports.redact import MASK, mask

#: The first key of a manifest, by which ``traces/kube_bundle.py`` knows it.
FORMAT = "diagnose-bundle/1"
MANIFEST = "manifest.json"
#: All members together.
MOST = 1 << 30

#: Variables and flags whose values are nobody's business.
_SECRET = re.compile(r"(?i)(?:key|token|secret|passwd|password|pwd|credentials?|auth)\Z|api_?key|access_?key")
#: Annotations that repeat the whole object, values of variables included.
_REPEATS = ("kubectl.kubernetes.io/last-applied-configuration",)


class Bundle:
    """A tar file that grows. ``missing`` is what could not be collected: what, why, and how to get it by hand."""

    def __init__(self, file: BinaryIO, packed: bool) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w:gz" if packed else "w")  # noqa: SIM115 - closed by ``close``
        self.files: list[dict[str, Any]] = []
        self.missing: list[dict[str, str]] = []
        self._size = 0

    def add(self, name: str, data: bytes) -> None:
        """Add one member; what goes beyond the size of a bundle is missing."""
        if self._size + len(data) > MOST:
            self.miss(name, f"the bundle would be larger than {MOST >> 20} MiB", "")
            return
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o644
        self._tar.addfile(info, io.BytesIO(data))
        self._size += len(data)
        self.files.append({"name": name, "bytes": len(data)})

    def miss(self, what: str, why: str, by_hand: str) -> None:
        """Note what could not be collected."""
        one = {"what": what, "why": why, "by_hand": by_hand}
        if one not in self.missing:
            self.missing.append(one)

    def close(self, told: Mapping[str, Any]) -> None:
        """Write the manifest and end the file."""
        manifest = {"format": FORMAT, **told, "files": [*self.files], "not_collected": self.missing}
        self.add(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2).encode() + b"\n")
        self._tar.close()

    @property
    def size(self) -> int:
        """Bytes of all members."""
        return self._size


def masked_log(data: bytes) -> bytes:
    """Mask secrets in log lines so that what was a list or a text of Python stays one."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return "\n".join(_line(line) for line in lines).encode("utf-8", "surrogateescape")


def _line(line: str) -> str:
    told = mask(line)
    return line if told == line else told.replace(f"[{MASK}]", f"['{MASK}']")


def masked_object(value: Any) -> Any:
    """Mask secrets in an object of the API: values of variables and flags, and whatever looks like one."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return _masked_words(value) if all(isinstance(one, str) for one in value) else [*map(masked_object, value)]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) and _SECRET.search(value["name"]):
        return {**value, "value": MASK}
    return {
        key: masked_object(one)
        for key, one in value.items()
        if key != "managedFields" and key not in _REPEATS
    }  # fmt: skip


def _masked_words(words: list[str]) -> list[str]:
    """Mask in a command line: what stands behind a flag of that name, or its own part after the sign."""
    out: list[str] = []
    for word in words:
        before = out[-1] if out else ""
        flag, equals, _ = word.partition("=")
        if before.startswith("-") and "=" not in before and _SECRET.search(before) and not word.startswith("-"):
            out.append(MASK)
        elif word.startswith("-") and equals and _SECRET.search(flag):
            out.append(f"{flag}={MASK}")
        else:
            out.append(mask(word))
    return out


def document(value: Any) -> bytes:
    """Return an object of the API as text, a key a line: evidence is told with its line."""
    return json.dumps(masked_object(value), ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"


def stamp(time: float) -> str:
    """Return a moment as metrics pages carry it."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
