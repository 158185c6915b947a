"""Evidence of a log that never ends: a window of it is kept, and runs can be looked at while they go on.

What a launch said is kept as long as its run lives; what happened since is kept for the length of the window. A run
that died keeps what it died of, until the next one begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.evidence.bygone import Bygone
from diagnoser.evidence.collect import Collector
from diagnoser.evidence.lifetime import Lifetime
from diagnoser.evidence.news import News
from diagnoser.evidence.shares import Shares
from diagnoser.gap import Gap
from diagnoser.language import phrase
from diagnoser.model import Record, Run
from diagnoser.times import duration
from diagnoser.values import dataclass, replace

#: Lifetimes that are over and still kept for the report at the end.
MOST_PAST = 64
#: Writers that have been silent for so many windows are forgotten when there are others.
SILENT = 2
#: Metrics pages kept of one address: all of them are read again in every look. Older ones are farther apart.
MOST_PAGES = 48
#: Pieces that a window is dropped in.
PIECES = 16

#: A lifetime by name: input and stream, and how many came before it.
Life = tuple[str, int]


@dataclass(slots=True)
class Seen:
    """Runs as they are at one moment; one that has not changed since the last is the same object.

    ``lives`` names the lifetime of each (None: a server without a log).
    """

    runs: list[Run]
    lives: list[Life | None]
    restarts: dict[tuple[str, ...], int]


class Standing(Collector):
    """A collector that is looked at again and again. ``window`` is in seconds of the log's clock; None keeps all.

    ``clock`` is what the caller says has passed, ``news`` what came since the last look.
    """

    def __init__(self, *args: Any, window: float | None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.window = window
        self.news = News()
        self.clock = 0.0
        self._shares = self._budget = Shares()
        self._host_heard: tuple[str, Record] | None = None
        self._shown: dict[Life, tuple[tuple[int, int], Run]] = {}
        self._numbers: dict[Life, int] = {}
        self._next = 0
        self._past: dict[int, tuple[Run, Bygone]] = {}

    def heed(self) -> None:
        """Note what was said since the last time."""
        self.news.heed(self._open, self.clock)
        if self.hosts.heard and self.hosts.heard[-1] is not self._host_heard:
            self._host_heard = self.hosts.heard[-1]
            self.news.stale = self.news.told = self.news.urgent = True

    def observe(self, one: Any, source: str) -> None:
        """Take what a reader of traces, or an endpoint, gave."""
        self.news.stale = self.news.told = True
        super().observe(one, source)

    def pass_by(self, gap: Gap, source: str) -> None:
        """Take lines in which nothing happens, unless their writer was forgotten while they waited."""
        if f"{source}\0{gap.stream}" in self._open:
            super().pass_by(gap, source)

    def look(self) -> Seen:
        """Return copies of the latest run of every writer, as if the log ended here."""
        self.news.seen()
        self.trim()
        seen = Seen([], [], {})
        of_run: dict[int, Life] = {}
        shown, self._shown = self._shown if self._alone() else {}, {}
        for key, life in self._open.items():
            name, state = (key, life.number), (life.seq, len(life.held))
            known = shown.get(name)
            run = known[1] if known is not None and known[0] == state else self._ended_here(life)
            self._shown[name] = state, run
            seen.runs.append(run)
            of_run[id(run)] = name
            seen.restarts[run.stream, *run.sources[:1]] = life.number
        seen.runs = self.servers(seen.runs)
        self.pods.attach(seen.runs)
        self.beside.attach(seen.runs)
        self.hosts.deal(seen.runs)
        # A life keeps its number from look to look; servers without a log have those behind.
        self._numbers = {name: self._numbers.get(name, self._next + at) for at, name in enumerate(self._shown)}
        self._next = max(self._numbers.values(), default=-1) + 1
        for at, run in enumerate(seen.runs):
            run.id = self._numbers[of_run[id(run)]] if id(run) in of_run else self._next + at
        seen.lives = [of_run.get(id(run)) for run in seen.runs]
        return seen

    def finish(self) -> list[Run]:
        """Close every run, with what its window holds."""
        self.trim()
        for run in self.runs:
            run.events = self._bygone(run).joined(run.events)
            if self._bygone(run).shortened and self.window is not None:
                told = phrase("judged by the last {time} of this run and what its launch said (--window)")
                run.assumed.append((told, {"time": duration(self.window)}))
        self._past.clear()
        return super().finish()

    def first_lives(self) -> dict[tuple[str, ...], int]:
        """Return by stream and source how many runs came before the first that is still kept."""
        before: dict[tuple[str, ...], int] = {}
        for life in self._open.values():
            writer = (life.run.stream, *life.run.sources[:1])
            own = sum((run.stream, *run.sources[:1]) == writer for run in self.runs)
            before[writer] = max(life.number + 1 - own, 0)
        return before

    def trim(self) -> None:
        """Forget what the window does not hold any more."""
        self.beside.forget(self.window or float("inf"), MOST_PAGES)
        if self.window is None:
            return
        lives = {id(life.run): life for life in self._open.values()}
        self._forget_silent()
        for run in self.runs:
            if self._roll(run, life := lives.get(id(run))) and life is not None:
                self.news.rolled(life, self._bygone(run).names())
        self._forget_past(lives)
        self.hosts.forget(self.window)

    def held(self) -> Mapping[str, int]:
        """Return what memory grows with: rows, events and runs that are kept."""
        logs = [log for run in self.runs for log in run.events.values()]
        past = [one for _, one in self._past.values()]
        return {
            "runs": len(self.runs),
            "rows": sum(len(table) for run in self.runs for table in run.tables.values()),
            "events": sum(len(log.kept) for log in logs) + sum(map(len, past)),
            "times": sum(len(log.times) for log in logs) + sum(one.times for one in past),
            "tables": len(self._shares),
            "host": len(self.hosts.heard),
        }

    def _alone(self) -> bool:
        """Whether logs are all that there is: nothing is dealt out anew among runs that have not changed."""
        beside, pods = self.beside, self.pods
        dealt = beside._pages or beside._measured or beside._telemetry.first or pods._pods or pods._nodes
        return not (dealt or self.hosts.heard)

    def _ended_here(self, life: Lifetime) -> Run:
        """Return a copy of a life's run as if its log ended here."""
        run, twin = self._copy(life)
        for record, matches in life.held:
            self._take(twin, record, matches)
        twin.close()
        return run

    def _copy(self, life: Lifetime) -> tuple[Run, Lifetime]:
        run = life.run
        copy = replace(
            run,
            tables=dict(run.tables),
            spreads={name: list(spreads) for name, spreads in run.spreads.items()},
            events=self._bygone(run).joined(run.events),
            facts=dict(run.facts),
            arguments=dict(run.arguments),
            residue={name: replace(one) for name, one in run.residue.items()},
            levels=dict(run.levels),
            sources=list(run.sources),
            parts=dict(run.parts),
            requests=list(run.requests),
            assumed=list(run.assumed),
        )
        return copy, replace(life, run=copy, held=[], _starts=set(life._starts))

    def _roll(self, run: Run, life: Lifetime | None) -> bool:
        """Begin a new stretch where the present one is long enough; return whether it was."""
        assert self.window is not None
        if run.ended is None:
            return False
        past = self._bygone(run)
        if past.latest is not None and run.ended < past.latest + self.window / PIECES:
            return False
        # A server that died and still prints is dead for as long as it prints.
        died = life.fatal_time if life is not None and life.last_fatal >= 0 and not life._survived() else None
        oldest = (run.ended if died is None else min(run.ended, died)) - self.window
        past.take(run.events, run.ended)
        run.events = {}
        past.forget(oldest)
        past.shortened = past.shortened or (run.started is not None and run.started < oldest)
        for table in run.tables.values():
            table.forget(oldest)
        return True

    def _forget_past(self, lives: Mapping[int, Lifetime]) -> None:
        """Drop lifetimes that ended before the window of those that follow them."""
        newest: dict[tuple[str, ...], float] = {}
        for life in self._open.values():
            if life.run.ended is not None:
                newest[life.run.stream, *life.run.sources[:1]] = life.run.ended
        over = [run for run in self.runs if id(run) not in lives]
        gone = {id(run) for run in over[:-MOST_PAST]}
        for run in over:
            now = newest.get((run.stream, *run.sources[:1]))
            if now is not None and run.ended is not None and run.ended < now - (self.window or 0.0):
                gone.add(id(run))
        self._drop(gone)

    def _drop(self, gone: set[int]) -> None:
        if gone:
            self.runs = [run for run in self.runs if id(run) not in gone]
            self._shares.keep(self.runs)
        here = {id(run) for run in self.runs}
        self._past = {one: past for one, past in self._past.items() if one in here}

    def _bygone(self, run: Run) -> Bygone:
        """Return what is kept of a run's past; the run with it, so that no other takes its number meanwhile."""
        if id(run) not in self._past:
            self._past[id(run)] = run, Bygone(run.started)
        return self._past[id(run)][1]

    def _forget_silent(self) -> None:
        """Drop writers that have said nothing for long: pods come and go, and their number is bounded."""
        assert self.window is not None
        long = SILENT * self.window
        silent = [key for key in self._open if self.clock - self.news.heard(key, self.clock) > long]
        if not silent or len(silent) == len(self._open):
            return
        gone: set[int] = set()
        for key in silent:
            life = self._open.pop(key)
            self.news.forget(key)
            writer = (life.run.stream, *life.run.sources[:1])
            gone |= {id(run) for run in self.runs if (run.stream, *run.sources[:1]) == writer}
        self._drop(gone)
