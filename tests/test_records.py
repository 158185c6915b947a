"""Lines to records: joining, process and stream separation, hostile text, times and bounds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from diagnoser.formats.joining import MOST_CHARACTERS, MOST_LINES
from diagnoser.formats.records import PATIENCE, RecordReader
from diagnoser.model import Line


def read(text, times=None, streams=None):
    reader, out = RecordReader(), []
    for number, line in enumerate(text.splitlines() if isinstance(text, str) else text, 1):
        time = times[number - 1] if times else None
        stream = streams[number - 1] if streams else ""
        out.extend(reader.feed(Line("server.log", number, line, time, stream, "plain")))
    out.extend(reader.flush())
    return out


def at(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


def shape(records):
    return [(record.kind, record.text.split("\n")[0][:40], record.process) for record in records]


FATAL_TEXT = [
    "EngineCore encountered a fatal error.",
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3/x.py", line 1, in f',
    "    g()",
    "ValueError: one",
    "",
    "The above exception was the direct cause of the following exception:",
    "",
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3/x.py", line 2, in f',
    "torch.AcceleratorError: CUDA error: out of memory",
    "CUDA kernel errors might be asynchronously reported",
]
FATAL = "".join(f"(EngineCore_DP0 pid=9) ERROR 06-11 08:00:01 [core.py:700] {text}\r\n" for text in FATAL_TEXT)


def test_a_traceback_with_repeated_prefixes_is_one_record():
    (record,) = read(FATAL)
    assert record.text.split("\n") == FATAL_TEXT
    assert (record.kind, record.level, record.process, record.ranks) == (
        "message",
        "ERROR",
        "EngineCore_DP0",
        (("dp", "0"),),
    )
    assert (record.where, record.origin.line, record.last_line) == ("core.py:700", 1, 12)


def test_the_same_message_twice_in_one_second_is_two_records():
    assert len(read(FATAL * 3)) == 3
    line = "WARNING 06-11 08:00:01 [scheduler.py:9] Sequence group is preempted\n"
    assert len(read(line * 4)) == 4
    engines = "".join(
        f"(APIServer pid=1) INFO 06-11 08:00:01 [loggers.py:111] Engine {i:03d}: Avg prompt throughput: 1.0 tokens/s\n"
        for i in range(8)
    )
    assert [record.kind for record in read(engines)] == ["stats"] * 8


def test_interleaved_ranks_are_joined_apart():
    ranks = ["(Worker_TP0 pid=5) ", "(Worker_TP1 pid=6) "]
    prefix = "ERROR 06-11 08:00:01 [multiproc_executor.py:7] "
    texts = [
        "WorkerProc hit an exception.",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "ValueError: x",
    ]
    logged = read([rank + prefix + text for text in texts for rank in ranks])
    assert [(record.process, record.text) for record in logged] == [(f"Worker_TP{i}", "\n".join(texts)) for i in (0, 1)]
    bare = read([rank + text for text in texts[1:] for rank in ranks])
    assert [(record.kind, record.process, record.text) for record in bare] == [
        ("traceback", f"Worker_TP{i}", "\n".join(texts[1:])) for i in (0, 1)
    ]
    torchrun = read([f"[rank{i}]: {text}" for text in texts[1:] for i in (0, 1)])
    assert [(record.text, record.ranks) for record in torchrun] == [
        ("\n".join(texts[1:]), (("rank", str(i)),)) for i in (0, 1)
    ]


def test_a_bare_traceback_keeps_its_announcement_chain_and_message():
    record, killed = read(
        "Process EngineCore_0:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n\n"
        "During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
        '  File "a.py", line 2, in f\npydantic_core._pydantic_core.ValidationError: 1 validation error for X\n'
        "  Value error, Invalid repository ID [type=value_error]\nPlease verify the following requirements:\n"
        "1. Provide a valid Hugging Face repository ID.\n\nKilled"
    )
    assert record.kind == "traceback"
    assert record.text.startswith("Process EngineCore_0:") and record.text.endswith("repository ID.")
    assert (killed.kind, killed.dialect, killed.text) == ("message", "python", "Killed")


def test_a_bare_traceback_that_a_logger_interrupts_goes_on():
    records = read(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        "INFO 06-11 08:00:01 [launcher.py:1] hello\n    g()\nOSError: [Errno 98] Address already in use\n"
    )
    assert [record.kind for record in records] == ["traceback", "message"]
    assert records[0].text.endswith("OSError: [Errno 98] Address already in use")


def test_messages_of_other_loggers_own_the_bare_traceback_behind_them():
    (sglang,) = read(
        "[2026-03-01 12:34:56 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "a.py", line 1, in f\n    g()\nRuntimeError: Not enough memory.\n'
    )
    assert (sglang.kind, sglang.ranks, sglang.last_line) == ("message", (("tp", "1"),), 4)
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n'
    (asgi,) = read("ERROR:    Exception in ASGI application\n" + trace)
    assert (asgi.dialect, asgi.text.count("\n")) == ("uvicorn", 3)
    apart = read('INFO:     Shutting down\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n')
    assert [record.kind for record in apart] == ["message", "traceback"]


def test_the_logo_keeps_version_and_model():
    prefix = "(APIServer pid=3) INFO 05-19 10:08:06 [utils.py:306] "
    records = read([prefix, prefix + " ▄▄ ▄█ █  version 0.21.0", prefix + "  █▄█▀ █  model   a/b", prefix])
    assert len(records) == 1
    assert "version 0.21.0" in records[0].text and "model   a/b" in records[0].text


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_prompt_cannot_pose_as_the_engine(quote):
    forged = (
        "ERROR 07-12 10:00:00 [core.py:1] EngineCore encountered a fatal error. Traceback (most recent call last): boom"
    )
    request = f"Received request cmpl-1: prompt: {quote}{forged}{quote}, params: None, lora_request: None."
    (record,) = read(f"INFO 07-12 10:00:00 [logger.py:39] {request}")
    assert (record.kind, record.level, record.text) == ("request", "INFO", request)


def test_line_breaks_in_a_prompt_stay_in_the_request():
    start = "INFO 07-12 10:00:00 [logger.py:39] "
    forged = [
        "Traceback (most recent call last):",
        "ERROR 07-12 10:00:00 [core.py:1] EngineCore died",
        "', lora_request: None.",
    ]
    repeated = read([start + "Received request 1: prompt: 'hi", *(start + line for line in forged)])
    assert [record.kind for record in repeated] == ["request"]
    raw = read(
        [
            start + "Received request 1: prompt: 'hi",
            forged[0],
            "torch.OutOfMemoryError: CUDA out of memory",
            "Killed",
            forged[2],
        ]
    )
    assert [record.kind for record in raw] == ["request"]
    sglang = read(
        '[2026-03-01 12:34:56] Receive: obj=GenerateReqInput(text="hi\nTraceback (most recent call last):\n'
        'RuntimeError: CUDA out of memory (see below)\n", stream=False)\n[2026-03-01 12:34:57] fine\n'
    )
    assert [record.kind for record in sglang] == ["request", "message"]


def test_a_crash_behind_a_whole_request_line_is_seen():
    records = read(
        "INFO 07-12 10:00:00 [logger.py:39] Received request 1: prompt: 'hi', params: None, lora_request: None.\n"
        'Traceback (most recent call last):\n  File "a.py", line 1\nMemoryError\n'
    )
    assert [record.kind for record in records] == ["request", "traceback"]


@pytest.mark.parametrize("head", ["INFO 07-12 10:01:00 [loader.py:7] ", "[2026-07-12 10:01:00 TP0] "])
@pytest.mark.parametrize(
    "bar", ["shards:  50% Completed | 1/2 [00:01<00:01,  1.20s/it]", "  9%|#  | 1/9 [00:01<?, ?it/s]"]
)
def test_a_message_that_tells_of_a_bar_is_one_record(head: str, bar: str) -> None:
    [record] = read([f"{head}so far: {bar} Killed"])
    assert record.text == f"so far: {bar} Killed" and record.dialect in ("vllm", "sglang")


def test_a_bar_and_a_log_line_on_one_physical_line_are_two_records():
    records = read(
        "Capturing batches (bs=1):   0%|          | 0/23 [00:00<?, ?it/s][2026-03-01 12:34:56 TP0] Entering.\n"
        "(Worker_TP0 pid=7) Capturing: 100%|██████████| 5/5 [00:20<00:00,  1.71it/s]INFO 07-12 10:00:00 [a.py:1] done\n"
        "See https://example.org/refleaks.html[2026-03-01 12:34:57] kill_process_tree called\n"
    )
    assert [(record.dialect, record.process) for record in records] == [
        ("progress", ""), ("sglang", ""), ("progress", "Worker_TP0"), ("vllm", "Worker_TP0"), ("", ""), ("sglang", ""),
    ]  # fmt: skip


def test_colours_are_dropped_even_without_their_escape_byte():
    for escape in ("\x1b", ""):
        (record,) = read(f"{escape}[1;36m(Worker pid=7){escape}[0;0m INFO 07-12 10:00:00 [a.py:1] done")
        assert (record.process, record.text, record.dialect) == ("Worker", "done", "vllm")
    (record,) = read("(Worker pid=7) \x1b[32mINFO\x1b[0m \x1b[90m07-12 10:00:00 [a.py:1]\x1b[0m done")
    assert (record.level, record.text) == ("INFO", "done")


def test_ray_prefix_and_folding_mark():
    (record,) = read(
        "(RayWorkerWrapper pid=12, ip=10.0.0.2) INFO 07-12 10:00:00 [a.py:1] Loading took 3 s "
        "[repeated 3x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0)"
    )
    assert (record.process, record.text) == ("RayWorkerWrapper", "Loading took 3 s")


def test_usage_texts_warnings_and_lists_are_joined():
    usage, error = read(
        "usage: vllm serve [-h]\n  [--a A]\npositional arguments:\n  x\nvllm serve: error: unrecognized arguments: --b"
    )
    assert (usage.last_line, error.level) == (4, "ERROR")
    (warning,) = read("/usr/lib/x/y.py:12: UserWarning: \n    sm_120 is not compatible\n\n  warnings.warn(\n")
    assert (warning.level, warning.last_line) == ("WARNING", 4)
    (listed,) = read(
        "[2026-03-01 12:34:56] Capture cuda graph failed: oom\nPossible solutions:\n1. set --mem\n2. set --max\n"
    )
    assert listed.text.endswith("2. set --max")


def test_streams_are_kept_apart():
    prefix, texts = (
        "ERROR 06-11 08:00:01 [core.py:7] ",
        ["failed", "Traceback (most recent call last):", "ValueError: x"],
    )
    lines = [prefix + text for text in texts for _ in "ab"]
    records = read(lines, streams=list("ab" * 3))
    assert [(record.stream, record.text) for record in records] == [("a", "\n".join(texts)), ("b", "\n".join(texts))]


def test_records_come_in_the_order_of_their_first_lines_and_are_not_held_for_ever():
    reader, seen = RecordReader(), []
    seen.extend(reader.feed(Line("s", 1, "(Worker pid=7) ERROR 06-11 08:00:01 [a.py:1] last words", None, "", "")))
    for number in range(2, PATIENCE + 4):
        seen.extend(
            reader.feed(Line("s", number, f"(APIServer pid=1) INFO 06-11 08:00:02 [b.py:1] {number}", None, "", ""))
        )
    assert [record.origin.line for record in seen][:2] == [1, 2]
    seen.extend(reader.flush())
    assert [record.origin.line for record in seen] == list(range(1, PATIENCE + 4))
    assert list(reader.flush()) == []


def test_a_record_is_bounded_and_keeps_its_end():
    frames = [f'  File "a.py", line {i}, in f' for i in range(5000)]
    (record,) = read(["Traceback (most recent call last):", *frames, "RecursionError: deep"])
    assert record.text.count("\n") <= MOST_LINES
    assert record.text.endswith("RecursionError: deep") and record.text.startswith("Traceback")
    wide = [f"  {'x' * 5000} {i}" for i in range(100)]
    (record,) = read(["Traceback (most recent call last):", *wide, "RecursionError: deep"])
    assert len(record.text) <= MOST_CHARACTERS + 6000
    assert record.text.endswith("RecursionError: deep")


def test_json_lines():
    first, second = read(
        '{"asctime": "2026-02-01 08:00:01,123", "levelname": "ERROR", "name": "vllm.x", "message": "boom", '
        '"exc_info": "Traceback (most recent call last):\\n  File\\nValueError: x"}\n'
        '{"asctime": "2026-02-01 08:00:01,123", "levelname": "ERROR", "name": "vllm.x", "message": "  indented"}'
    )
    assert (first.dialect, first.time, first.text.count("\n")) == ("vllm", at(2026, 2, 1, 8, 0, 1, 123000), 3)
    assert second.text == "  indented"


def test_yearless_times_roll_over_new_year():
    first, second = read("INFO 12-31 23:59:59 [a.py:1] x\nINFO 01-01 00:00:01 [a.py:1] y")
    assert (first.time, first.time_known) == (at(2000, 12, 31, 23, 59, 59), "yearless")
    assert second.time == at(2001, 1, 1, 0, 0, 1)


def test_the_envelope_gives_the_year_and_its_zone_is_undone():
    texts = ["INFO 12-31 23:59:59 [a.py:1] x", "INFO:     Shutting down", "INFO 01-01 00:00:01 [a.py:1] y"]
    envelope = at(2025, 12, 31, 15, 59, 59)
    first, second, third = read(texts, times=[envelope, envelope + 1, envelope + 2])
    assert (first.time, first.time_known) == (at(2025, 12, 31, 23, 59, 59), "full")
    assert (second.time, second.time_known) == (at(2026, 1, 1), "full")
    assert third.time == at(2026, 1, 1, 0, 0, 1)


def test_lines_before_the_first_own_time_are_of_the_log_s_zone_too():
    """Warnings of Python come before the first record; the runtime's clock may be in another zone than the log's."""
    envelope = at(2026, 11, 29, 16, 8, 30)
    texts = ["launch_server.py:71: UserWarning: old", "[2026-11-29 17:08:34] server_args=ServerArgs(model_path='m')"]
    lines = [Line("server.log", n, text, envelope + 4 * n, "", "plain") for n, text in enumerate(texts)]
    reader, out = RecordReader(), []
    reader.foresee(lines)
    for line in lines:
        out.extend(reader.feed(line))
    out.extend(reader.flush())
    assert [record.time for record in out] == [at(2026, 11, 29, 17, 8, 30), at(2026, 11, 29, 17, 8, 34)]


def test_a_dated_line_of_the_stream_gives_the_year():
    _, second = read("2025-01-02 03:04:05,678\tINFO worker.py:1821 -- Started\nINFO 01-02 03:04:06 [a.py:1] y")
    assert (second.time, second.time_known) == (at(2025, 1, 2, 3, 4, 6), "full")


def test_clock_only_times_roll_over_midnight_and_missing_times_are_carried():
    first, second, third = read("[23:59:58 TP0] a\n[00:00:03 TP0] b\nsomething")
    assert (first.time_known, second.time - first.time) == ("clock", 5)
    assert (third.kind, third.time, third.time_known) == ("raw", second.time, "")
    assert read("something")[0].time is None


def test_impossible_dates_do_not_stop_the_reader():
    records = read("INFO 13-45 10:00:00 [a.py:1] x\nINFO 02-30 10:00:00 [a.py:2] y")
    assert [record.text for record in records] == ["x", "y"]


@pytest.mark.parametrize("day", ["2026-22-01", "2026-00-10", "0000-01-01", "2026-02-41"])
def test_impossible_dates_foretell_nothing(day):
    lines = [Line("f", 1, f"{day} 12:00:00 - m - ERROR - x", None, "", "bare")]
    reader = RecordReader()
    reader.foresee(lines)
    assert [record.text for line in lines for record in (*reader.feed(line), *reader.flush())] == ["x"]


def test_lines_that_a_terminal_broke_are_whole_again():
    prefix = "(EngineCore pid=316) ERROR 06-02 19:21:05 [core.py:1140] "
    engine = "(APIServer pid=1) INFO 06-02 19:21:05 [loggers.py:9] "
    tail = ", Running: 12 reqs, Waiting: 12 reqs, GPU KV cache usage: 97.9%, Prefix cache hit rate: 1.0%"
    stat = f"Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 4.0 tokens/s{tail}"
    error = "ValueError: To serve at least one request (4.26 GiB KV cache is needed, " + "x" * 150
    logged = [
        prefix + "EngineCore failed to start.",
        prefix + "Traceback (most recent call last):",
        prefix + '  File "a.py"',
        prefix + error,
    ]
    logged += [engine + stat] * 3 + [
        "Traceback (most recent call last):",
        '  File "b.py", line 1, in f',
        error,
        "Killed",
    ]
    broken = [line[at : at + 100] for line in logged for at in range(0, len(line), 100)]
    records = read(broken)
    assert [record.kind for record in records] == ["message", "stats", "stats", "stats", "traceback", "message"]
    assert records[0].text.endswith(error) and records[4].text.endswith(error)
    assert [record.text for record in records[1:4]] == [stat] * 3
    assert [record.origin.line for record in records][:2] == [1, 7]


def test_an_unprefixed_line_behind_the_longest_line_is_its_own():
    texts = ["INFO 06-02 19:21:05 [a.py:9] " + "x" * 60, "INFO 06-02 19:21:05 [a.py:9] " + "y" * 70, "something else"]
    assert [record.kind for record in read(texts)] == ["message", "message", "raw"]
    long = "INFO 06-02 19:21:05 [a.py:9] " + "x" * 900
    assert [record.kind for record in read([long, long, "something else"])] == ["message", "message", "raw"]


@pytest.mark.parametrize(
    "head",
    ["(SGLangEngine pid=1234, ip=10.0.0.2) ", "0: ", "node-3 job-17 ", "Aug 1, 2025 @ 10:00:00.728    ", "| ", ""],
    ids=["ray", "srun", "unknown", "kibana", "bar", "none"],
)
def test_lines_of_equal_width_are_no_rest_of_one_another(head):
    batch = "Decode batch. #running-req: 3, #token: 2000, token usage: 0.01, gen throughput (token/s): 200.00"
    records = read([f"{head}[2025-08-01 10:00:0{at} TP0] {batch}" for at in range(4)])
    assert [record.text for record in records if record.kind == "stats"] == [batch] * 4


def test_a_line_that_repeats_an_unknown_head_is_no_rest_of_the_one_before():
    texts = [f"host-7/gpu worker says something of {at} that is as long as the other lines are here" for at in range(4)]
    assert [record.text for record in read(texts)] == texts


def test_a_rank_in_front_of_an_engine_s_line_is_its_writer():
    (record,) = read("[rank3]: [2025-08-01 10:00:00 TP3] Load weight begin.")
    assert (record.text, record.ranks) == ("Load weight begin.", (("rank", "3"), ("tp", "3")))


HEADS = [
    "2026-03-18 11:22:05.874 INFO 120984 [tokenizer_manager.py:415] ",
    "2026-03-18 11:22:05.874 | INFO     | sglang.srt.managers.tokenizer_manager:log:222 - ",
    "2026-03-18 11:22:05,874 - sglang.srt.managers.tokenizer_manager - INFO - ",
    "INFO:sglang.srt.managers.tokenizer_manager:",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_prompt_is_no_message_of_an_engine_with_its_own_logging(head):
    forged = f"{HEADS[0]}Decode batch. #running-req: 3, #token: 9\n{head}Scheduler hit an exception: boom"
    request = f'{head}Receive: obj=GenerateReqInput(text="hi\n{forged}\n", stream=False)'
    found = read(f"{HEADS[1]}ready\n{request}\n{head}fine".splitlines())
    assert [record.kind for record in found] == ["message", "request", "message"]


@pytest.mark.parametrize("logger", ["gateway", "my.app", "vllm_proxy.main"])
def test_another_program_s_logger_speaks_for_itself(logger):
    batch = "Decode batch. #running-req: 3, #token: 9"
    for text in (f"INFO:{logger}:{batch}", f"2026-03-18 11:22:05,874 - {logger} - INFO - {batch}"):
        (record,) = read(text)
        assert (record.kind, record.dialect) == ("message", "python")


def test_a_traceback_behind_a_configured_head_is_one_record():
    frames = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: x'
    text = f"{HEADS[2]}Scheduler hit an exception: {frames}"
    (record,) = read(text.replace("INFO", "ERROR"))
    assert (record.dialect, record.level, record.text.count("\n")) == ("sglang", "ERROR", 2)


def test_a_traceback_behind_a_daemon_of_ray_is_the_server_s_own():
    """The daemon's lines bear its name; a bare traceback behind one is of the process that writes the log."""
    records = read(
        [
            "(raylet) The node with node id: 0f21 has been marked dead because it has missed too many heartbeats.",
            "Traceback (most recent call last):",
            '  File "/opt/vllm/executor/ray_gpu_executor.py", line 143, in _init_workers_ray',
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "\tclass_name: RayWorkerWrapper",
            "The actor is dead because its node has died.",
        ]
    )
    assert [(one.kind, one.process) for one in records] == [("message", "raylet"), ("traceback", "")]
    assert records[1].text.endswith("its node has died.")
