"""Metrics pages in Prometheus' text format and in OpenMetrics: one scrape a file, or several one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from diagnoser.knowledge.metricref import key
from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Exposed, Observation, Page
from diagnoser.sources import Source
from diagnoser.traces._moments import moment
from diagnoser.traces.base import Wanted

NAME = "prometheus"
ORDER = 10
KINDS = ("metrics",)
SAMPLES = [
    ('# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 3.0\n', 1),
    ('vllm:num_requests_running{engine="0"} 3\nvllm:num_requests_running{engine="0"} 4\n', 2),
    ("# 2026-11-29T10:00:00Z\nsglang:token_usage 0.5\n# EOF\nsglang:token_usage 0.6\n# EOF\n", 2),
]

_METRIC = re.compile(r"([A-Za-z_:][A-Za-z0-9_:.]*)[ \t{]")
_TYPE = re.compile(r"# TYPE ([A-Za-z_:][A-Za-z0-9_:.]*) counter\b")
#: Nearly all lines: no time, no quotes inside quotes, no blanks between labels.
_PAIR = r'[A-Za-z_]\w*="[^"\\]*"'
_PLAIN = re.compile(rf"[\w:]+(?:\{{((?:{_PAIR}(?:,{_PAIR})*,?)?)\}})?[ \t]+([-+0-9.eE]+|[-+]?Inf|NaN)\Z", re.ASCII)
#: Whose page it is, in the comment with its time.
_POD = re.compile(r"\bpod/([a-z0-9.-]{1,253}/[a-z0-9.-]{1,253})(?:\s|\Z)")
_LABEL = re.compile(r'(\w+)="([^"]*)"', re.ASCII)
_EXEMPLAR = re.compile(r"\s#\s\{.*\Z")
#: Stands above the samples of a metric, on pages that servers write.
_ABOVE = ("# HELP", "# TYPE", "# UNIT")

#: Longest sample line kept as proof, characters.
TEXT = 400
#: No level or counter of a server is larger: throttle reasons are bits of a number of 64, times may be nanoseconds.
MOST = 1e19
#: The end of the calendar, seconds since the epoch.
BEYOND = 253_402_300_800.0
#: Faulty lines that are told one by one.
TOLD = 3


def recognise(head: str) -> bool:
    """Whatever ``sources.kinds`` takes for metrics is."""
    return True


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one ``Page`` for each scrape, and a ``Problem`` for what is no sample line."""
    path = source.path
    modified = path.stat().st_mtime if path is not None and path.exists() else None
    reading = _Reading(source.name, moment(Path(source.name).name), modified, wanted)
    for name, number, raw in source.raw_lines():
        if (page := reading.take(name, number, raw.decode("utf-8", "replace").strip())) is not None:
            yield page
    if (page := reading.close(cut=source.unended or bool(source.problems))) is not None:
        yield page
    yield from reading.problems


class _Reading:
    """Pages of one input as they pile up: a sample that comes a second time begins the next scrape."""

    def __init__(self, source: str, named: float | None, modified: float | None, wanted: Wanted) -> None:
        self.problems: list[Problem] = []
        self._source, self._named, self._modified, self._wanted = source, named, modified, wanted
        self._faults = 0
        self._told: float | None = None
        self._server = ""
        #: What the input's first line is, "" before it, "whole" once nothing more depends on it.
        self._top = ""
        self._begin()

    def _begin(self) -> None:
        self._samples: dict[str, list[Exposed]] = {}
        self._seen: set[str] = set()
        self._counters: set[str] = set()
        self._stamp: float | None = None
        self._others = 0
        self._lines = 0
        self._lost = ""
        self._last: list[Exposed] = []

    def take(self, part: str, number: int, text: str) -> Page | None:
        """Take one line; return the page that it ends."""
        self._last = []
        if not text:
            return None
        if "\0" in text:
            self._lost = Sentence("has a hole")
        if self._top != "whole":
            self._see_top(text)
        if text.startswith("#"):
            return self._comment(text)
        found = _METRIC.match(text)
        if found is None:
            self._lines += 1
            self._fault(part, number, text)
            return None
        text = _EXEMPLAR.sub("", text) if "# {" in text else text
        identity = text[: text.rfind("}") + 1] or found[1]
        done = self.close() if identity in self._seen else None
        self._seen.add(identity)
        self._lines += 1
        name = found[1]
        if not self._wanted(key(name)):
            self._others += 1
            return done
        sample = _sample(text)
        if sample is None:
            self._fault(part, number, text)
            return done
        labels, value, stamp = sample
        self._stamp = stamp if stamp is not None else self._stamp
        if abs(value) <= MOST:  # NaN says that there is nothing to say, and so does what nobody can have counted
            self._last = self._samples.setdefault(key(name), [])
            self._last.append(Exposed(labels, value, number, text[:TEXT]))
        return done

    def _comment(self, text: str) -> Page | None:
        if text.startswith("# EOF"):
            return self.close()
        if (found := _TYPE.match(text)) is not None:
            self._counters.add(key(found[1]))
        elif not text.startswith(_ABOVE) and (when := moment(text)) is not None:
            done = self.close()
            self._told = when
            pod = _POD.search(text)
            self._server = pod[1] if pod is not None else ""
            return done
        return None

    def _see_top(self, text: str) -> None:
        """Find out whether the input begins in the middle of a page.

        It does when a sample stands before the first line of those that stand above samples, or when its first line
        alone is the rest of something; the head of an answer over HTTP has several lines.
        """
        sample = _METRIC.match(text) is not None and _sample(text) is not None
        if not self._top:
            self._top = "sample" if sample else "whole" if text.startswith("#") else "rest"
            return
        above = text.startswith(_ABOVE)
        if above or (sample and self._top == "rest"):
            self._lost = self._lost or Sentence("has no beginning")
        if above or not sample:
            self._top = "whole"

    def close(self, cut: bool = False) -> Page | None:
        """Return what was read since the last page; None when that is nothing.

        In a line that was ``cut``, and not a page's only one, the number may have had more digits.
        """
        if not self._seen:
            return None
        lost = self._lost
        if cut and self._lines > 1:
            del self._last[-1:]
            lost = Sentence("has no end")
        if lost:
            self.problems.append(
                Problem(self._source, None, Sentence("{lost}: taken for a page that was cut", lost=lost))
            )
        time = next((one for one in (self._stamp, self._told, self._named) if one is not None), None)
        page = Page(
            self._source,
            self._server,
            time,
            self._samples,
            frozenset(self._counters),
            self._modified,
            self._others,
            lost != "",
        )
        counters, told = self._counters, self._told
        self._begin()
        # Scrapes that were joined without their comments keep the types that the first one declared.
        self._counters, self._told, self._named = counters, None if told is not None else self._told, None
        return page

    def _fault(self, part: str, number: int, text: str) -> None:
        self._faults += 1
        if self._faults <= TOLD:
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            told = Sentence("expected a sample such as 'name{{label=\"x\"}} 1.0', not {shown}", shown=f"{shown!r}")
            self.problems.append(Problem(part, number, told))


def _sample(text: str) -> tuple[dict[str, str], float, float | None] | None:
    """Parse one sample line: labels, value, and the time in seconds where it has one; None when it is none."""
    if (plain := _PLAIN.match(text)) is not None:
        try:
            return dict(_LABEL.findall(plain[1] or "")), float(plain[2]), None
        except ValueError:
            return None
    # The library is loaded for what is not plain. It is fed line by line: one bad line must not cost the page.
    from prometheus_client.parser import text_string_to_metric_families

    try:
        for family in text_string_to_metric_families(text + "\n"):
            for one in family.samples:
                # The library takes the time for milliseconds, as Prometheus writes it; OpenMetrics writes seconds.
                stamp = None if one.timestamp is None else float(one.timestamp)
                if stamp is not None and stamp < 1e8:
                    stamp *= 1000
                if stamp is not None and not 0 < stamp < BEYOND:
                    stamp = None
                return dict(one.labels), float(one.value), stamp
    except (ValueError, IndexError, KeyError):
        pass
    return None
