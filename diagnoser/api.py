"""The Python API and the wiring of the flow: inputs in, one typed report out."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from diagnoser.contracts.findings import Finding, Input, Report
from diagnoser.inference import BACKENDS
from diagnoser.judging.judge import Judgement, judge
from diagnoser.judging.loading import Knowledge
from diagnoser.judging.settling import context, settle
from diagnoser.knowledge.versions import parse_version
from diagnoser.knowledge.vocabulary import ENGINES
from diagnoser.knowledge.words import hint
from diagnoser.model import Run
from diagnoser.observations import Gathered
from diagnoser.options import Name, Options, UsageError
from diagnoser.session import assembling, reading
from diagnoser.session.portions import kit
from diagnoser.sources import InputError, Source, open_inputs

if TYPE_CHECKING:
    from diagnoser.contracts.story import Story
    from diagnoser.portraits.portrait import Portrait
    from diagnoser.spreading.crew import Crew
    from diagnoser.timefilter import Bound

__all__ = ["Knowledge", "Options", "Session", "UsageError", "diagnose"]


class Session:
    """One diagnosis: reads the inputs at once, judges them, and answers questions about how it came to its verdict.

    ``gathered`` are inputs that were read from addresses before. ``opened`` is told which inputs will be read, each
    time that they are: ``Source.done`` then says how far.

    Raises InputError (nothing readable), RuleBaseError (faulty rules), UsageError (an option that cannot be used).
    """

    def __init__(
        self,
        inputs: Sequence[Name],
        *,
        stdin: BinaryIO | None = None,
        options: Options = Options(),  # noqa: B008 - frozen
        knowledge: Knowledge | None = None,
        gathered: Sequence[Gathered] = (),
        opened: Callable[[Sequence[Source]], None] = lambda _: None,
        crew: Crew | None = None,
    ) -> None:
        self.options = options
        self._crew = crew
        self._gathered = gathered
        self._names, self._stdin = [os.fspath(name) for name in inputs], stdin
        self._opened = opened
        _check(options)
        self.knowledge = knowledge or Knowledge(options)
        self.runs, self.inputs = self._read(self._names, stdin)
        if options.alert is not None:
            from diagnoser import alerts  # few runs answer one

            self.runs = alerts.select(options.alert, self.runs)
        self._judge(Counter())

    @classmethod
    def of(
        cls,
        runs: list[Run],
        inputs: list[Input],
        options: Options,
        knowledge: Knowledge,
        restarts: Mapping[tuple[str, ...], int],
        known: Sequence[Judgement] = (),
    ) -> Session:
        """Judge runs that were collected elsewhere, as they are so far.

        ``restarts`` counts by stream and source the runs that came before the first one here. Of a run that is among
        the ``known``, the very object, the judgement stands.
        """
        self = cls.__new__(cls)
        self.options, self.knowledge, self._gathered, self._crew = options, knowledge, (), None
        self._names, self._stdin, self._opened = [], None, lambda _: None
        self.runs, self.inputs = runs, inputs
        self._judge(Counter(restarts), {id(one.run): one for one in known})
        return self

    def _judge(self, starts: Counter[tuple[str, ...]], known: Mapping[int, Judgement] | None = None) -> None:
        known = known or {}
        self.judgements: list[Judgement] = []
        self._portraits: dict[int, Portrait] = {}
        if self._crew is not None and len(self.runs) > 1 and not known:
            from diagnoser.spreading.work import judge_runs

            self.judgements, self._portraits = judge_runs(self.runs, self._crew, self.options, self.knowledge, starts)
        else:
            self._judge_here(starts, known)

    @cached_property
    def report(self) -> Report:
        """What people and programs are told; made when it is first asked for."""
        made = assembling.report(self.judgements, self.inputs, self.knowledge, self._portraits)
        if self.options.alert is not None:
            made.alert = assembling.answered(self.options.alert, self.inputs, self.runs, self.knowledge.say)
        return made

    @property
    def findings(self) -> list[Finding]:
        """What holds, with its remedies: all that is needed of a report by who does not show one."""
        return assembling.advised(self.judgements, self.knowledge)[0]

    def _judge_here(self, starts: Counter[tuple[str, ...]], known: Mapping[int, Judgement]) -> None:
        for run in self.runs:
            if id(run) not in known:
                settle(run, self.knowledge, self.options)
        self.judgements = []
        base, vocabulary = self.knowledge.base, self.knowledge.vocabulary
        for run in self.runs:
            writer = (run.stream, *run.sources[:1])
            about = context(run, self.knowledge, starts[writer])
            judged = known.get(id(run)) or judge(run, base, vocabulary, self.options.inference, about)
            self.judgements.append(judged)
            starts[writer] += 1

    def why(self, rule_id: str) -> list[tuple[Run, Any]]:
        """Return for every run the evaluation tree of one rule's condition. Raises UsageError for an unknown id."""
        rule = self.knowledge.base.rules.get(rule_id)
        if rule is None:
            raise UsageError(f"no rule {rule_id}{hint(rule_id, self.knowledge.base.rules)}")
        return [(judgement.run, judgement.evaluator.trace(rule.when)) for judgement in self.judgements]

    def story(self) -> Story:
        """Return what happened over time and the lines around the evidence; the inputs are read once more for those.

        Standard input has no lines around its evidence, unless ``stdin`` can seek.
        """
        from diagnoser.portraits.telling import story  # few formats ask

        stdin = self._stdin if self._stdin is not None and self._stdin.seekable() else None
        if stdin is not None:
            stdin.seek(0)
        names = [name for name in self._names if name != "-" or stdin is not None]
        try:
            sources = self._open(names, stdin) if names else []
        except InputError:  # gone since
            sources = []
        return story(self.judgements, self.report, self.knowledge, sources)

    def _read(self, names: list[str], stdin: BinaryIO | None) -> tuple[list[Run], list[Input]]:
        bounds = [_bound("--since", self.options.since), _bound("--until", self.options.until)]
        if not any(bounds):
            return self._runs(names, stdin, None)
        # A filter is relative to the log's end, which only a first pass can know.
        with contextlib.ExitStack() as stack:
            twice = stack.enter_context(reading.spool(stdin)) if stdin is not None else None
            # The log's clock is asked first; metrics and tables are asked where no log tells a time.
            sources = sorted(self._open(names, twice), key=lambda source: source.kind != "log")
            ends: dict[bool, list[float]] = {True: [], False: []}
            for source in sources:
                log = source.kind == "log"
                if (log or not ends[True]) and (time := reading.last_time(source)) is not None:
                    ends[log].append(time)
            end = max(ends[True] or ends[False], default=None)
            if twice is not None:
                twice.seek(0)
            since, until = (bound.resolve(end) if bound else None for bound in bounds)
            if since is not None and until is not None and since > until:
                raise UsageError(
                    f"--since {self.options.since} is later than --until {self.options.until}: nothing lies between"
                )
            return self._runs(names, twice, reading.Window(since, until))

    def _runs(
        self, names: list[str], stdin: BinaryIO | None, window: reading.Window | None
    ) -> tuple[list[Run], list[Input]]:
        sources, portions, others = self._open(names, stdin), {}, None
        own = kit(self.knowledge, self.options)
        if self._crew is not None:
            from diagnoser.spreading import work

            portions = work.read_logs(sources, self._crew, self.options, window)
            others = work.others(self._crew, self.options)
        return reading.read(sources, own, window, self._gathered, portions, others)

    def _open(self, names: list[str], stdin: BinaryIO | None) -> list[Source]:
        """Open the inputs that are files; where addresses gave something no file need have any content."""
        given = any(one.pages for one in self._gathered)
        sources = open_inputs(names, stdin, alone=not given) if names or not self._gathered else []
        self._opened(sources)
        return sources


def diagnose(inputs: Name | Iterable[Name], *, stdin: BinaryIO | None = None, options: Options = Options()) -> Report:  # noqa: B008
    """Diagnose files, folders or "-" (``stdin``) and return the report.

    Raises InputError when nothing can be read, RuleBaseError for faulty rules, UsageError for unusable options.
    """
    names = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    return Session(names, stdin=stdin, options=options).report


def _check(options: Options) -> None:
    if options.engine and options.engine not in ENGINES:
        raise UsageError(
            f"--engine {options.engine}: unknown engine; there are {', '.join(ENGINES)}{hint(options.engine, ENGINES)}"
        )
    if options.engine_version and parse_version(options.engine_version) is None:
        raise UsageError(f"--engine-version {options.engine_version}: no version; expected one such as 0.9.2")
    if options.inference not in BACKENDS:
        raise UsageError(
            f"--inference {options.inference}: there are {', '.join(BACKENDS)}{hint(options.inference, BACKENDS)}"
        )


def _bound(option: str, text: str | None) -> Bound | None:
    if not text:
        return None
    from diagnoser.timefilter import parse_bound

    try:
        return parse_bound(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
