"""The Python API and the wiring of the flow: inputs in, one typed report out."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from diagnoser import assembling, reading
from diagnoser.evidence.facts import settle
from diagnoser.evidence.sweep import sweep_facts
from diagnoser.evidence.tails import tail_facts
from diagnoser.evidence.version import bound_version, infer_version
from diagnoser.findings import Input, Report
from diagnoser.inference import BACKENDS
from diagnoser.judging import Judgement, judge
from diagnoser.knowledge.catalog import UNRESOLVED
from diagnoser.knowledge.versions import parse_version
from diagnoser.knowledge.vocabulary import ENGINES
from diagnoser.knowledge.words import hint
from diagnoser.loading import Knowledge
from diagnoser.model import Fact, Run
from diagnoser.objectives import goodput_facts
from diagnoser.observations import Gathered
from diagnoser.options import Name, Options, UsageError
from diagnoser.rules.evaluate import Evaluator
from diagnoser.rules.evaluate import Options as Judging
from diagnoser.rules.fields import evaluate_fields
from diagnoser.sources import Source, open_inputs
from diagnoser.table import Origin

if TYPE_CHECKING:
    from diagnoser.timefilter import Bound

__all__ = ["Knowledge", "Options", "Session", "UsageError", "diagnose"]


class Session:
    """One diagnosis: reads the inputs at once, judges them, and answers questions about how it came to its verdict.

    ``gathered`` are inputs that were read from addresses before.

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
    ) -> None:
        self.options = options
        self._gathered = gathered
        _check(options)
        self.knowledge = knowledge or Knowledge(options)
        self.runs, self.inputs = self._read([os.fspath(name) for name in inputs], stdin)
        if options.alert is not None:
            from diagnoser import alerts  # few runs answer one

            self.runs = alerts.select(options.alert, self.runs)
        for run in self.runs:
            self._settle(run)
        starts: Counter[tuple[str, ...]] = Counter()
        self.judgements: list[Judgement] = []
        base, vocabulary = self.knowledge.base, self.knowledge.vocabulary
        for run in self.runs:
            writer = (run.stream, *run.sources[:1])
            context = self._context(run, restarts=starts[writer])
            self.judgements.append(judge(run, base, vocabulary, options.inference, context))
            starts[writer] += 1
        self.report: Report = assembling.report(self.judgements, self.inputs, self.knowledge)
        if options.alert is not None:
            self.report.alert = assembling.answered(options.alert, self.inputs, self.runs)

    def why(self, rule_id: str) -> list[tuple[Run, Any]]:
        """Return for every run the evaluation tree of one rule's condition. Raises UsageError for an unknown id."""
        rule = self.knowledge.base.rules.get(rule_id)
        if rule is None:
            raise UsageError(f"no rule {rule_id}{hint(rule_id, self.knowledge.base.rules)}")
        return [(judgement.run, judgement.evaluator.trace(rule.when)) for judgement in self.judgements]

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
            return self._runs(
                names, twice, reading.Window(*(bound.resolve(end) if bound else None for bound in bounds))
            )

    def _runs(
        self, names: list[str], stdin: BinaryIO | None, window: reading.Window | None
    ) -> tuple[list[Run], list[Input]]:
        return reading.read(
            self._open(names, stdin),
            self.knowledge.vocabulary,
            self.knowledge.matcher,
            evaluate_fields,
            self.options.engine or "",
            window,
            self.knowledge.catalog.dest,
            self._gathered,
        )

    def _open(self, names: list[str], stdin: BinaryIO | None) -> list[Source]:
        """Open the inputs that are files; where addresses gave something no file need have any content."""
        given = any(one.pages for one in self._gathered)
        return open_inputs(names, stdin, alone=not given) if names or not self._gathered else []

    def _context(self, run: Run, restarts: int) -> Judging:
        """Say what a run does not know of itself: how often its stream started before, and what became of flags."""

        def story(words: str) -> str:
            # An unknown engine's flag is looked up in vLLM's list: the stories name the other engine where it is one's.
            engine, catalog = run.engine or "vllm", self.knowledge.catalog
            flags = [word.split("=")[0] for word in words.split() if word.startswith("--")]
            told = {flag: catalog.flag_story(engine, flag, run.version or None) for flag in flags}
            return "; ".join(f"{flag} {said}" for flag, said in told.items()) if told else words

        return Judging(restarts, story)

    def _settle(self, run: Run) -> None:
        """Fix what the log alone leaves open: the version, the GPU."""
        origin = run.first or Origin("", 0)
        fact = run.facts.get("engine.version")
        run.version = (self.options.engine_version or (str(fact.value) if fact else "")).removeprefix("v")
        if not run.version and run.engine == "sglang":
            versions = self.knowledge.catalog.versions("sglang")
            run.version = infer_version(run, versions, self.knowledge.catalog.lifetimes(run.engine))
        if not run.version and run.exposed:
            bound_version(
                run, self.knowledge.catalog.versions(run.engine), self.knowledge.catalog.metric_lifetimes(run.engine)
            )
        if run.engine in ("vllm", "sglang"):
            catalog, version = self.knowledge.catalog, run.version or None

            def default_of(argument: str) -> Any:
                flag = catalog.flag_for_dest(run.engine, argument, version)
                return UNRESOLVED if flag is None else catalog.default(run.engine, flag.name, version)

            settle(run, default_of, UNRESOLVED)
        if self.options.gpu:
            run.facts["gpu.name"] = Fact("gpu.name", self.options.gpu, origin, f"--gpu {self.options.gpu}", "set")
        named = run.facts.get("gpu.name")
        gpu = self.knowledge.gpus.find(str(named.value)) if named else None
        if named and gpu and gpu.bandwidth_gbs is not None:
            bandwidth = Fact("gpu.bandwidth_gbs", gpu.bandwidth_gbs, named.origin, named.excerpt, "observed")
            run.facts[bandwidth.name] = bandwidth
        if named and gpu and (tflops := gpu.bf16_tflops or gpu.fp16_tflops) is not None:
            run.facts["gpu.tflops"] = Fact("gpu.tflops", tflops, named.origin, named.excerpt, "observed")
        for objective, limit in (self.options.slo or {}).items():
            run.facts[f"slo.{objective}"] = Fact(
                f"slo.{objective}", limit, origin, f"--slo {objective}={limit:g}s", "set"
            )
        for fact in (*sweep_facts(run), *tail_facts(run), *goodput_facts(run)):
            run.facts[fact.name] = fact
        evaluator = Evaluator(run, self.knowledge.base, self.knowledge.vocabulary)
        for name, node in self.knowledge.base.derived.items():
            value = None if name in run.facts else evaluator.result(node).value
            if isinstance(value, int | float | str):
                run.facts[name] = Fact(name, value, origin, "", "observed")


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
