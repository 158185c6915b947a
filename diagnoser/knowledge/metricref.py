"""References to metrics as ``series.yaml`` and ``facts.yaml`` write them: which sample lines make a number, and how.

```
NAME                        the value; a count takes what the counter grew by, a spread the histogram of that name
NAME{label="a", other!="b"} only these label sets; added up
NAME{label=~"5.."}          a regular expression for the whole text of the label
rate(NAME)                  growth of a counter per second
valid(NAME)                 the value where it is not negative: -1 stands for "off"
positive(NAME)              the value where it is above zero: what reads 0 while its feature is off is not measured then
NAME / OTHER                a share: of what two counters grew by, or of two levels
NAME + OTHER                added up, in any of these places
NAME * 0.001                in another unit
NAME & 0x40                 1 where one of these bits is set, 0 where none is
NAME[label]                 the text of a label (facts only)
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from diagnoser.patterns import lazily

_NAME = r"[A-Za-z_:][A-Za-z0-9_:.]*"
_MATCH = lazily(r'\s*([A-Za-z_]\w*)\s*(=~|!=|=)\s*"([^"]*)"\s*(?:,|\Z)')
_TERM = lazily(rf"({_NAME})\s*(?:\{{(.*)\}})?\s*(?:\[(\w+)\])?\Z")
_SCALE = lazily(r"(.*)\s\*\s([\d.eE+-]+)\Z")
_FORM = lazily(r"(rate|positive|valid)\((.*)\)\Z")
_BITS = lazily(r"(.*)\s&\s(0x[0-9A-Fa-f]+|\d+)\Z")

#: Ends of the names of counters; a metric whose page says so is one too.
COUNTERS = ("_total", "_sum", "_count", "_bucket")


class MetricRefError(ValueError):
    """A reference that nobody can read; the text says what was expected."""


class Term(NamedTuple):
    """One metric with its label conditions: (label, operator, text)."""

    name: str
    where: tuple[tuple[str, str, str], ...] = ()
    label: str = ""

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether a sample with these labels is meant."""
        return all(_holds(labels.get(name, ""), operator, text) for name, operator, text in self.where)


def _holds(value: str, operator: str, text: str) -> bool:
    if operator == "=~":
        return re.fullmatch(text, value) is not None
    return (value == text) is (operator == "=")


class MetricRef(NamedTuple):
    """A parsed reference: ``over`` is empty unless it is a share; ``form`` is "", "rate", "positive" or "valid".

    ``bits`` is 0 unless the value is a mask of which some bits are asked for.
    """

    terms: tuple[Term, ...]
    over: tuple[Term, ...] = ()
    form: str = ""
    scale: float = 1.0
    bits: int = 0


def key(name: str) -> str:
    """Return a metric's name as agents spell it: some write ``_`` for ``:``, Ray puts its own name before it."""
    return name.replace(":", "_").removeprefix("ray_")


@lru_cache(maxsize=2048)
def parse_ref(text: str) -> MetricRef:
    """Parse a reference. Raises MetricRefError."""
    body, scale, bits = text.strip(), 1.0, 0
    if found := _BITS.match(body):
        body, bits = found[1].strip(), int(found[2], 0)
    if found := _SCALE.match(body):
        try:
            body, scale = found[1].strip(), float(found[2])
        except ValueError:
            raise MetricRefError(f"a number belongs after '*' in {text!r}") from None
    form = _FORM.match(body)
    if form:
        body = form[2]
    left, slash, right = body.partition(" / ")
    over = _terms(right, text) if slash else ()
    return MetricRef(_terms(left, text), over, form[1] if form else "", scale, bits)


def _terms(text: str, whole: str) -> tuple[Term, ...]:
    return tuple(_term(piece.strip(), whole) for piece in text.split(" + "))


def _term(text: str, whole: str) -> Term:
    found = _TERM.match(text)
    if not found:
        raise MetricRefError(
            f"expected the name of a metric, such as vllm:num_requests_running, not {text!r} in {whole!r}"
        )
    where, rest = [], found[2] or ""
    while rest.strip():
        condition = _MATCH.match(rest)
        if not condition:
            raise MetricRefError(f'expected label="text" between braces, not {rest!r} in {whole!r}')
        where.append((condition[1], condition[2], condition[3]))
        rest = rest[condition.end() :]
    return Term(found[1], tuple(where), found[3] or "")
