"""Answers of a Prometheus server as scrapes: its series, transposed into one page per server and moment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnoser.knowledge.metricref import key
from diagnoser.language import Sentence
from diagnoser.observations import Exposed, Page, server_of
from diagnoser.traces.base import Wanted

#: Samples that are kept of one input.
MOST = 2_000_000
#: Longest text of a sample that is kept as proof, characters.
TEXT = 400

_SERIES = re.compile(r'"metric"\s*:\s*\{')
_BLANK = re.compile(r"[\s,\x1e]*")

#: The true time of the sample that stands at a moment, by server and moment.
Times = Mapping[str, Mapping[float, float]]


class Matrix:
    """Series as they pile up, of one answer or of several."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._pages: dict[str, dict[float, dict[str, list[Exposed]]]] = {}
        self.series = 0
        self.samples = 0
        self.others = 0
        #: What the series were that could not be used, and how many: told once each.
        self.faults: dict[str, int] = {}

    def add(self, result: object, lines: Sequence[int] = ()) -> None:
        """Take the ``result`` of an answer; ``lines`` has the line of each series, else they are counted."""
        for at, one in enumerate(result if isinstance(result, list) else []):
            labels = labels_of(one)
            if labels is None:
                self._fault(Sentence("series without labels"))
                continue
            self.series += 1
            self._series(labels, one, lines[at] if at < len(lines) else self.series)

    def drop(self, names: Sequence[str]) -> None:
        """Forget metrics that came in part only: half of a course would look like growth from zero."""
        gone = {key(name) for name in names}
        for moments in self._pages.values():
            for samples in moments.values():
                for name in gone & samples.keys():
                    del samples[name]

    def pages(self, source: str, server: str = "", times: Times | None = None) -> list[Page]:
        """Return the pages in order of time. Moments that show the same scrape as the one before are left out."""
        out: list[Page] = []
        for name, moments in self._pages.items():
            true, last = (times or {}).get(name, {}), None
            for moment in sorted(moments):
                when = true.get(moment, moment)
                if moments[moment] and when != last:
                    out.append(Page(source, name or server, when, moments[moment]))
                last = when
        return sorted(out, key=lambda page: page.time or 0.0)

    def _series(self, labels: dict[str, str], one: Mapping[str, Any], line: int) -> None:
        name = labels.pop("__name__", "")
        if not name:
            self._fault(Sentence("series without the name of a metric: save the metric itself, not a function of it"))
        elif not self._wanted(key(name)):
            self.others += 1
        elif "histogram" in one or "histograms" in one:
            self._fault(Sentence("native histograms, which are not read: classic ones (_bucket) are"))
        else:
            text = name + "{" + ", ".join(f'{label}="{value}"' for label, value in labels.items()) + "}"
            moments = self._pages.setdefault(server_of(labels), {})
            for moment, value, said in points(one):
                if self.samples >= MOST:
                    self._fault(
                        Sentence("series beyond {most} samples were passed over: choose a longer step", most=MOST)
                    )
                    return
                self.samples += 1
                exposed = Exposed(labels, value, line, f"{text[:TEXT]} {said}")
                moments.setdefault(moment, {}).setdefault(key(name), []).append(exposed)

    def _fault(self, text: str) -> None:
        self.faults[text] = self.faults.get(text, 0) + 1


def labels_of(one: object) -> dict[str, str] | None:
    """Return the labels of a series, None when it is none."""
    labels = one.get("metric") if isinstance(one, dict) else None
    return {str(name): str(text) for name, text in labels.items()} if isinstance(labels, dict) else None


def points(one: Mapping[str, Any]) -> Iterator[tuple[float, float, str]]:
    """Yield moment, number and text of each point; "NaN" says that there is nothing to say."""
    values = one.get("values")
    for point in values if isinstance(values, list) else [one.get("value")]:
        if not isinstance(point, list) or len(point) != 2:
            continue
        try:
            moment, value = float(point[0]), float(point[1])
        except (TypeError, ValueError, OverflowError):
            continue
        if value == value and abs(moment) < 1e11:
            yield moment, value, str(point[1])[:32]


def documents(text: str) -> Iterator[tuple[object, list[int]]]:
    """Yield each JSON document of a text, with the lines of its series. Raises ValueError where it ends too early."""
    decoder = json.JSONDecoder()
    at = _BLANK.match(text).end()  # type: ignore[union-attr]
    line, counted = 1, 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        lines = []
        for found in _SERIES.finditer(text, at, end):
            line += text.count("\n", counted, found.start())
            counted = found.start()
            lines.append(line)
        yield value, lines
        at = _BLANK.match(text, end).end()  # type: ignore[union-attr]


def results(value: object) -> Iterator[tuple[object, str]]:
    """Yield the series of each answer in a document, with "" or why there are none."""
    if isinstance(value, list) and any(isinstance(one, dict) and "metric" not in one for one in value):
        yield from map(_result, value)  # answers put together in one array
    elif isinstance(value, list):
        yield value, ""  # promtool query range -o json
    else:
        yield _result(value)


def _result(value: object) -> tuple[object, str]:
    if not isinstance(value, dict):
        return [], Sentence("no answer of a Prometheus server")
    if value.get("status") == "error":
        return [], Sentence("the server answered: {value}", value=str(value.get("error"))[:200])
    data = value.get("data", value)
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind not in ("matrix", "vector"):
        return [], Sentence("expected a matrix or a vector, not {kind}", kind=str(kind)[:40])
    return data.get("result"), ""
