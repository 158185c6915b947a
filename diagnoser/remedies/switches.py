"""Flags that take no value: given, given in their ``--no-`` form, or taken away."""

from __future__ import annotations

from typing import Any

from diagnoser.knowledge.records import Flag
from diagnoser.remedies.context import Context, Setting, shown
from diagnoser.values import dataclass


@dataclass(slots=True, frozen=True)
class Switch:
    """How to write the change of a switch: the flag as printed and the words to take away and to add."""

    flag: str
    proposed: str
    direction: int
    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()


def switched(
    context: Context, flag: Flag, spelled: str, now: Setting, by: str, wanted: Any, turned: bool
) -> Switch | None:
    """Return how to bring a switch to ``wanted`` (True for ``by: set``, False for ``by: remove``).

    ``turned``: the flag switches the thing off, so that wanting the thing means not having the flag. Also takes away
    flags with values (``by: remove``). None when nothing would change or the version has no way to write it.
    """
    if by in ("set", "remove"):
        wanted = by == "set"
    elif isinstance(wanted, bool):
        wanted = wanted is not turned
    else:
        return None
    given = now.state == "set" and now.value is not False and now.value is not None
    if not flag.is_switch:
        # Only taking it away has a meaning without a value.
        if wanted or not given:
            return None
        return Switch(spelled, "remove", -1, (spelled, shown(now.asked or now.value)))
    if isinstance(now.value, bool) and now.value == wanted:
        return None
    negative = f"--no-{spelled[2:]}"
    if wanted:
        against = (negative,) if now.state == "set" and now.value is False and _has(context, negative) else ()
        return Switch(spelled, "on", 1, against, (spelled,))
    if given:
        return Switch(spelled, "remove", -1, (spelled,))
    if _has(context, negative):
        return Switch(negative, "off", -1, (), (negative,))
    # Off unless given, and whether it was given is not known: worth saying, nothing to type.
    return Switch(spelled, "remove", -1) if now.value is None and now.state != "default" else None


def _has(context: Context, negative: str) -> bool:
    return context.catalog.has_flag(context.engine, negative, context.version) is True
