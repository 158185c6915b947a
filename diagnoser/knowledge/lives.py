"""Since when and until when a metric or a field of a statistics line exists, and whether a version has it."""

from __future__ import annotations

from typing import NamedTuple

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.metricref import COUNTERS, key
from diagnoser.knowledge.stats_labels import fields


class Life(NamedTuple):
    """The first release that has it and the last, None where the newest has it.

    ``here``: whether the version in question has it; None where the version is not known.
    """

    first: str
    last: str | None
    here: bool | None


def metric_life(catalog: Catalog, engine: str, version: str, name: str) -> Life | None:
    """Return the life of a metric, None where the catalogue does not know it."""
    lives = catalog.metric_lifetimes(engine)
    found = next((lives[one] for end in ("", *COUNTERS) if (one := key(name + end)) in lives), None)
    return None if found is None else _life(catalog, engine, version, *found)


def field_life(catalog: Catalog, engine: str, version: str, label: str) -> Life | None:
    """Return the life of a field of the statistics lines, None where the catalogue does not know it."""
    found = catalog.memo(f"field lives {engine}", lambda: _field_lives(catalog, engine)).get(label)
    return None if found is None else _life(catalog, engine, version, *found)


def _field_lives(catalog: Catalog, engine: str) -> dict[str, tuple[int, int]]:
    versions = catalog.version_list(engine)
    found: dict[str, tuple[int, int]] = {}
    for label, since, until in fields(catalog, engine) if versions else ():
        assert versions is not None
        first, last = versions.first_index(since), versions.last_index(until)
        known = found.get(label, (first, last))
        found[label] = min(first, known[0]), max(last, known[1])
    return found


def _life(catalog: Catalog, engine: str, version: str, first: int, last: int) -> Life:
    versions = catalog.version_list(engine)
    assert versions is not None
    position = versions.position(version) if version else None
    here = None if position is None else first <= position.high and position.low <= last
    newest = len(versions.read) - 1
    return Life(versions.read[first], None if last >= newest else versions.read[last], here)
