"""Small logs of made-up servers, and the shipped rule base to judge them by: shared by the tests of whole diagnoses."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from diagnoser.api import Knowledge, Options, Session

#: Names the folder for compiled rules.
SHARED = "DIAGNOSE_TESTS_COMPILED"
API, CORE = "(APIServer pid=1) ", "(EngineCore pid=77) "
SERVER_ARGS = (
    "server_args=ServerArgs(model_path='/models/m', tokenizer_path='/models/m', host='0.0.0.0', port=30000, "
    "mem_fraction_static=0.88, max_running_requests=None, schedule_policy='fcfs', tp_size=1, dp_size=1, "
    "disable_radix_cache=False, log_level='info')"
)


@functools.cache
def compiled() -> Path:
    """Return a folder for compiled rules that all tests share, in all processes: to compile them takes seconds."""
    if SHARED in os.environ:
        return Path(os.environ[SHARED])
    folder = Path(tempfile.mkdtemp(prefix="diagnose-tests-"))
    os.environ[SHARED] = str(folder)  # before pytest-xdist begins its processes
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def knowledge() -> Knowledge:
    return Knowledge(Options(cache_dir=compiled()))


def diagnose(folder: Path, data: bytes | Iterable[str], name: str = "server.log") -> Session:
    """Write a log and judge it."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else encoded(data))
    return judge(path)


def judge(*paths: Path) -> Session:
    return Session([str(path) for path in paths], knowledge=knowledge())


def encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def verdict(session: Session) -> list[tuple[Any, ...]]:
    """What must not depend on how a log was wrapped."""
    found: list[tuple[Any, ...]] = [(one.id, one.severity, one.role) for one in session.report.findings]
    return found + [(run.engine, run.end, run.complete_start, run.records) for run in session.runs]


def ids(session: Session) -> list[str]:
    return [one.id for one in session.report.findings]


def clock(seconds: int, hour: int = 10) -> str:
    return f"{hour + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def vllm(
    seconds: int, text: str, level: str = "INFO", who: str = API, where: str = "core.py:96", hour: int = 10
) -> str:
    return f"{who}{level} 07-12 {clock(seconds, hour)} [{where}] {text}"


def sglang(seconds: int, text: str, rank: str = "", hour: int = 10) -> str:
    return f"[2026-07-12 {clock(seconds, hour)}{rank}] {text}"


def vllm_start(hour: int = 10) -> list[str]:
    """A launch with what is printed before the start marker and no errors, ready after 30 seconds."""
    dump = "{'model_tag': '/models/m', 'model': '/models/m', 'max_model_len': 8192}"
    return [
        "/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py:61: FutureWarning: the old name goes away",
        "  import old",
        vllm(0, "vLLM API server version 0.12.0", where="api_server.py:1977", hour=hour),
        vllm(0, f"non-default args: {dump}", where="utils.py:233", hour=hour),
        vllm(5, "Initializing a V1 LLM engine (v0.12.0) with config: model='/models/m'", who=CORE, hour=hour),
        vllm(20, "GPU KV cache size: 147,456 tokens", who=CORE, where="kv_cache_utils.py:864", hour=hour),
        f"{API}INFO:     Started server process [1]",
        f"{API}INFO:     Waiting for application startup.",
        f"{API}INFO:     Application startup complete.",
    ]


def stats(seconds: int, running: int, waiting: int, used: float, tps: float = 900.0, hour: int = 10) -> str:
    text = (
        f"Engine 000: Avg prompt throughput: {tps / 2:.1f} tokens/s, Avg generation throughput: {tps:.1f} tokens/s, "
        f"Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {used:.1f}%, "
        "Prefix cache hit rate: 12.0%"
    )
    return vllm(seconds, text, where="loggers.py:248", hour=hour)


def access(status: str = "200 OK", path: str = "/v1/completions") -> str:
    return f'{API}INFO:     10.0.0.7:51234 - "POST {path} HTTP/1.1" {status}'


def vllm_serving(start: int = 40, count: int = 24, hour: int = 10) -> list[str]:
    """Quiet service."""
    lines: list[str] = []
    for at in range(count):
        lines += [access(), stats(start + 10 * at, 6, 0, 20.0 + at % 3, hour=hour)]
    return lines


def vllm_full(start: int = 40, count: int = 30) -> list[str]:
    """Service with a KV cache that stays full and a queue."""
    return [stats(start + 10 * at, 200 - at % 7, 40 + at, 99.0 + at % 2, 500.0 - at) for at in range(count)]


def vllm_death(seconds: int, hour: int = 10) -> list[str]:
    """Out of device memory while serving: one record of several lines, then the front end's account of it."""
    trace = [
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 833, in run_engine_core',
        "    engine_core.run_busy_loop()",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.11 "
        "GiB of which 731.19 MiB is free. Including non-PyTorch memory, this process has 78.38 GiB memory in use.",
    ]
    lines = [vllm(seconds, text, "ERROR", CORE, "core.py:842", hour) for text in trace]
    lines.append(vllm(seconds, "AsyncLLM output_handler failed.", "ERROR", API, "async_llm.py:525", hour))
    lines += [access("500 Internal Server Error")] * 3
    return lines


def vllm_stop(seconds: int, hour: int = 10) -> list[str]:
    del seconds, hour  # uvicorn prints no time
    return [
        f"{API}INFO:     Shutting down",
        f"{API}INFO:     Waiting for application shutdown.",
        f"{API}INFO:     Application shutdown complete.",
        f"{API}INFO:     Finished server process [1]",
    ]


def sglang_start(hour: int = 10) -> list[str]:
    return [
        "/opt/venv/lib/python3.12/site-packages/x/y.py:12: UserWarning: some text",
        sglang(0, SERVER_ARGS, hour=hour),
        sglang(9, "Load weight begin. avail mem=78.50 GB", " TP0", hour),
        sglang(19, "KV Cache is allocated. #tokens: 147456, K size: 9.00 GB, V size: 9.00 GB", " TP0", hour),
        sglang(20, "max_total_num_tokens=147456, max_running_requests=2048, context_len=8192", " TP0", hour),
        sglang(25, "INFO:     Application startup complete.", hour=hour),
        sglang(28, "The server is fired up and ready to roll!", hour=hour),
    ]


def decode(seconds: int, running: int, queued: int, used: float, tps: float = 900.0, rank: str = " TP0") -> str:
    text = (
        f"Decode batch, #running-req: {running}, #token: {int(1000 * used)}, token usage: {used:.2f}, "
        f"cuda graph: True, gen throughput (token/s): {tps:.2f}, #queue-req: {queued}"
    )
    return sglang(seconds, text, rank)


def sglang_serving(start: int = 40, count: int = 30) -> list[str]:
    return [decode(start + 4 * at, 6, 0, 0.20 + at % 3 / 100) for at in range(count)]


def sglang_full(start: int = 40, count: int = 40) -> list[str]:
    lines: list[str] = []
    for at in range(count):
        lines.append(decode(start + 4 * at, 60 - at % 5, 20 + at, 0.99, 500.0 - at))
        if at % 4 == 0:
            text = "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.0233 -> 0.4211"
            lines.append(sglang(start + 4 * at + 1, text, " TP0"))
    return lines


def sglang_death(seconds: int, ranks: Sequence[str] = (" TP0",), hour: int = 10) -> list[str]:
    """Each rank prints the same traceback, whose further lines have no prefix."""
    lines: list[str] = []
    for rank in ranks:
        lines += [
            sglang(seconds, "Scheduler hit an exception: Traceback (most recent call last):", rank, hour),
            '  File "/opt/sglang/python/sglang/srt/managers/scheduler.py", line 2611, in run_scheduler_process',
            "    scheduler.event_loop_overlap()",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of "
            "79.11 GiB of which 731.19 MiB is free.",
            "",
        ]
    text = "Received sigquit from a child process. It usually means the child failed."
    return [*lines, sglang(seconds, text, hour=hour), "Killed"]


def sglang_stop(seconds: int) -> list[str]:
    return [
        sglang(seconds, "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."),
        sglang(seconds + 1, "Gracefully exiting... Remaining number of requests 0. Remaining requests []."),
        sglang(seconds + 2, "INFO:     Shutting down"),
    ]


LOGS = {
    "vllm full": [*vllm_start(), *vllm_full()],
    "vllm death": [*vllm_start(), *vllm_serving(count=6), *vllm_death(140)],
    "vllm quiet": [*vllm_start(), *vllm_serving(), *vllm_stop(300)],
    "sglang full": [*sglang_start(), *sglang_full()],
    "sglang death": [*sglang_start(), *sglang_serving(), *sglang_death(170, (" TP0", " TP1"))],
}
