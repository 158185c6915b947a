"""How often something happened that every rank of a server tells: copies are counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from diagnoser.model import Event
from diagnoser.patterns import lazily
from diagnoser.tables.table import Group

#: Fields that say who tells it.
_TELLER = frozenset(("rank", "tp_rank", "pid"))
#: Measured by each rank for itself.
_MEASURED = lazily(r"\d+\.\d+")
#: Fields longer than this are told apart by their beginning.
_LONGEST = 200


def rounds(events: Iterable[Event], total: int) -> int:
    """Count what the ranks of a scheduler tell alike as often as the rank that tells it most.

    Data-parallel ranks schedule on their own, so theirs are added. Beyond the kept events, of ``total`` in all, as many
    are taken for copies as before.
    """
    copies: dict[Hashable, Counter[tuple[Group, str]]] = {}
    found = 0
    for event in events:
        found += 1
        own = tuple(rank for rank in event.ranks if rank[0].startswith("dp"))
        others = tuple(rank for rank in event.ranks if rank not in own)
        copies.setdefault((own, tuple(_told(event))), Counter())[others, event.process] += 1
    once = sum(max(counted.values()) for counted in copies.values())
    return once if found >= total else round(once * total / max(found, 1))


def _told(event: Event) -> Iterator[tuple[str, Hashable]]:
    """Yield the fields that are the same whoever tells it."""
    for name, value in event.fields.items():
        if isinstance(value, str) and name not in _TELLER:
            yield name, _MEASURED.sub("", value[:_LONGEST])
        elif isinstance(value, int) and name not in _TELLER:
            yield name, value
