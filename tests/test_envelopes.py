"""Envelopes: each module's own samples, no stealing between them, nesting, joining, splitting and hostile text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.envelopes import Peeler, envelopes
from diagnoser.envelopes._registry import by_first
from diagnoser.model import Line

T = "2026-11-29T12:00:00.250000000Z"
EPOCH = 1795953600.25
VLLM = "INFO 11-29 12:00:00 [loggers.py:118] Engine 000: Running: 3 reqs"
SGLANG = "[2026-11-29 12:00:00 TP0] Decode batch, #running-req: 1"
POD = "vllm-7d9f8b6c5d-x2k4q"

#: Lines that engines and people write themselves: nothing may be peeled off them.
BARE = [
    VLLM,
    SGLANG,
    "(EngineCore_DP0 pid=77) " + VLLM,
    "(RayWorkerWrapper pid=1, ip=10.0.0.2) INFO 11-29 12:00:00 x.py:1] y [repeated 3x across cluster]",
    '(APIServer pid=1) INFO:     10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
    'INFO:     10.0.0.1:58467 - "GET /health HTTP/1.1" 200 OK',
    '{"asctime": "2026-11-29 17:24:06,448", "levelname": "INFO", "message": "vLLM server version 0.32.0"}',
    '{"time": "2026-11-29T12:00:00Z", "level": "info", "msg": "no log key"}',
    "2026-11-29 18:10:44 ERROR http_request{method=POST}: smg::response: x.rs:1: request failed",
    "2026-11-29T18:10:44.123456Z  INFO smg::server: Starting router on 127.0.0.1:1 | mode: Regular",
    "2026-11-29T18:10:44.123456Z ERROR smg::core::worker: x",
    "2026-03-28T10:00:02.963716Z  INFO scheduler_metrics_mixin.log_decode_stats: Decode batch, #running-req: 11",
    "2026-11-29 12:00:00.123 | INFO     | module:function:1 - text",
    "W1129 16:21:14.128000 8013 torch/_library/triton.py:53] Triton not available",
    "[W1129 16:20:09.16 utils.cpp:68] Warning",
    "[ 1234.567890] NVRM: Xid (PCI:0000:01:00): 79",
    "[gpu=0] Init nccl begin.",
    "[2026-11-29 12:00:00] [http_server] Error: [pod/x/y] quoted",
    "INFO     | a level is no service",
    "ERROR | x",
    "|  GPU  Name        Persistence-M| Bus-Id |",
    "Metric | Value",
    "model    | size",
    "multi-layer0 attention is used",
    "self-attn-block1 layer name",
    "1 2026 a b c d",
    "<unk> token",
    "12 + 30 = 42",
    "May the force be with you",
    "Sep 09 was a good day: yes",
    "+ set -x",
    "- item one",
    "",
    " /health HTTP/1.1\" 200 OK",
    "Received request x: prompt: '[pod/a/b] ERROR 11-29 12:00:00 [x.py:1] boom', params",
    f"Received request x: prompt: '{T} stderr F hello'",
    "prompt was \x5b1;31mred\x5b0m in the middle of a line",
    "INFO 11-29 12:00:00 [model.py:530] Resolved architecture [m and [0 and [metrics.py:1]",
]  # fmt: skip


def peel(lines: Iterable[str | bytes]) -> tuple[list[Line], Peeler]:
    peeler = Peeler()
    raw = [("f", n, line if isinstance(line, bytes) else line.encode()) for n, line in enumerate(lines, 1)]
    return list(peeler.lines(raw)), peeler


def owner(line: str) -> str | None:
    heads = by_first().get(line[:1])
    found = heads.owner(line) if heads else None
    return found if found is None or isinstance(found, str) else found.NAME


SAMPLES = [(envelope, sample) for envelope in envelopes() for sample in envelope.SAMPLES]


@pytest.mark.parametrize(("envelope", "sample"), SAMPLES, ids=[f"{e.NAME}: {s[0][:40]}" for e, s in SAMPLES])
def test_sample_is_peeled_by_its_own_envelope_only(envelope, sample) -> None:
    line, text, at, stream = sample
    peeled = envelope.peel(line)
    assert peeled is not None
    assert (None if peeled.drop else peeled.text, peeled.stream) == (text, stream)
    assert peeled.time == pytest.approx(at, abs=1e-6)
    assert line[0] in envelope.FIRST
    assert owner(line) == envelope.NAME


@pytest.mark.parametrize("line", BARE)
def test_bare_lines_stay_whole(line: str) -> None:
    lines, peeler = peel([line])
    assert [(each.text, each.time, each.stream, each.envelope) for each in lines] == [(line, None, "", "bare")]
    assert peeler.seen == {"bare": 1}


def wrap(text: str) -> dict[str, tuple[str, float | None, str]]:
    """Every way to wrap a line: envelope title -> (wrapped, time, stream)."""
    docker = json.dumps({"log": text + "\n", "stream": "stderr", "time": T})
    journal = {"MESSAGE": text, "__REALTIME_TIMESTAMP": "1795953600250000", "_SYSTEMD_UNIT": "vllm.service"}
    return {
        "cri": (f"{T} stderr F {text}", EPOCH, ""),
        "kubectl --timestamps": (f"{T} {text}", EPOCH, ""),
        "kubectl --prefix": (f"[pod/{POD}/vllm] {text}", None, f"{POD}/vllm"),
        "kubectl --prefix --timestamps": (f"[pod/{POD}/vllm] {T} {text}", EPOCH, f"{POD}/vllm"),
        "kubectl --timestamps --prefix": (f"{T} [pod/{POD}/vllm] {text}", EPOCH, f"{POD}/vllm"),
        "docker json-file": (docker, EPOCH, ""),
        "compose": (f"vllm-1  | {text}", None, "vllm-1"),
        "compose + kubectl --timestamps": (f"vllm-1  | {T} {text}", EPOCH, "vllm-1"),
        "journald": (f"Nov 29 12:00:00 gpu-1 vllm[7]: {text}", None, "vllm"),
        "journald iso": (f"2026-11-29T13:00:00.250000+0100 gpu-1 vllm[7]: {text}", EPOCH, "vllm"),
        "journald json": (json.dumps(journal), EPOCH, "vllm"),
        "syslog": (f"<6>{text}", None, ""),
        "syslog + journald": (f"<13>Nov 29 12:00:00 gpu-1 vllm[7]: {text}", None, "vllm"),
        "stern": (f"{POD} vllm {text}", None, f"{POD}/vllm"),
        "stern + kubectl --timestamps": (f"{POD} vllm {T} {text}", EPOCH, f"{POD}/vllm"),
        "loki": (f'{T} {{app="x", pod="p-0"}} {text}', EPOCH, "p-0"),
        "journald + docker json-file": (f"Nov 29 12:00:00 h docker[1]: {docker}", EPOCH, "docker"),
        "kubectl --prefix + compose": (f"[pod/{POD}/dind] vllm-1  | {text}", None, f"{POD}/dind/vllm-1"),
    }


ENGINE = [VLLM, SGLANG, "(APIServer pid=1) " + VLLM, 'INFO:     1.2.3.4:5 - "GET / HTTP/1.1" 200 OK']


@pytest.mark.parametrize("title", list(wrap("")))
@pytest.mark.parametrize("text", ENGINE)
def test_every_wrapping_of_an_engine_line(title: str, text: str) -> None:
    wrapped, at, stream = wrap(text)[title]
    for line in (wrapped, wrapped + "\r", "\x1b[36m" + wrapped + "\x1b[0m"):
        lines, peeler = peel([line])
        assert [(e.text, e.time, e.stream, e.envelope, e.number) for e in lines] == [(text, at, stream, title, 1)]
        assert peeler.seen == {title: 1}


@pytest.mark.parametrize("title", [t for t in wrap("") if t != "stern"])
@pytest.mark.parametrize("coloured", [
    "\x1b[1;36m(Worker pid=7)\x1b[0;0m INFO 11-29 12:00:00 [a.py:1] x",
    "[1;36m(Worker pid=7)[0;0m INFO 11-29 12:00:00 [a.py:1] x",
    "#033[1;36m(Worker pid=7)#033[0;0m INFO 11-29 12:00:00 [a.py:1] x",
    "^[[1;36m(Worker pid=7)^[[0;0m INFO 11-29 12:00:00 [a.py:1] x",
    "\x1b]0;title\x07(Worker pid=7) INFO 11-29 12:00:00 [a.py:1] x\x1b[K",
])  # fmt: skip
def test_colours_inside_an_envelope(title: str, coloured: str) -> None:
    lines, _ = peel([wrap(coloured)[title][0]])
    assert [line.text for line in lines] == ["(Worker pid=7) INFO 11-29 12:00:00 [a.py:1] x"]


def test_colours_without_esc_after_a_time() -> None:
    lines, peeler = peel(['[2026-09-24 09:00:44] [32mINFO[0m:     1.2.3.4:5 - "[1mPOST / HTTP/1.1[0m" [32m200 OK[0m'])
    assert lines[0].text == '[2026-09-24 09:00:44] INFO:     1.2.3.4:5 - "POST / HTTP/1.1" 200 OK'
    assert peeler.repairs == {"colours without ESC": 1}


BAR = "Capturing batches: 100%|##########| 23/23 [00:05<00:00,  4.10it/s]"
SPLITS = [
    (f"{BAR}{SGLANG}", [BAR, SGLANG]),
    (f"{BAR}{VLLM}", [BAR, VLLM]),
    (f"{BAR} (Worker pid=7) {VLLM}", [BAR, f"(Worker pid=7) {VLLM}"]),
    (f"(Worker pid=7) {BAR}(Worker pid=7) {VLLM}", [f"(Worker pid=7) {BAR}", f"(Worker pid=7) {VLLM}"]),
    (
        f"  0%|   | 0/23 [00:00<?, ?it/s]{BAR[:9]}\r{BAR}{VLLM}",
        [f"  0%|   | 0/23 [00:00<?, ?it/s]{BAR[:9]}", BAR, VLLM],
    ),
    (f"a\r\rb\r{VLLM}", ["a", "b", VLLM]),
    (f"{VLLM}\r", [VLLM]),
    ("\r", [""]),
    ("\r\r\r", [""]),
    (BAR, [BAR]),
    # A line that began as a record may quote a bar and a record: it is one record.
    (f"{VLLM} prompt: '{BAR}{SGLANG}'", [f"{VLLM} prompt: '{BAR}{SGLANG}'"]),
]


@pytest.mark.parametrize(("line", "texts"), SPLITS)
def test_carriage_returns_and_bars(line: str, texts: list[str]) -> None:
    for title in ("", "docker json-file", "kubectl --timestamps", "journald json"):
        lines, _ = peel([wrap(line)[title][0] if title else line])
        assert [each.text for each in lines] == texts
        assert {each.number for each in lines} == {1}


def cri(tag: str, text: str, output: str = "stderr", prefix: str = "") -> str:
    return f"{prefix}{T} {output} {tag} {text}"


def docker(text: str, stream: str = "stderr") -> str:
    return json.dumps({"log": text, "stream": stream, "time": T})


JOINS = [
    ([cri("P", "INFO 11-29 "), cri("P", "a "), cri("F", "b"), cri("F", "c")], [(1, "INFO 11-29 a b"), (4, "c")]),
    ([cri("P", "a"), cri("F", "other", "stdout"), cri("F", "b")], [(2, "other"), (1, "ab")]),
    ([cri("P", "a", prefix="[pod/p-0/x] "), cri("F", "c", prefix="[pod/p-1/x] "), cri("F", "b", prefix="[pod/p-0/x] ")],
     [(2, "c"), (1, "ab")]),
    ([docker("a" * 20000), docker("INFO"), docker("!\n")], [(1, "a" * 20000 + "INFO!")]),
    ([docker("half "), docker("line\n"), docker("next\n")], [(1, "half line"), (3, "next")]),
    ([docker("out", "stdout"), docker("err\n"), docker("!\n", "stdout")], [(2, "err"), (1, "out!")]),
    # A piece that never ends is kept; a short one before the first record of the next process is not glued to it.
    ([cri("P", "never")], [(1, "never")]),
    ([docker("Killed"), docker(VLLM + "\n")], [(1, "Killed"), (2, VLLM)]),
    ([cri("P", "[pod/a/b"), cri("F", f"/c] {VLLM}")], [(1, f"[pod/a/b/c] {VLLM}")]),
    ([cri("P", "vllm-1  "), cri("F", f"| {VLLM}")], [(1, VLLM)]),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), JOINS)
def test_pieces_become_lines(raw: list[str], expected: list[tuple[int, str]]) -> None:
    lines, peeler = peel(raw)
    assert [(line.number, line.text) for line in lines] == expected
    assert sum(peeler.seen.values()) == len(raw)
    assert all(line.time == EPOCH for line in lines)


def test_joined_lines_are_bounded() -> None:
    lines, peeler = peel([cri("P", "x" * 100_000)] * 30 + [cri("F", "end")])
    assert [len(line.text) for line in lines] == [1 << 20]
    assert "cut" in peeler.problems[0].text


def test_weak_envelopes_need_an_engine_line() -> None:
    lines, _ = peel(["vllm | banner", f"vllm | {VLLM}", "vllm |   continued", "Metric | Value",
                     f"{POD} vllm banner", f"{POD} vllm {VLLM}", f"{POD} vllm   continued"])  # fmt: skip
    assert [(line.stream, line.text) for line in lines] == [
        ("vllm", "banner"), ("vllm", VLLM), ("vllm", "  continued"), ("", "Metric | Value"),
        (f"{POD}/vllm", "banner"), (f"{POD}/vllm", VLLM), (f"{POD}/vllm", "  continued"),
    ]  # fmt: skip


def test_weak_envelopes_are_looked_for_ahead_within_bounds() -> None:
    lines, _ = peel(["vllm | banner"] * 300 + [f"vllm | {VLLM}", "vllm | banner"])
    assert [line.stream for line in lines] == [""] * 300 + ["vllm"] * 2


def test_mixed_envelopes_in_one_input() -> None:
    wrapped = wrap(VLLM)
    lines, peeler = peel([value[0] for value in wrapped.values()] + [VLLM])
    assert [line.text for line in lines] == [VLLM] * (len(wrapped) + 1)
    assert peeler.seen == Counter_of([*wrapped, "bare"])


def Counter_of(names: list[str]) -> dict[str, int]:
    return {name: names.count(name) for name in names}


def test_the_runtime_s_own_lines_are_dropped_but_counted() -> None:
    lines, peeler = peel(["-- Reboot --", f"+ {POD} › vllm", VLLM])
    assert [line.number for line in lines] == [3]
    assert peeler.seen == {"journald": 1, "stern": 1, "bare": 1}


def test_same_envelope_is_peeled_once_and_depth_is_bounded() -> None:
    lines, _ = peel([f"[pod/a/b] [pod/c/d] {VLLM}", "<1>" * 50 + "x"])
    assert [line.text for line in lines] == [f"[pod/c/d] {VLLM}", "<1>" * 49 + "x"]


def test_broken_bytes_and_nuls() -> None:
    lines, _ = peel([b"\0\0" + VLLM.encode(), b"caf\xe9 \xff", docker("\ud83d x\n")])
    assert [line.text for line in lines] == [VLLM, "caf\ufffd \ufffd", "? x"]


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        (r'me \"x\" Added\n","stream":"stderr","time":"2026-11-29T12:00:00Z"}', 'me "x" Added'),
        # Cut inside of an escape: what was escaped is lost.
        (r'"x\" Added\n","stream":"stderr","time":"2026-11-29T12:00:00Z"}', 'x" Added'),
    ],
)
def test_a_docker_object_that_lost_its_beginning_is_restored_on_the_first_line_only(rest: str, text: str) -> None:
    assert [(line.text, line.envelope) for line in peel([rest])[0]] == [(text, "docker json-file")]
    assert [line.text for line in peel([VLLM, rest])[0]] == [VLLM, rest]


def test_the_rest_of_a_piece_goes_on_in_the_next_object() -> None:
    tail = '"stream":"stderr","time":"2026-11-29T12:00:00Z"}'
    assert [line.text for line in peel([f'a b",{tail}', f'{{"log":"c d\\n",{tail}'])[0]] == ["a bc d"]


def test_truncated_docker_object_is_salvaged() -> None:
    lines, _ = peel([docker(f'{VLLM} "q" é\n')[:-60], '{"log":', '{"log":"a\\u00'])
    assert lines[0].text.startswith(VLLM[:40])
    assert [line.text for line in lines[1:]] == ['{"log":', "a"]


HOSTILE = [
    "[pod/" + "a" * 500_000, "{" * 200_000, '{"log":' + "[" * 200_000, "a-" * 250_000 + " b |", "-" * 500_000,
    "Nov 29 12:00:00 " + "a" * 500_000, "Nov 29 12:00:00 " + "a " * 250_000, f"{T} " + "a[" * 250_000,
    "[0m" + "[0" * 150_000 + "m" * 150_000, "[1;" * 150_000, "\x1b[" * 250_000, "\x1b]" * 250_000, "|" * 500_000,
    f"{BAR[:50]}" * 10_000, f"{BAR}" * 5_000, f"{T} " + '{a="b",' * 70_000, "<1>" * 150_000,
    f"1 {T} a b c d " + "[x" * 200_000, "(a pid=1) " * 50_000, "{\"log\":\"" + "\\" * 500_000, "\r" * 500_000,
    "+ a" + " › a" * 100_000, "a" * 500_000 + " | x", "2026" * 100_000, "[" + "0;" * 200_000 + "m",
    "".join("[0" * n + "m" * n for n in range(1, 400)), '{"MESSAGE":' + "1" * 400_000 + "}",
]  # fmt: skip


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_cost_no_more_than_their_length(line: str) -> None:
    started = time.process_time()
    lines, _ = peel([line, VLLM])
    assert lines[-1].text == VLLM
    assert time.process_time() - started < 2.0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([v[0].encode() for v in wrap(SGLANG).values()]), max_size=8))
def test_no_bytes_break_it(raw: list[bytes]) -> None:
    lines, peeler = peel(raw)
    assert sum(peeler.seen.values()) == len(raw)
    assert all(1 <= line.number <= len(raw) and "\0" not in line.text and "\x1b" not in line.text for line in lines)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\x1b\ud800"), max_size=60), st.sampled_from(
    ["cri", "kubectl --prefix", "docker json-file", "journald", "journald json", "compose"]))  # fmt: skip
def test_strong_envelopes_give_back_any_text(text: str, title: str) -> None:
    inner, _ = peel([VLLM + " " + text])
    outer, _ = peel([wrap(VLLM + " " + text)[title][0]])
    assert [line.text for line in outer] == [line.text for line in inner]


@pytest.mark.parametrize("head", ["> ", "> > ", ">", "  ", "\t", "    > "])
def test_a_paste_that_stands_behind_marks_or_blanks_as_a_whole(head: str) -> None:
    texts = [SGLANG, "Traceback (most recent call last):", '  File "x.py", line 1, in f', "", SGLANG]
    lines, _ = peel([(head + text).rstrip() for text in texts])
    assert [line.text for line in lines] == texts


@pytest.mark.parametrize("texts", [
    [f"  {SGLANG}"], [f"> {SGLANG}", SGLANG], [SGLANG, f"> {SGLANG}"], ['  File "x.py", line 1, in f', "    g()"],
    ["> a", "> b"],
])  # fmt: skip
def test_marks_and_blanks_of_a_part_stay(texts: list[str]) -> None:
    lines, _ = peel(texts)
    assert [line.text for line in lines] == texts


def test_numbers_of_tasks_are_peeled_once_an_engine_spoke_behind_one() -> None:
    lines, _ = peel([" 0: banner", f"11: {SGLANG}", ' 0:   File "x.py"', "[1,3]<stderr>:NCCL"])
    assert [line.text for line in lines] == ["banner", SGLANG, '  File "x.py"', "NCCL"]
    lines, _ = peel(["0: NVIDIA H100", VLLM])
    assert [line.text for line in lines] == ["0: NVIDIA H100", VLLM]
