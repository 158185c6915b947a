"""vLLM's periodic statistics lines of every form, taken apart into printed label and number."""

from __future__ import annotations

from diagnoser.formats.base import StatsLine
from diagnoser.patterns import lazily
from diagnoser.tables.table import Group

_STATS = lazily(
    r"(?:Engine \d+: |\d+ Engines Aggregated: )?"
    r"(?:Avg prompt throughput: |Running: \d+ reqs, Waiting: |Spec(?:ulative|Decoding) metrics: |"
    r"Prefix cache hit rate: GPU: |(?:KV|EC) Transfer metrics: |DiffusionDecoding metrics: )"
)
_FIRST = frozenset("ERASPKD0123456789")
_ENGINE = lazily(r"Engine (\d+): ")
# "nan" and "inf" are left out on purpose: a field without a number is absent.
# Labels of any spelling: a field that a later version adds is kept too. One release forgot the comma before "GPU KV";
# of a list ("Per-position acceptance rate: 0.8, 0.7") no number is the field's.
_FIELD = lazily(r"(?:^|[,:;.] |reqs )(#?[A-Za-z][A-Za-z0-9 _/()#-]{0,60}): (-?\d+(?:\.\d+)?)(?![\d.]*, -?\d)(%?)")
_PAIR = lazily(r"(\w[\w ()/:.-]{0,80})=(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=[,;\s]|$)")
# V0 names the same quantities differently.
_SPEC_LABELS = {
    "Number of accepted tokens": "Accepted",
    "Number of draft tokens": "Drafted",
    # Printed so up to 0.5.2.
    "Number of draft tokens tokens": "Drafted",
    "Number of emitted tokens tokens": "Number of emitted tokens",
}
_HIT_RATE = "Prefix cache hit rate: "
# The longest real line has about 700 characters.
_LONGEST = 8192
_SWAP = "CPU KV cache usage"


def is_stats(text: str) -> bool:
    """Whether a message (without prefix) is a statistics line."""
    return text[:1] in _FIRST and _STATS.match(text) is not None


def _fields(text: str) -> dict[str, float]:
    values = {}
    for label, number, percent in _FIELD.findall(text):
        value = float(number)
        # A negative share is printed for a pool that keeps no rate.
        if value >= 0 or not percent:
            values[label] = value / 100 if percent else value
    return values


def stats(text: str, _ranks: Group = ()) -> StatsLine | None:
    """Numbers of a statistics line (a record's text); percentages become ratios; None for any other text.

    The line itself names the engine that it is about, whoever prints it.

    ``form``: "v0", "v1" (also the aggregated line), "spec" (speculation), "transfer" (KV or encoder cache connector).
    """
    if not is_stats(text):
        return None
    text = text[:_LONGEST]
    if text.startswith(_HIT_RATE):
        # "GPU: 89.94%, CPU: -1.00%": the label stands once in front of both.
        return StatsLine(
            (), {_HIT_RATE + label: value for label, value in _fields(text[len(_HIT_RATE) :]).items()}, "v0"
        )
    engine = _ENGINE.match(text)
    group = (("engine", engine.group(1)),) if engine is not None else ()
    start = engine.end() if engine is not None else 0
    if text.startswith("Spec", start):
        values = _fields(text)
        return StatsLine(group, {_SPEC_LABELS.get(label, label): value for label, value in values.items()}, "spec")
    if " Transfer metrics: " in text[:24]:
        pairs = _PAIR.findall(text.partition("metrics: ")[2])
        return StatsLine(group, {label: float(number) for label, number in pairs}, "transfer")
    values = _fields(text)
    if "Pending" in values:
        if _SWAP in values and "GPU KV cache usage" in values:
            values[_SWAP + " (swap)"] = values.pop(_SWAP)
        return StatsLine(group, values, "v0")
    return StatsLine(group, values, "v1")
