"""One load, measured twice: figures of the server's metrics pages against the requests that its client timed.

``python tests/test_agreement.py FOLDER`` counts the same over a folder of recordings (ENGINE/CASE/client.csv).
"""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from serverlogs import knowledge as shared

from diagnoser.api import Knowledge, Session
from diagnoser.contracts.figurerows import SpreadRow
from diagnoser.model import Run
from diagnoser.portraits.latencies import PERCENTILES, spreads
from diagnoser.reports.spreadrows import percentile
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.evaluating.evaluate import Options as Asked
from diagnoser.rules.evaluating.format import render
from diagnoser.tables.spread import Spread, merged

RECORDINGS = sorted((Path(__file__).parent / "data" / "latency").iterdir())
COLUMNS = {"latency.ttft": "ttft_s", "latency.tpot": "tpot_s", "latency.e2e": "e2e_s"}

#: Recordings whose pages tell how long the HTTP server took over the same requests.
HTTP = {
    *("vllm-0.16.0-a-healthy", "vllm-0.32.0-a-healthy", "vllm-0.32.0-e2-cache-disabled"),
    *(
        "vllm-0.32.0-n2-sigterm-under-load",
        "vllm-0.32.0-u2-data-parallel",
        "vllm-0.32.0-w-auth-401",
        "vllm-0.32.0-x-high-hit-slow",
    ),
    *("vllm-0.32.0-z-queue-then-recover", "vllm-0.9.2-a-healthy"),
}

#: Figures agree within this share of what the client measured.
AGREE = 0.1


@dataclass
class Load:
    """One recording. ``rows`` are the client's requests, ``run`` what its pages alone tell, ``both`` with the table."""

    rows: list[dict[str, str]]
    run: Run
    both: Run

    def client(self, column: str) -> list[tuple[float, float]]:
        """Return (value, tokens after the first) of the requests that the server counted too, in order; [] where it
        counted others.

        A server counts failed requests as soon as they had a first token or ended; a client may or may not time them.
        """
        name = next(name for name, one in COLUMNS.items() if one == column)
        told = self.served(name)
        for rows in ([row for row in self.rows if row["status"] == "ok"], self.rows):
            known = [(float(row[column]), float(row["output_tokens"] or 0) - 1) for row in rows if row[column]]
            if told is not None and len(known) == told.count:
                return sorted(known)
        return []

    def served(self, name: str) -> Spread | None:
        return merged([one for one in self.run.spreads.get(name, ()) if one.medium == "metrics"])

    def front(self, name: str) -> float:
        """Return the seconds that all requests together spent in front of the engine: what both means leave."""
        told, known = self.served(name), self.client(COLUMNS[name])
        return max(math.fsum(value for value, _ in known) - told.total, 0.0) if told is not None and known else 0.0


def load_of(folder: Path, knowledge: Knowledge) -> Load | None:
    pages = [page for page in sorted(folder.glob("metrics-*.prom")) if page.stat().st_size]
    if not pages:
        return None
    with (folder / "client.csv").open() as file:
        rows = list(csv.DictReader(file))
    alone = [run for run in Session(pages, knowledge=knowledge).runs if run.spreads]
    beside = [run for run in Session([folder / "client.csv", *pages], knowledge=knowledge).runs if run.spreads]
    return Load(rows, alone[0], beside[0]) if alone and beside else None


def agreement(load: Load, name: str, share: float) -> str:
    """Say how the client's percentile stands to the server's: "number", "range", "front end", or "" where it does not.

    "range": some value within the stated bounds agrees with it. "front end": those requests that took longer than the
    bucket allows did so by less than all requests together spent in front of the engine.
    """
    told, known = load.served(name), load.client(COLUMNS[name])
    assert told is not None
    ordered = [value for value, _ in known]
    rank = max(math.ceil(share * len(ordered) * (1 - 1e-9)), 1)
    mine, value, limits = ordered[rank - 1], told.quantile(share), told.within(share)
    assert value is not None
    assert limits is not None
    if abs(value - mine) <= AGREE * mine:
        return "number"
    if limits[0] <= (1 + AGREE) * mine and (1 - AGREE) * mine <= limits[1]:
        return "range"
    edges = [0.0, *(upper for upper, _ in told.buckets)]
    upper = next(edge for edge in edges if edge >= value)
    lower = edges[edges.index(upper) - 1]
    per_token = name == "latency.tpot"
    if mine > limits[1]:
        # Above its bucket the server has fewer requests than the client has from this percentile on.
        late = sorted(tokens if per_token else 1.0 for _, tokens in known[rank - 1 :])
        outside = len(late) - round(math.fsum(number for edge, number in told.buckets if edge > upper))
        spent = (mine - upper) * math.fsum(late[: max(outside, 0)])
        return "front end" if spent <= load.front("latency.e2e" if per_token else name) else ""
    # A first token that comes late at the client leaves less time to those behind it; nothing else is shorter there.
    early = sorted(tokens for _, tokens in known[:rank])
    inside = len(early) - round(math.fsum(number for edge, number in told.buckets if edge <= lower))
    spent = (lower - mine) * math.fsum(early[: max(inside, 0)])
    return "front end" if per_token and spent <= load.front("latency.ttft") else ""


@pytest.fixture(scope="module", params=RECORDINGS, ids=lambda folder: folder.name)
def load(request: pytest.FixtureRequest, knowledge: Knowledge) -> Load:
    found = load_of(request.param, knowledge)
    assert found is not None
    return found


def test_percentiles_of_the_server_agree_with_its_client(load: Load):
    """Each within 10 %, or within the bounds that the report states, or by no more than what was spent in front."""
    for name in COLUMNS:
        if load.served(name) is not None and load.client(COLUMNS[name]):
            for label, share in PERCENTILES.items():
                assert agreement(load, name, share), f"{name} {label}"


def test_requests_and_tokens_agree(load: Load):
    """Where both tell of the same requests and none failed, they tell the same number of tokens."""
    if not load.client("e2e_s") or any(row["status"] != "ok" for row in load.rows):
        return
    for name, column in (
        ("gen.tokens", "output_tokens"),
        ("prompt.tokens", "prompt_tokens"),
        ("requests.finished", ""),
    ):
        columns = [table.columns[name] for table in load.run.tables.values() if name in table.columns]
        counted = math.fsum(one for column in columns for one in column if one == one)
        assert counted == math.fsum(float(row[column]) if column else 1 for row in load.rows), name


def test_a_clients_figures_are_its_own(load: Load, knowledge: Knowledge):
    """With the table of requests given, the report's percentiles are the client's, to the last digit."""
    rows = spreads(load.both, knowledge.titles)
    good = [row for row in load.rows if row["status"] == "ok"]
    for name, column in COLUMNS.items():
        values = sorted(float(row[column]) for row in good if row[column])
        if not values:
            assert name not in rows or rows[name].medium == "metrics"
            continue
        row = rows[name]
        assert (row.medium, row.count, row.bounds) == ("bench", len(values), {})
        assert row.mean == pytest.approx(math.fsum(values) / len(values))
        for label, share in PERCENTILES.items():
            assert row.percentiles[label][0] == values[math.ceil(share * len(values) * (1 - 1e-9)) - 1]


def test_what_was_spent_in_front_is_told_of_the_same_requests_only(load: Load, knowledge: Knowledge):
    for name, row in spreads(load.both, knowledge.titles).items():
        served = load.served(name)
        if row.medium == "metrics":
            assert (row.served, row.outside) == (None, None)
            continue
        assert (row.served is None) == (served is None)
        if served is None or row.served is None or name == "latency.tpot":
            assert row.outside is None
        elif served.count == row.count:
            assert row.outside == pytest.approx(row.mean - row.served.mean)
        else:
            assert row.outside is None


def test_time_in_front_is_the_same_for_the_first_token_and_the_whole(load: Load, knowledge: Knowledge):
    """It is spent before the first token: both differences agree within 10 % of the request, or 20 ms."""
    rows = spreads(load.both, knowledge.titles)
    first, whole = rows["latency.ttft"].outside, rows["latency.e2e"].outside if "latency.e2e" in rows else None
    if first is not None and whole is not None:
        assert abs(whole - first) <= 0.02 + AGREE * rows["latency.e2e"].mean


def test_time_at_the_http_server_is_a_part_of_what_clients_wait_longer(load: Load, knowledge: Knowledge):
    """With it the mean is never farther from the client's than without: the network still lies between."""
    alone, both = spreads(load.run, knowledge.titles), spreads(load.both, knowledge.titles)
    told, seen = alone.get("latency.ttft"), both.get("latency.ttft")
    if told is None or told.front is None or not load.client("ttft_s"):
        return
    assert told.mean is not None
    assert seen is not None and seen.mean is not None and seen.served is not None
    assert told.mean <= told.mean + told.front <= seen.mean
    assert seen.served.front == told.front


def test_only_pages_that_count_the_same_requests_tell_it(knowledge: Knowledge):
    """Refused and given-up requests are counted by one of both only; SGLang and vLLM before 0.8.3 do not measure it."""
    front = {}
    for folder in RECORDINGS:
        found = load_of(folder, knowledge)
        row = spreads(found.run, knowledge.titles).get("latency.ttft") if found is not None else None
        front[folder.name] = row is not None and row.front is not None
    assert {name for name, told in front.items() if told} == HTTP


def test_nobody_waits_in_the_queue_for_longer_than_for_the_first_token(load: Load):
    """No client sees the queue: its mean is bounded by what clients see, at the engine and in front of it."""
    queue, first = load.served("latency.queue"), load.served("latency.ttft")
    if queue is not None and first is not None:
        assert queue.mean <= first.mean


def test_counts_before_the_first_that_a_page_shows(knowledge: Knowledge):
    """vLLM V0 shows no counter before it has counted: its first page says that it counted nothing yet."""
    folder = next(one for one in RECORDINGS if one.name == "vllm-0.8.5-a-healthy")
    found = load_of(folder, knowledge)
    assert found is not None
    assert found.served("latency.ttft").count == len(found.rows) == 45  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "bounds", "told"),
    [
        (0.104, [0.1, 0.108], "104 ms"),
        (0.15, [0.1, 0.25], "100-250 ms"),
        (0.9, [0.75, 1.0], "750 ms-1 s"),
        (0.05, [0.0, 0.1], "0-100 ms"),
        (20.0, [20.0, None], "> 20 s"),
        (70.0, [60.0, 90.0], "1 min-1 min 30 s"),
        (0.15, None, "150 ms"),
    ],
)
def test_percentiles_that_may_be_far_off_are_told_as_ranges(value, bounds, told):
    row = SpreadRow("latency.ttft", "TTFT", "seconds", "metrics", 9, 0.1, {"p50": [value, None, None]})
    row.bounds = {"p50": bounds} if bounds is not None else {}
    assert percentile(row, "p50") == told
    assert percentile(row, "p90") == ""


def test_texts_of_rules_tell_ranges_too(tmp_path: Path, knowledge: Knowledge):
    """No number stands in a sentence that the histogram does not know."""
    edges = {"200.0": (0, 60), "500.0": (0, 90), "2000.0": (0, 98), "+Inf": (0, 100)}
    for at in (0, 1):
        lines = [f'vllm:request_prompt_tokens_bucket{{le="{le}"}} {counts[at]}' for le, counts in edges.items()]
        lines += [f"vllm:request_prompt_tokens_count {100 * at}", f"vllm:request_prompt_tokens_sum {30_000 * at}"]
        (tmp_path / f"metrics-{at}.prom").write_text("\n".join(["vllm:num_requests_running 1", *lines]) + "\n")
    (run,) = Session(sorted(tmp_path.iterdir()), knowledge=knowledge).runs
    evaluator = Evaluator(run, knowledge.base, knowledge.vocabulary, Asked())
    nodes = knowledge.base.rules["scheduling.head_of_line"].placeholders
    assert render("{p50(request.prompt_tokens):int} tokens", evaluator, nodes) == "0-200 tokens"
    assert render("{p99(request.prompt_tokens):int} tokens", evaluator, nodes).startswith("2,000-")


if __name__ == "__main__":
    counts: Counter[tuple[str, str]] = Counter()
    means: Counter[str] = Counter()
    rules = shared()
    for table in sorted(Path(sys.argv[1]).glob("*/*/client.csv")):
        recording = load_of(table.parent, rules)
        if recording is not None and recording.client("ttft_s"):
            first = spreads(recording.run, rules.titles)["latency.ttft"]
            every = [value for value, _ in recording.client("ttft_s")]
            seen, mean = math.fsum(every) / len(every), first.mean or 0.0
            for state, value in (("engine", mean), ("with HTTP", mean + (first.front or 0.0))):
                means[state] += abs(value - seen) <= AGREE * seen
            means["all"] += 1
            means["with front"] += first.front is not None
        for series in COLUMNS if recording is not None else ():
            if recording.served(series) is None:
                continue
            if not recording.client(COLUMNS[series]):
                counts[series, "other requests"] += len(PERCENTILES)
                continue
            for part in PERCENTILES.values():
                counts[series, agreement(recording, series, part) or "NOT"] += 1
    for (series, state), number in sorted(counts.items()):
        print(f"{series:14} {state:14} {number:4}")
    for state, number in sorted(means.items()):
        print(f"mean of TTFT   {state:14} {number:4}")
