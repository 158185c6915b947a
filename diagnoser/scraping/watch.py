"""Scrapes of live metrics endpoints: all of them at once, again and again, each answer a page of evidence."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from math import floor

from diagnoser.language import Sentence, phrase
from diagnoser.model import Problem
from diagnoser.observations import Gathered, Page
from diagnoser.options import UsageError
from diagnoser.scraping.address import Address
from diagnoser.scraping.answers import no_page
from diagnoser.scraping.fetch import Answer, FetchError
from diagnoser.scraping.world import World
from diagnoser.sources import Source
from diagnoser.sources.part import Part
from diagnoser.times import duration
from diagnoser.traces import prometheus
from diagnoser.traces.base import Wanted
from diagnoser.values import dataclass, field

#: What is asked for: the text format, in which every engine answers.
ACCEPT = "text/plain;version=0.0.4"

#: Two scrapes so far apart are taken where nobody says how long: one has no rates.
APART = 10.0
#: Scrapes of one command at most.
MOST = 2000
#: A clock that went this much further, or less far, than time did was set, seconds.
JUMP = 2.0
#: An endpoint that was too slow so many times in a row holds up the others no longer.
PATIENCE = 2
#: Samples that are kept of one endpoint: a server has some hundreds that rules know.
SAMPLES = 500_000
#: Faulty lines that are told of one endpoint.
TOLD = 3

Get = Callable[[Address, str, str], Answer]


@dataclass(slots=True, frozen=True)
class Timing:
    """How many scrapes, and how far apart in seconds."""

    scrapes: int
    every: float


def timing(length: float | None, every: float | None) -> Timing:
    """Return the timing that ``--for`` and ``--every`` ask for. Raises UsageError."""
    if length is None:
        return Timing(2, every or APART)
    # A minute every 5 s; what takes longer is looked at about a hundred times.
    every = every or min(max(5.0, length / 120), max(length, 1.0))
    scrapes = floor(length / every + 1e-9) + 1
    if scrapes > MOST:
        told = f"--for {duration(length)} --every {duration(every)} would be {scrapes:,} scrapes"
        raise UsageError(f"{told}; at most {MOST:,} are taken: choose a longer --every")
    return Timing(max(scrapes, 1), every)


@dataclass(slots=True)
class _Watched:
    """One endpoint as its scrapes pile up."""

    address: Address
    server: str
    given: Gathered
    failures: dict[str, int] = field(default_factory=dict)
    tried: int = 0
    late: int = 0
    stamp: float | None = None
    samples: int = 0

    @property
    def given_up(self) -> bool:
        return self.late >= PATIENCE or self.samples > SAMPLES


def watch(
    addresses: Sequence[Address], get: Get, plan: Timing, limit: float, wanted: Wanted, world: World
) -> list[Gathered]:
    """Scrape; what failed is a problem of its endpoint. ``limit`` is the longest that one answer may take, seconds.

    Ends early when the first round brings nothing at all. An interrupt ends it too and loses nothing; it is raised
    again when there is nothing yet.
    """
    servers = [one.server for one in addresses]
    # Two pages of one host and port are of two writers: each is scraped on its own.
    watched = [
        _Watched(one, one.server if servers.count(one.server) == 1 else one.name, Gathered(one.name, prometheus.NAME))
        for one in addresses
    ]
    clock = _Clock(world)
    rounds = 0
    try:
        for at in range(plan.scrapes):
            late = clock.passed() - at * plan.every
            if late > plan.every and at < plan.scrapes - 1:
                continue  # the round before took longer than the time between two
            if late < 0:
                world.wait(-late)
            world.tell(f"scrape {at + 1} of {plan.scrapes}")
            rounds += 1
            _round(watched, get, limit, wanted, world, clock)
            if not any(one.given.pages for one in watched) or all(one.given_up for one in watched):
                break
    except KeyboardInterrupt:
        if not any(one.given.pages for one in watched):
            raise
        rounds = plan.scrapes  # those that are missing have a reason that is told
        for one in watched:
            _tell(
                one,
                Sentence(
                    "interrupted after {count} of {scrapes} scrapes", count=len(one.given.pages), scrapes=plan.scrapes
                ),
            )
    finally:
        world.tell("")
    for one in watched:
        _conclude(one, clock, rounds, plan)
    return [one.given for one in watched]


class _Clock:
    """Times of scrapes: the clock at the first one and what has passed since, so that nobody can set it back."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._began, self._passed = world.now(), world.passed()
        self._drift = 0.0
        self.jumps: list[float] = []

    def passed(self) -> float:
        return self._world.passed() - self._passed

    def at(self, passed: float) -> float:
        return self._began + passed

    def check(self) -> None:
        """Note whether somebody set the clock since the last look."""
        drift = self._world.now() - self._began - self.passed()
        if abs(drift - self._drift) > JUMP:
            self.jumps.append(drift - self._drift)
        self._drift = drift


def _round(watched: Sequence[_Watched], get: Get, limit: float, wanted: Wanted, world: World, clock: _Clock) -> None:
    asked = [one for one in watched if not one.given_up]

    def job(address: Address) -> tuple[float, Answer | FetchError]:
        began = clock.passed()
        try:
            return began, get(address, address.target, ACCEPT)
        except FetchError as error:
            return began, error

    answers = world.together([lambda one=one: job(one.address) for one in asked], limit)  # type: ignore[misc]
    clock.check()
    for one, answer in zip(asked, answers, strict=True):
        one.tried += 1
        began, body = answer or (0.0, FetchError(Sentence("no answer within {limit} s", limit=f"{limit:g}"), late=True))
        if isinstance(body, FetchError):
            one.late = one.late + 1 if body.late else 0
            one.failures[body.text] = one.failures.get(body.text, 0) + 1
        else:
            one.late = 0
            _take(one, body, clock.at(began), wanted)


def _take(one: _Watched, answer: Answer, when: float, wanted: Wanted) -> None:
    """Turn an answer into a page: half of one is none, for what it lacks would look like growth later on."""
    source = Source([Part(one.address.name, stream=io.BytesIO(answer.body))])
    why = no_page(source, answer)
    if why:
        one.failures[why] = one.failures.get(why, 0) + 1
        return
    pages: list[Page] = []
    for given in prometheus.read(source, wanted):
        if isinstance(given, Page):
            pages.append(given)
        elif isinstance(given, Problem) and len(one.given.problems) < TOLD:
            one.given.problems.append(given)
    one.given.lines += source.lines
    one.given.bytes += source.bytes
    one.given.problems += [problem for problem in source.problems if problem not in one.given.problems]
    if not pages:
        why = Sentence("a page without samples")
        one.failures[why] = one.failures.get(why, 0) + 1
        return
    page = pages[0]
    if len(pages) > 1:
        _tell(one, Sentence("the page repeats its samples; the first of each were taken"))
    one.samples += sum(map(len, page.samples.values()))
    if one.given_up:
        _tell(one, Sentence("more than {samples} samples; the rest was not kept", samples=SAMPLES))
        return
    # A page that is passed on (federation) has times of its own: the same ones again are the same scrape.
    stamp, page.time = page.time, when if page.time is None else page.time
    if stamp is None or stamp != one.stamp:
        page.server = one.server
        one.given.pages.append(page)
    one.stamp = stamp


_SLOW = phrase("answers were slow: {rounds} of {scrapes} scrapes were taken")
_BACK = phrase(
    "the clock of this machine was set back by {jump} between scrapes; times are counted on from the first scrape"
)
_FORWARD = phrase(
    "the clock of this machine was set forward by {jump} between scrapes; times are counted on from the first scrape"
)


def _tell(one: _Watched, text: str) -> None:
    problem = Problem(one.address.name, None, text)
    if problem not in one.given.problems:
        one.given.problems.append(problem)


def _conclude(one: _Watched, clock: _Clock, rounds: int, plan: Timing) -> None:
    for text, count in one.failures.items():
        some = Sentence("{count} of {tried} scrapes failed: {text}", count=count, tried=one.tried, text=text)
        _tell(one, some if one.given.pages else text)
    if one.late >= PATIENCE and one.given.pages:
        _tell(one, Sentence("given up after {patience} scrapes without an answer in time", patience=PATIENCE))
    if rounds < plan.scrapes and one.given.pages and not one.given_up:
        _tell(one, Sentence(_SLOW, rounds=rounds, scrapes=plan.scrapes))
    for jump in clock.jumps if one.given.pages else ():
        way = _BACK if jump < 0 else _FORWARD
        _tell(one, Sentence(way, jump=duration(abs(jump))))
