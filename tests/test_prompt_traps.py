"""What clients write is no message of the server, in whatever envelope its log was kept: prompts, names, paths, bodies.

One log of each engine holds every trap. In each envelope it must say what the same log without the traps says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import serverlogs as logs
from serverlogs import access, diagnose, encoded, sglang, vllm
from test_metamorphic import WRAPS, Wrap, each, iso, times
from test_traps import PROMPTS, SGLANG, TROUBLE, VLLM, raw_receive

from diagnoser.envelopes import envelopes

TASK = "0123456789abcdef0123456789abcdef"


def journald_pieces(lines: Sequence[str], seen: Sequence[float]) -> bytes:
    """What journald makes of lines longer than its limit: several entries, of which all but the last say so."""
    out = []
    for text, time in zip(lines, seen, strict=True):
        pieces = [text[at : at + 49152] for at in range(0, len(text) or 1, 49152)]
        for piece in pieces:
            entry = {"__REALTIME_TIMESTAMP": str(int(time * 1e6)), "_SYSTEMD_UNIT": "vllm.service", "MESSAGE": piece}
            more = piece is not pieces[-1]
            out.append(json.dumps({**entry, **({"_LINE_BREAK": "line-max"} if more else {})}))
    return encoded(out)


def ray_actor(text: str, _: float) -> str:
    """Only the process is named by Ray: what an engine puts there itself takes its place."""
    return text if text.startswith("(") else f"(EngineCore pid=4411) {text}"


def partial(size: int) -> Wrap:
    """CRI with long lines in pieces of so many bytes: 16 KiB of containerd, 8 KiB of conmon."""

    def wrap(lines: Sequence[str], seen: Sequence[float]) -> bytes:
        out = []
        for text, time in zip(lines, seen, strict=True):
            pieces = [text[at : at + size] for at in range(0, len(text) or 1, size)]
            out += [f"{iso(time)} stdout P {piece}" for piece in pieces[:-1]]
            out.append(f"{iso(time)} stdout F {pieces[-1]}")
        return encoded(out)

    return wrap


EVERY: dict[str, Wrap] = {
    "bare": lambda lines, _: encoded(lines),
    "syslog": each(lambda text, _: f"<6>{text}"),
    "syslog + journald": each(lambda text, time: f"<13>{iso(time, '+00:00')} gpu-1 vllm[812]: {text}"),
    "cloudwatch": each(lambda text, time: f"{iso(time, '+00:00')} ecs/vllm/{TASK} {text}"),
    "journald json, long lines": journald_pieces,
    "kibana": each(lambda text, _: f"Jul 12, 2026 @ 10:00:00.000    {text}"),
    "logs_explorer": each(lambda text, time: f"INFO {iso(time)} [resource.labels.containerName: vllm] {text}"),
    "tasks, mpirun": each(lambda text, _: f"[1,0]<stdout>:{text}"),
    "tasks, srun": each(lambda text, _: f"0: {text}"),
    "ray": each(ray_actor),
    "ray in kubectl": each(lambda text, time: f"[pod/llm-0/server] {iso(time)} {ray_actor(text, time)}"),
    "cri, 16 KiB": partial(16384),
    "cri, 8 KiB": partial(8191),
    # Not with pieces of any length: a short piece that ends before a record was the last word of a process.
    **{name: wrap for name, wrap in WRAPS.items() if name != "cri"},
}


def test_every_envelope_is_among_them() -> None:
    """By what the reader finds in the wrapped lines: a new envelope needs a row above."""
    log = logs.LOGS["vllm quiet"]
    from diagnoser.envelopes import Peeler

    found: set[str] = set()
    for wrap in EVERY.values():
        peeler = Peeler()
        list(peeler.lines(("x", at, line) for at, line in enumerate(wrap(log, times(log)).splitlines(), 1)))
        found |= set(peeler.seen)
    # A stamp is taken off lines of vLLM's formatter alone, of which no user writes one.
    for envelope in (one for one in envelopes() if one.NAME != "stamped"):
        assert any(envelope.NAME in one or envelope.NAME.removeprefix("kubectl ") in one for one in found), (
            envelope.NAME
        )


# -- what clients write


def fakes(engine: str) -> list[str]:
    """Lines of a dying server in every envelope, as people paste them."""
    lines = logs.LOGS[f"{engine} death"][-6:]
    made = []
    for name, wrap in EVERY.items():
        if name not in ("utf-16", "gz", "bz2", "xz", "zst", "byte order mark", "CRLF"):
            made.append(wrap(lines, times(logs.LOGS[f"{engine} death"])[-6:]).decode())
    # Pieces of a line that never ends.
    made += [f"{iso(1.79e9)} stderr P {line}" for line in TROUBLE]
    made += [json.dumps({"log": line, "stream": "stderr", "time": iso(1.79e9)}) for line in TROUBLE]
    return made


def wide(engine: str) -> str:
    """A prompt of 64 KiB with a line of trouble at every place where a runtime may cut."""
    line = vllm(50, "EngineCore encountered a fatal error.", "ERROR") if engine == "vllm" else "Killed"
    text = " " * 70_000
    for at in (4096, 8192, 16384, 32768, 49152, 65536):
        for shift in range(-400, 0, len(line) + 1):
            text = text[: at + shift] + line + text[at + shift + len(line) :]
    return text


NAMES = [re.sub(r"[^\w.-]+", "_", text)[:80] for text in TROUBLE]
PATHS = [
    "/CUDA_out_of_memory", "/v1/models/torch.OutOfMemoryError", "/v1/completions?error=NCCL%20error&Killed=1",
    "/EngineCore%20encountered%20a%20fatal%20error.", "/%0AKilled%0A", "/v1/Traceback%20(most%20recent%20call%20last):",
    "/[2026-07-12%2010:00:50%20TP0]%20Scheduler%20hit%20an%20exception", "/KV+cache+pool+is+full.+Retract+requests.",
    "/Xid%20(PCI:0000:01:00):%2079,%20GPU%20has%20fallen%20off%20the%20bus", "//Address%20already%20in%20use",
    "/v1/load_lora_adapter?lora_name=OOMKilled", "/metrics?name=EngineDeadError",
]  # fmt: skip
STATUSES = ("200 OK", "404 Not Found")


def traps_vllm() -> list[str]:
    prompts = [*PROMPTS, *fakes("vllm"), wide("vllm"), TROUBLE[0] * 40]
    lines = [line for write in VLLM for prompt in prompts for line in write(prompt).split("\n")]  # type: ignore[operator]
    lines += [access(status, path) for path in PATHS for status in STATUSES]
    for name in NAMES:
        lines += [
            vllm(61, f"Loaded new LoRA adapter: name '{name}', path '/adapters/{name}'", where="serving_models.py:163"),
            vllm(61, f"Added request chatcmpl-{name}.", where="async_llm.py:252"),
        ]
    return lines


def traps_sglang() -> list[str]:
    prompts = [*PROMPTS, *fakes("sglang"), wide("sglang"), TROUBLE[0] * 40]
    lines = [line for write in SGLANG for prompt in prompts for line in write(prompt).split("\n")]  # type: ignore[operator]
    asked = ((path, status) for path in PATHS for status in STATUSES)
    lines += [sglang(61, f'INFO:     10.0.0.7:51234 - "GET {path} HTTP/1.1" {status}') for path, status in asked]
    return lines + [sglang(61, f"Start load Lora adapter. Lora name={name}, path=/adapters/{name}") for name in NAMES]


QUIET = {
    "vllm": ([*logs.vllm_start(), *logs.vllm_serving(40, 3)], traps_vllm(), logs.vllm_serving(70)),
    "sglang": ([*logs.sglang_start(), *logs.sglang_serving(40, 5)], traps_sglang(), logs.sglang_serving(64)),
}


def heard(lines: Sequence[str], wrap: Wrap, folder: Path) -> dict[str, object]:
    """What a reader takes from the server's own lines, whatever stands between them."""
    session = diagnose(folder, wrap(lines, times(lines)))
    [run] = session.runs
    return {
        "findings": [one.id for one in session.report.findings],
        "unrecognised": [one.template for one in session.report.unrecognised],
        "events": {name: one.count for name, one in run.events.items() if name not in NAMED},
        "facts": {name: one.value for name, one in run.facts.items()},
        "samples": sum(len(table) for table in run.tables.values()),
        "levels": {name: count for name, count in run.levels.items() if name not in ("INFO", "")},
        "end": (run.engine, run.version, run.end, run.complete_start, run.drift),
        "problems": [str(one) for one in session.report.inputs[0].problems],
    }


#: What the server itself says of a request or an adapter.
NAMED = {"http.ok", "http.client_error", "http.not_found"}


@pytest.mark.parametrize("wrap", EVERY)
@pytest.mark.parametrize("engine", QUIET)
def test_words_of_clients_in_every_envelope(engine: str, wrap: str, tmp_path: Path) -> None:
    before, traps, after = QUIET[engine]
    plain = heard([*before, *after], EVERY[wrap], tmp_path)
    assert plain["findings"] == [] and plain["samples"]
    assert heard([*before, *traps, *after], EVERY[wrap], tmp_path) == plain


@pytest.mark.parametrize("make", [
    lambda text: f"{iso(1.79e9)} stderr P {text}",
    lambda text: json.dumps({"log": text, "stream": "stderr", "time": iso(1.79e9)}),
])  # fmt: skip
def test_a_piece_that_is_quoted_is_no_last_word(make: Callable[[str], str], tmp_path: Path) -> None:
    """It waits for its end until the log ends; what a dying process left does so too, and counts."""
    start, serving = [*logs.sglang_start(), *logs.sglang_serving(40, 5)], logs.sglang_serving(64)
    prompt = raw_receive("\n".join(["what is", make("Killed"), "good for?"])).split("\n")
    session = diagnose(tmp_path, [*start, *prompt, *serving])
    assert session.report.findings == [] and session.runs[0].end == "running"
    [problem] = session.report.inputs[0].problems
    assert f"line {len(start) + 2}:" in problem and "left out" in problem
    own = [f"{iso(1.79e9)} stdout F {line}" for line in [*start, *serving]]
    session = diagnose(tmp_path, [*own, f"{iso(1.79e9)} stderr P Killed"])
    assert session.runs[0].end == "crash" and session.report.findings
