"""A release that was read against the catalogue: how much of each kind both have, and what only one has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.wording import Gap, Token, literal_size, shared, source_tokens
from tools.releases.python import Unknown
from tools.releases.release import Release

#: Defaults that say the same: nothing.
_EMPTY: tuple[object, ...] = (None, [], {}, False, "")


class Agreement(NamedTuple):
    """One kind of fact: how many the catalogue has, how many of them were read, and the rest by name."""

    kind: str
    known: int
    found: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def recall(self) -> float:
        """Share of the catalogue's facts that were read."""
        return self.found / self.known if self.known else 1.0


def agreement(release: Release, catalog: Catalog) -> list[Agreement]:
    """Return the agreement of a release with the catalogue at its version, kind by kind."""
    made = [_flags(release, catalog), _defaults(release, catalog)]
    if release.engine != "sglang-router":
        made += [_variables(release, catalog), _metrics(release, catalog), _messages(release, catalog)]
    return made


def _alive(
    catalog: Catalog, engine: str, version: str, first: str, last: str | None, absent: Iterable[str] = ()
) -> bool:
    versions = catalog.version_list(engine)
    assert versions is not None
    place = versions.position(version)
    return place is not None and versions.covers(place, first, last, tuple(absent))


def _sets(kind: str, known: set[str], found: set[str], all_found: set[str] | None = None) -> Agreement:
    both = known & (all_found or found)
    return Agreement(kind, len(known), len(both), tuple(sorted(known - both)), tuple(sorted(found - known)))


def _flags(release: Release, catalog: Catalog) -> Agreement:
    known = set()
    names = {name for flag in release.flags.values() for name in flag.names}
    others = set()
    for flag in {id(one): one for one in catalog.flags(release.engine).values()}.values():
        if _alive(catalog, release.engine, release.version, flag.first, flag.last, flag.absent_in):
            spelled = {
                s.name for s in flag.spellings if _alive(catalog, release.engine, release.version, s.first, s.last)
            }
            others |= spelled
            known.add(next(iter(sorted(spelled & names)), flag.name))
    found = set(release.flags)
    return _sets("flags", known, found - (others - known), names)


def _defaults(release: Release, catalog: Catalog) -> Agreement:
    """Compare defaults of flags that both have, where both tell a value."""
    from diagnoser.knowledge.catalog import UNRESOLVED

    known, wrong = 0, []
    by_name = {name: flag for flag in release.flags.values() for name in flag.names}
    for name, flag in catalog.flags(release.engine).items():
        mine = by_name.get(name)
        if name != flag.name or mine is None or isinstance(mine.default, Unknown):
            continue
        history = [d for d in flag.defaults if _alive(catalog, release.engine, release.version, d.since, None)]
        if not history or history[-1].rule or history[-1].value is UNRESOLVED:
            continue
        known += 1
        told = history[-1].value
        empty = told in _EMPTY and mine.default in _EMPTY
        if not empty and str(told) != str(mine.default):
            wrong.append(f"{name}: {told!r} in the catalogue, {mine.default!r} read")
    return Agreement("defaults", known, known - len(wrong), tuple(wrong), ())


def _variables(release: Release, catalog: Catalog) -> Agreement:
    known = {
        one.name
        for one in catalog.envs(release.engine).values()
        if _alive(catalog, release.engine, release.version, one.first, one.last, one.absent_in)
    }
    return _sets("variables", known, set(release.variables))


def _metrics(release: Release, catalog: Catalog) -> Agreement:
    known = set()
    found = {name for name in release.metrics if release.metrics[name].kind}
    words = release.metric_words | {name + "_total" for name in release.metric_words}
    for row in catalog.rows(release.engine, "metrics"):
        if _alive(catalog, release.engine, release.version, row["first"], row.get("last")):
            name = row["name"]
            if row.get("type") == "counter" and not name.endswith("_total"):
                name += "_total"
            # What prometheus_client and the web framework's instrumentation export by themselves stands in no source.
            if not (row.get("note") or "").startswith(_LIBRARIES) and not name.startswith(("process_", "python_")):
                known.add(name)
    return _sets("metrics", known, found, found | words)


_LIBRARIES = "From prometheus_fastapi_instrumentator"
_GAPS = re.compile(r"\{[^{}\"]*\}|%[-+]?[\d.]*[sdrfgi](?!\w)|\.\.\.")


def pieces(text: str) -> str:
    """Return the fixed text of a wording, values masked and blanks made one: what two spellings of it share."""
    return " ".join(_GAPS.sub("\0", text).split())


def _messages(release: Release, catalog: Catalog) -> Agreement:
    index = Wordings(one.text for one in release.texts)
    known, missing = 0, []
    for message in catalog.messages(release.engine):
        if message.source:
            continue
        for template in message.templates:
            if _alive(catalog, release.engine, release.version, template.first, template.last):
                known += 1
                if not index.has(template.text, template.optional):
                    missing.append(f"{message.id}: {template.text}")
    return Agreement("messages", known, known - len(missing), tuple(missing), ())


class Wordings:
    """The texts of a release, to be asked whether one of them can print a wording of the catalogue."""

    #: So much of a wording's fixed text must stand in one text of the release.
    ENOUGH = 0.8

    def __init__(self, texts: Iterable[str]) -> None:
        self.exact: dict[str, str] = {}
        self.tokens: list[tuple[str, list[Token]]] = []
        self.by_word: dict[str, set[int]] = {}
        for text in texts:
            if self.exact.setdefault(pieces(text), text) is not text:
                continue
            number = len(self.tokens)
            tokens = source_tokens(text)
            self.tokens.append((text, tokens))
            for word in _words(tokens):
                self.by_word.setdefault(word, set()).add(number)

    def has(self, text: str, optional: Iterable[str] = ()) -> bool:
        """Tell whether the release can print a wording, or each line of it."""
        if pieces(text) in self.exact:
            return True
        lines = [line for line in text.split("\n") if len(pieces(line)) > 8]
        return bool(lines) and all(
            pieces(line) in self.exact or self.near(line, optional)[0] >= self.ENOUGH for line in lines
        )

    def near(self, text: str, optional: Iterable[str] = ()) -> tuple[float, str]:
        """Return the share of a wording's fixed text that the nearest text of the release has, and that text."""
        for part in optional:
            text = text.replace(part, "")
        ours = source_tokens(text)
        size = literal_size(ours)
        words = _words(ours)
        if not size or not words:
            return 0.0, ""
        hits: dict[int, int] = {}
        for word in words:
            for number in self.by_word.get(word, ()):
                hits[number] = hits.get(number, 0) + 1
        likely = sorted(hits, key=lambda number: (-hits[number], number))[:12]
        best = (0.0, "")
        for number in likely:
            if hits[number] * 2 < len(words) and best[0]:
                break
            other, tokens = self.tokens[number]
            share = max(shared(ours, tokens), min(shared(tokens, ours), size)) / size
            common = hits[number] / len(words)
            best = max(best, (max(share, 0.0), other), (common * 0.9, other))
        return best


def _words(tokens: Iterable[Token]) -> set[str]:
    return {token for token in tokens if not isinstance(token, Gap) and len(token) >= 4 and token.isalnum()}
