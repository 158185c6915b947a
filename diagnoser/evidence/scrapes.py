"""Scrapes of one server in order: which pages belong together, when each was taken, what each counter grew by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath

from diagnoser.knowledge.metricref import COUNTERS
from diagnoser.observations import Exposed, Page, server_of
from diagnoser.patterns import lazily

#: Files that are copied or unpacked get times within one second of each other, which say nothing of their scrapes.
APART = 1.0

#: A page of a server that lasts has this share of counters that never fall at least; two servers' pages do not.
SAME = 0.98

_DIGITS = lazily(r"\d+")

Labels = frozenset[tuple[str, str]]


class Scrapes:
    """All pages of one server, oldest first. ``name`` is "" when there is only one server."""

    def __init__(self, name: str, pages: list[Page]) -> None:
        self.name = name
        self.pages = pages
        self._values = [_values(page) for page in pages]
        #: The page on which a label set was first there, and the first page that lacks nothing.
        self._first: dict[tuple[str, Labels], int] = {}
        self._whole = next((at for at, page in enumerate(pages) if not page.cut), len(pages))
        for at, values in enumerate(self._values):
            for name, samples in values.items():
                for labels in samples:
                    self._first.setdefault((name, labels), at)

    def grown(self, at: int, name: str) -> dict[Labels, tuple[float, Exposed]] | None:
        """Return what each label set of a counter grew by up to page ``at``; None where nothing tells.

        A value below the last one is a restart: the counter began anew at zero. A counter that was not there before has
        grown from zero, for servers expose counters when they first count; after a gap, or pages that were cut, nothing
        tells.
        """
        if at == 0 or name not in self._values[at] or not self._values[at - 1]:
            return None
        before, out = self._values[at - 1].get(name, {}), {}
        for labels, sample in self._values[at][name].items():
            last = before.get(labels)
            if last is None and (self._first[name, labels] < at or self._whole >= at):
                continue
            start = 0.0 if last is None or last.value > sample.value else last.value
            out[labels] = (sample.value - start, sample)
        return out

    def value(self, at: int, name: str) -> dict[Labels, Exposed] | None:
        """Return the samples of a metric on page ``at``, None when the page does not have it."""
        return self._values[at].get(name)


def by_server(pages: Sequence[Page]) -> list[Scrapes]:
    """Group pages by the server they were taken from and put each group in order of time."""
    families: dict[str, list[Page]] = {}
    for page in pages:
        for server, part in _split(page):
            families.setdefault(server or page.server or _family(page.source), []).append(part)
    # A page without a part tells some counters of an interval and not the others: no shares can be made of it.
    groups = [_ordered([page for page in group if not page.cut] or group) for group in families.values()]
    names = list(families)
    if len(groups) > 1 and all(len(group) == 1 and not group[0].server for group in groups):
        together = _rising([group[0] for group in groups])
        if together is not None:
            return [Scrapes("", together)]
    several = len(groups) > 1
    return [
        Scrapes(name if several or in_pod(group[0].server) else "", group)
        for name, group in zip(names, groups, strict=True)
    ]


def in_pod(server: str) -> bool:
    """Whether a server is named as a container of a pod, ``POD/CONTAINER``, and not by an address or a label."""
    return "/" in server and "://" not in server


def _split(page: Page) -> Iterator[tuple[str, Page]]:
    """Part a page that holds several servers; one that holds one is given back as it is."""
    names: dict[str, None] = {}
    for samples in page.samples.values():
        names |= dict.fromkeys(_server(sample) for sample in samples)
    if len(names) < 2:
        yield next(iter(names), ""), page
        return
    for name in names:
        kept = {metric: [one for one in found if _server(one) == name] for metric, found in page.samples.items()}
        own = {metric: found for metric, found in kept.items() if found}
        yield name, Page(page.source, page.server, page.time, own, page.counters, page.modified, page.others, page.cut)


def _server(sample: Exposed) -> str:
    return server_of(sample.labels)


def _family(source: str) -> str:
    """Return a file's name without what counts scrapes."""
    path = PurePath(source)
    stem = _DIGITS.sub("", path.name.split(".")[0]).strip("-_. T")
    return str(path.parent / stem)


def _ordered(pages: list[Page]) -> list[Page]:
    """Put pages in order of their times; without any, in that of the numbers in their names."""
    if all(page.time is not None for page in pages):
        return sorted(pages, key=lambda page: page.time or 0.0)
    ordered = sorted(pages, key=lambda page: _natural(page.source))
    changed = [page.modified for page in ordered]
    if all(page.time is None for page in ordered) and all(
        a is not None and b is not None and b - a >= APART for a, b in pairwise(changed)
    ):
        for page in ordered:
            page.time = page.modified
    return ordered


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(digits or 0), text) for text, digits in re.findall(r"(\D*)(\d*)", name)]


def _rising(pages: list[Page]) -> list[Page] | None:
    """Order single pages of different names so that counters rise; None when they are of different servers."""
    ordered = sorted(pages, key=_counted)
    starts = {sample.value for page in ordered for sample in page.samples.get("process_start_time_seconds", ())}
    if len(starts) > 1:
        return None
    rises = falls = 0
    for earlier, later in pairwise(map(_values, ordered)):
        shared = [name for name in later if name in earlier and name.endswith(COUNTERS)]
        for name in shared:
            # Label sets come when they are first counted, and never go.
            for labels, last in earlier[name].items():
                sample = later[name].get(labels)
                if sample is None or last.value > sample.value:
                    falls += 1
                else:
                    rises += 1
    return ordered if rises and rises >= SAME * (rises + falls) else None


def _counted(page: Page) -> float:
    """Add up every counter of a page: of two scrapes of one server the later has the larger sum."""
    return sum(sample.value for name, samples in page.samples.items() if name.endswith(COUNTERS) for sample in samples)


def _values(page: Page) -> dict[str, dict[Labels, Exposed]]:
    return {name: _lowest_ranks(samples) for name, samples in page.samples.items()}


def _lowest_ranks(samples: Iterable[Exposed]) -> dict[Labels, Exposed]:
    """Keep one of the ranks that hold the same state: tensor and pipeline ranks of a scheduler all tell the same."""
    chosen: dict[Labels, tuple[tuple[int, ...], Exposed]] = {}
    for sample in samples:
        ranks = tuple(int(text) if (text := sample.labels.get(name, "0")).isdigit() else 0 for name in _ALIKE)
        labels = frozenset((name, text) for name, text in sample.labels.items() if name not in _ALIKE)
        if labels not in chosen or ranks < chosen[labels][0]:
            chosen[labels] = (ranks, sample)
    return {labels: sample for labels, (_, sample) in chosen.items()}


_ALIKE = ("tp_rank", "pp_rank", "moe_ep_rank", "pid")
