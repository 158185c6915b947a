"""Inputs that go on, judged again and again: when to look, at what cost, and what has changed since."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from diagnoser.api import Session
from diagnoser.contracts.findings import Input, Report
from diagnoser.evidence.collect import MOST_STREAMS
from diagnoser.evidence.standing import Life, Seen, Standing
from diagnoser.following.changes import HOLD, Change, Tracker
from diagnoser.following.cutter import Cutter, Raw
from diagnoser.following.intake import Intake
from diagnoser.gap import Gap
from diagnoser.judging.judge import Judgement
from diagnoser.judging.loading import Knowledge
from diagnoser.knowledge.stats_labels import known_labels
from diagnoser.language import Sentence
from diagnoser.model import Record
from diagnoser.observations import Page
from diagnoser.options import Options
from diagnoser.rules.evaluating.fields import evaluate_fields
from diagnoser.session.reading import Readers, read_trace
from diagnoser.sources import Source
from diagnoser.times import stamp
from diagnoser.values import dataclass


@dataclass(slots=True, frozen=True)
class Pace:
    """How often the evidence is judged.

    After something was said for the first time: ``quick`` seconds after the last look. After anything that rules ask
    for, such as a statistics line: when all looks together take no more than a ``share`` of the time; what is not
    used is saved up for ``saved`` seconds of looking. After anything else: every ``seldom`` seconds.
    """

    quick: float = 0.5
    share: float = 0.01
    saved: float = 0.2
    seldom: float = 30.0


class Follower:
    """Everything between lines that come and findings that change.

    ``passed`` tells seconds on a clock that nobody sets, ``spent`` those that this process computed. ``window`` is how
    much of the log is judged, in seconds of the log's own clock; None judges all of it.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        options: Options,
        window: float | None,
        passed: Callable[[], float],
        spent: Callable[[], float],
        pace: Pace = Pace(),  # noqa: B008 - frozen
        hold: float = HOLD,
    ) -> None:
        self.report: Report | None = None
        self.lines = 0
        self.log_time: str | None = None
        self._knowledge = knowledge
        self._options = options
        self._passed, self._spent = passed, spent
        self._pace = pace
        self._collector = Standing(
            knowledge.vocabulary,
            knowledge.matcher,
            Readers(),
            evaluate_fields,
            options.engine or "",
            knowledge.catalog.dest,
            known=partial(known_labels, knowledge.catalog),
            window=window,
        )
        self._tracker = Tracker(hold)
        self._intakes: dict[str, Intake] = {}
        self._beside: list[Input] = []
        self._scraped: dict[str, Input] = {}
        self._looked: float | None = None
        self._judgements: list[Judgement] = []
        self._cost = self._credit = 0.0
        self._costs: deque[float] = deque(maxlen=3)

    @property
    def wanted(self) -> Callable[[str], bool]:
        """Whether a metric of a name is of use."""
        return self._collector.beside.wanted

    def follow(self, cutter: Cutter) -> None:
        """Begin with one more input that goes on."""
        serving = partial(self._collector.serving, cutter.name)
        self._intakes[cutter.name] = Intake(cutter, serving, self._collector.meaning)

    def read(self, source: Source) -> None:
        """Read an input that is no log to its end."""
        self._beside.append(read_trace(source, self._collector))

    def feed(self, name: str, raw: Sequence[Raw]) -> None:
        """Take lines of one input."""
        now = self._collector.clock = self._passed()
        self.lines += len(raw)
        self._add(name, self._intakes[name].take(raw, now))

    def scraped(self, one: Input, pages: Sequence[Page]) -> None:
        """Take what an address gave; ``one`` says what it gave so far."""
        self._scraped[one.name] = one
        for page in pages:
            self._collector.observe(page, one.name)

    def idle(self) -> None:
        """Complete what has waited long enough. To be called several times a second."""
        now = self._collector.clock = self._passed()
        for name, intake in self._intakes.items():
            self._add(name, intake.idle(now))
        self._collector.heed()

    def due(self) -> bool:
        """Whether it is time to look again: something came, and the last look was long enough ago."""
        news, pace, now = self._collector.news, self._pace, self._passed()
        if not news.stale:
            return False
        if self._looked is None:
            return True
        since = now - self._looked
        saved = self._credit + since * self._share
        if news.urgent:
            # Costly looks, of hundreds of servers, are made less often even then.
            return since >= max(pace.quick, 15 * self._cost)
        if news.told:
            return since >= pace.quick and saved >= self._cost
        return since >= pace.seldom

    def look(self) -> list[Change]:
        """Judge what the window holds and return what has changed."""
        began, spent = self._passed(), self._spent()
        seen = self._collector.look()
        report = self._judge(seen)
        self.report = report
        timed = [run for run in seen.runs if run.ended is not None]
        newest = max(timed, key=lambda run: run.ended or 0.0, default=None)
        self.log_time = stamp(newest.ended, newest.time_known) if newest is not None else None
        lives = {run.id: life for run, life in zip(seen.runs, seen.lives, strict=True)}
        servers = {run.id: run.stream or next(iter(run.sources), "") for run in report.runs}
        here: list[Life] = [life for life in lives.values() if life is not None]
        changes = self._tracker.look(report.findings, lives, servers, here, self.log_time, began)
        self._charge(began, self._spent() - spent)
        return changes

    def open(self) -> list[Change]:
        """Return the findings that are open, in order of rank."""
        return self._tracker.open()

    def end(self) -> None:
        """Take everything that still waits: nothing more comes."""
        now = self._collector.clock = self._passed()
        for name, intake in self._intakes.items():
            self._add(name, intake.end(now))
        self._collector.heed()

    def finish(self) -> Report:
        """Return the report over everything that the window holds, ended lifetimes too. To be called once, last."""
        before = self._collector.first_lives()
        runs = self._collector.finish()
        return Session.of(runs, self._inputs(), self._options, self._knowledge, before).report

    @property
    def _share(self) -> float:
        """The share of time for looks: metrics pages cost more than lines, and come every few seconds."""
        return self._pace.share * (2 if self._scraped else 1)

    def _charge(self, began: float, spent: float) -> None:
        """Take note of what a look has cost. The first of a kind compiles expressions and tells nothing of the next."""
        self._costs.append(spent)
        # The middle of the last three: one may be far off either way.
        self._cost = sorted(self._costs)[(len(self._costs) - 1) // 2] if len(self._costs) > 1 else 0.0
        earned = (began - self._looked) * self._share if self._looked is not None else self._pace.saved
        self._credit = max(min(self._credit + earned, self._pace.saved) - self._cost, -self._cost)
        self._looked = self._passed()

    def _judge(self, seen: Seen) -> Report:
        session = Session.of(seen.runs, self._inputs(), self._options, self._knowledge, seen.restarts, self._judgements)
        self._judgements = session.judgements
        return session.report

    def _inputs(self) -> list[Input]:
        told = [intake.told() for intake in self._intakes.values()]
        if told and self._collector.passed_over:
            told[0].problems.append(
                Sentence(
                    "{passed_over} records of more than {most_streams} writers were passed over",
                    passed_over=self._collector.passed_over,
                    most_streams=MOST_STREAMS,
                )
            )
        self._knowledge.matcher.overdue.tell(told)
        return [*told, *self._beside, *self._scraped.values()]

    def _add(self, name: str, records: Iterable[Record | Gap]) -> None:
        add, pass_by = self._collector.add, self._collector.pass_by
        for record in records:
            if isinstance(record, Gap):
                pass_by(record, name)
            else:
                add(record, name)
