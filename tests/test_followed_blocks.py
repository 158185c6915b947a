"""A log that is followed: whether its lines are taken apart by the block or one by one, the evidence is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from longlogs import HEADS, WOVEN, knowledge, log, plain, woven

from benchmarks import inputs
from diagnoser.evidence import Collector
from diagnoser.following import Follower, intake
from diagnoser.following.cutter import Cutter
from diagnoser.gap import Gap
from diagnoser.options import Options
from diagnoser.skimming import cutter

#: Seconds of the log's clock that are judged: the logs here are longer, so that rows and events are forgotten.
WINDOW = 60.0


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a thousand lines is long here."""
    monkeypatch.setattr(cutter, "MANY", 1)


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each gap had."""
    counts: list[int] = []
    passed = Collector.pass_by

    def counted(self: Collector, gap: Gap, source: str) -> None:
        counts.append(gap.count)
        passed(self, gap, source)

    monkeypatch.setattr(Collector, "pass_by", counted)
    return counts


def told(data: bytes, seed: int, window: float | None = WINDOW) -> Iterator[Any]:
    """Follow a log that comes in pieces, now and then another file; yield what is known after each of them."""
    dice = random.Random(seed)
    now, at = 0.0, 0
    follower = Follower(knowledge(), Options(), window, lambda: now, lambda: 0.0)
    source = Cutter("a.log")
    follower.follow(source)
    collector = follower._collector
    while at < len(data):
        size = int(10 ** dice.uniform(1, 5.2))
        follower.feed("a.log", source.feed(data[at : at + size], now))
        at += size
        for _ in range(dice.choice((1, 1, 1, 8))):
            now += 0.2
            follower.idle()
            news = collector.news
            yield news.stale, news.told, news.urgent, dict(collector.held())
        if dice.random() < 0.2:
            yield plain(collector.look().runs)
        if dice.random() < 0.05:
            source.begin("rotated")
    follower.end()
    yield follower._inputs()
    yield plain(collector.finish())


def same(data: bytes, seed: int, monkeypatch: pytest.MonkeyPatch, window: float | None = WINDOW) -> None:
    """Compare both ways to read a log, step by step."""
    skimmed = list(told(data, seed, window))
    with monkeypatch.context() as patch:
        patch.setattr(intake, "MANY", len(data))
        read = list(told(data, seed, window))
    for step, (one, other) in enumerate(zip(skimmed, read, strict=True)):
        assert one == other, step


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", inputs.KINDS)
def test_skipping_changes_nothing(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    same(log(kind, seed, 1800, seed * 9), seed, monkeypatch, None if seed == 1 else WINDOW)


@pytest.mark.parametrize("how", WOVEN)
@pytest.mark.parametrize("kind", HEADS)
def test_nor_does_it_in_an_envelope_in_colour_or_from_windows(
    kind: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    same(woven(log(kind, 11, 1500, 12), how), 5, monkeypatch)


@pytest.mark.parametrize("kind", HEADS)
def test_most_of_a_busy_log_is_skipped(kind: str, skipped: list[int]) -> None:
    data = log(kind, 1, 3600, 0)
    steps = sum(1 for _ in told(data, 1))
    assert steps > 10
    assert sum(skipped) > 2000


@pytest.mark.parametrize("kind", HEADS)
def test_few_lines_at_once_are_read(kind: str, skipped: list[int]) -> None:
    follower = Follower(knowledge(), Options(), WINDOW, lambda: 0.0, lambda: 0.0)
    source = Cutter("a.log")
    follower.follow(source)
    lines = log(kind, 1, 1500, 0).splitlines(keepends=True)
    for at in range(0, len(lines), intake.MANY - 1):
        follower.feed("a.log", source.feed(b"".join(lines[at : at + intake.MANY - 1]), 0.0))
    assert follower.lines == len(lines) and not skipped


def test_lines_of_a_forgotten_writer_are_dropped() -> None:
    follower = Follower(knowledge(), Options(), WINDOW, lambda: 0.0, lambda: 0.0)
    follower._collector.pass_by(Gap("a.log", 1, 5, "pod"), "a.log")
    assert follower._collector.held()["runs"] == 0
