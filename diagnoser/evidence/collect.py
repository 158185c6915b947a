"""Records in, runs out: splits lifetimes and hands every record to samples, events, facts or residue."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.evidence import drift, naming, residue
from diagnoser.evidence import facts as fact_room
from diagnoser.evidence.asked import Match, Matcher, Readers
from diagnoser.evidence.beside import Beside
from diagnoser.evidence.events import add_event, alone, event_of
from diagnoser.evidence.gaps import Meaning, add_events, count_gap, count_rows
from diagnoser.evidence.hosts import DIALECTS, Hosts
from diagnoser.evidence.lifetime import EARLY_RECORDS, FRAMES, Lifetime, older
from diagnoser.evidence.pods import Dest, Pods, plain_dest
from diagnoser.evidence.samples import Budget, Sampler
from diagnoser.evidence.taken import Taken, merged
from diagnoser.evidence.whose import named
from diagnoser.gap import Gap
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Problem, Record, Run
from diagnoser.observations import Claim, Observation

#: Writers of one log followed at once, and lifetimes kept: of a longer crash loop the first and the latest ones.
MOST_STREAMS = 512
MOST_RUNS = 512
#: Lifetimes kept of all logs together: each log has its share of them, at least so many.
ALL_RUNS, LEAST_RUNS = 4096, 8

PODS = ("kubernetes", "pod")  #: dialects of what is said about pods

_MOST_LEVELS = 64


class Collector:
    """Builds the runs of one diagnosis. Feed records in order per stream; call ``finish`` once.

    ``passed_over`` counts records of writers beyond ``MOST_STREAMS``, ``forgotten`` lifetimes beyond ``MOST_RUNS``:
    nobody judges them. ``dest`` gives a flag's name in dumps. ``inputs`` are the logs that share what is kept.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        matcher: Matcher,
        readers: Readers,
        compute: fact_room.Compute,
        engine: str = "",
        dest: Dest = plain_dest,
        known: drift.Known = lambda _: frozenset(),
        inputs: int = 1,
    ) -> None:
        self.vocabulary = vocabulary
        self.matcher = matcher
        self.readers = readers
        self.compute = compute
        self.engine = engine
        self.known = known
        self.runs: list[Run] = []
        self.passed_over = 0
        self.forgotten = 0
        self.beside = Beside(vocabulary, engine)
        self.pods = Pods(vocabulary, matcher, dest, engine)
        self._open: dict[str, Lifetime] = {}
        self._samplers: dict[str, Sampler] = {}
        self.hosts = Hosts(matcher)
        self._budget = Budget(inputs)
        self.most_runs = min(MOST_RUNS, max(LEAST_RUNS, ALL_RUNS // max(1, inputs)))

    def observe(self, one: Observation, source: str) -> None:
        """Take what a reader of traces gave; problems are the reader's own to tell."""
        if (isinstance(one, Claim) and one.stream) or (isinstance(one, Record) and one.dialect in PODS):
            self.pods.take(one, source)
        elif isinstance(one, Record):
            self.add(one, source)
        elif not isinstance(one, Problem):
            self.beside.take(one)

    def add(self, record: Record, source: str, before: bool = False) -> None:
        """Take one record of the named input.

        Of records ``before`` the window that is judged only what the run is counts: its launch, dumps, facts.
        """
        if record.dialect in DIALECTS:
            self.hosts.take(record, source)
            return
        key = f"{source}\0{record.stream}"
        life = self._open.get(key)
        if life is None:
            if len(self._open) >= MOST_STREAMS:
                self.passed_over += 1
                return
            life = self._open[key] = self._begin(record.stream, source)
        speaker = self.readers.engine(record)
        engine = speaker or life.run.engine or self.engine
        matches = self.matcher.match(record, engine)
        starts = {spec.name for spec, *_ in matches if spec.role == "start"} if matches else None
        if starts and life.restarts(record, starts):
            preamble = self._split(life, record)
            life.close()
            life = self._open[key] = self._begin(record.stream, source, life)
            life.held = preamble
        if not life.sure:
            naming.name(life, record, matches, speaker)
        if before:
            self._remember(life, record, matches)
            return
        # A new run is not spent and takes its marker at once.
        if life.undecided(record, matches):
            life.held.append((record, matches))
            if len(life.held) > EARLY_RECORDS // 2:
                self._take(life, *life.held.pop(0))
            return
        self._release(life)
        self._take(life, record, matches)

    def serving(self, source: str, stream: str) -> str:
        """Name the engine of an input's stream once it is past its start, so that ``pass_by`` can be called."""
        life = self._open.get(f"{source}\0{stream}")
        return life.run.engine if life is not None and life.settled else ""

    def meaning(self, engine: str) -> Meaning:
        """Return what records of an engine mean here."""
        return Meaning(self.matcher, self.readers, engine, self.engine)

    def pass_by(self, gap: Gap, source: str) -> None:
        """Take lines in which nothing happens: they are counted, their statistics are kept."""
        life = self._open[f"{source}\0{gap.stream}"]
        self._release(life)
        before = count_gap(life, gap)
        for rows in gap.rows:
            columns = self._sampler(life.run.engine).extend(life.run, gap, rows)
            count_rows(life, before, rows, columns)
        for seen in gap.events:
            add_events(life, before, seen)

    def taken(self) -> Taken:
        """Close every run and give away what was collected, for another collector to ``absorb``."""
        self._close()
        return Taken(self.runs, self.hosts.heard, self.hosts.sources)

    def absorb(self, one: Taken) -> None:
        """Take what another collector made of an input of its own; in the order of the inputs."""
        every = merged(Taken(self.runs, self.hosts.heard, self.hosts.sources), one)
        self.runs, self.hosts.heard, self.hosts.sources = every.runs, every.heard, every.of_hosts

    def _close(self) -> None:
        for life in self._open.values():
            self._release(life)
            life.close()

    def finish(self) -> list[Run]:
        """Close every run, deal out kernel records, drop streams in which no server spoke, number what is left."""
        self._close()
        self.runs = self.servers(self.runs)
        self.pods.attach(self.runs)
        self.beside.attach(self.runs)
        self.hosts.deal(self.runs)
        for number, run in enumerate(self.runs):
            run.id = number
        return self.runs

    def servers(self, runs: Sequence[Run]) -> list[Run]:
        """Return the runs in which a server spoke, all where none did; each bears its engine or the one given."""
        for run in runs if self.engine else ():
            named(run, self.engine)
        kept = [run for run in runs if run.engine] or [run for run in runs if run.records]
        # Beside what was measured on a server, text in which nothing was understood is nobody's log.
        return [run for run in kept if run.engine or run.says_something() or not self.beside.any()]

    def _release(self, life: Lifetime) -> None:
        """Give a run the records that were held back: it has gone on, or nothing followed."""
        if life.held:
            held, life.held = life.held, []
            for record, matches in held:
                self._take(life, record, matches)

    def _split(self, life: Lifetime, start: Record) -> list[tuple[Record, Sequence[Match]]]:
        """Part what was held back at a start marker: older records stay with the run, the preamble is returned."""
        held, life.held = life.held, []
        first = older([one for one, _ in held], start)
        for record, matches in held[:first]:
            self._take(life, record, matches)
        return held[first:]

    def _begin(self, stream: str, source: str, before: Lifetime | None = None) -> Lifetime:
        run = Run(id=len(self.runs), stream=stream)
        if before is not None and before.unready:
            run.unready_starts = before.run.unready_starts + 1
        run.sources.append(source)
        self.runs.append(run)
        if len(self.runs) > self.most_runs:
            self._forget()
        return Lifetime(run, before.number + 1 if before else 0)

    def _forget(self) -> None:
        """Drop the oldest lifetime that is over, but for the first half: how it began matters as much as the end."""
        still = {id(life.run) for life in self._open.values()}
        for at in range(self.most_runs // 2, len(self.runs)):
            if id(self.runs[at]) not in still:
                del self.runs[at]
                self.forgotten += 1
                return

    def _take(self, life: Lifetime, record: Record, matches: Sequence[Match]) -> None:
        run = life.run
        life.see(record)
        if matches:
            life.see_frames(matches)
        stats = self.readers.stats(record) if record.kind == "stats" else None
        if stats is not None:
            row = self._sampler(run.engine).add(run, record, stats)
            life.see_sample(record, row)
        dump = self.readers.dump(record) if record.kind in ("message", "raw") else None
        if dump is not None:
            fact_room.read_dump(run, record, dump, self.vocabulary)
        quiet = any(spec.role not in FRAMES for spec, *_ in matches) or stats is not None or dump is not None
        for match in matches:
            self._event(life, record, match, matches)
        level = residue.level_of(record) if record.kind not in ("stats", "request") else ""
        if record.kind == "traceback":
            level = level or "ERROR"
        if level and (level in run.levels or len(run.levels) < _MOST_LEVELS):
            run.levels[level] = run.levels.get(level, 0) + 1
        if not quiet and (record.kind == "stats" or drift.unread(record)):
            drift.note(run, "", record)
        if not quiet and level in ("WARNING", "ERROR", "CRITICAL", "FATAL") and record.kind != "access":
            residue.keep(run, record, level, event_of(life, record, "", {}, 0))

    def _remember(self, life: Lifetime, record: Record, matches: Sequence[Match]) -> None:
        dump = self.readers.dump(record) if record.kind in ("message", "raw") else None
        if dump is not None:
            fact_room.read_dump(life.run, record, dump, self.vocabulary)
        for match in matches:
            if match[0].phase == "startup" and match[0].role in ("notice", "start", "ready"):
                self._event(life, record, match, matches)

    def _event(self, life: Lifetime, record: Record, match: Match, beside: Sequence[Match]) -> None:
        spec, _, fields, _, offset = match
        event = event_of(life, record, spec.name, fields, offset, alone(spec, beside))
        add_event(life.run, event)
        life.see_event(record, spec.role, spec.name)
        if spec.sets:
            fact_room.apply_event(life.run, event, spec.sets, self.compute)

    def _sampler(self, engine: str) -> Sampler:
        if engine not in self._samplers:
            self._samplers[engine] = Sampler(self.vocabulary, engine, self._budget, self.known)
        return self._samplers[engine]
