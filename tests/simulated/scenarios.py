"""Servers and loads to simulate: each kind of trouble and of health, over a range of strengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from simulated.load import Load
from simulated.server import Server

VERSIONS = (
    ("vllm", "0.8.5"), ("vllm", "0.9.2"), ("vllm", "0.16.0"), ("vllm", "0.32.0"),
    ("sglang", "0.5.4"), ("sglang", "0.5.23")
)  # fmt: skip

#: Two machines: a processor as in the recordings, and something like a GPU with a model of middling size.
MACHINES: dict[str, dict[str, Any]] = {
    "cpu": {"base": 0.012, "per_prompt": 1 / 2500, "per_running": 0.0004, "per_kv": 0.0},
    "gpu": {"base": 0.010, "per_prompt": 1 / 12000, "per_running": 0.00005, "per_kv": 2e-8},
}
#: Tokens a second that a machine generates with many running, roughly: what loads are measured by.
SPEED = {"cpu": 700.0, "gpu": 2500.0}

Scene = tuple[str, Server, tuple[Load, ...]]


def server(engine: str, version: str, machine: str, tokens: int = 0) -> Server:
    block = 1 if engine == "sglang" else 16 if version == "0.8.5" or machine == "gpu" else 128
    budget = 4096 if engine == "sglang" else 2048
    running = 2048 if engine == "sglang" else 256
    tokens = tokens or (40_000 if engine == "sglang" and machine == "cpu" else 524_288)
    return Server(
        engine,
        version,
        running,
        budget,
        tokens // block * block,
        block,
        limit_set=False,
        open_ended=True,
        **MACHINES[machine],
    )


def scenes(random: Random) -> Iterator[Scene]:
    """Every kind once for every version, with parameters drawn anew."""
    for engine, version in VERSIONS:
        for machine in MACHINES:
            yield from healthy(random, server(engine, version, machine), SPEED[machine], machine)
            yield from troubled(random, server(engine, version, machine), SPEED[machine], machine)


def between(random: Random, low: int, high: int, wide: float = 2.0) -> tuple[int, int]:
    start = random.randint(low, high)
    return start, int(start * random.uniform(1.2, wide)) + 1


def healthy(random: Random, one: Server, speed: float, name: str) -> Iterator[Scene]:
    output = between(random, 16, 200)
    prompt = between(random, 40, 600)
    each = sum(output) / 2 / speed + sum(prompt) / 2 * one.per_prompt + one.base
    for share in (0.1, 0.3, 0.6):
        yield f"healthy-{share:.0%}-{name}", one, (Load(rate=share / each, prompt=prompt, output=output),)
    yield f"healthy-closed-{name}", one, (Load(clients=random.randint(2, 8), prompt=prompt, output=output),)
    rate = 0.2 / each
    burst = Load(clients=random.randint(10, 30), most=30, prompt=(40, 120), output=(16, 40), lasts=5)
    yield (
        f"healthy-burst-{name}",
        replace(one, running=16, limit_set=True),
        (burst, Load(rate=rate, start=15, prompt=prompt, output=output)),
    )
    yield (
        f"healthy-prefix-{name}",
        one,
        (Load(clients=4, prompt=(80, 120), output=(16, 64), groups=random.randint(1, 4), shared=1000),),
    )
    yield (
        f"healthy-long-{name}",
        one,
        (Load(rate=0.15 / (4000 * one.per_prompt), prompt=(3000, 5000), output=(16, 200)),),
    )
    yield (
        f"healthy-limit-{name}",
        replace(one, running=8, limit_set=True),
        (Load(clients=8, prompt=prompt, output=output),),
    )
    yield f"decode-{name}", one, (Load(clients=random.randint(6, 40), prompt=(20, 40), output=(300, 600)),)


def troubled(random: Random, one: Server, speed: float, name: str) -> Iterator[Scene]:
    small, limit = between(random, 50, 120), random.randint(2, 12)
    many = replace(one, running=limit, limit_set=True)
    over = random.randint(3, 12)
    output = between(random, 50, 150)
    yield f"cap-{name}", many, (Load(clients=limit * over, prompt=small, output=output),)
    step = one.base + limit * one.per_running
    rate = limit / (sum(output) / 2 * step)
    yield f"cap-open-{name}", many, (Load(rate=rate * random.uniform(1.3, 2.0), prompt=small, output=output),)
    yield (
        f"cap-unset-{name}",
        replace(many, limit_set=False),
        (Load(clients=limit * over, prompt=small, output=output),),
    )
    clients = random.randint(16, 48)
    long = between(random, 300, 600, 1.5)
    pool = int(clients * (150 + sum(long) / 2) * random.uniform(0.3, 0.6))
    full = replace(one, tokens=pool // one.block * one.block, context=2048 if one.engine == "vllm" else 8192)
    yield f"kv-{name}", full, (Load(clients=clients, prompt=(100, 200), output=long),)
    yield f"kv-open-{name}", full, (Load(rate=clients / 15, prompt=(100, 200), output=long),)
    yield (
        f"kv-prompts-{name}",
        replace(full, context=8192),
        (Load(clients=clients, prompt=(600, 1500), output=(40, 120)),),
    )
    yield f"kv-eos-{name}", replace(full, open_ended=False), (Load(clients=clients, prompt=(100, 200), output=long),)
    heavy = (random.randint(1500, 3000), 6000)
    yield f"prompts-{name}", one, (Load(clients=random.randint(12, 40), prompt=heavy, output=(8, 24)),)
    yield (
        f"prompts-open-{name}",
        one,
        (Load(rate=random.uniform(1.2, 2) / (4000 * one.per_prompt), prompt=heavy, output=(8, 24)),),
    )
    mixed = Load(rate=0.3 / (6000 * one.per_prompt), prompt=(5500, 7000), output=(8, 16))
    yield f"mixed-{name}", one, (Load(rate=3, prompt=(50, 100), output=(50, 100)), mixed)
    patience = (1.0, 3.0)
    yield (
        f"aborts-{name}",
        one,
        (Load(clients=random.randint(4, 12), prompt=small, output=(800, 1200), patience=patience),),
    )
    yield (
        f"aborts-queued-{name}",
        many,
        (Load(clients=limit * 8, prompt=small, output=(200, 300), patience=(5.0, 8.0)),),
    )
    bad = Load(rate=0.7, prompt=(9000, 12000), output=(16, 32))
    yield f"refused-{name}", one, (Load(rate=0.7, prompt=small, output=(16, 32)), bad)
    yield (
        f"stall-{name}",
        replace(one, stall=(25.0, random.uniform(40, 55))),
        (Load(clients=4, prompt=small, output=(100, 160)),),
    )
    off = replace(one, cached=False)
    yield f"cache-off-{name}", off, (Load(clients=4, prompt=(80, 120), output=(8, 16), groups=1, shared=1000),)
    burst = Load(clients=80, most=80, start=25, lasts=5, prompt=(60, 120), output=(100, 150))
    calm = Load(rate=1.0, prompt=(40, 80), output=(16, 32), lasts=75)
    yield f"recover-{name}", replace(one, running=8, limit_set=True), (calm, burst)
