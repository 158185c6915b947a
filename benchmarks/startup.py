"""Start to report: CPU seconds of whole processes, beside a Python that does nothing.

Run it as ``python benchmarks/startup.py [ROUNDS]``. The machine may be shared: every round runs each case once, a bare
``python -c pass`` among them, and medians over all rounds are compared. The logs are made anew from a fixed seed; the
rule cache is warm, in a folder of its own.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

MEGABYTE = 1_000_000
SHORT = 20
ROUNDS = 15
SEED = 20260101

#: What is aimed at, in seconds on an idle core.
AIMS = {"--version": 0.1, "vLLM, 1 MB": 0.5, "SGLang, 1 MB": 0.5}


def clock(second: float) -> str:
    """Return a time of day, from ten in the morning on."""
    whole = 36000 + int(second)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def vllm(dice: random.Random) -> Iterator[str]:
    """A vLLM server under a load that swings: mostly access lines, a statistics line every ten seconds."""
    yield "INFO 01-12 10:00:00 [__init__.py:239] Automatically detected platform cuda."
    yield "INFO 01-12 10:00:02 [api_server.py:1034] vLLM API server version 0.9.2"
    yield (
        "INFO 01-12 10:00:02 [api_server.py:1035] args: Namespace(model='org/model-8b', max_num_seqs=256,"
        " max_model_len=16384, gpu_memory_utilization=0.9, tensor_parallel_size=1)"
    )
    yield "INFO 01-12 10:00:40 [gpu_worker.py:227] Available KV cache memory: 20.50 GiB"
    yield "INFO 01-12 10:00:40 [kv_cache_utils.py:716] GPU KV cache size: 167,936 tokens"
    yield ("INFO 01-12 10:00:40 [kv_cache_utils.py:720] Maximum concurrency for 16,384 tokens per request: 10.25x")
    yield "INFO:     Application startup complete."
    second = 60.0
    while True:
        load = dice.random()
        for _ in range(dice.randrange(4, 60)):
            code = dice.choices(("200 OK", "400 Bad Request", "404 Not Found"), (500, 1, 1))[0]
            address = f"10.0.{dice.randrange(4)}.{dice.randrange(256)}:{dice.randrange(30000, 60000)}"
            yield f'INFO:     {address} - "POST /v1/chat/completions HTTP/1.1" {code}'
        second += 10
        yield (
            f"INFO 01-12 {clock(second)} [loggers.py:118] Engine 000: Avg prompt throughput: {load * 4000:.1f}"
            f" tokens/s, Avg generation throughput: {load * 2500:.1f} tokens/s, Running: {int(load * 90)} reqs,"
            f" Waiting: {int(max(0.0, load - 0.8) * 40)} reqs, GPU KV cache usage: {load * 95:.1f}%,"
            f" Prefix cache hit rate: {30 + load * 20:.1f}%"
        )


def sglang(dice: random.Random) -> Iterator[str]:
    """An SGLang server under load: nothing but batch lines, the densest log there is."""
    yield (
        "[2026-01-12 10:00:00] server_args=ServerArgs(model_path='org/model-8b', mem_fraction_static=0.88,"
        " max_running_requests=128, tp_size=1, schedule_policy='fcfs')"
    )
    yield "[2026-01-12 10:00:30] KV Cache is allocated. #tokens: 190000, K size: 11.60 GB, V size: 11.60 GB"
    yield (
        "[2026-01-12 10:00:40] max_total_num_tokens=190000, chunked_prefill_size=8192, max_prefill_tokens=16384,"
        " max_running_requests=128, context_len=16384"
    )
    yield "[2026-01-12 10:00:41] The server is fired up and ready to roll!"
    second = 60.0
    while True:
        load = dice.random()
        second += 0.4
        if dice.random() < 0.3:
            yield (
                f"[2026-01-12 {clock(second)}] Prefill batch. #new-seq: {dice.randrange(1, 5)},"
                f" #new-token: {dice.randrange(100, 8192)}, #cached-token: {dice.randrange(4000)},"
                f" token usage: {load * 0.9:.2f}, #running-req: {int(load * 100)},"
                f" #queue-req: {int(max(0.0, load - 0.8) * 40)},"
            )
        else:
            running = int(load * 100)
            yield (
                f"[2026-01-12 {clock(second)}] Decode batch. #running-req: {running}, #token: {int(load * 171000)},"
                f" token usage: {load * 0.9:.2f}, cuda graph: True, gen throughput (token/s): {running * 31.5:.2f},"
                f" #queue-req: {int(max(0.0, load - 0.8) * 40)},"
            )


def written(path: Path, lines: Iterator[str], size: int, count: int | None = None) -> Path:
    """Write lines until the file has this size, or that many lines."""
    with path.open("w", encoding="utf-8") as file:
        for number, line in enumerate(lines):
            if file.tell() >= size or number == count:
                break
            file.write(f"{line}\n")
    return path


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Run Python once and return what it and its children took of the processor."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(cases: dict[str, list[str]], environment: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the median of each case; what the first run writes (byte code, the rule cache) is not counted."""
    run: Callable[[str], float] = lambda name: seconds(cases[name], environment)  # noqa: E731
    for name in cases:
        run(name)
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name in cases:
            found[name].append(run(name))
    return {name: median(times) for name, times in found.items()}


def main() -> None:
    """Make the logs, measure, print one line a case."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = {
            "20 lines": written(folder / "short.log", vllm(random.Random(SEED)), MEGABYTE, SHORT),
            "vLLM, 1 MB": written(folder / "vllm.log", vllm(random.Random(SEED)), MEGABYTE),
            "SGLang, 1 MB": written(folder / "sglang.log", sglang(random.Random(SEED)), MEGABYTE),
        }
        bare = "python -c pass"
        cases = {bare: ["-c", "pass"], "--version": ["-m", "diagnoser", "--version"]}
        cases |= {case: ["-m", "diagnoser", "--exit-zero", str(log)] for case, log in logs.items()}
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DIAGNOSE_", "PYTHON"))}
        environment |= {"DIAGNOSE_CACHE_DIR": str(folder / "cache")}
        found = measure(cases, environment, rounds)
    print(f"CPU seconds, median of {rounds}, and as a multiple of a bare interpreter")
    for case, took in found.items():
        aim = f"   aim {AIMS[case]} s on an idle core" if case in AIMS else ""
        print(f"{case:<15} {took:6.3f} s {took / found[bare]:6.1f}x{aim}")


if __name__ == "__main__":
    main()
