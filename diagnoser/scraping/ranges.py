"""Asks a Prometheus server for the metrics that rules know, and makes pages of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from diagnoser.knowledge.metricref import key
from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Gathered, server_of
from diagnoser.scraping.address import Address
from diagnoser.scraping.fetch import Answer, FetchError
from diagnoser.scraping.queries import (
    GENERIC,
    batches,
    chunks,
    interval_of,
    probes,
    readable,
    selector,
    step_of,
    widened,
)
from diagnoser.scraping.world import World
from diagnoser.times import duration
from diagnoser.traces._matrix import Matrix, labels_of, points
from diagnoser.traces.base import Wanted

NAME = "prometheus-json"

#: The scrape interval is read off so many seconds before the end.
RECENT = 600

Get = Callable[[Address, str, str], Answer]


def gather(address: Address, get: Get, wanted: Wanted, world: World) -> Gathered:
    """Ask in few requests; what failed is a problem, and the rest counts."""
    asked = _Asked(address, get, wanted, world)
    try:
        asked.all()
    except FetchError as error:
        asked.problem(str(error))
    finally:
        world.tell("")
    return asked.given


class _Asked:
    """One Prometheus server while it is asked."""

    def __init__(self, address: Address, get: Get, wanted: Wanted, world: World) -> None:
        assert address.asking is not None
        self.given = Gathered(address.name, NAME)
        self._address, self._asking, self._get, self._wanted, self._world = address, address.asking, get, wanted, world
        self._matches = address.asking.matches or ("",)
        self._start, self._end = address.asking.span(world.now())

    def problem(self, text: str) -> None:
        problem = Problem(self.given.name, None, text)
        if problem not in self.given.problems:
            self.given.problems.append(problem)

    def all(self) -> None:
        """Names, then how many series and how often they are scraped, then the samples."""
        names = self._names()
        if not names:
            raise FetchError(Sentence("has no metric that rules know under these conditions at that time"))
        found = batches(names)
        series = sum(self._count(batch) for batch in found)
        probed = probes(names)
        interval = self._interval(probed)
        step = step_of(self._end - self._start, interval, series, self._asking.step)
        if widened(self._end - self._start, series, self._asking.step or interval):
            self.problem(
                Sentence(
                    "{series} series: looked at every {step} only; a shorter time or narrower match= sees more",
                    series=series,
                    step=duration(step),
                )
            )
        parts = chunks(self._start, self._end, step)
        requests = [(match, *part) for match in self._matches for part in parts]
        matrix = Matrix(self._wanted)
        for at, batch in enumerate(found):
            try:
                for number, (match, start, end) in enumerate(requests, at * len(requests) + 1):
                    self._world.tell(f"query {number} of {len(found) * len(requests)}")
                    matrix.add(self._range(selector(batch, match), start, end, step))
            except FetchError as error:
                matrix.drop(batch)
                self.problem(
                    Sentence(
                        "{batch} and {count} more metrics: {error}", batch=batch[0], count=len(batch) - 1, error=error
                    )
                )
        times = self._times(probed, parts, step)
        self.given.pages = matrix.pages(self.given.name, self._address.server, times)
        self.given.lines = matrix.series
        for text, count in matrix.faults.items():
            self.problem(Sentence("{count} {of_them}", count=count, of_them=text))

    def _names(self) -> list[str]:
        names: set[str] = set()
        for match in self._matches:
            window = {"start": f"{self._start:.3f}", "end": f"{self._end:.3f}"}
            more = {"match[]": selector((), match)} if match else {}
            found = self._ask("label/__name__/values", {**more, **window})
            names |= set(readable(found if isinstance(found, list) else ()))
        # Every program has these: without conditions they would be those of the whole fleet.
        generic = () if self._asking.matches else GENERIC
        return sorted(name for name in names if self._wanted(key(name)) and not name.startswith(generic))

    def _count(self, batch: Sequence[str]) -> int:
        """Count series at the end and in the middle: servers come and go."""
        most = 0
        for moment in (self._end, (self._start + self._end) / 2):
            counts = [self._instant(f"count({selector(batch, match)})", moment) for match in self._matches]
            most = max(most, sum(int(value) for found in counts for one in found for _, value, _ in points(one)))
        return most

    def _interval(self, probed: Sequence[str]) -> float | None:
        """Return how often the servers are scraped, from raw samples of the last minutes of the time asked for."""
        times: list[list[float]] = []
        for match in self._matches:
            for name in probed:
                found = self._instant(f"{selector([name], match)}[{RECENT}s]", self._end)
                times += [[moment for moment, _, _ in points(one)] for one in found]
        return interval_of(times)

    def _times(
        self, probed: Sequence[str], parts: Sequence[tuple[float, float]], step: float
    ) -> Mapping[str, Mapping[float, float]]:
        """Ask when the samples were scraped that stand at each moment: rates are growth over true times."""
        out: dict[str, dict[float, float]] = {}
        for match in self._matches:
            for name in probed:
                for start, end in parts:
                    query = f"max by (pod, instance, replica) (timestamp({selector([name], match)}))"
                    try:
                        found = self._range(query, start, end, step)
                    except FetchError as error:
                        self.problem(Sentence("times of scrapes are not known exactly: {error}", error=error))
                        return {}
                    for one in found:
                        moments = out.setdefault(server_of(labels_of(one) or {}), {})
                        for moment, when, _ in points(one):
                            moments.setdefault(moment, when)
        return out

    def _range(self, query: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        window = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return _series(self._ask("query_range", {"query": query, **window}))

    def _instant(self, query: str, moment: float) -> list[dict[str, Any]]:
        return _series(self._ask("query", {"query": query, "time": f"{moment:.3f}"}))

    def _ask(self, path: str, words: Mapping[str, str]) -> Any:
        """Return the data of an answer. Raises FetchError with the server's own reason where it gives one."""
        target = f"{self._address.target}/api/v1/{path}?{urlencode(words)}"
        try:
            answer = self._get(self._address, target, "application/json")
        except FetchError as error:
            why = _document(error.body).get("error")
            raise FetchError(
                Sentence("the server answered: {value}", value=str(why)[:200]) if why else str(error)
            ) from None
        self.given.bytes += len(answer.body)
        document = _document(answer.body)
        if document.get("status") != "success":
            raise FetchError(Sentence("answers, but not as a Prometheus server does: is the path right?"))
        for warning in (document.get("warnings") or ())[:3]:
            self.problem(Sentence("the server warns: {value}", value=str(warning)[:200]))
        return document.get("data")


def _document(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _series(data: object) -> list[dict[str, Any]]:
    result = data.get("result") if isinstance(data, dict) else None
    return [one for one in result if isinstance(one, dict)] if isinstance(result, list) else []
