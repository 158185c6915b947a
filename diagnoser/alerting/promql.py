"""PromQL as it is put together here: text that knows how tightly it binds, and truth in three values.

A PromQL vector says what is there. A condition of the rule base is true, false or unknown, so it becomes two vectors:
the servers for which it is true, and those for which it is false; a server in neither is one of which nothing tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: How tightly a text binds: ``or`` loosest, then ``and`` and ``unless``, comparisons, sums, products, calls and names.
OR, AND, COMPARE, SUM, PRODUCT, ATOM = range(6)
_LEVELS = {"or": OR, "and": AND, "unless": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
#: Longest condition on one line.
_WIDTH = 90
#: Operators after which equal ones need no brackets on the right.
_FREE = ("or", "and", "+", "*")


class Expr(NamedTuple):
    """An expression whose value is a vector, or a number."""

    text: str
    level: int = ATOM

    def inside(self, least: int) -> str:
        """Return the text, in brackets where it binds less tightly than ``least``."""
        return self.text if self.level >= least else f"({_hang(self.text)})"


def _hang(text: str) -> str:
    return "\n  " + text.replace("\n", "\n  ") + "\n" if "\n" in text else text


def join(operator: str, left: Expr, right: Expr, matching: str = "") -> Expr:
    """Return ``left operator right``. Set operators begin a line, so that long conditions can be read."""
    level = _LEVELS.get(operator.removesuffix(" bool"), COMPARE)
    if operator in ("and", "or", "unless"):
        # Prometheus takes 'and' and 'unless' for equals; mixed ones stand in brackets for people.
        mixed = operator == "unless" or "unless" in left.text
        one = left.inside(level + 1 if mixed and left.level == AND and "\n" in left.text else level)
        two = f"{operator}{matching} {right.inside(level + (operator not in _FREE))}"
        short = "\n" not in one + two and len(one) + len(two) < _WIDTH
        return Expr(f"{one} {two}" if short else f"{one}\n{two}", level)
    one, two = left.inside(level + (level == COMPARE)), right.inside(level + (operator not in _FREE))
    return Expr(f"{one} {operator}{matching} {two}", level)


def call(function: str, *arguments: Expr | str) -> Expr:
    """Return ``function(arguments)``."""
    texts = [one if isinstance(one, str) else one.text for one in arguments]
    if any("\n" in text for text in texts):
        return Expr(f"{function}({_hang(_COMMA.join(texts))})")
    return Expr(f"{function}({', '.join(texts)})")


_COMMA = ",\n"


def number(value: float) -> Expr:
    """Return a constant, with as many digits as it needs."""
    return Expr(f"{value:.12g}", ATOM if value >= 0 else PRODUCT)


class Side(NamedTuple):
    """The servers for which something holds: ``expr`` None is none at all unless ``always``, which is every one.

    ``exact`` is False where PromQL cannot say all of it: these servers are some of those for which it holds. ``but`` is
    set where ``expr`` is every server but these.
    """

    expr: Expr | None = None
    always: bool = False
    exact: bool = True
    but: Expr | None = None

    @property
    def never(self) -> bool:
        """Whether no server can be among these."""
        return self.expr is None and not self.always


NEVER, ALWAYS, LOST = Side(), Side(always=True), Side(exact=False)


class Truth(NamedTuple):
    """For which servers a condition is true and for which it is false."""

    true: Side
    false: Side
    #: 1 where it is true and 0 where it is false, where that is simpler than the two sides.
    bits: Expr | None = None


class Known(NamedTuple):
    """A value that is the same for every server of an engine: a number, text, list or version."""

    value: Any


class Missing(NamedTuple):
    """What metrics do not tell (``exact``), or what PromQL cannot work out from them; ``why`` says it to people."""

    exact: bool
    why: str = ""


def both(left: Side, right: Side) -> Side:
    """Return the servers on both sides."""
    if (left.never and left.exact) or (right.never and right.exact):
        return NEVER
    exact = left.exact and right.exact
    if left.never or right.never:
        return LOST
    if left.always or right.always:
        one = right if left.always else left
        return one._replace(exact=exact)
    if left.but and not right.but:
        left, right = right, left
    assert left.expr and right.expr
    if right.but:
        return Side(join("unless", left.expr, right.but), exact=exact)
    return Side(left.expr if left.expr == right.expr else join("and", left.expr, right.expr), exact=exact)


def either(left: Side, right: Side) -> Side:
    """Return the servers on one of the sides."""
    if left.always or right.always:
        return ALWAYS
    exact = left.exact and right.exact
    if left.never or right.never:
        return (right if left.never else left)._replace(exact=exact)
    assert left.expr and right.expr
    return Side(left.expr if left.expr == right.expr else join("or", left.expr, right.expr), exact=exact)


def without(left: Side, right: Side, universe: Expr, matching: str = "") -> Side:
    """Return the servers on the left that are not on the right; what is on the right must be known in full."""
    if right.always:
        return NEVER
    if not right.exact:
        return LOST
    if left.never or right.never:
        return left
    assert right.expr
    out = Side(join("unless", left.expr or universe, right.expr, matching), exact=left.exact)
    return out._replace(but=right.expr) if left.always and not matching else out


def bits(truth: Truth, universe: Expr) -> Expr:
    """Return 1 for servers for which a condition is true, 0 for those for which it is false."""
    if truth.bits:
        return truth.bits
    yes, no = truth.true.expr, truth.false.expr
    if truth.true.but and no == truth.true.but:
        assert no
        return join("or", join("*", number(0), no), join("+", join("*", number(0), universe), number(1)))
    if truth.false.but and yes == truth.false.but:
        no = universe
    one = join("+", join("*", number(0), yes), number(1)) if yes else None
    other = join("*", number(0), no) if no else None
    return join("or", one, other) if one and other else one or other or universe
