"""Logs of SGLang servers on a CPU (0.5.4 and 0.5.23): the head that tells what they are, batch lines, access lines."""

from __future__ import annotations

import time
from collections.abc import Iterator

from simulated.server import Record
from simulated.vllm_log import START


def clock(at: float) -> str:
    return time.strftime("[%Y-%m-%d %H:%M:%S]", time.gmtime(START + at))


def arguments(record: Record) -> str:
    server = record.server
    limit = server.running if server.limit_set else None
    values = {
        "model_path": "/srv/models/tiny-llama", "tokenizer_path": "/srv/models/tiny-llama", "load_format": "dummy",
        "host": "127.0.0.1", "port": 18382, "dtype": "auto", "quantization": None, "kv_cache_dtype": "auto",
        "context_length": None, "mem_fraction_static": 0.88, "max_running_requests": limit, "max_queued_requests": None,
        "max_total_tokens": server.tokens, "chunked_prefill_size": server.budget, "max_prefill_tokens": 16384,
        "schedule_policy": "fcfs", "schedule_conservativeness": 1.0, "page_size": 1, "device": "cpu", "tp_size": 1,
        "pp_size": 1, "decode_log_interval": 40, "dp_size": 1, "attention_backend": "torch_native",
        "disable_radix_cache": not server.cached, "disable_cuda_graph": True, "disable_overlap_schedule": True,
        "enable_metrics": True, "log_level": "info",
    }  # fmt: skip
    if server.version == "0.5.4":
        return "server_args=ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in values.items()) + ")"
    return f"server_args={values!r}"


def head(record: Record) -> Iterator[str]:
    server, now = record.server, clock(0)
    limit = server.running if server.limit_set else 4096 if server.version == "0.5.4" else 2048
    yield f"{now} {arguments(record)}"
    yield f"{now} Load weight begin. avail mem=20.51 GB"
    yield f"{now} Load weight end. elapsed=0.32 s, type=LlamaForCausalLM, avail mem=20.41 GB, mem usage=0.10 GB."
    sizes = f"#tokens: {server.tokens}, K size: 0.04 GB, V size: 0.04 GB"
    yield f"{now} KV Cache is allocated. dtype: torch.bfloat16, {sizes}"
    yield (
        f"{now} max_total_num_tokens={server.tokens}, chunked_prefill_size={server.budget}, max_prefill_tokens=16384, "
        f"max_running_requests={limit}, context_len={server.context}, available_cpu_mem=20.17 GB"
    )
    for line in ("Started server process [6793]", "Waiting for application startup.", "Application startup complete."):
        yield f"{now} INFO:     {line}"
    yield f'{now} INFO:     127.0.0.1:44128 - "GET /health HTTP/1.1" 503 Service Unavailable'
    yield f"{now} The server is fired up and ready to roll!"


def log(record: Record) -> list[str]:
    lines: list[tuple[float, str]] = []
    for one in record.requests:
        answer = "400 Bad Request" if one.refused else "200 OK"
        port = 40000 + one.number * 14 % 20000
        text = f'{clock(one.arrival)} INFO:     127.0.0.1:{port} - "POST /v1/completions HTTP/1.1" {answer}'
        lines.append((one.arrival, text))
    for at, count, gained, before, after in record.evictions:
        told = f"#new_tokens_gained: {gained}" if record.server.version == "0.5.23" else "#aborted_retracted_reqs: 0"
        text = f"#retracted_reqs: {count}, {told}, #new_token_ratio: {before:.4f} -> {after:.4f}"
        lines.append((at, f"{clock(at)} KV cache pool is full. Retract requests. {text}"))
    lines += batches(record)
    return [*head(record), *(line for _, line in sorted(lines, key=lambda line: line[0]))]


def batches(record: Record) -> Iterator[tuple[float, str]]:
    """A line for each batch of prompts, and one for every forty steps of decoding."""
    new, passes, decoded, made, since, before = record.server.version == "0.5.23", 8, 0, 0, 0.0, 0.0
    for step in record.steps:
        passes += 1
        number = "" if new else f" [{passes}]"
        if step.prompt:
            start = step.time - step.took
            text = f"Prefill batch{number}, #new-seq: {max(step.joined, 1)}, #new-token: {step.prompt}, "
            text += f"#cached-token: {step.found}, token usage: {step.used:.2f}, #running-req: {step.before}, "
            text += f"#queue-req: {step.waiting}, "
            if new:
                speed = step.prompt / max(step.time - before, 0.001)
                text += f"#pending-token: 0, cpu graph: False, input throughput (token/s): {speed:.2f}"
                before = step.time
            yield start, f"{clock(start)} {text}"
            made += step.tokens
            continue
        decoded += 1
        made += step.tokens
        if decoded % 40 == 0:
            text = f"Decode batch{number}, #running-req: {step.running}, #token: {step.held}, "
            text += ""
            text += f"token usage: {step.used:.2f}, cpu graph: False, "
            text += f"gen throughput (token/s): {made / max(step.time - since, 0.001):.2f}, "
            text += f"#queue-req: {step.waiting}{'' if new else ', '}"
            made, since = 0, step.time
            yield step.time, f"{clock(step.time)} {text}"
