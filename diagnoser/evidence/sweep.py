"""Benchmark results at growing load become one sweep: where the knee is, what lies beyond it, how ranks scale.

The load of a step is the number of requests kept at once, or the request rate where that is what was varied. A step up
pays while throughput grows by ``WORTH`` or more and P99 less than doubles, both for each doubling of the load; the knee
is the last step that paid. The best step is the knee, and with objectives the largest load that meets them. Only what
results say of themselves counts: never the name of a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from diagnoser.evidence.loads import Step, largest
from diagnoser.model import Fact, Run
from diagnoser.tables.table import Origin, Table

#: Growth of throughput, for each doubling of the load, below which more load buys nothing. Repeated runs of one
#: benchmark differ by a few percent.
WORTH = 1.10
#: Growth of P99 for each doubling of the load from which on requests only wait longer.
DOUBLED = 2.0
#: Loads nearer than this, in doublings, are as good as one: 5 % apart.
CLOSE = math.log2(1.05)
#: Steps that make a sweep with a knee.
FEWEST = 3
#: Prompts or outputs that differ more than this, as a ratio, are another workload.
SAME = 1.25

_KEPT = ("tps", "in_flight", "rps", "ttft", "ttft99", "tpot", "tpot99", "e2e", "e2e99", "prompt", "output", "tp")


def sweep_facts(run: Run) -> list[Fact]:
    """Return what the benchmark results of a run tell together; empty where there are fewer than two loads."""
    tables = [table for (medium, _), table in sorted(run.tables.items()) if medium == "bench"]
    facts: list[Fact] = []
    best: list[Step] = []
    axis = ""
    for table in tables:
        for name in ("concurrency", "rate"):
            for rows in _alike(_rows(table, f"bench.{name}")):
                steps = _steps(rows)
                if len(steps) > len(best):
                    best, axis = steps, name
    if len(best) >= 2:
        limits = {
            name.removeprefix("slo."): float(fact.value) for name, fact in run.facts.items() if name[:4] == "slo."
        }
        facts += _of_sweep(best, axis, limits)
    facts += _of_ranks([row for table in tables for row in _rows(table, "bench.concurrency")])
    return facts


def _rows(table: Table, load: str) -> Iterable[Step]:
    """Yield the results of a table that tell their load and their throughput."""

    def cell(at: int, *names: str) -> float | None:
        for name in names:
            values = table.columns.get(f"bench.{name}")
            if values is not None and values[at] == values[at]:
                return values[at]
        return None

    loads = table.columns.get(load, ())
    for at, given in enumerate(loads):
        done = cell(at, "completed")
        lengths = [cell(at, f"{name}_len") for name in ("prompt", "output")]
        for i, name in enumerate(("prompt_total", "output_total")):
            total = cell(at, name)
            if lengths[i] is None and total is not None and done:
                lengths[i] = total / done
        tps = cell(at, "output_tps", "rps")
        if given == given and given > 0 and tps is not None and tps > 0:
            step = Step(given, Origin(table.source[at], table.line[at]), table.text_of(at), tps)
            step.in_flight, step.rps, step.tp = cell(at, "in_flight"), cell(at, "rps"), cell(at, "tp")
            step.prompt, step.output = lengths
            for kind in ("ttft", "tpot", "e2e"):
                setattr(step, kind, cell(at, f"{kind}_p50", f"{kind}_mean"))
                setattr(step, f"{kind}99", cell(at, f"{kind}_p99"))
            yield step


def _alike(rows: Iterable[Step]) -> list[list[Step]]:
    """Part results by workload and tensor parallel size."""
    groups: list[list[Step]] = []
    for row in rows:
        for group in groups:
            first = group[0]
            if first.tp == row.tp and _close(first.prompt, row.prompt) and _close(first.output, row.output):
                group.append(row)
                break
        else:
            groups.append([row])
    return groups


def _close(one: float | None, two: float | None) -> bool:
    return not one or not two or max(one, two) <= SAME * min(one, two)


def _steps(rows: Sequence[Step]) -> list[Step]:
    """Return one step for each load, in rising order; repeated runs of one load are averaged."""
    by_load: dict[float, list[Step]] = {}
    for row in rows:
        by_load.setdefault(row.load, []).append(row)
    steps = []
    for load in sorted(by_load):
        same = by_load[load]
        step = Step(load, same[0].origin, same[0].text)
        for name in _KEPT:
            known = [value for one in same if (value := getattr(one, name)) is not None]
            setattr(step, name, math.fsum(known) / len(known) if known else None)
        steps.append(step)
    return steps


def knee_of(steps: Sequence[Step]) -> Step:
    """Return the last step that paid; the first one where none above it does."""
    knee = steps[0]
    for step in steps[1:]:
        doublings = max(math.log2(step.load / knee.load), CLOSE)
        gain, slower = _ratio(step.tps, knee.tps), _ratio(step.p99, knee.p99)
        # In logarithms: what a doubling multiplies, another doubling multiplies again.
        if not gain or math.log2(gain) / doublings < math.log2(WORTH):
            continue
        if not slower or math.log2(slower) / doublings < math.log2(DOUBLED):
            knee = step
    return knee


def _of_sweep(steps: list[Step], axis: str, limits: Mapping[str, float]) -> list[Fact]:
    last, peak = steps[-1], max(steps, key=lambda step: step.tps or 0.0)
    told = _Told()
    told("bench.steps", len(steps), last)
    told("bench.axis", axis, last)
    told("bench.last_load", last.load, last)
    told("bench.peak_tps", peak.tps, peak)
    told("bench.peak_load", peak.load, peak)
    jumps = [(grown, two) for one, two in pairwise(steps) if (grown := _ratio(two.ttft, one.ttft)) is not None]
    if jumps:
        jump, at = max(jumps, key=lambda pair: pair[0])
        before = steps[steps.index(at) - 1]
        told("bench.ttft_jump", jump, at)
        told("bench.ttft_jump_load", at.load, at)
        told("bench.ttft_at_jump", at.ttft, at)
        told("bench.ttft_jump_from", before.load, before)
        told("bench.tpot_at_jump", _ratio(at.tpot, before.tpot), at)
    if len(steps) < FEWEST:
        return told.facts
    knee = knee_of(steps)
    told("bench.knee_load", knee.load, knee)
    told("bench.knee_tps", knee.tps, knee)
    told("bench.knee_p99", knee.p99, knee)
    told("bench.knee_concurrency", _at_once(knee, axis), knee)
    best = largest(steps, limits)
    _of_best(told, best or knee, steps, axis)
    if best is not None:
        told("bench.met_load", best.load, best)
    if limits:
        told("bench.loads_missed", sum(step.meets(limits) is False for step in steps), last)
    if last is not knee:
        beyond = max((step for step in steps if step.load > knee.load), key=lambda step: step.tps or 0.0)
        told("bench.load_beyond", _ratio(last.load, knee.load), last)
        told("bench.gain_beyond", _less_one(_ratio(beyond.tps, knee.tps)), beyond)
        told("bench.p99_beyond", _ratio(last.p99, knee.p99), last)
        told("bench.ttft_beyond", _ratio(last.ttft, knee.ttft), last)
        told("bench.tpot_beyond", _ratio(last.tpot, knee.tpot), last)
    return told.facts


def _of_best(told: _Told, best: Step, steps: Sequence[Step], axis: str) -> None:
    told("bench.best_load", best.load, best)
    told("bench.best_tps", best.tps, best)
    told("bench.best_concurrency", _at_once(best, axis), best)
    if steps[-1] is not best:
        told("bench.ttft_past_best", _ratio(steps[-1].ttft, best.ttft), steps[-1])
        told("bench.tpot_past_best", _ratio(steps[-1].tpot, best.tpot), steps[-1])


def _at_once(step: Step, axis: str) -> float | None:
    """Return the requests at once under a load. Little's law: their rate times the time that each stays."""
    flying = step.rps * step.e2e if step.rps is not None and step.e2e is not None else step.in_flight
    return step.load if axis == "concurrency" else _up(flying)


def _of_ranks(rows: Sequence[Step]) -> list[Fact]:
    """Compare results of one workload at one concurrency that were taken with different tensor parallel sizes."""
    told = _Told()
    pairs = [
        (few, many)
        for few in rows
        for many in rows[:1000]
        if few.tp and many.tp and few.tp < many.tp and few.load == many.load
        if _close(few.prompt, many.prompt) and _close(few.output, many.output)
    ]
    # More requests at once fill the GPUs better: the highest shared load is the fairest.
    if pairs:
        few, many = max(pairs, key=lambda pair: (pair[0].load, (pair[1].tp or 0) / (pair[0].tp or 1)))
        speedup, ranks = _ratio(many.tps, few.tps), _ratio(many.tp, few.tp)
        told("bench.tp_from", int(few.tp or 0), few)
        told("bench.tp_to", int(many.tp or 0), many)
        told("bench.tp_speedup", speedup, many)
        told("bench.tp_efficiency", _ratio(speedup, ranks), few)
    return told.facts


class _Told:
    """Facts as they are found; what is unknown is none."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def __call__(self, name: str, value: float | str | None, step: Step) -> None:
        if value is not None:
            self.facts.append(Fact(name, value, step.origin, step.text, "observed"))


def _ratio(one: float | None, two: float | None) -> float | None:
    return one / two if one is not None and two is not None and two > 0 else None


def _less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def _up(value: float | None) -> float | None:
    return None if value is None else float(math.ceil(value))
