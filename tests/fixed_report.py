"""One report with everything in it: two runs, a root with consequences, hostile text, unknowns and residue."""

from __future__ import annotations

import dataclasses

from diagnoser.contracts.figurerows import FigureRow
from diagnoser.contracts.findings import (
    SCHEMA_VERSION,
    Advice,
    Check,
    Evidence,
    Finding,
    Input,
    Plan,
    Report,
    RunReport,
    Stage,
    Unknown,
    Unrecognised,
)

STATS = (
    "INFO 07-12 10:{minute:02}:03 [loggers.py:118] Engine 000: Avg prompt throughput: 1423.1 tokens/s, "
    "Avg generation throughput: 1890.4 tokens/s, Running: 256 reqs, Waiting: {waiting} reqs, "
    "GPU KV cache usage: 100.0%, Prefix cache hit rate: 41.2%, Preemptions: {preempted}"
)
#: Everything a hostile client can get into a log: colours, window titles, bidi, zero width, tabs, floods, markup.
HOSTILE = (
    "ERROR 07-12 10:20:01 [serving.py:9] \x1b[31mred\x1b]0;owned\x07 \x9b2J \u202egnp.exe\u202c zero\u200bwidth\ttab "
    "Z" + "\u0301" * 40 + " ```\n# heading\n<script>alert(1)</script> ![x](http://evil/?q=) @everyone "
    "Bearer abcdefghijklmnop0123 \ud800"
)
SECRETS = (
    "non-default args: {'api_key': ['sk-live-aaaabbbbccccdddd', 'second-secret'], 'model': 'm'} "
    "hf_ABCDEFGHIJKLMNOPQRSTUVWX "
    "AKIAIOSFODNN7EXAMPLE https://bob:hunter22@proxy.local/x"
)


def run(place: int, **changes: object) -> RunReport:
    """One run of a vLLM server."""
    wave = [0.0, 60, 180, 240, 256, 256, 256, 256, None, 250, 256, 256]
    base = RunReport(
        id=place,
        stream="",
        engine="vllm",
        engine_version="0.12.0",
        started="07-12 10:00:03",
        ended="07-12 10:41:20",
        end="running",
        complete_start=True,
        lines=18_000,
        stats_samples=247,
        stats_interval=10.0,
        facts={
            "model.name": "meta-llama/Llama-3.1-8B-Instruct",
            "gpu.name": "H100-80GB",
            "parallel.tp": 1,
            "parallel.pp": 1,
            "limits.running": 256,
        },
        figures={
            row.name: row
            for row in (
                FigureRow(
                    "requests.running",
                    "running",
                    "requests",
                    212.0,
                    256.0,
                    0.0,
                    247,
                    [*wave, *wave[4:], 200.0, 256.0, None, 256.0],
                ),
                FigureRow(
                    "requests.waiting", "waiting", "requests", 38.0, 91.0, 0.0, 247, [float(i * 4) for i in range(24)]
                ),
                FigureRow("requests.swapped", "swapped to host", "requests", 0.0, 0.0, 0.0, 247, [0.0] * 24),
                FigureRow("kv.usage", "KV use", "ratio", 0.968, 1.0, 0.0, 247, [min(1.0, i / 9) for i in range(24)]),
                FigureRow(
                    "gen.tps",
                    "generation",
                    "tokens/s",
                    1890.4,
                    2740.0,
                    0.0,
                    247,
                    [float(abs(12 - i) * 100 + 900) for i in range(24)],
                ),
                FigureRow(
                    "preemptions", "preemptions", "events", 3.0, 52.0, 0.0, 247, [max(0.0, i - 9.0) for i in range(24)]
                ),
            )
        },
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def finding(name: str, title: str, **changes: object) -> Finding:
    """A finding with nothing but a name, and what the caller sets."""
    base = Finding(
        id=name,
        stage=name.split(".")[0],
        title=title,
        severity="warning",
        confidence="likely",
        role="root",
        explains=[],
        explained_by=None,
        runs=[1],
        meaning="",
        impact="",
        window="",
        evidence=[],
        remedies=[],
        verify="",
        docs=f"docs/rules/{name.replace('.', '/')}.md",
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def root() -> Finding:
    """The full KV cache, with proof, fixes and consequences."""
    return finding(
        "memory.kv_cache_exhausted",
        "The KV cache is full and requests are preempted",
        severity="critical",
        confidence="certain",
        explains=["scheduling.queue_saturation", "memory.preemption_thrash"],
        window="10:19 - 10:41, 22 of 36 loaded minutes, 132 samples",
        meaning="Every block is taken: running requests are evicted and recomputed, new ones wait.",
        impact="KV use 99.8 % for 22 min, 412 preemptions; generation 31 % below its best five minutes.",
        evidence=[
            Evidence("server.log", 8123, "07-12 10:19:03", STATS.format(minute=19, waiting=41, preempted=37)),
            Evidence("server.log", 9011, "07-12 10:26:03", STATS.format(minute=26, waiting=77, preempted=52)),
            Evidence("server.log", 9400, "07-12 10:30:03", STATS.format(minute=30, waiting=91, preempted=60)),
            Evidence("server.log", 9501, "07-12 10:31:03", STATS.format(minute=31, waiting=91, preempted=61)),
        ],
        remedies=[
            Advice(
                "--max-num-seqs",
                None,
                None,
                "256 (default)",
                "160",
                "pool of 147,456 tokens / 910 tokens per request at p95",
                "queueing instead of recompute",
            ),
            Advice(
                "--kv-cache-dtype",
                None,
                None,
                "auto",
                "fp8",
                "about twice the tokens in the same memory",
                "check accuracy first",
            ),
            Advice(
                None,
                None,
                "Put a second replica behind the router when the load is here to stay",
                None,
                None,
                "",
                "another GPU",
            ),
        ],
        verify="KV use below 90 % and no preemption for 10 min at the same load",
    )


def report() -> Report:
    """The rich report that every format is tested on."""
    first = run(
        0,
        started="07-12 09:58:11",
        ended="07-12 09:59:40",
        end="crash",
        lines=204,
        stats_samples=0,
        stats_interval=None,
        figures={},
    )
    findings = [
        root(),
        finding(
            "scheduling.queue_saturation",
            "Requests wait in the queue",
            role="consequence",
            explained_by="memory.kv_cache_exhausted",
            evidence=[
                Evidence("server.log", 9400, "07-12 10:30:03", STATS.format(minute=30, waiting=91, preempted=60))
            ],
        ),
        finding(
            "memory.preemption_thrash",
            "Preempted requests are recomputed",
            severity="info",
            role="consequence",
            explained_by="scheduling.queue_saturation",
        ),
        finding(
            "ingress.bad_requests",
            "Requests are refused as invalid",
            severity="info",
            confidence="possible",
            runs=[0, 1],
            meaning="Clients send what the server refuses.",
            evidence=[
                Evidence("pod/llm-7f9c4d5b6-xkq2z/inference-server", 77, "07-12 10:20:01", HOSTILE),
                Evidence("server.log", 3, None, SECRETS),
            ],
            remedies=[Advice(None, "VLLM_LOGGING_LEVEL", None, None, "DEBUG", "prints the refused request", "")],
        ),
    ]
    return Report(
        schema_version=SCHEMA_VERSION,
        tool={"name": "diagnoser", "version": "0.1.0"},
        healthy=False,
        runs=[first, run(1)],
        findings=findings,
        stages=[
            Stage("ingress", "ok", ""),
            Stage("scheduling", "suspect", "requests wait"),
            Stage("memory", "cause", "memory.kv_cache_exhausted"),
            Stage("cache", "ok", ""),
            Stage("compute", "unknown", "no GPU metrics"),
            Stage("comms", "n/a", "one GPU"),
            Stage("output", "ok", ""),
            Stage("platform", "ok", ""),
        ],
        checklist=[
            Check("D1", "KV use above 0.9 under load", "pass", "p95 99.8 %"),
            Check("D2", "no KV-pool-full warnings", "fail", "412 preemptions in 22 min"),
            Check("D3", "attention backend fits the GPU", "unknown", "no GPU named in the log: --gpu"),
            Check("D4", "memory fraction tuned", "pass", ""),
            Check("D5", "CUDA graphs cover the batch sizes", "pass", ""),
            Check("D6", "priority scheduling", "n/a", "one class of traffic"),
            Check("D7", "prefix cache on and hitting", "pass", ""),
            Check("D8", "metrics scraped", "unknown", "no metrics given"),
        ],
        plan=Plan(
            "memory.kv_cache_exhausted",
            ["--max-num-seqs", "256"],
            ["--max-num-seqs", "160"],
            [],
            "vllm serve meta-llama/Llama-3.1-8B-Instruct --gpu-memory-utilization 0.9 "
            "--max-model-len 32768 --max-num-seqs 160",
        ),
        unknown=[
            Unknown("gpu_busy", "compute.decode_bandwidth_bound", "GPU telemetry (nvidia-smi or dcgm)"),
            Unknown("gpu_idle", "scheduling.scheduler_cpu_bound", "GPU telemetry (nvidia-smi or dcgm)"),
            Unknown("ttft_high", "compute.prefill_bound", "latency histograms from /metrics"),
            Unknown("itl_jitter", "scheduling.head_of_line", "latency histograms from /metrics"),
        ],
        unrecognised=[
            Unrecognised(
                "weird thing <n> in <path>",
                12,
                "WARNING",
                Evidence("server.log", 99, "07-12 10:01:02", "weird thing 7 in /tmp/\x1b[2Jx"),
                "07-12 10:40:00",
            ),
            Unrecognised(
                "other thing",
                1,
                "ERROR",
                Evidence("server.log", 120, "07-12 10:02:02", "other thing"),
                "07-12 10:02:02",
            ),
        ],
        inputs=[
            Input("server.log", "log", "kubectl --timestamps", 18_204, 2_400_000, ["line 17: 3 bytes are not UTF-8"])
        ],
        rules={"fired": 4, "clear": 31, "unknown": 12, "not_applicable": 9},
    )


def healthy() -> Report:
    """A server that is well, seen through its log only."""
    base = report()
    states = [dataclasses.replace(stage, state="ok") for stage in base.stages]
    return dataclasses.replace(
        base,
        healthy=True,
        runs=[run(0)],
        findings=[],
        stages=states,
        plan=None,
        unrecognised=[],
        unknown=[Unknown("gpu_busy", "compute.decode_bandwidth_bound", "no metrics given")],
        rules={"fired": 0, "clear": 31, "unknown": 12, "not_applicable": 9},
    )
