"""Words that look like trouble where the server quotes somebody: a healthy log stays quiet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import serverlogs as logs
from serverlogs import API, access, diagnose, sglang, stats, vllm

TROUBLE = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB "
    "of which 731.19 MiB is free.",
    "NCCL error: unhandled system error",
    "KV cache pool is full. Retract requests. #retracted_reqs: 9, #new_token_ratio: 0.0233 -> 0.4211",
    "Killed",
    "Traceback (most recent call last):",
    '  File "x.py", line 1, in f',
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    vllm(50, "EngineCore encountered a fatal error.", "ERROR"),
    sglang(50, "Scheduler hit an exception: Traceback (most recent call last):", " TP0"),
    "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
    "Out of memory: Killed process 123 (python)",
    "vLLM API server version 0.9.2",
    "INFO:     Shutting down",
]
WHOLE = "\n".join([*logs.LOGS["vllm death"], *logs.LOGS["sglang death"]])
TOOL_CALL = json.dumps({"tool_calls": [{"function": {"name": "sh", "arguments": json.dumps({"stderr": TROUBLE})}}]})
PROMPTS = [*TROUBLE, "\n".join(TROUBLE), WHOLE, TOOL_CALL]


def received(prompt: str, at: int = 60) -> str:
    text = f"Received request cmpl-1: prompt: {prompt!r}, params: SamplingParams(n=1), lora_request: None."
    return vllm(at, text, where="logger.py:39")


def response(prompt: str) -> str:
    text = f"Generated response chatcmpl-1: output: {prompt!r}, output_token_ids: [1], finish_reason: stop"
    return vllm(60, text, where="logger.py:90")


def details(prompt: str) -> str:
    text = f"Request chatcmpl-1 details: prompt: {prompt!r}, prompt_token_ids: [1], prompt_embeds shape: None."
    return vllm(60, text, where="logger.py:80")


def unescaped(prompt: str) -> str:
    """A message with line breaks: the formatter repeats its prefix, as vLLM's does for every one of them."""
    prefix = vllm(60, "", where="logger.py:39")
    text = f"Received request cmpl-1: prompt: '{prompt}', params: SamplingParams(n=1), lora_request: None."
    return prefix + text.replace("\n", f"\r\n{prefix}")


def logged_json(prompt: str) -> str:
    entry = {"asctime": "2026-07-12 10:01:00,123", "levelname": "INFO", "name": "vllm.entrypoints.logger"}
    return json.dumps({**entry, "message": f"Received request cmpl-1: prompt: {prompt!r}, lora_request: None."})


def application_json(prompt: str) -> str:
    return json.dumps({"timestamp": "2026-07-12T10:01:00Z", "level": "info", "message": "request", "prompt": prompt})


VLLM = [received, response, details, unescaped, logged_json, application_json]


def receive(prompt: str) -> str:
    return sglang(60, f"Receive: obj=GenerateReqInput(rid='a', text={prompt!r}, sampling_params={{'n': 1}})")


def raw_receive(prompt: str) -> str:
    """SGLang puts the text between double quotes and leaves it as it is."""
    return sglang(60, f"Receive: obj=GenerateReqInput(rid='a', text=\"{prompt}\", input_ids=None, stream=False)")


def finish(prompt: str) -> str:
    meta = "'meta_info': {'id': 'a', 'finish_reason': {'type': 'stop'}, 'prompt_tokens': 9, 'e2e_latency': 0.5}"
    return sglang(60, f"Finish: obj=GenerateReqInput(rid='a', text={prompt!r}), out={{'text': {prompt!r}, {meta}}}")


def raw_finish(prompt: str) -> str:
    out = f"{{'text': \"{prompt}\", 'meta_info': {{'id': 'a', 'prompt_tokens': 9}}}}"
    return sglang(60, f"Finish: obj=GenerateReqInput(rid='a', text=\"hello\"), out={out}")


def event(prompt: str) -> str:
    body = {"timestamp": "2026-07-12T10:01:00.001234", "event": "request.finished", "rid": "a", "out": {"text": prompt}}
    return sglang(60, json.dumps(body))


def older(prompt: str) -> str:
    return sglang(60, f"in=GenerateReqInput(text={prompt!r})")


SGLANG = [receive, raw_receive, finish, raw_finish, event, older]


@pytest.mark.parametrize("write", VLLM)
def test_prompts_in_vllm_logs(write: object, tmp_path: Path) -> None:
    assert callable(write)
    quiet(tmp_path, [*logs.vllm_start(), *logs.vllm_serving(40, 3)], map(write, PROMPTS), logs.vllm_serving(70))


@pytest.mark.parametrize("write", SGLANG)
def test_prompts_in_sglang_logs(write: object, tmp_path: Path) -> None:
    assert callable(write)
    quiet(tmp_path, [*logs.sglang_start(), *logs.sglang_serving(40, 5)], map(write, PROMPTS), logs.sglang_serving(64))


def quiet(folder: Path, before: list[str], trap: object, after: list[str]) -> None:
    """The lines put in are read, and change nothing but their number."""
    plain = diagnose(folder, [*before, *after])
    session = diagnose(folder, [*before, *[line for text in trap for line in text.split("\n")], *after])  # type: ignore[attr-defined]
    [run], [healthy] = session.runs, plain.runs
    assert session.report.findings == []
    assert (run.end, run.complete_start, run.levels.get("ERROR")) == (healthy.end, True, None)
    assert [one.template for one in session.report.unrecognised] == [one.template for one in plain.report.unrecognised]
    assert sum(len(table) for table in run.tables.values()) == sum(len(table) for table in healthy.tables.values())
    assert {name: one.count for name, one in run.events.items()} == {
        name: one.count for name, one in healthy.events.items()
    }


def test_a_request_that_never_ends_does_not_swallow_the_log(tmp_path: Path) -> None:
    """Cut off in the middle of the user's text: what follows within bounds is read again as the server's."""
    cut = sglang(60, "Receive: obj=GenerateReqInput(rid='a', text=\"first line")
    lines = [*logs.sglang_start(), cut, "second line", *logs.sglang_full(64), *logs.sglang_death(300)]
    session = diagnose(tmp_path, lines)
    assert "memory.gpu_oom_runtime" in [one.id for one in session.report.findings]
    assert sum(len(table) for table in session.runs[0].tables.values()) == 40


BARS = [
    "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.20s/it]",
    "Capturing CUDA graphs:  50%|██   | 1/2 [00:01<00:01,  1.20s/it]",
]


@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize("words", TROUBLE)
def test_a_bar_in_a_prompt(bar: str, words: str, tmp_path: Path) -> None:
    """What stands behind a bar on its line is a line of its own; not so where somebody quotes the bar."""
    start, after = [*logs.vllm_start(), *logs.vllm_serving(40, 3)], logs.vllm_serving(70)
    quiet(tmp_path, start, [received(f"what is {bar} {words}")], after)
    start, after = [*logs.sglang_start(), *logs.sglang_serving(40, 5)], logs.sglang_serving(64)
    quiet(tmp_path, start, [raw_receive(f"{bar} {words}"), raw_receive(f"what is\n{bar} {words}")], after)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_log_that_ends_inside_a_prompt(wrapped: bool, tmp_path: Path) -> None:
    """Wherever it was cut: what a user pasted is older than the request, and no last word of the server."""
    before = [*logs.sglang_start(), *logs.sglang_serving(40, 5)]
    inside = raw_receive("\n".join(TROUBLE)).split("\n")
    for end in range(1, len(inside)):
        lines = [*before, *inside[:end]]
        if wrapped:
            stamp = "2026-07-12T10:01:00.5Z"
            lines = [json.dumps({"log": f"{line}\n", "stream": "stderr", "time": stamp}) for line in lines]
        session = diagnose(tmp_path, lines)
        assert session.report.findings == [] and session.runs[0].end == "running", inside[:end]
        assert session.report.unrecognised == []


def test_access_lines_with_trouble_in_the_path(tmp_path: Path) -> None:
    words = ["EngineDeadError", "CUDA%20out%20of%20memory", "NCCL error", "Killed", "torch.OutOfMemoryError: x"]
    lines = [access("404 Not Found", f"/{word}") for word in words]
    start, serving = logs.vllm_start(), logs.vllm_serving()
    assert diagnose(tmp_path, [*start, *lines, *serving]).report.findings == []
    stamped = [sglang(50, line.removeprefix(API)) for line in lines]
    assert diagnose(tmp_path, [*logs.sglang_start(), *stamped, *logs.sglang_serving()]).report.findings == []


def test_usual_lines_are_no_errors(tmp_path: Path) -> None:
    """Backends, tips and progress bars that other tools have taken for trouble."""
    usual = [
        vllm(10, "Using FlashAttention backend (no error), fallback is disabled.", where="cuda.py:300"),
        vllm(10, "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER']."),
        f"{API}Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:03<00:00,  1.6s/it]",
        vllm(10, "If you run out of memory, try decreasing gpu_memory_utilization.", where="core.py:9"),
    ]
    assert diagnose(tmp_path, [*logs.vllm_start(), *usual, *logs.vllm_serving()]).report.findings == []


def test_one_sample_decides_nothing(tmp_path: Path) -> None:
    lines = [*logs.vllm_start(), *logs.vllm_serving(40, 12), stats(170, 200, 40, 99.0), *logs.vllm_serving(180, 12)]
    assert diagnose(tmp_path, lines).report.findings == []


def test_a_steady_shortage_is_one(tmp_path: Path) -> None:
    """Nothing gets worse, and yet it is bad all the time."""
    steady = [stats(40 + 10 * at, 200, 40, 99.5, 500.0) for at in range(30)]
    found = diagnose(tmp_path, [*logs.vllm_start(), *steady]).report.findings
    assert "memory.kv_cache_exhausted" in [one.id for one in found]


def test_repetition_is_no_proof(tmp_path: Path) -> None:
    """A thousand prints of one error are as certain as one."""
    once = [*logs.vllm_start(), *logs.vllm_death(60)]
    often = [*logs.vllm_start(), *logs.vllm_death(60)[:6] * 200, *logs.vllm_death(60)[6:]]
    one, many = (diagnose(tmp_path, lines).report.findings for lines in (once, often))
    assert [(found.id, found.confidence) for found in one] == [(found.id, found.confidence) for found in many]


def test_servers_are_not_added_up(tmp_path: Path) -> None:
    """Two half-full pods are not one full server."""
    lines = [f"[pod/llm-{at % 2}/server] {line}" for at in (0, 1) for line in logs.vllm_start()]
    lines += [f"[pod/llm-{at % 2}/server] {stats(40 + 5 * at, 100, 0, 50.0)}" for at in range(40)]
    session = diagnose(tmp_path, lines)
    assert len(session.runs) == 2
    assert session.report.findings == []


def test_no_field_is_not_zero(tmp_path: Path) -> None:
    """Without a hit rate in the log nothing is said about the cache."""
    lines = [line.replace(", Prefix cache hit rate: 12.0%", "") for line in logs.vllm_serving()]
    session = diagnose(tmp_path, [*logs.vllm_start(), *lines])
    assert session.report.findings == []
    assert all("cache.hit_rate" not in table.columns for table in session.runs[0].tables.values())
