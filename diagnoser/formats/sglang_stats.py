"""SGLang's Prefill/Decode batch lines taken apart, in every spelling from 0.1.26 to 0.5.23.

Labels stay as printed (they are what rules/series.yaml lists), with three exceptions that remove an ambiguity:
``<device> graph`` becomes "cuda graph" on decode lines and "cuda graph (prefill)" on prefill lines, where False is
normal ("cpu graph" stays: a CPU build has no graphs to lose); ``#prealloc-req`` of a prefill line, which counts
something else than on a decode line, gets the suffix " (prefill)". Percentages become ratios, True/False 1.0/0.0.
"""

from __future__ import annotations

from diagnoser.formats.base import StatsLine
from diagnoser.patterns import lazily
from diagnoser.tables.table import Group

_NUMBER = lazily(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(%)?[,.)]?\s*$")
_FLAGS = {"True": 1.0, "False": 0.0}
_AFTER_PREFILL = (". ", ", ", " [", "(m", ".", ",")
_AFTER_DECODE = (". ", ", ", " [", ".", ",")


def is_stats(text: str) -> bool:
    """Tell whether a message (without prefix) is a batch line, by its first words only."""
    if text.startswith("Decode batch"):
        return text.startswith(_AFTER_DECODE, 12)
    return text.startswith("Prefill batch") and text.startswith(_AFTER_PREFILL, 13)


def stats(text: str, ranks: Group = ()) -> StatsLine | None:
    """Read label to number off a batch line; None when it is none or holds no field.

    The group is the data-parallel rank: tensor ranks of one replica work on the same requests.
    """
    if text.startswith("Decode batch"):
        form, start = "decode", text.find("#", 12)
    elif text.startswith("Prefill batch"):
        form, start = "prefill", text.find("#", 13)
    else:
        return None
    if start < 0:
        return None
    end = text.find("\n", start)  # a record may have taken in stray lines that follow it
    fields = text[start:] if end < 0 else text[start:end]
    if "). " in fields:  # Prefill batch(mixed #running-req: 4). #new-seq: ...
        fields = fields.replace("). ", ", ")
    values: dict[str, float] = {}
    for field in fields.split(", "):
        label, _, number = field.partition(": ")
        if "" < number < ":":  # begins with a digit or a sign, as no word does
            try:
                values[label] = float(number)
            except ValueError:
                _percentage(label, number, values)
        elif number:
            word = number.rstrip(" ,")
            if word in _FLAGS:  # "inf" and "nan" are left out: they would spoil every mean
                values[_graph(label, form)] = _FLAGS[word]
    if form == "prefill" and "#prealloc-req" in values:
        values["#prealloc-req (prefill)"] = values.pop("#prealloc-req")
    if not values:
        return None
    return StatsLine(_replica(ranks) if ranks else (), values, form)


def _percentage(label: str, number: str, values: dict[str, float]) -> None:
    """Store '12.34%' as a ratio, in a line whose other text ``float`` refused; what is no number is left out."""
    match = _NUMBER.match(number)
    if match:
        values[label] = float(match.group(1)) / (100 if match.group(2) else 1)


def _graph(label: str, form: str) -> str:
    """Return the label of a flag: graphs of every device share one; a CPU build has none to lose and keeps its own."""
    if label.endswith(" graph") and label != "cpu graph":
        return "cuda graph" if form == "decode" else "cuda graph (prefill)"
    return label


def _replica(ranks: Group) -> Group:
    for pair in ranks:
        if pair[0] == "dp":
            return (pair,)
    return ()
