"""Logs of vLLM servers on a CPU, version by version: the head that tells what they are, statistics, access lines."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator

from simulated.server import Record

START = 1_795_975_200.0
API, CORE = "(APIServer pid=453) ", {"0.16.0": "(EngineCore_DP0 pid=512) ", "0.32.0": "(EngineCore pid=512) "}
STATS = {"0.8.5": "metrics.py:486", "0.9.2": "loggers.py:118", "0.16.0": "loggers.py:259", "0.32.0": "loggers.py:335"}
BUILT = (
    "Initializing a V{kind} LLM engine (v{version}) with config: model='/srv/models/tiny-llama', "
    "speculative_config=None, tokenizer='/srv/models/tiny-llama', skip_tokenizer_init=False, "
    "tokenizer_mode=auto, revision=None, "
    "trust_remote_code=False, dtype=torch.bfloat16, max_seq_len={context}, download_dir=None, load_format=dummy, "
    "tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=True, kv_cache_dtype=auto, "
    "device_config=cpu, seed=0, served_model_name=tiny-llama, enable_prefix_caching={cached}, "
    "chunked_prefill_enabled={chunked}, use_async_output_proc=False"
)


def clock(at: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.gmtime(START + at))


def arguments(record: Record) -> str:
    """The arguments that somebody gave."""
    server = record.server
    given = "'host': '127.0.0.1', 'port': 18316, 'model': '/srv/models/tiny-llama', 'enforce_eager': True, "
    given += "'served_model_name': ['tiny-llama'], 'load_format': 'dummy'"
    if server.limit_set:
        given += f", 'max_num_seqs': {server.running}"
    if not server.cached and server.version != "0.8.5":
        given += ", 'enable_prefix_caching': False"
    return "{" + given + "}"


def head(record: Record) -> Iterator[str]:
    server = record.server
    old, v0 = server.version in ("0.8.5", "0.9.2"), server.version == "0.8.5"
    api, core, now = "" if old else API, CORE.get(server.version, ""), clock(0)
    chunks = f"Chunked prefill is enabled with max_num_batched_tokens={server.budget}."
    built = BUILT.format(
        kind=0 if v0 else 1,
        version=server.version,
        context=server.context,
        cached=None if v0 else server.cached,
        chunked=not v0,
    )
    yield f"{api}INFO {now} [{'__init__.py:239' if v0 else '__init__.py:244'}] Automatically detected platform cpu."
    if old:
        yield f"INFO {now} [api_server.py:1043] vLLM API server version {server.version}"
    else:
        yield f"{api}INFO {now} [utils.py:287]        █     █     █▄   ▄█"
        yield f"{api}INFO {now} [utils.py:287]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version {server.version}"
        yield f"{api}INFO {now} [utils.py:287]   █▄█▀ █     █     █     █  model   /srv/models/tiny-llama"
    if v0:
        limit = server.running if server.limit_set else None
        yield (
            f"INFO {now} [api_server.py:1044] args: Namespace(subparser='serve', model_tag='/srv/models/tiny-llama', "
            f"host='127.0.0.1', port=18155, model='/srv/models/tiny-llama', max_model_len=None, max_num_seqs={limit}, "
            "gpu_memory_utilization=0.9, kv_cache_dtype='auto', enable_prefix_caching=None, enforce_eager=True, "
            "disable_log_stats=False, disable_log_requests=True)"
        )
    else:
        yield f"{api}INFO {now} [utils.py:223] non-default args: {arguments(record)}"
        yield f"{api}INFO {now} [model.py:1549] Using max model len {server.context}"
        yield f"{api}INFO {now} [scheduler.py:224] {chunks}"
    yield f"{core}INFO {now} [core.py:97] {built}"
    each = server.tokens / server.context
    if v0:
        yield f"INFO {now} [executor_base.py:112] # cpu blocks: {server.tokens // server.block}, # CPU blocks: 0"
        most = f"Maximum concurrency for {server.context} tokens per request: {each:.2f}x"
        yield f"INFO {now} [executor_base.py:117] {most}"
    elif server.version == "0.32.0":
        yield (
            f"{core}INFO {now} [kv_cache_utils.py:2327] CPU KV cache size: {server.tokens:,} tokens, "
            f"Maximum concurrency for {server.context:,} tokens per request: {each:.2f}x"
        )
    else:
        yield f"{core}INFO {now} [kv_cache_utils.py:1307] GPU KV cache size: {server.tokens:,} tokens"
        yield (
            f"{core}INFO {now} [kv_cache_utils.py:1312] Maximum concurrency for {server.context:,} tokens per request: "
            f"{each:.2f}x"
        )
    yield f"{core}INFO {now} [core.py:278] init engine (profile, create kv cache, warmup model) took 0.97 seconds"
    yield f"{api}INFO {now} [api_server.py:486] Starting vLLM API server 0 on http://127.0.0.1:18316"
    for line in ("Started server process [453]", "Waiting for application startup.", "Application startup complete."):
        yield f"{api}INFO:     {line}"


def log(record: Record) -> list[str]:
    """The whole log, in the order of time."""
    api = "" if record.server.version in ("0.8.5", "0.9.2") else API
    lines: list[tuple[float, str]] = []
    for one in record.requests:
        answer = "400 Bad Request" if one.refused else "200 OK"
        port = 40000 + one.number * 14 % 20000
        lines.append((one.arrival, f'{api}INFO:     127.0.0.1:{port} - "POST /v1/completions HTTP/1.1" {answer}'))
        if one.left is not None and record.server.version == "0.9.2":
            lines.append(
                (one.left, f"INFO {clock(one.left)} [async_llm.py:339] Request cmpl-{one.number:032x}-0 aborted.")
            )
    if record.server.version == "0.8.5":
        for count, (at, _, number, _, _) in enumerate(record.evictions, 1):
            if count % 50 == 1:
                lines.append((at, evicted(at, number, count)))
    lines += statistics(record, api)
    return [*head(record), *(line for _, line in sorted(lines, key=lambda line: line[0]))]


def evicted(at: float, number: int, count: int) -> str:
    return (
        f"WARNING {clock(at)} [scheduler.py:1754] Sequence group cmpl-{number:032x}-0 is preempted by "
        "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end "
        "performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. "
        f"total_num_cumulative_preemption={count}"
    )


def statistics(record: Record, api: str) -> Iterator[tuple[float, str]]:
    """A line every ten seconds (V0: five) as long as there is something to tell."""
    server, steps = record.server, record.steps
    every = 5.0 if server.version == "0.8.5" else 10.0
    ends, place, idle = [step.time for step in steps], 0, False
    asked = found = 0
    at = every
    while at <= server.run + every:
        upto = bisect_right(ends, at)
        if (
            server.version == "0.8.5" and upto == place and at < server.run
        ):  # the engine prints, and it is in a step or has none
            at += every
            continue
        now = steps[place:upto]
        newer = server.version in ("0.16.0", "0.32.0")
        prompt = sum(step.prompt if newer else step.prompts for step in now) / every
        made = sum(step.tokens for step in now) / every
        last = steps[upto - 1] if upto else None
        running, waiting, used = (last.running, last.waiting, last.used * 100) if last else (0, 0, 0.0)
        hits = [one for one in record.requests if one.admitted is not None and at - every < one.admitted <= at]
        asked += sum(one.prompt for one in hits)
        found += sum(one.cached for one in hits)
        quiet = not prompt and not made
        if not (quiet and idle) and last:
            text = f"Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, "
            text += f"Running: {running} reqs, "
            if server.version == "0.8.5":
                text += f"Swapped: 0 reqs, Pending: {waiting} reqs, GPU KV cache usage: {used:.1f}%, "
                text += "CPU KV cache usage: 0.0%."
            else:
                pool = "CPU" if server.version == "0.32.0" else "GPU"
                text = f"Engine 000: {text}Waiting: {waiting} reqs, {pool} KV cache usage: {used:.1f}%"
                if server.cached or server.version != "0.32.0":
                    text += f", Prefix cache hit rate: {found / asked * 100 if asked else 0:.1f}%"
            yield at, f"{api}INFO {clock(at)} [{STATS[server.version]}] {text}"
        idle, place = quiet, upto
        at += every
