"""Figures that cannot be: a share above one, a count below zero. A damaged line proves nothing; it is told.

What each series can be stands in ``series.yaml`` (``range``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from diagnoser.evidence.drift import EXCERPT, MOST, SAID
from diagnoser.evidence.drift import TEXT as KEPT
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.model import Drift, Run
from diagnoser.tables.table import NAN, Origin

#: What was left out, by series: the first line, and how many there were.
Odd = MutableMapping[str, Drift]


class Possible:
    """Leaves out what cannot be, and notes the first line of each series."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._series: Mapping[str, Series] = vocabulary.series
        self._bounds = {name: (one.low, one.high) for name, one in vocabulary.series.items()}

    def row(self, values: dict[str, float], origin: Origin, text: str, odd: Odd) -> dict[str, float]:
        """Return a row without what cannot be: the row itself nearly always."""
        bounds = self._bounds
        for name, value in values.items():
            bound = bounds.get(name)
            if bound is not None and not bound[0] <= value <= bound[1] and value == value:
                break
        else:
            return values
        kept = {}
        for name, value in values.items():
            if self.holds(name, value):
                kept[name] = value
            else:
                self.note(odd, name, value, origin, text)
        return kept

    def holds(self, name: str, value: float) -> bool:
        """Whether a series can have a value; what is no number is absent and holds."""
        low, high = self._bounds.get(name, (value, value))
        return low <= value <= high or value != value

    def column(self, name: str, values: Any, line: Callable[[int], tuple[Origin, str]], odd: Odd) -> Any:
        """Return a column of numpy without what cannot be; ``line`` tells where a row of it stands."""
        low, high = self._bounds.get(name, (-math.inf, math.inf))
        if not len(values) or (low <= values.min() and values.max() <= high):
            return values
        wrong = (values < low) | (values > high)
        if not wrong.any():
            return values
        kept = values.copy()
        for row in wrong.nonzero()[0].tolist():
            self.note(odd, name, float(values[row]), *line(row))
            kept[row] = NAN
        return kept

    def note(self, odd: Odd, name: str, value: float, origin: Origin, text: str) -> None:
        """Note one figure that was left out."""
        kept = odd.get(name)
        if kept is not None:
            kept.count += 1
        elif len(odd) < MOST:
            series = self._series[name]
            shown = f"{value * 100:g} %" if series.unit == "ratio" else f"{value:g}"
            odd[name] = Drift(f"{series.title} {shown}", origin, text[:KEPT])


def sentences(run: Run, say: Say = ENGLISH) -> list[str]:
    """Return what a report says of a run's figures that cannot be."""
    said = []
    whole = say("left out: a figure that cannot be, '{figure}' ({times}, {place}): {line}")
    for one in list(run.odd.values())[:SAID]:
        times = say("once") if one.count == 1 else say("{count} times").format(count=one.count)
        line = one.text[:EXCERPT] + ("..." if len(one.text) > EXCERPT else "")
        place = f"{one.origin.source}:{one.origin.line}"
        said.append(whole.format(figure=one.label, times=times, place=place, line=line))
    return said
