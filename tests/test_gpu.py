"""A GPU named on the command line brings its figures from ``gpus.yaml`` into the rules."""

from __future__ import annotations

from io import BytesIO

import pytest
from serverlogs import compiled

from diagnoser import diagnose
from diagnoser.options import Options

# 31.5 GB of weights at 22 tokens/s: 750 GB/s, more than an L4 can and far less than an H100.
START = """INFO 05-01 10:00:00 api_server.py:151] vLLM API server version 0.4.2
INFO 05-01 10:00:01 model_runner.py:175] Loading model weights took 31.5000 GB
INFO 05-01 10:00:20 model_runner.py:1017] Graph capturing finished in 18 secs.
INFO:     Application startup complete.
"""
STATS = (
    "INFO 05-01 10:01:{second:02} metrics.py:334] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: "
    "22.1 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 3.7%, "
    "CPU KV cache usage: 0.0%\n"
)
LOG = (START + "".join(STATS.format(second=second) for second in range(0, 60, 4))).encode()


@pytest.mark.parametrize(
    ("gpu", "bound"),
    [(None, True), ("L40S", True), ("NVIDIA_L4", False), ("H100", False), ("MI300X", False), ("a card of 2031", True)],
)
def test_the_bandwidth_is_that_of_the_gpu(gpu: str | None, bound: bool) -> None:
    report = diagnose("-", stdin=BytesIO(LOG), options=Options(gpu=gpu, cache_dir=compiled()))
    assert ("compute.decode_bandwidth_bound" in [finding.id for finding in report.findings]) is bound


@pytest.mark.parametrize(
    ("gpu", "model", "share"),
    [
        # 31.5 GiB over 864 GB/s are 39.1 ms a step at least; 1 / 22.1 s were taken.
        ("L40S", "acme/dense-16b", 31.5 * 1.0737 / 864 * 22.1),
        ("H100", "acme/dense-16b", 31.5 * 1.0737 / 3350 * 22.1),
        # Of experts a step reads a part, and nobody knows which; without a card there is no bound.
        ("L40S", "mistralai/Mixtral-8x7B", None),
        (None, "acme/dense-16b", None),
    ],
)
def test_the_roofline_of_decoding(gpu: str | None, model: str, share: float | None) -> None:
    named = START.replace("\n", f"\nINFO 05-01 10:00:00 api_server.py:152] args: Namespace(model='{model}')\n", 1)
    report = diagnose(
        "-", stdin=BytesIO(LOG.replace(START.encode(), named.encode())), options=Options(gpu=gpu, cache_dir=compiled())
    )
    told = report.runs[0].facts.get("roofline.decode_share")
    assert told == (None if share is None else pytest.approx(share, rel=0.01))
