"""What a run is, once all of it was read: what the caller said of it, and what follows from what it said itself."""

from __future__ import annotations

from typing import Any

from diagnoser.evidence.facts import settle as settle_facts
from diagnoser.evidence.sweep import sweep_facts
from diagnoser.evidence.tails import tail_facts
from diagnoser.evidence.version import bound_version, infer_version
from diagnoser.judging.loading import Knowledge
from diagnoser.judging.objectives import goodput_facts
from diagnoser.knowledge.catalog import UNRESOLVED
from diagnoser.knowledge.lives import Life, field_life, metric_life
from diagnoser.language import phrase
from diagnoser.model import Fact, Run
from diagnoser.options import Options
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.evaluating.evaluate import Options as Judging
from diagnoser.tables.table import Origin


def context(run: Run, knowledge: Knowledge, restarts: int) -> Judging:
    """Say what a run does not know of itself: how often its stream started before, and what became of flags."""

    def story(words: str) -> str:
        # An unknown engine's flag is looked up in vLLM's list: the stories name the other engine where it is one's.
        engine, catalog, say = run.engine or "vllm", knowledge.catalog, knowledge.say
        flags = [word.split("=")[0] for word in words.split() if word.startswith("--")]
        told = {flag: catalog.flag_story(engine, flag, run.version or None, say) for flag in flags}
        return say("; ").join(f"{flag} {said}" for flag, said in told.items()) if told else words

    def lives(kind: str, name: str) -> Life | None:
        told = metric_life if kind == "metric" else field_life
        return told(knowledge.catalog, run.engine, run.version, name)

    return Judging(restarts, story, knowledge.say, lives)


def settle(run: Run, knowledge: Knowledge, options: Options) -> None:
    """Fix what the log alone leaves open: version, GPU, objectives, and the facts that rules derive from others."""
    origin = run.first or Origin("", 0)
    fact = run.facts.get("engine.version")
    logged = (str(fact.value) if fact else "").removeprefix("v")
    run.version = (options.engine_version or "").removeprefix("v") or logged
    if logged and run.version != logged.partition("+")[0] and run.version != logged:
        told = phrase("judged as version {given}, as --engine-version says; the log says {shown}")
        run.assumed.append((told, {"given": run.version, "shown": logged}))
    if not run.version and run.engine == "sglang":
        versions = knowledge.catalog.versions("sglang")
        run.version = infer_version(run, versions, knowledge.catalog.lifetimes(run.engine))
    if not run.version and run.exposed:
        bound_version(run, knowledge.catalog.versions(run.engine), knowledge.catalog.metric_lifetimes(run.engine))
    if run.engine in ("vllm", "sglang"):
        catalog, version = knowledge.catalog, run.version or None

        def default_of(argument: str) -> Any:
            flag = catalog.flag_for_dest(run.engine, argument, version)
            return UNRESOLVED if flag is None else catalog.default(run.engine, flag.name, version)

        settle_facts(run, default_of, UNRESOLVED)
    if options.gpu:
        run.facts["gpu.name"] = Fact("gpu.name", options.gpu, origin, f"--gpu {options.gpu}", "set")
    named = run.facts.get("gpu.name")
    gpu = knowledge.gpus.find(str(named.value)) if named else None
    if named and gpu and gpu.bandwidth_gbs is not None:
        bandwidth = Fact("gpu.bandwidth_gbs", gpu.bandwidth_gbs, named.origin, named.excerpt, "observed")
        run.facts[bandwidth.name] = bandwidth
    if named and gpu and (tflops := gpu.bf16_tflops or gpu.fp16_tflops) is not None:
        run.facts["gpu.tflops"] = Fact("gpu.tflops", tflops, named.origin, named.excerpt, "observed")
    if named and gpu and gpu.memory_gib is not None and "gpu.memory_gib" not in run.facts:
        run.facts["gpu.memory_gib"] = Fact("gpu.memory_gib", gpu.memory_gib, named.origin, named.excerpt, "observed")
    for objective, limit in (options.slo or {}).items():
        run.facts[f"slo.{objective}"] = Fact(f"slo.{objective}", limit, origin, f"--slo {objective}={limit:g}s", "set")
    for fact in (*sweep_facts(run), *tail_facts(run), *goodput_facts(run)):
        run.facts[fact.name] = fact
    evaluator = Evaluator(run, knowledge.base, knowledge.vocabulary)
    for name, node in knowledge.base.derived.items():
        value = None if name in run.facts else evaluator.result(node).value
        if isinstance(value, int | float | str):
            run.facts[name] = Fact(name, value, origin, "", "observed")
