"""The one input that would decide an unknown condition, against trying every outcome; comparisons with buckets."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from diagnoser.api import Knowledge, Options, Session
from diagnoser.portraits import needed
from diagnoser.rules.evaluating import logic
from diagnoser.rules.evaluating.deciding import Decider
from diagnoser.rules.evaluating.sourcing import COSTS
from diagnoser.rules.evaluating.value import UNKNOWN, Answer, unknown
from diagnoser.rules.model import Node
from diagnoser.tables.spread import Spread

#: What leaves need, by the source that has it.
NEEDS = {"metrics": "a metrics page", "statistics": "statistics lines", "profile": "a profile (nsys)", "log": "the log"}
RUN = SimpleNamespace(lines=9, complete_start=False)


def leaf(number: int, *sources: str, value: Any = UNKNOWN) -> Node:
    return Node("leaf", (number, sources, value), f"leaf {number}", "bool")


class Given:
    """Stands in for an evaluator: what leaves are, the rest by Kleene's tables."""

    run, symptoms, derived = RUN, {}, {}  # type: ignore[var-annotated]
    missing = SimpleNamespace(page=lambda names: "")

    def answer(self, node: Node) -> Answer:
        if node.op == "leaf":
            known = node.args[2] is not UNKNOWN
            return Answer(node.args[2]) if known else unknown(*(NEEDS[source] for source in node.args[1]))
        inner = [self.answer(arg) for arg in node.args]
        values = [one.value for one in inner]
        if node.op == "not":
            return Answer(logic.negate(values[0]), inner[0].needs)
        value = (logic.both if node.op == "and" else logic.either)(*values)
        return Answer(value, inner[0].needs | inner[1].needs)

    def value(self, node: Node) -> Any:
        return self.answer(node).value


def outcomes(node: Node, sources: tuple[str, ...]) -> set[bool]:
    """Return every truth that the condition can get when these sources tell what they have."""
    leaves = list(_leaves(node))
    free = [one for one in leaves if one.args[2] is UNKNOWN and one.args[1] and set(one.args[1]) <= set(sources)]
    found = set()
    for values in product((True, False), repeat=len(free)):
        given = {one.args[0]: value for one, value in zip(free, values, strict=True)}
        value = _with(node, given)
        found |= set() if value is UNKNOWN else {value}
    return found


def _leaves(node: Node) -> Iterator[Node]:
    if node.op == "leaf":
        yield node
    else:
        for arg in node.args:
            yield from _leaves(arg)


def _with(node: Node, given: dict[int, bool]) -> Any:
    if node.op == "leaf":
        return given.get(node.args[0], node.args[2])
    inner = [_with(arg, given) for arg in node.args]
    if node.op == "not":
        return logic.negate(inner[0])
    return (logic.both if node.op == "and" else logic.either)(*inner)


def grown(chance: random.Random, depth: int, counter: Iterator[int]) -> Node:
    op = chance.choice(("leaf", "and", "or", "not")) if depth else "leaf"
    if op == "leaf":
        sources = chance.sample(sorted(NEEDS), chance.choice((1, 1, 1, 2)))
        return leaf(next(counter), *sources, value=chance.choice((UNKNOWN, UNKNOWN, UNKNOWN, True, False)))
    args = tuple(grown(chance, depth - 1, counter) for _ in range(1 if op == "not" else 2))
    return Node(op, args, op, "bool")


@pytest.mark.parametrize("seed", range(300))
def test_what_inputs_can_decide_is_what_trying_shows(seed: int) -> None:
    chance = random.Random(seed)
    node = grown(chance, 4, iter(range(99)))
    evaluator: Any = Given()
    if evaluator.value(node) is not UNKNOWN:
        return
    decider = Decider(evaluator)
    subsets = [tuple(s for s, on in zip(sorted(NEEDS), bits, strict=True) if on) for bits in product((0, 1), repeat=4)]
    for sources in subsets:
        found = outcomes(node, sources)
        assert decider.ways(node, sources) == (True in found, False in found), sources
    decision = decider.fewest(node)
    deciding = [sources for sources in subsets if outcomes(node, sources)]
    if decision is None:
        assert all(len(sources) > 3 for sources in deciding)
        return
    chosen = tuple(sorted(source for source, _ in decision.asked))
    fewest = [sources for sources in deciding if len(sources) == min(map(len, deciding))]
    surest = max(len(outcomes(node, sources)) for sources in fewest)
    cost = {sources: sum(COSTS[one] for one in sources) for sources in fewest if len(outcomes(node, sources)) == surest}
    assert cost[chosen] == min(cost.values())


def test_inputs_that_decide_only_together_are_said_to() -> None:
    evaluator: Any = Given()
    decision = Decider(evaluator).fewest(leaf(1, "metrics", "profile"))
    assert decision is not None
    assert needed.together(decision, RUN) == "a metrics page and a profile (nsys) together"  # type: ignore[arg-type]


# -- on runs -------------------------------------------------------------------------


def sglang(folder: Path, metrics: bool) -> Path:
    flags = f"model_path='m', enable_metrics={metrics}, max_running_requests=64, tp_size=1"
    lines = [f"[2025-07-12 10:00:00] server_args=ServerArgs({flags})"]
    lines += ["[2025-07-12 10:00:05] The server is fired up and ready to roll!"]
    lines += [
        f"[2025-07-12 10:01:{at:02}] Decode batch, #running-req: 8, #token: 900, token usage: 0.20, cuda graph: True, "
        "gen throughput (token/s): 400.00, #queue-req: 0"
        for at in range(0, 60, 5)
    ]
    (folder / "server.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "server.log"


@pytest.mark.parametrize(
    ("metrics", "needs"),
    [
        (False, "a metrics page of a run with --enable-metrics (this one was started without)"),
        (True, "a metrics page"),
    ],
)
def test_a_page_that_the_server_does_not_have(tmp_path: Path, knowledge: Knowledge, metrics: bool, needs: str) -> None:
    report = Session([sglang(tmp_path, metrics)], knowledge=knowledge).report
    said = {one.rule: one for one in report.unknown}
    assert said["ingress.tokenizer_bound"].needs == needs
    assert said["ingress.tokenizer_bound"].decides == "either"
    assert "together" not in " ".join(one.needs for one in report.unknown)


PAGE = """# {time}
vllm:num_requests_running{{engine="0"}} 8
vllm:num_requests_waiting{{engine="0"}} 0
{lines}
"""
EDGES = ("0.1", "0.5", "2.5", "+Inf")


def pages(folder: Path, counts: tuple[int, ...], total: float, rows: tuple[float, ...] = ()) -> list[Path]:
    """Write two pages between which the first tokens of so many requests fell into each bucket."""
    name, grown_by, lines = "vllm:time_to_first_token_seconds", 0, []
    for edge, count in zip(EDGES, counts, strict=True):
        grown_by += count
        lines.append(f'{name}_bucket{{engine="0",le="{edge}"}} {grown_by}')
    lines += [f'{name}_sum{{engine="0"}} {total}', f'{name}_count{{engine="0"}} {grown_by}']
    none = [f"{line.rpartition(' ')[0]} 0" for line in lines]
    for at, told in enumerate((none, lines)):
        text = PAGE.format(time=f"2025-07-12 10:0{at}:00", lines="\n".join(told))
        (folder / f"metrics-{at}.prom").write_text(text, encoding="utf-8")
    names = sorted(folder.glob("metrics-*.prom"))
    if rows:
        table = "".join(f"{at},ok,{value},{value + 1},100,10\n" for at, value in enumerate(rows))
        text = "t_start,status,ttft_s,e2e_s,prompt_tokens,output_tokens\n" + table
        (folder / "client.csv").write_text(text, encoding="utf-8")
        names.append(folder / "client.csv")
    return names


def judged(text: str, names: list[Path], knowledge: Knowledge, slo: float) -> Answer:
    session = Session(names, knowledge=knowledge, options=Options(slo={"ttft": slo}))
    (one,) = [one for one in session.judgements if one.run.spreads]
    (node,) = [part for part in _parts(knowledge.base.symptoms["tail_over_ttft"]) if part.text == text]
    return one.evaluator.answer(node)


def _parts(node: Node) -> Iterator[Node]:
    yield node
    for arg in node.args:
        if isinstance(arg, Node):
            yield from _parts(arg)


@pytest.mark.parametrize(
    ("level", "value"),
    [(0.2, True), (0.5, True), (1.7, UNKNOWN), (2.5, False), (3.0, False)],
)
def test_a_level_within_the_bucket_decides_nothing(
    tmp_path: Path, knowledge: Knowledge, level: float, value: Any
) -> None:
    """P99 lies in the bucket of 0.5 to 2.5 s, with nothing more to be learnt from the sum."""
    names = pages(tmp_path, (60, 20, 20, 0), 60 * 0.05 + 20 * 0.3 + 20 * 1.5)
    found = judged("p99(latency.ttft) > slo.ttft", names, knowledge, level)
    assert found.value is value
    assert all("the requests one by one" in need for need in found.needs) and bool(found.needs) is (value is UNKNOWN)


def test_clients_decide_where_the_bucket_does_not(tmp_path: Path, knowledge: Knowledge) -> None:
    rows = (0.05,) * 60 + (0.3,) * 20 + (1.5,) * 20
    names = pages(tmp_path, (60, 20, 20, 0), 60 * 0.05 + 20 * 0.3 + 20 * 1.5, rows)
    assert judged("p99(latency.ttft) > slo.ttft", names, knowledge, 1.0).value is True
    assert judged("p99(latency.ttft) > slo.ttft", names, knowledge, 2.0).value is False


@pytest.mark.parametrize(
    ("level", "least", "most"), [(0.05, 0.4, 1.0), (0.1, 0.4, 0.4), (0.3, 0.2, 0.4), (2.5, 0.0, 0.0), (9.0, 0.0, 0.0)]
)
def test_a_share_above_a_level_is_what_its_bucket_leaves(level: float, least: float, most: float) -> None:
    edges = [(float(edge), float(count)) for edge, count in zip(EDGES, (60, 20, 20, 0), strict=True)]
    found = Spread("metrics", 100, 39.0, "", 0, "", buckets=edges).above_within(level)
    assert found == pytest.approx((least, most))


SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.mark.parametrize(
    ("sample", "open_questions"),
    [
        (
            "healthy-vllm",
            "compute.no_cuda_graph ingress.tokenizer_bound output.detokenizer_stall scheduling.scheduler_cpu_bound",
        ),
        ("healthy-sglang", "output.detokenizer_stall scheduling.head_of_line scheduling.scheduler_cpu_bound"),
    ],
)
def test_a_healthy_log_asks_for_little(sample: str, open_questions: str, knowledge: Knowledge) -> None:
    """What a log answers in another way is not asked for: no pod, no stacks, no count of what cannot have been."""
    report = Session([SAMPLES / sample / "server.log"], knowledge=knowledge).report
    assert [one.rule for one in report.unknown if not one.reason] == open_questions.split()


@pytest.mark.parametrize(("usage", "lines"), [("93.0", 30), ("3.0", 2)])
def test_evictions_are_asked_for_where_the_cache_may_have_been_full(
    tmp_path: Path, knowledge: Knowledge, usage: str, lines: int
) -> None:
    text = (SAMPLES / "healthy-vllm/server.log").read_text()
    text = re.sub(r"KV cache usage: [\d.]+%", f"KV cache usage: {usage}%", text)
    stats = [line for line in text.splitlines() if "KV cache usage" in line]
    for line in stats[lines:]:
        text = text.replace(line + "\n", "", 1)
    log = tmp_path / "server.log"
    log.write_text(text)
    report = Session([log], knowledge=knowledge).report
    assert "memory.kv_cache_exhausted" in {one.rule for one in report.unknown}
