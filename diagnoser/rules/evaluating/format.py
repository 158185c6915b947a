"""Values as text: fills the ``{expression:format}`` placeholders of a rule's sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.rules import texts
from diagnoser.rules.evaluating.logic import number
from diagnoser.rules.evaluating.value import UNKNOWN, Value
from diagnoser.rules.model import Node
from diagnoser.times import duration

if TYPE_CHECKING:
    from diagnoser.rules.evaluating.evaluate import Evaluator

#: Beyond it a number is written with an exponent: its last digits mean nothing.
_LARGEST = 1e15

#: How an expression begins whose zero says nothing: what did not happen needs no mention.
_COUNTS = ("count(", "rounds(", "ranks(", "run.restarts")

#: The semicolon of languages that write full-width marks.
_FULL_WIDTH = "\uff1b"

#: What a sentence says where nothing is known.
NOT_KNOWN = phrase("unknown")


def placeholders(text: str) -> list[tuple[str, str]]:
    """Return (expression text, format) of every placeholder. Raises texts.TextError on unbalanced braces."""
    return [(found.expression, found.format) for found in texts.placeholders(text)]


def render(text: str, evaluator: Evaluator, nodes: Mapping[str, Node] | Iterable[tuple[str, Node]]) -> str:
    """Fill the placeholders of a text; ``nodes`` are the checked expressions by their text (``Rule.placeholders``).

    An unknown value reads "unknown". Raises KeyError for an expression that was never parsed, texts.TextError on
    unbalanced braces: the loader has refused both.
    """
    known = dict(nodes)
    return "".join(
        part if isinstance(part, str) else _written(evaluator, known[part.expression], part.format)
        for part in texts.split(text)
    )


def render_known(text: str, evaluator: Evaluator, nodes: Mapping[str, Node] | Iterable[tuple[str, Node]]) -> str:
    """Fill a text of clauses parted by "; "; leave out those with an unknown value, and those that count nothing."""
    known = dict(nodes)
    kept: list[str] = []
    joint = _FULL_WIDTH if _FULL_WIDTH in text else "; "
    for clause in text.split(joint):
        found = [(one.expression, evaluator.value(known[one.expression])) for one in texts.placeholders(clause)]
        if any(value is UNKNOWN for _, value in found):
            continue
        if not found or any(value != 0 or not of.startswith(_COUNTS) for of, value in found):
            kept.append(render(clause, evaluator, known))
    return joint.join(kept)


def _written(evaluator: Evaluator, node: Node, form: str) -> str:
    if node.op == "spread" and (limits := evaluator.spreads.limits(node)) is not None:
        return "-".join(write(limit, form, evaluator.say) for limit in limits)
    value = evaluator.value(node)
    if form == "story" and isinstance(value, str):
        return evaluator.story(value)
    if isinstance(value, str) and " " in value:
        return evaluator.say(value)  # a sentence of the rule's own; one word may be a flag's value
    return write(value, "" if form == "story" else form, evaluator.say)


def write(value: Value, form: str = "", say: Say = ENGLISH) -> str:
    """Write a value in a format: int, .1f, percent, duration, gib, rate, or "" for what suits its type.

    Units are those of expressions: ratios, seconds, GiB, per second. A value that is no number ignores the format.
    """
    if value is UNKNOWN:
        return say(NOT_KNOWN)
    amount = number(value)
    if amount is UNKNOWN or isinstance(value, bool | str) or not form or abs(amount) > _LARGEST:
        return plain(value, say)
    if form.startswith("."):
        return f"{amount:,{form}}"
    writers = {"int": _integer, "id": _digits, "percent": percent, "duration": duration, "gib": _gib, "rate": rate}
    return writers[form](amount)


def plain(value: Value, say: Say = ENGLISH) -> str:
    """Write any value as a person would: 3, 0.42, yes, a text, a list with commas."""
    if value is UNKNOWN:
        return say(NOT_KNOWN)
    if value is None:
        return say("none")
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, int | float):
        if abs(value) < _LARGEST and value == int(value):
            return f"{int(value):,}"
        return f"{value:,.1f}" if 100 <= abs(value) < _LARGEST else f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(plain(item, say) for item in value)
    return str(value)


def _integer(value: float) -> str:
    return f"{round(value):,}"


def _digits(value: float) -> str:
    """Write a port or a sequence number as one searches for it."""
    return f"{round(value)}"


def _short(value: float) -> str:
    """One decimal at most, none when it says nothing."""
    return f"{value:,.1f}".removesuffix(".0")


def percent(ratio: float) -> str:
    """Write a ratio: 97 %, 99.6 %, 0.4 %. Decimals only where they tell: near nothing and near everything."""
    value = ratio * 100
    return f"{_short(value) if abs(value) < 10 or 99 <= abs(value) < 100 else f'{value:,.0f}'} %"


def _gib(value: float) -> str:
    return f"{value * 1024:,.0f} MiB" if 0 < abs(value) < 1 else f"{_short(value)} GiB"


def rate(per_second: float) -> str:
    """Write a rate in the unit that gives a number a person can picture: 3.2/s, 12/min, 4/h."""
    for factor, unit in ((1, "s"), (60, "min")):
        if abs(per_second) * factor >= 1:
            return f"{_short(per_second * factor)}/{unit}"
    return f"{_short(per_second * 3600)}/h" if per_second else "0/s"
