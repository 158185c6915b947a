"""Wordings of messages that a release no longer has, and what took their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.releases.compare import Wordings, pieces
from tools.releases.release import Release

Row = dict[str, Any]


def _prints(index: Wordings, previous: Wordings | None, text: str, parts: Sequence[str]) -> bool:
    """Tell whether a release prints a wording: letter for letter where the one before did, nearly where not."""
    if previous is not None and pieces(text) in previous.exact:
        return pieces(text) in index.exact
    return index.has(text, parts)


def messages(rows: list[Row], release: Release, last: Release | None, told: list[str], before: str) -> None:
    """End wordings that the release has no longer; what took the place of one in its module joins its message."""
    index = Wordings(one.text for one in release.texts)
    previous = Wordings(one.text for one in last.texts) if last else None
    by_file: dict[str, list[Any]] = {}
    for one in release.texts:
        by_file.setdefault(one.file, []).append(one)
    for row in rows:
        if row.get("source"):
            continue
        alive = {pieces(item["text"]) for item in row["templates"] if "last" not in item}
        for item in list(row["templates"]):
            parts = item.get("optional", ())
            if "last" in item or item.get("source") or _prints(index, previous, item["text"], parts):
                continue
            if previous is not None and not previous.has(item["text"], parts):
                continue  # printed by a library, or put together where no reading of the source sees it
            item["last"] = before
            item.pop("ranges", None)
            near = [
                one for file in item.get("files", ()) for one in by_file.get(file, ()) if pieces(one.text) not in alive
            ]
            share, text = Wordings(one.text for one in near).near(item["text"]) if near else (0.0, "")
            told.append(f"message {row['id']}: gone: {item['text'][:120]!r}")
            if share >= 0.5:
                new = {"text": text, "first": release.version, "last": None, "files": item.get("files")}
                row["templates"].append(new | {key: item[key] for key in ("level", "exception") if key in item})
                told.append(f"message {row['id']}: instead: {text[:120]!r}")
