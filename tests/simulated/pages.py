"""Metrics pages of simulated servers: names, labels and buckets of each version, for what rules may ask for."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from simulated.server import Record
from simulated.vllm_log import START

TTFT = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 640.0 2560.0"
TPOT = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0"
WHOLE = "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 240.0 480.0 960.0 1920.0 7680.0"
TOKENS = "1.0 2.0 5.0 10.0 20.0 50.0 100.0 200.0 500.0 1000.0 2000.0 5000.0"
SG_TTFT = "0.1 0.2 0.4 0.6 0.8 1.0 2.0 4.0 6.0 8.0 10.0 20.0 40.0 60.0 80.0 100.0 200.0 400.0"
SG_ITL = (
    "0.002 0.004 0.006 0.008 0.01 0.015 0.02 0.025 0.03 0.035 0.04 0.06 0.08 0.1 0.2 0.4 0.6 0.8 1.0 2.0 4.0 6.0 8.0"
)
SG_QUEUE = (
    "0.0 0.1 0.2 0.5 1.0 2.0 3.0 4.0 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 70.0 80.0 90.0 100.0 200.0 300.0 400.0"
)
SG_TOKENS = "100.0 300.0 500.0 700.0 1000.0 1500.0 2000.0 3000.0 4000.0 5000.0 6000.0 7000.0 8000.0 10000.0 20000.0"


class Histogram:
    """Values with their times, counted by bucket as time goes on; pages must be asked for in the order of time."""

    def __init__(self, buckets: str, values: Iterable[tuple[float, float, int]]) -> None:
        self._names = [*buckets.split(), "+Inf"]
        self._bounds = [float(bound) for bound in buckets.split()]
        self._values = sorted(values)
        self._place, self._sum, self._counts = 0, 0.0, [0] * len(self._names)

    def page(self, name: str, labels: str, at: float) -> Iterator[str]:
        while self._place < len(self._values) and self._values[self._place][0] <= at:
            _, value, many = self._values[self._place]
            self._counts[bisect_left(self._bounds, value)] += many
            self._sum += value * many
            self._place += 1
        yield f"# TYPE {name} histogram"
        running = 0
        for bound, count in zip(self._names, self._counts, strict=True):
            running += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {running}.0'
        yield f"{name}_sum{{{labels}}} {self._sum}"
        yield f"{name}_count{{{labels}}} {running}.0"


def number(name: str, labels: str, value: float, kind: str = "gauge") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"{name}{{{labels}}} {value}"


class Moment:
    """What had happened by a moment."""

    def __init__(self, record: Record, at: float) -> None:
        self.record, self.at = record, at
        self.answered = [one for one in record.requests if one.first is not None and one.first <= at]
        self.admitted = [one for one in record.requests if one.admitted is not None and one.admitted <= at]
        self.done = [one for one in self.answered if one.ended is not None and one.ended <= at]
        self.left = [one for one in record.requests if one.left is not None and one.left <= at]
        self.refused = sum(one.refused and one.arrival <= at for one in record.requests)
        place = bisect_right(record.steps, at, key=lambda step: step.time)
        self.last = record.steps[place - 1] if place else None
        self.tokens = sum(step.tokens for step in record.steps[:place])
        self.speed = sum(s.tokens for s in record.steps[max(0, place - 400) : place] if s.time > at - 2) / 2
        self.evicted = sum(count for when, count, _, _, _ in record.evictions if when <= at)
        self.running, self.waiting, self.used = 0, 0, 0.0
        if self.last and (self.last.running or self.last.waiting):
            self.running, self.waiting, self.used = self.last.running, self.last.waiting, self.last.used


class Pages:
    """The metrics of one server; asked for page after page."""

    def __init__(self, record: Record) -> None:
        self._record = record
        new = record.server.version in ("0.16.0", "0.32.0")
        first = [one for one in record.requests if one.first is not None]
        done = [one for one in first if one.ended is not None]
        over = (
            done + [one for one in record.requests if one.left is not None]
            if record.server.engine == "sglang"
            else done
        )
        spans: dict[str, list[tuple[float, float, int]]] = {
            "ttft": [(one.first or 0.0, span(one.arrival, one.first), 1) for one in first],
            "e2e": [(one.ended or 0.0, span(one.arrival, one.ended), 1) for one in done],
            "queue": [(one.ended or 0.0, span(one.arrival, one.admitted), 1) for one in done],
            "prefill": [(one.ended or 0.0, span(one.admitted, one.first), 1) for one in done],
            "decode": [(one.ended or 0.0, span(one.first, one.ended), 1) for one in done],
            "inference": [(one.ended or 0.0, span(one.admitted, one.ended), 1) for one in done],
            "tpot": [(o.ended or 0.0, span(o.first, o.ended) / (o.output - 1), 1) for o in done if o.output > 1],
            "gaps": list(record.gaps),
            "prompt": [(one.ended or one.left or 0.0, one.prompt, 1) for one in over],
            "output": [(one.ended or one.left or 0.0, one.produced, 1) for one in over],
            "asked": [(one.ended or 0.0, one.output, 1) for one in done],
        }
        if record.server.engine == "sglang":
            admitted = [one for one in record.requests if one.admitted is not None]
            spans["queue"] = [(one.admitted or 0.0, span(one.arrival, one.admitted), 1) for one in admitted]
            names = (
                SGLANG
                if record.server.version == "0.5.23"
                else {k: v for k, v in SGLANG.items() if "histogram" not in k}
            )
        else:
            names = VLLM | (VLLM_NEW if new else VLLM_OLD)
        self._histograms = {name: Histogram(buckets, spans[what]) for name, (what, buckets) in names.items()}

    def page(self, at: float) -> str:
        now = Moment(self._record, at)
        lines = ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {START - 20:.2f}"]
        sglang = self._record.server.engine == "sglang"
        lines += sglang_numbers(now) if sglang else vllm_numbers(now)
        if sglang or self._record.server.version != "0.8.5" or now.answered:
            for name, histogram in self._histograms.items():
                lines += histogram.page(name, labels(now, name), at)
        return "".join(f"{line}\n" for line in lines)


VLLM = {
    "vllm:time_to_first_token_seconds": ("ttft", TTFT), "vllm:e2e_request_latency_seconds": ("e2e", WHOLE),
    "vllm:request_queue_time_seconds": ("queue", WHOLE), "vllm:request_prefill_time_seconds": ("prefill", WHOLE),
    "vllm:request_decode_time_seconds": ("decode", WHOLE), "vllm:request_inference_time_seconds": ("inference", WHOLE),
    "vllm:request_prompt_tokens": ("prompt", TOKENS), "vllm:request_generation_tokens": ("output", TOKENS),
    "vllm:request_params_max_tokens": ("asked", TOKENS),
}  # fmt: skip
VLLM_OLD = {"vllm:time_per_output_token_seconds": ("gaps", TPOT)}
VLLM_NEW = {
    "vllm:inter_token_latency_seconds": ("gaps", TPOT), "vllm:request_time_per_output_token_seconds": ("tpot", TPOT)
}  # fmt: skip
SGLANG = {
    "sglang:time_to_first_token_seconds": ("ttft", SG_TTFT), "sglang:e2e_request_latency_seconds": ("e2e", SG_TTFT),
    "sglang:inter_token_latency_seconds": ("gaps", SG_ITL), "sglang:queue_time_seconds": ("queue", SG_QUEUE),
    "sglang:prompt_tokens_histogram": ("prompt", SG_TOKENS),
    "sglang:generation_tokens_histogram": ("output", SG_TOKENS),
}  # fmt: skip


def labels(now: Moment, name: str) -> str:
    """The labels that a version gives a metric."""
    server, new = now.record.server, now.record.server.version == "0.5.23"
    if server.engine == "vllm":
        return 'model_name="tiny-llama"' if server.version == "0.8.5" else 'engine="0",model_name="tiny-llama"'
    model = 'engine_type="unified",model_name="tiny-llama"' if new else 'model_name="tiny-llama"'
    if name.endswith(("time_to_first_token_seconds", "e2e_request_latency_seconds")) and new:
        return f'{model},is_streaming="true"'
    if name.endswith(("queue_time_seconds", "rank")):
        expert = 'moe_ep_rank="0",' if new else ""
        return f'engine_type="unified",model_name="tiny-llama",{expert}pp_rank="0",tp_rank="0"'
    return model


def span(start: float | None, end: float | None) -> float:
    return max((end or 0.0) - (start or 0.0), 0.0)


def answers(now: Moment) -> Iterator[str]:
    """What the HTTP server counts, from the first answer of a kind on."""
    sglang = now.record.server.engine == "sglang"
    for status, value in (("2xx", len(now.answered)), ("4xx", now.refused)):
        if value and sglang:
            code = "200" if status == "2xx" else "400"
            mine = f'endpoint="/v1/completions",method="POST",status_code="{code}"'
            yield f"sglang:http_responses_total{{{mine}}} {value}.0"
        elif value:
            yield f'http_requests_total{{handler="/v1/completions",method="POST",status="{status}"}} {value}.0'


def vllm_numbers(now: Moment) -> Iterator[str]:
    server, mine = now.record.server, labels(now, "")
    old = server.version == "0.8.5"
    yield from number("vllm:num_requests_running", mine, now.running)
    yield from number("vllm:num_requests_waiting", mine, now.waiting)
    if server.version == "0.32.0":
        for reason, value in (("capacity", now.waiting), ("deferred", 0)):
            yield f'vllm:num_requests_waiting_by_reason{{{mine},reason="{reason}"}} {value}.0'
    if server.version in ("0.8.5", "0.9.2"):
        yield from number("vllm:gpu_cache_usage_perc", mine, now.used)
    if not old:
        yield from number("vllm:kv_cache_usage_perc", mine, now.used)
    yield from answers(now)
    if old and not now.answered:  # V0 shows no counter before it has counted
        return
    counters = {"prompt_tokens": sum(one.prompt for one in now.answered), "num_preemptions": now.evicted,
                "generation_tokens": now.tokens}  # fmt: skip
    if not old:
        counters["prefix_cache_queries"] = sum(one.prompt for one in now.admitted) if server.cached else 0
        counters["prefix_cache_hits"] = sum(one.cached for one in now.admitted)
    if server.version == "0.9.2":
        counters["gpu_prefix_cache_queries"] = counters["prefix_cache_queries"]
        counters["gpu_prefix_cache_hits"] = counters["prefix_cache_hits"]
    for name, value in counters.items():
        yield from number(f"vllm:{name}_total", mine, float(value), "counter")
    reasons = {"length": len(now.done)} if old else {"stop": 0, "length": len(now.done), "abort": 0}
    for reason, value in reasons.items():
        yield f'vllm:request_success_total{{{mine},finished_reason="{reason}"}} {value}.0'
    info = f'block_size="{server.block}",cache_dtype="auto",enable_prefix_caching="{None if old else server.cached}",'
    info += f'gpu_memory_utilization="0.9",num_gpu_blocks="{server.tokens // server.block}"'
    yield f"vllm:cache_config_info{{{info}}} 1.0" if old else f'vllm:cache_config_info{{engine="0",{info}}} 1.0'


def sglang_numbers(now: Moment) -> Iterator[str]:
    new = now.record.server.version == "0.5.23"
    model, rank, kind = labels(now, ""), labels(now, "rank"), labels(now, "time_to_first_token_seconds")
    gauges = {"num_running_reqs": now.running, "num_queue_reqs": now.waiting, "token_usage": round(now.used, 2),
              "num_used_tokens": now.last.held if now.last and now.running else 0, "gen_throughput": now.speed,
              "num_grammar_queue_reqs": 0, "num_retracted_reqs": 0, "cache_hit_rate": 0.0}  # fmt: skip
    if new:
        gauges |= {"new_token_ratio": now.last.ratio if now.last else 0.7, "fwd_occupancy": math.nan,
                   "utilization": 0.0, "max_total_num_tokens": now.record.server.tokens}  # fmt: skip
    for name, value in gauges.items():
        yield from number(f"sglang:{name}", rank, value)
    yield from answers(now) if new else ()
    done = now.done + now.left
    counters: dict[str, tuple[str, float]] = {
        "prompt_tokens": (kind, sum(one.prompt for one in done)),
        "generation_tokens": (kind, sum(one.produced for one in done)),
        "num_requests": (kind, len(done)),
        "cached_tokens": (f'cache_source="device",{model}' if new else model, sum(one.cached for one in done)),
    }
    if now.left:
        counters["num_aborted_requests"] = (model, len(now.left))
    if new and now.evicted:
        counters["num_retracted_requests"] = (rank, now.evicted)
    for name, (mine, value) in counters.items():
        yield from number(f"sglang:{name}_total", mine, float(value), "counter")
