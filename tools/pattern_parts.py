"""Where a regular expression can be weakened: each alternative, each part that may be missing, the whole."""

from __future__ import annotations

import re

#: Put in front of a part, it lets the part match nothing.
NEVER = "(?!)"
_OPENING = re.compile(r"\((?:\?(?:P<\w+>|<[=!]|[=!:>]|[a-zA-Z]*(?:-[a-zA-Z]+)?:))?")
_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")


def places(expression: str) -> list[int]:
    """Return the positions in front of which NEVER takes a part away; the first takes everything."""
    begins = hit.end() if (hit := _FLAGS.match(expression)) else 0
    found = {begins}
    open_groups: list[list[int]] = [[begins]]
    at = begins
    while at < len(expression):
        char = expression[at]
        if char == "\\":
            at += 2
        elif char == "[":
            at = _class_end(expression, at)
        elif char == "(":
            opening = _OPENING.match(expression, at)
            assert opening is not None
            at = opening.end()
            open_groups.append([at])
        elif char == "|":
            at += 1
            open_groups[-1].append(at)
        elif char == ")":
            found |= _weak(open_groups.pop(), expression[at + 1 : at + 3])
            at += 1
        else:
            at += 1
    return sorted(found | _weak(open_groups.pop(), ""))


def _weak(branches: list[int], behind: str) -> set[int]:
    """Return where parts of a group begin that the rest can do without."""
    if len(branches) > 1:
        return set(branches)
    return set(branches) if behind[:1] in ("?", "*") or behind == "{0" else set()


def _class_end(expression: str, at: int) -> int:
    at += 2 if expression[at + 1] == "^" else 1
    at += expression[at] == "]"
    while expression[at] != "]":
        at += 2 if expression[at] == "\\" else 1
    return at + 1


def weakened(expression: str, place: int) -> str:
    """Return the expression without the part at a place."""
    return expression[:place] + NEVER + expression[place:]


def part(expression: str, place: int) -> str:
    """Return how the part at a place begins, to name it."""
    return " ".join(expression[place : place + 60].split())
