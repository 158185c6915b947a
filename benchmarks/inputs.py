"""The logs that are measured, line by line from a fixed seed: ``python -m benchmarks.inputs KIND SIZE_MB`` prints one.

``access``: a vLLM server under chat load: eight lines in ten are uvicorn's, eight in a hundred quote a long prompt, the
rest are statistics and a few errors. ``batches``: an SGLang server, nine lines in ten are Prefill and Decode batches.
``tracebacks``: what many threads print while they fail at once. An envelope's name behind a plus sign wraps each line
as that runtime does: ``access+cri``, ``batches+kubectl``, ``access+docker``, ``batches+colours``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice

SEED = 20260101
#: Lines that are made afresh; a longer log repeats their random parts under a clock that goes on.
POOL = 4096
START = 36_000.0

_PROSE = (
    "the model answers with a table of prices per region and a short note about what changed since the last quarter "
    "write a function that reads rows keeps those with errors and returns how many there were on each day please "
    "summarise this thread ERROR the customer said Traceback most recent call last CUDA out of memory was in the mail "
)
_WORDS = _PROSE.split()

_VLLM_START = (
    "INFO 01-12 09:59:00 [__init__.py:239] Automatically detected platform cuda.",
    "(APIServer pid=88) INFO 01-12 09:59:02 [api_server.py:1034] vLLM API server version 0.11.0",
    "(APIServer pid=88) INFO 01-12 09:59:02 [utils.py:233] non-default args: {'model': 'org/model-8b',"
    " 'max_model_len': 16384, 'gpu_memory_utilization': 0.9, 'enable_log_requests': True, 'max_num_seqs': 256}",
    "(EngineCore_DP0 pid=90) INFO 01-12 09:59:40 [gpu_worker.py:227] Available KV cache memory: 20.50 GiB",
    "(EngineCore_DP0 pid=90) INFO 01-12 09:59:40 [kv_cache_utils.py:1087] GPU KV cache size: 167,936 tokens",
    "(APIServer pid=88) INFO:     Started server process [88]",
    "(APIServer pid=88) INFO:     Application startup complete.",
)
_SGLANG_START = (
    "[2026-01-12 09:59:00] server_args=ServerArgs(model_path='org/model-8b', tokenizer_path='org/model-8b',"
    " mem_fraction_static=0.88, max_running_requests=128, tp_size=1, dp_size=1, schedule_policy='fcfs',"
    " chunked_prefill_size=8192, max_prefill_tokens=16384, attention_backend='fa3', sampling_backend='flashinfer',"
    " grammar_backend='xgrammar', watchdog_timeout=300, log_level='info', disable_cuda_graph=False)",
    "[2026-01-12 09:59:30] KV Cache is allocated. #tokens: 190000, K size: 11.60 GB, V size: 11.60 GB",
    "[2026-01-12 09:59:40] max_total_num_tokens=190000, chunked_prefill_size=8192, max_prefill_tokens=16384,"
    " max_running_requests=128, context_len=16384",
    "[2026-01-12 09:59:41] The server is fired up and ready to roll!",
)
_ERRORS = (
    "(APIServer pid=88) ERROR {clock} [serving_chat.py:200] Error in preprocessing prompt inputs",
    "(EngineCore_DP0 pid=90) WARNING {clock} [scheduler.py:1150] Sequence group 12 is preempted by"
    " PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
)


def clock(second: float) -> str:
    """Return a time of day."""
    whole = int(second) % 86_400
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def day(second: float) -> int:
    """Return the day of the month."""
    return 12 + int(second) // 86_400 % 16


def access(dice: random.Random) -> Iterator[str]:
    """Yield the lines of an access-heavy vLLM log, without end."""
    yield from _VLLM_START
    prompts = [" ".join(dice.choices(_WORDS, k=dice.randrange(120, 400))) for _ in range(POOL // 8)]
    posts = [_access(dice, '"POST /v1/chat/completions HTTP/1.1" 200 OK') for _ in range(POOL)]
    polls = [
        _access(dice, f'"GET /{path} HTTP/1.1" 200 OK') for path in ("health", "metrics") for _ in range(POOL // 8)
    ]
    refused = [_access(dice, '"POST /v1/chat/completions HTTP/1.1" 400 Bad Request') for _ in range(8)]
    second, load = START, 0.5
    while True:
        for roll in [dice.random() for _ in range(1000)]:
            if roll < 0.72:
                yield posts[int(roll * 1e6) % POOL]
            elif roll < 0.7995:
                yield polls[int(roll * 1e6) % len(polls)]
            elif roll < 0.8:
                yield refused[int(roll * 1e6) % 8]
            elif roll < 0.88:
                yield (
                    f"(APIServer pid=88) INFO 01-{day(second):02} {clock(second)} [logger.py:39] Received request"
                    f" chatcmpl-{int(roll * 1e12):024x}: prompt: '{dice.choice(prompts)}', params: SamplingParams"
                    "(n=1, temperature=0.7, top_p=0.95, max_tokens=1024), prompt_token_ids: None,"
                    " prompt_embeds shape: None, lora_request: None."
                )
            elif roll < 0.9999:
                second += 0.5
                load = min(1.0, max(0.0, load + (dice.random() - 0.5) / 20))
                yield (
                    f"(APIServer pid=88) INFO 01-{day(second):02} {clock(second)} [loggers.py:127] Engine 000: Avg"
                    f" prompt throughput: {load * 4000:.1f} tokens/s, Avg generation throughput: {load * 2500:.1f}"
                    f" tokens/s, Running: {int(load * 90)} reqs, Waiting: {int(max(0.0, load - 0.8) * 40)} reqs, GPU KV"
                    f" cache usage: {load * 95:.1f}%, Prefix cache hit rate: {30 + load * 20:.1f}%"
                )
            else:
                yield _ERRORS[int(roll * 1e7) % 2].format(clock=f"01-{day(second):02} {clock(second)}")


def batches(dice: random.Random) -> Iterator[str]:
    """Yield the lines of a dense SGLang log, without end."""
    yield from _SGLANG_START
    posts = [_access(dice, '"POST /generate HTTP/1.1" 200 OK', "") for _ in range(POOL)]
    second, load = START, 0.5
    while True:
        for roll in [dice.random() for _ in range(1000)]:
            load = min(1.0, max(0.0, load + (roll - 0.5) / 50))
            running = int(load * 100)
            waiting = int(max(0.0, load - 0.8) * 40)
            stamp = f"[2026-01-{day(second):02} {clock(second)}"
            if roll < 0.3:
                yield (
                    f"{stamp} TP0] Prefill batch, #new-seq: {int(roll * 12) + 1}, #new-token: {int(roll * 27000)},"
                    f" #cached-token: {int(roll * 1e5) % 4000}, token usage: {load * 0.9:.2f}, #running-req: {running},"
                    f" #queue-req: {waiting}, cuda graph: False, input throughput (token/s): {load * 9000:.2f}"
                )
            elif roll < 0.9:
                second += 0.4
                yield (
                    f"{stamp} TP0] Decode batch, #running-req: {running}, #token: {int(load * 171000)}, token usage:"
                    f" {load * 0.9:.2f}, cuda graph: True, gen throughput (token/s): {running * 31.5:.2f}, #queue-req:"
                    f" {waiting}"
                )
            elif roll < 0.9999:
                yield f"{stamp}] {posts[int(roll * 1e6) % POOL]}"
            else:
                yield (
                    f"{stamp} TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio:"
                    " 0.4 -> 0.6"
                )


def tracebacks(dice: random.Random) -> Iterator[str]:
    """Yield tracebacks that several processes print into each other, without end."""
    yield from _VLLM_START
    second = START
    while True:
        second += 1
        stamp = f"ERROR 01-{day(second):02} {clock(second)} [core.py:710]"
        open_now = []
        for worker in range(4):
            frames = [
                f'  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line {dice.randrange(2000)},'
                f" in step_{dice.randrange(9)}"
                for _ in range(dice.randrange(4, 16))
            ]
            last = dice.choice(("RuntimeError: cancelled", "ValueError: bad request 17", "TimeoutError: no answer"))
            text = ["Traceback (most recent call last):", *frames, last]
            open_now.append(iter([f"(Worker_TP{worker} pid={90 + worker}) {stamp} {line}" for line in text]))
        while open_now:
            one = dice.choice(open_now)
            line = next(one, None)
            if line is None:
                open_now.remove(one)
            else:
                yield line


def _access(dice: random.Random, request: str, process: str = "(APIServer pid=88) ") -> str:
    address = f"10.{dice.randrange(4)}.{dice.randrange(256)}.{dice.randrange(256)}:{dice.randrange(30000, 60000)}"
    return f"{process}INFO:     {address} - {request}"


def _stamp(second: float) -> str:
    return f"2026-01-{day(second):02}T{clock(second)}.{int(second * 1e9) % 10**9:09d}Z"


def _docker(second: float, line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": _stamp(second)}, separators=(",", ":"))


def _coloured(line: str) -> str:
    """Colour what a line begins with: vLLM's process, SGLang's time and rank."""
    end = line.find(")" if line[:1] == "(" else "]") + 1
    return f"\x1b[1;36m{line[:end]}\x1b[0;0m{line[end:]}"


WRAP: dict[str, Callable[[float, str], str]] = {
    "": lambda second, line: line,
    "kubectl": lambda second, line: f"[pod/llm-0/server] {_stamp(second)} {line}",
    "cri": lambda second, line: f"{_stamp(second)} stderr F {line}",
    "docker": _docker,
    "colours": lambda second, line: _coloured(line),
}
#: Seconds between two lines of an input, on the average: an envelope's clock goes as the server's does.
STEP = {"access": 0.04, "batches": 0.24, "tracebacks": 0.02}
KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "access": access,
    "batches": batches,
    "tracebacks": tracebacks,
}


def lines(name: str) -> Iterator[str]:
    """Yield the lines of an input by its name, such as ``access`` or ``batches+cri``, without end."""
    kind, _, envelope = name.partition("+")
    wrap = WRAP[envelope]
    made = KINDS[kind](random.Random(SEED))
    return made if not envelope else (wrap(START + number * STEP[kind], line) for number, line in enumerate(made))


def chunks(name: str, size: int) -> Iterator[bytes]:
    """Yield an input in pieces of many lines until ``size`` bytes are given."""
    made, given = lines(name), 0
    while given < size:
        piece = ("\n".join(islice(made, 2000)) + "\n").encode()
        given += len(piece)
        yield piece


if __name__ == "__main__":
    for one in chunks(sys.argv[1], int(float(sys.argv[2]) * 1e6)):
        sys.stdout.buffer.write(one)
