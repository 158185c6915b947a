"""The page of verified versions: what was read of each, what was seen on live servers, what the newest one breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.versions import VersionList
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.rules.model import RuleBase
from diagnoser.rules.standing import Upkeep

_HEAD = """\
# Versions

Made by `diagnose catalog versions -o docs/versions.md` from `rules/catalog/`; a test holds it current.

A number says how many of a kind that version has. What lies between two versions that were read is judged by
both of them; a log of a version past the newest one says so in the head of its report, and is judged by the newest.
`live` counts messages that were seen in logs of running servers of that version and cannot be found in its sources.
"""


def page(catalog: Catalog, base: RuleBase, vocabulary: Vocabulary) -> str:
    """Return the page in Markdown."""
    parts = [_HEAD]
    for engine in catalog.engines():
        versions = catalog.version_list(engine)
        if versions is not None:
            parts.append(_engine(catalog, engine, versions))
    parts.append(_standing(catalog, base, vocabulary))
    return "\n".join(parts)


def _engine(catalog: Catalog, engine: str, versions: VersionList) -> str:
    kinds: list[tuple[str, list[Any]]] = [
        ("flags", list({id(one): one for one in catalog.flags(engine).values()}.values())),
        ("variables", list(catalog.envs(engine).values())),
        ("metrics", list(_lives(catalog.rows(engine, "metrics")))),
        ("wordings", [one for message in catalog.messages(engine) for one in message.templates]),
    ]
    live = [one for message in catalog.seen_live() if message.engine == engine for one in message.templates]
    out = [
        f"## {engine}",
        "",
        f"{len(versions.read)} versions read, {versions.oldest} to {versions.newest}.",
        "",
        "| version | flags | variables | metrics | wordings | live |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for at, version in reversed(list(enumerate(versions.read))):
        counts = [str(sum(_has(one, versions, at) for one in rows) or "") for _, rows in kinds]
        seen = sum(1 for one in live if one.first == version)
        out.append(f"| {version} | {' | '.join(counts)} | {seen or ''} |")
    return "\n".join(out) + "\n"


class _Life:
    def __init__(self, row: dict[str, Any]) -> None:
        self.first, self.last = row["first"], row.get("last")


def _lives(rows: Iterable[dict[str, Any]]) -> Iterator[_Life]:
    return map(_Life, rows)


def _has(one: Any, versions: VersionList, at: int) -> bool:
    inside = versions.first_index(one.first) <= at <= versions.last_index(one.last)
    return inside and versions.read[at] not in getattr(one, "absent_in", ())


def _standing(catalog: Catalog, base: RuleBase, vocabulary: Vocabulary) -> str:
    """Say what of the rule base the newest versions have no longer."""
    out = ["## What the newest versions break", "", "As `diagnose catalog check` tells it.", ""]
    out += [
        "| engine | version | rules broken | rules with something gone that has an alternative |",
        "|---|---|---|---|",
    ]
    for engine in catalog.engines():
        version = catalog.newest(engine) or ""
        found = Upkeep(base, vocabulary, catalog, engine, version).breaks()
        broken = sorted({one.rule for one in found if one.breaks})
        weaker = sorted({one.rule for one in found} - set(broken))
        out.append(f"| {engine} | {version} | {', '.join(broken) or 'none'} | {', '.join(weaker) or 'none'} |")
    return "\n".join(out) + "\n"
