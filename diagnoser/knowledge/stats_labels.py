"""The labels that the statistics lines of an engine had in any version that was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from diagnoser.knowledge.records import message_from

if TYPE_CHECKING:
    from diagnoser.knowledge.catalog_tables import CatalogTables

#: Messages of the catalogue that are statistics lines, by the beginning of their ids.
LINES = ("stats.", "decode_batch", "prefill_batch")
#: A field of a wording: ``label: value``, possibly behind a bracket that marks it as optional.
_FIELD = re.compile(r"(?:^|[,.\[|:]\s*)(#?[A-Za-z][\w /#().+-]{0,60}?): ?(?=[\[{%])")
#: Fields that a wording leaves out or puts together elsewhere.
_MORE = {
    "vllm": (
        "Prefix cache hit rate: GPU",
        "Prefix cache hit rate: CPU",
        "KV fetch",
        "Per-position acceptance rate",
        "Per-position committed rate",
        "GPU KV cache usage",
    ),
    "sglang": ("cuda graph", "npu graph", "xpu graph", "cpu graph", "cuda graph (prefill)", "#prealloc-req (prefill)"),
}


def fields(catalog: CatalogTables, engine: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield (label, first, last) of every field that a statistics line of an engine had, some of them twice."""
    for row in catalog.rows(engine, "stats-fields"):
        for label in row["field"].split(" / "):
            yield label, row["first"], row.get("last")
    for row in catalog.rows(engine, "messages", LINES):
        if row["id"].startswith(LINES):
            for one in message_from(engine, row).templates:
                for label in _FIELD.findall(one.text):
                    yield label, one.first, one.last


def known_labels(catalog: CatalogTables, engine: str) -> frozenset[str]:
    """Return every label that some version prints."""
    return catalog.memo(
        f"stats labels {engine}",
        lambda: frozenset([label for label, _, _ in fields(catalog, engine)]) | frozenset(_MORE.get(engine, ())),
    )
