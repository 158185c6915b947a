"""Where a stack says that an exception was raised: the innermost frame of the engine, and of a library below it."""

from __future__ import annotations

import pytest

from diagnoser.rules.evaluating.raising import raised

SITE = "/usr/local/lib/python3.12/dist-packages"


def stack(*frames: tuple[str, str]) -> str:
    """Return an excerpt as events keep it: the exception first, the frames nearest to it last."""
    lines = [f'  File "{path}", line 7, in {function}\n    call()' for path, function in frames]
    return "\n".join(["ValueError: no", "Traceback (most recent call last):", *lines])


@pytest.mark.parametrize(
    ("frames", "engine", "library"),
    [
        ([(f"{SITE}/vllm/v1/engine/core.py", "__init__")], "v1/engine/core.py:__init__", ""),
        (
            [(f"{SITE}/vllm/v1/engine/core.py", "__init__"), (f"{SITE}/torch/_inductor/codecache.py", "load")],
            "v1/engine/core.py:__init__",
            "torch/_inductor/codecache.py:load",
        ),
        # The innermost of several, of the engine and of libraries alike.
        (
            [
                (f"{SITE}/torch/nn/modules/module.py", "_call_impl"),
                (f"{SITE}/vllm/worker/worker.py", "execute_model"),
                (f"{SITE}/ray/worker.py", "get"),
                (f"{SITE}/ray/_private/inner.py", "wait"),
            ],
            "worker/worker.py:execute_model",
            "ray/_private/inner.py:wait",
        ),
        # SGLang's server lies in a folder of its own; a checkout is not installed.
        ([("/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", "f")], "managers/scheduler.py:f", ""),
        (
            [("/vllm-workspace/vllm/model_executor/models/llama.py", "forward")],
            "model_executor/models/llama.py:forward",
            "",
        ),
        # An environment may bear the engine's name, and Windows writes other strokes.
        (
            [("/opt/vllm/lib/python3.12/site-packages/torch/cuda/__init__.py", "init")],
            "",
            "torch/cuda/__init__.py:init",
        ),
        ([("C:\\venv\\site-packages\\sglang\\srt\\server_args.py", "check")], "server_args.py:check", ""),
        ([("/app/serve.py", "main")], "", ""),
    ],
)
def test_places(frames: list[tuple[str, str]], engine: str, library: str) -> None:
    assert raised(stack(*frames)) == {"raised_in": engine, "raised_by": library}


def test_no_stack() -> None:
    assert raised("ValueError: no") == {"raised_in": "", "raised_by": ""}
