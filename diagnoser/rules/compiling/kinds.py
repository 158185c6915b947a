"""What kinds and units of expression may meet; each check raises NodeError with the raw node to blame."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from packaging.version import InvalidVersion, Version

from diagnoser.knowledge.words import nearest
from diagnoser.rules import units
from diagnoser.rules.model import Node

#: Seconds that a regular expression may take on a text of sixty characters that nearly matches.
_PROBE = 0.1
#: Characters of a regular expression, and how often it may repeat a part, repeats within repeats multiplied: compiling
#: longer ones takes minutes, or more memory than there is.
LONGEST, MOST_REPEATS = 2000, 10_000


class NodeError(Exception):
    """Something wrong with one raw node; ``check`` turns it into an ExpressionError with a column."""

    def __init__(self, node: Node, message: str, words: Iterable[str] = (), word: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.expected = tuple(sorted(words))
        self.nearest = (nearest(word, self.expected) or "") if word else ""


KIND_WORDS = {
    "bool": "a condition (true or false)",
    "number": "a number",
    "text": "a text",
    "version": "a version",
    "list": "a list",
    "any": "any value",
}


def need(raw: Node, node: Node, kind: str, message: str) -> None:
    """Raise a NodeError unless the node is of the kind (or of unknown kind)."""
    if node.kind not in (kind, "any"):
        raise NodeError(raw, f"{message}; this is {KIND_WORDS[node.kind]}")


def as_bool(raw: Node, node: Node, unit: str) -> Node:
    """Return the node as a condition; a flag sample counts as one, an argument is read as one."""
    if unit == "flag":
        return Node(">=", (node, Node("number", (0.5, ""), "0.5", "number")), node.text, "bool")
    need(raw, node, "bool", "a condition is needed here")
    if node.kind == "any":
        # An argument is whatever was printed: "True", 1, null.
        return Node("truth", (node,), node.text, "bool")
    return node


def seconds(raw: Node) -> float:
    """Return the constant length of time that a raw node must be."""
    if raw.op != "number":
        raise NodeError(raw, "a length of time belongs here, such as 30s")
    value, unit = raw.args
    if unit != "seconds":
        raise NodeError(raw, f"a length of time needs a unit: {raw.text.rstrip('%')}s, {raw.text.rstrip('%')}m")
    return float(value)


def pattern(raw: Node) -> None:
    """Require a text that is a regular expression."""
    import regex

    if raw.op != "text":
        raise NodeError(raw, "a regular expression in quotes belongs after 'matches'")
    text = str(raw.args[0])
    if len(text) > LONGEST:
        raise NodeError(raw, f"a regular expression of more than {LONGEST} characters")
    if _repeats(text) > MOST_REPEATS:
        raise NodeError(raw, f"a regular expression that repeats more than {MOST_REPEATS} times")
    try:
        regex.compile(text)
    except regex.error as error:
        raise NodeError(raw, f"not a regular expression: {error}") from None
    except RecursionError:
        raise NodeError(raw, "a regular expression that is nested too deep") from None
    if _runs_away(text):
        raise NodeError(raw, "a regular expression without bound on its time: it repeats what repeats itself")


def _repeats(text: str) -> int:
    """How often a part may be repeated at most, if all counts stood within each other."""
    return math.prod(max(1, int(least or 0), int(most or 0)) for least, most in re.findall(r"\{(\d*),?(\d*)\}", text))


def _runs_away(text: str) -> bool:
    """Whether a regular expression needs time without bound: tried on texts that repeat what it is made of."""
    import regex

    search = regex.compile(text).search
    words = re.findall(r"\w{2,}", text[:200])
    for piece in dict.fromkeys([*"a0 _.", *text[:200].replace("\\", ""), *words]):
        try:
            search(piece * 60 + "\x00", timeout=_PROBE)
        except TimeoutError:
            return True
    return False


def comparable(raw: Node, left: Node, right: Node, op: str) -> None:
    """Require two sides that can be compared at all."""
    kinds = {left.kind, right.kind}
    if "version" in kinds:
        other = right if left.kind == "version" else left
        if other.op != "text" and other.kind != "version":
            raise NodeError(raw, 'a version is compared with a text such as "0.9.0"')
        if other.op == "text":
            _version(raw, other.args[0])
        return
    if len(kinds - {"any"}) > 1:
        raise NodeError(raw, f"{KIND_WORDS[left.kind]} cannot be compared with {KIND_WORDS[right.kind]}")
    if op not in ("==", "!=") and kinds & {"bool", "text", "list"}:
        raise NodeError(raw, f"'{op}' compares numbers and versions only")


def _version(raw: Node, text: Any) -> None:
    try:
        Version(text)
    except InvalidVersion:
        raise NodeError(raw, f"'{text}' is not a version") from None


def mistaken(raw: Node, one: Node, unit: str, other: Node, other_unit: str) -> None:
    """Raise a NodeError for units that do not meet, and for a percentage written as a plain number."""
    if units.clash(unit, other_unit):
        raise NodeError(raw, f"{unit} cannot be compared with {other_unit} ({other.text})")
    if one.op == "number" and unit == "" and other_unit == "ratio" and one.args[0] > 1:
        raise NodeError(raw, f"{other.text} is a ratio between 0 and 1: write {one.text}% or a number up to 1")
