"""Which event templates look for a message that no version is known to print."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.grounding import ground
from diagnoser.rules.matching.matcher import PLATFORMS
from diagnoser.rules.model import EventSpec, RuleBase, Template


def ungrounded(base: RuleBase, catalog: Catalog) -> Iterator[tuple[EventSpec, Template]]:
    """Yield every template that the catalogue does not know and whose event names no source of its own.

    Templates taken from the catalogue are grounded by construction: their ``versions`` are a range of it.
    """
    for spec in base.events.values():
        for template in spec.templates:
            # Sentences about pods are this project's own: tests match every one of them against its template.
            if ".." in template.versions or spec.source or template.engine in PLATFORMS:
                continue
            if not ground(template.engine, template.text, catalog).found:
                yield spec, template
