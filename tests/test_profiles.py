"""Profiles: every form and version of their files, what is counted, and what cut, damaged and hostile ones give."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from diagnoser.api import Knowledge, Session
from diagnoser.knowledge.kernels import KernelNames, kernel_names
from diagnoser.knowledge.yamlfile import YamlError
from diagnoser.model import Problem
from diagnoser.observations import Claim, Measure
from diagnoser.reports import RenderOptions
from diagnoser.reports import get as report_format
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of
from diagnoser.traces._gaps import Work

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
FLASH = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64>>(flash::Flash_fwd_params)"
GEMM = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"


def given(content: bytes | str | Path) -> list[Any]:
    data = content if isinstance(content, Path) else None
    raw = content.encode() if isinstance(content, str) else content
    (source,) = open_inputs([data] if data else ["-"], None if data else io.BytesIO(raw))  # type: ignore[arg-type]
    reader = reader_of(source)
    assert reader is not None, source.kind
    return list(reader.read(source, lambda name: True)) + source.problems


def one(content: bytes | str | Path) -> dict[str, float]:
    (measure,) = [one for one in given(content) if isinstance(one, Measure)]
    assert measure.medium == "profile"
    return dict(measure.values)


def said(content: bytes | str | Path) -> str:
    return "; ".join(one.text for one in given(content) if isinstance(one, Problem))


# Text reports of Nsight Systems.
NOW = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
ROWS = f'60.0,6000000,600,10000.0,9000.0,8000,20000,100.0,"{NCCL}"\n40.0,4000000,400,10000.0,20000.0,1,2,3.0,{GEMM}\n'
FORMS = {
    "csv": NOW + ROWS,
    "csv, CRLF": (NOW + ROWS).replace("\n", "\r\n"),
    "tab separated": (NOW + ROWS).replace(",", "\t").replace("(int)128\t", "(int)128,"),
    "csv with what nsys says": "Generating SQLite file a.sqlite from a.nsys-rep\n"
    "Processing [a.sqlite] with [k.py]... \n" + NOW + ROWS,
    "csv in milliseconds": NOW.replace("(ns)", "(ms)")
    + f"60.0,6.0,600,0.01,0.009,0.008,0.02,0.0,{NCCL}\n40.0,4.0,400,0.01,0.02,0.01,0.02,0.0,{GEMM}\n",
    "csv by grid, 2022": NOW.replace("Name", "GridXYZ,BlockXYZ,Name")
    + f'60.0,6000000,600,10000.0,9000.0,8000,20000,100.0," 8 1 1"," 9 1 1","{NCCL}"\n'
    + f"40.0,4000000,400,10000.0,20000.0,1,2,3.0,1 1 1,1 1 1,{GEMM}\n",
    "csv, 2021": "Time(%),Total Time (ns),Instances,Average (ns),Minimum (ns),Maximum (ns),StdDev (ns),Name\n"
    f"60.0,6000000,600,9000.0,8000,20000,100.0,{NCCL}\n40.0,4000000,400,20000.0,1,2,3.0,{GEMM}\n",
    "columns": "\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n"
    " Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Name            \n"
    " --------  ---------------  ---------  --------  --------  ----------------\n"
    f"     60.0        6,000,000        600  10,000.0   9,000.0  {NCCL}\n"
    f"     40.0        4,000,000        400  10,000.0  20,000.0  {GEMM}   \n\n",
    "columns, 2020": "CUDA Kernel Statistics:\n\n"
    " Time(%)  Total Time (ns)  Instances  Average   Minimum  Maximum  Name\n"
    " -------  ---------------  ---------  --------  -------  -------  ----\n"
    f"    60.0        6,000,000        600   9,000.0    8,000   20,000  {NCCL}\n"
    f"    40.0        4,000,000        400  20,000.0        1        2  {GEMM}\n",
    "columns, 2019": "Generating CUDA Kernel Statistics...\nCUDA Kernel Statistics (nanoseconds)\n\n"
    "Time(%)      Total Time   Instances         Average         Minimum         Maximum  Name\n"
    "-------  --------------  ----------  --------------  --------------  --------------  --------------------\n"
    f"   60.0         6000000         600          9000.0            8000           20000  {NCCL}\n"
    f"   40.0         4000000         400         20000.0               1               2  {GEMM}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_kernel_summaries_of_every_form(form: str) -> None:
    found = one(FORMS[form])
    assert found["communication share"] == pytest.approx(0.6)
    assert found["gemm share"] == pytest.approx(0.4)
    assert found["attention share"] == found["moe share"] == 0
    assert (found["kernels"], found["short kernels"]) == (1000, 0.6)
    assert found["median kernel"] == pytest.approx(9e-6, rel=0.01)
    assert found["kernel time"] == pytest.approx(0.01)
    assert "idle share" not in found, "a summary knows no gaps"
    assert said(FORMS[form]) == ""


def test_reports_on_one_file_are_one_profile() -> None:
    api = NOW.replace("Instances", "Num Calls")
    copies = NOW.replace("Instances", "Count").replace("Name", "Operation")
    text = (
        f"Processing [a.sqlite] with [nvtx_sum.py]... \n{NOW.replace('Name', 'Style,Range')}"
        "99.0,9,9,9.0,9.0,9,9,9.0,PushPop,:step\n\n"
        f"Processing [a.sqlite] with [osrt_sum.py]... \n{api}"
        "80.0,800,8,1.0,1.0,1,1,0.0,poll\n20.0,200,2,1.0,1.0,1,1,0.0,ioctl\n\n"
        f"Processing [a.sqlite] with [cuda_api_sum.py]... \n{api}"
        "50.0,5000000,10,1.0,1.0,1,1,0.0,cudaLaunchKernel\n20.0,2000000,30,1.0,1.0,1,1,0.0,cudaGraphLaunch_v10000\n"
        "30.0,3000000,4,1.0,1.0,1,1,0.0,cudaStreamSynchronize\n\n"
        f"Processing [a.sqlite] with [cuda_gpu_kern_sum.py]... \n{NOW}{ROWS}\n"
        f"Processing [a.sqlite] with [cuda_gpu_kern_gb_sum.py]... \n{NOW}{ROWS}\n"
        f"Processing [a.sqlite] with [cuda_gpu_mem_time_sum.py]... \n{copies}"
        "100.0,10000000,9,1.0,1.0,1,1,0.0,[CUDA memcpy Host-to-Device]\n\n"
        "Processing [a.sqlite] with [cuda_gpu_mem_size_sum.py]... \n"
        "Total (MB),Count,Avg (MB),Operation\n1.0,9,1.0,[CUDA memset]\n\n"
        f"Processing [b.sqlite] with [cuda_gpu_kern_sum.py]... \n{NOW}{ROWS}"
    )
    first, second = (dict(each.values) for each in given(text) if isinstance(each, Measure))
    assert (first["kernels"], second["kernels"]) == (1000, 1000)
    assert first["waiting share"] == pytest.approx(0.8)
    assert (first["launch calls"], first["graph calls"]) == (10, 30)
    assert first["wait share of calls"] == pytest.approx(0.3)
    assert first["launch time"] == pytest.approx(0.7), "launches take 7 ms beside 10 ms of kernels"
    assert first["copy share"] == pytest.approx(0.5)
    assert "waiting share" not in second


def test_summaries_after_each_other_without_names_are_several_profiles() -> None:
    assert len([each for each in given(NOW + ROWS + "\n" + NOW + ROWS) if isinstance(each, Measure)]) == 2


def test_graphs_whose_kernels_are_missing_leave_no_shares() -> None:
    api = NOW.replace("Instances", "Num Calls")
    text = f"{api}50.0,5000000,1000,1.0,1.0,1,1,0.0,cudaLaunchKernel\n9.0,9,30,1.0,1.0,1,1,0.0,cudaGraphLaunch\n\n"
    text += NOW + ROWS
    found = one("Processing [a] with [b]...\n" + text)
    assert "communication share" not in found
    assert found["graph calls"] == 30
    assert "--cuda-graph-trace=node" in said("Processing [a] with [b]...\n" + text)


TRACE = "Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n"


def test_a_list_of_kernels_has_gaps_where_calls_say_that_no_graph_is_missing() -> None:
    rows = f"0,1000,1,1,NVIDIA L4 (0),1,7,{GEMM}\n2000000,1000,2,1,NVIDIA L4 (0),1,7,[CUDA memcpy HtoD]\n"
    assert "idle share" not in one(TRACE + rows)
    calls = f"\n{NOW.replace('Instances', 'Num Calls')}100.0,10,1,1.0,1.0,1,1,0.0,cudaLaunchKernel\n"
    found = one("Processing [a] with [b]...\n" + TRACE + rows + calls)
    assert found["step gaps"] == pytest.approx(1999 / 2001)
    assert found["gemm share"] == 1
    (claim,) = [each for each in given(TRACE + rows) if isinstance(each, Claim)]
    assert (claim.name, claim.value) == ("gpu", "NVIDIA L4")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (NOW, "none of those that are read"),
        (NOW + "60.0,x,600,1.0,1.0,1,1,1.0,a\n", "expected numbers"),
        (NOW + "60.0,-5,600,1.0,1.0,1,1,1.0,a\n", "expected numbers"),
        (NOW + "60.0,nan,600,1.0,1.0,1,1,1.0,a\n", "expected numbers"),
        (NOW + "60.0,1e999,600,1.0,1.0,1,1,1.0,a\n", "expected numbers"),
        (NOW + "60.0,6000\n", "expected numbers"),
        (NOW + "60.0," + "9" * 400 + ",600,1.0,1.0,1,1,1.0,a\n", "expected numbers"),
        (NOW + "\0\x1b[2J,\x07,a\n", "expected numbers"),
        (NOW.replace("Name", "Style,Range") + "1.0,1,1,1.0,1.0,1,1,1.0,PushPop,x\n", "none of those that are read"),
    ],
)
def test_tables_that_say_nothing_are_told(text: str, problem: str) -> None:
    assert problem in said(text)
    assert not [each for each in given(text) if isinstance(each, Measure)]


def test_rows_with_faults_do_not_cost_the_others() -> None:
    found = one(NOW + "60.0,x,y\n" + ROWS + '9.0,100,1,100.0,100.0,1,1,1.0,"cut in the quo')
    assert found["communication share"] == pytest.approx(0.6, rel=0.01)


# SQLite exports of Nsight Systems.
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');
"""
NAMES = [NCCL, GEMM, "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000", "epoll_wait", "ioctl"]


def database(*more: str, schema: str = SCHEMA, steps: int = 10) -> bytes:
    """Write ``steps`` steps of 10 ms on two GPUs: 4 ms of all-reduce, 2 ms of a product, 4 ms of nothing."""
    with sqlite3.connect(":memory:") as base:
        base.executescript(schema)
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES, 1))
        for step in range(steps if "end INTEGER NOT NULL, deviceId" in schema or "BLOB" in schema else 0):
            at = step * 10_000_000
            for gpu in (0, 1):
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 1)", (at, at + 4_000_000, gpu))
                row = (at + 4_000_000, at + 6_000_000, gpu)
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 2, 2)", row)
        for statement in more:
            base.execute(statement)
        base.commit()
        return base.serialize()


CALLS = (
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 30, 3), (40, 50, 4)",
    "INSERT INTO OSRT_API VALUES (0, 90, 5), (0, 10, 6)",
)


@pytest.mark.parametrize("on_disk", [True, False])
def test_an_export(tmp_path: Path, on_disk: bool) -> None:
    content: bytes | Path = database(*CALLS)
    if on_disk:
        (tmp_path / "a b#?.sqlite").write_bytes(content)
        content = tmp_path / "a b#?.sqlite"
    found = one(content)
    assert found["communication share"] == pytest.approx(2 / 3)
    assert found["step gaps"] == pytest.approx(36 / 96)
    assert found["idle share"] == found["step gaps"]
    assert (found["launch gaps"], found["pause share"]) == (0, 0)
    assert (found["kernels"], found["launch calls"], found["graph calls"]) == (40, 1, 1)
    assert found["waiting share"] == pytest.approx(0.9)
    assert [each.value for each in given(content) if isinstance(each, Claim)] == ["NVIDIA H100 80GB HBM3"]
    assert not on_disk or [path.name for path in tmp_path.iterdir()] == ["a b#?.sqlite"], "nothing is written beside it"


def test_a_compressed_export() -> None:
    assert one(gzip.compress(database()))["kernels"] == 40


def test_graphs_of_an_export_are_work_without_names() -> None:
    table = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER);"
    # They fill what the kernels leave free.
    rows = ", ".join(f"({step * 10_000_000 + 6_000_000}, {(step + 1) * 10_000_000}, 0)" for step in range(10))
    content = database(f"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES {rows}", schema=SCHEMA + table)
    found = one(content)
    assert "communication share" not in found
    assert found["idle share"] == pytest.approx(36 / 196), "only the second GPU waits"
    assert "--cuda-graph-trace=node" in said(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"SQLite format 3\0" + b"\0" * 200, "cannot be opened"),
        (database(schema="CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"), "no table CUPTI_ACTIVITY"),
        (
            database(schema="CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE b (x);"),
            "no table",
        ),
        (
            database(schema=SCHEMA.replace("end INTEGER NOT NULL", "finish INTEGER")),
            "lacks the columns",
        ),
        (
            database(
                schema="CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, shortName) AS"
                " WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, x, 0, 0 FROM c;"
            ),
            "no table CUPTI_ACTIVITY",
        ),
    ],
    ids=["no database", "no kernels", "another program's", "other columns", "a view without end"],
)
def test_exports_that_lack_something_say_so(content: bytes, problem: str) -> None:
    assert problem in said(content)


def test_what_is_no_number_in_an_export_is_passed_over() -> None:
    loose = SCHEMA.replace("INTEGER NOT NULL", "BLOB")
    found = one(
        database(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', NULL, 0, 1, 1), (0, 9e300, 0, 1, 1), (9, 1, 0, 1, 1)",
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 9223372036854775807, 1, 1, 1), (1, 2, 'gpu', 1, 1)",
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('a', 'b', 3), (0, 5, x'00ff')",
            schema=loose,
        )
    )
    assert found["kernels"] == 40


def test_a_damaged_page_costs_what_lies_behind_it() -> None:
    whole = bytearray(database(*CALLS, steps=4000))
    half = len(whole) // 2 // 4096 * 4096
    whole[half : half + 40960] = b"\xff" * 40960
    problems = said(bytes(whole))
    assert "reading stopped" in problems
    assert 0 < one(bytes(whole))["kernels"] < 16000
    cut = bytes(whole[:half])
    assert given(cut), "a cut file is told or read, never raised"


# Traces of the PyTorch profiler.
def event(name: str, ts: float, dur: float, cat: str = "kernel", **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, **more}


EVENTS = [
    event(NCCL, 1000, 40, args={"device": 0, "grid": [1, 1, 1]}),
    event(GEMM, 1050, 20, args={"device": 0}),
    event(FLASH, 5070, 40, args={"device": 0}),
    event("Memcpy HtoD (Pageable -> Device)", 205_110, 10, "gpu_memcpy"),
    event("cudaLaunchKernel", 900, 10, "cuda_runtime"),
    event("cuLaunchKernelEx", 950, 10, "cuda_driver"),
    event("cudaGraphLaunch", 960, 20, "cuda_runtime"),
    event("aten::mm", 900, 100, "cpu_op"),
    event("step[DECODE bs=8]", 1000, 30, "gpu_user_annotation"),
    event("step[EXTEND bs=1 toks=512]", 5000, 90, "gpu_user_annotation"),
    event("step[DECODE bs=8]", 900, 500, "user_annotation"),
    {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
    {"ph": "f", "id": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},
]
DOCUMENT = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}],
    "traceEvents": EVENTS,
    "traceName": "x",
}
TRACES = {
    "as PyTorch writes it": json.dumps(DOCUMENT, indent=2),
    "on one line": json.dumps(DOCUMENT),
    "bare events": json.dumps(EVENTS),
    "PyTorch 1.10": json.dumps(DOCUMENT)
    .replace('"kernel"', '"Kernel"')
    .replace('"gpu_memcpy"', '"Memcpy"')
    .replace('"cuda_runtime"', '"Runtime"'),
}


@pytest.mark.parametrize("form", TRACES)
@pytest.mark.parametrize("packed", [False, True])
def test_traces_of_every_form(form: str, packed: bool) -> None:
    content = TRACES[form].encode()
    found = one(gzip.compress(content) if packed else content)
    assert (found["communication share"], found["attention share"], found["gemm share"]) == (0.4, 0.4, 0.2)
    loop = 40 + 20 + 40 + 10 + 10 + 4000
    assert found["launch gaps"] == pytest.approx(10 / loop)
    assert found["step gaps"] == pytest.approx(4000 / loop)
    assert found["pause share"] == pytest.approx(200_000 / (loop + 200_000))
    assert (found["launch calls"], found["graph calls"]) == (2, 1)
    assert found["prefill share"] == pytest.approx(0.75)
    assert found["kernels per step"] == 1.5
    assert found["copy share"] == pytest.approx(0.1, rel=0.1)
    assert said(content) == ""


def test_gaps_of_a_trace_with_stacks_are_the_profilers_own() -> None:
    text = json.dumps(
        {"traceEvents": [*EVENTS, event("torch/nn/modules/module.py(1): forward", 1, 9, "python_function")]}
    )
    assert "step gaps" not in one(text)
    assert one(text)["communication share"] == 0.4
    assert "without them" in said(text)


def test_of_a_cut_trace_what_was_read_counts() -> None:
    whole = json.dumps(DOCUMENT)
    text = whole[: whole.index("cuLaunchKernelEx")]
    assert one(text)["attention share"] == 0.4
    assert "5 events before it count" in said(text)
    # Cut while still packed.
    packed = gzip.compress(json.dumps({"traceEvents": EVENTS * 400}, indent=1).encode())
    assert said(packed[: len(packed) // 2])


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "without GPU kernels"),
        ([event("aten::mm", 1, 2, "cpu_op")], "without GPU kernels"),
        ([event(NCCL, 1, "x")], "without GPU kernels"),  # type: ignore[arg-type]
        ([event(NCCL, 1, -5)], "without GPU kernels"),
        (
            [event(NCCL, 1, True), 7, None, "text", [], {"cat": 5, "name": [], "ph": "X", "dur": 1}],
            "without GPU kernels",
        ),
    ],
)
def test_traces_that_say_nothing_are_told(events: list[Any], problem: str) -> None:
    assert problem in said(json.dumps({"traceEvents": events}))


@pytest.mark.parametrize("start", [None, "x", 1e300, float("-1e300"), [1]])
def test_a_time_that_is_none_costs_only_the_gaps(start: Any) -> None:
    found = one(json.dumps({"traceEvents": [event(NCCL, start, 5)]}))
    assert found["communication share"] == 1
    assert "idle share" not in found


def test_a_value_without_end_is_not_held() -> None:
    text = '{"traceEvents": [' + json.dumps(event(NCCL, 1, 5)) + ', {"name": "' + "x" * (9 << 20)
    assert "no event in 4 MiB" in said(text)
    assert one(text)["kernels"] == 1


@pytest.mark.parametrize(
    "name", ["\x1b[2J\x1b]0;title\x07" + NCCL, NCCL + "x" * 1_000_000, "‮" + NCCL, NCCL + "\n\n* [link](http://x)"]
)
def test_hostile_names_are_bounded_and_harmless(name: str, knowledge: Knowledge) -> None:
    found = json.dumps({"traceEvents": [event(name, 1, 5), event(NCCL, 7, 5)]})
    (measure,) = [each for each in given(found) if isinstance(each, Measure)]
    assert len(measure.text) < 1000
    assert all(len(text) <= 400 for _, text in (measure.places or {}).values())
    report = Session(["-"], stdin=io.BytesIO(found.encode()), knowledge=knowledge).report
    for form in ("text", "markdown", "json"):
        text = report_format(form).render(report, RenderOptions())
        assert "\x1b" not in text
        assert "‮" not in text
        assert len(text) < 30_000


# Names and gaps.
@pytest.mark.parametrize(
    ("name", "classes"),
    [
        (NCCL, ("communication",)),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)", ("communication",)),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", ("send",)),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", ("communication",)),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>()", ("communication",)),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>()", ("communication",)),
        (FLASH, ("attention",)),
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>()", ("attention",)),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0>()", ("attention",)),
        ("_fwd_grouped_kernel_stage1", ("attention_triton", "attention")),
        ("kernel_unified_attention_2d", ("attention_triton", "attention")),
        ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>()", ()),
        ("fused_moe_kernel", ("moe",)),
        ("void vllm::moe::topkGatingSoftmax<8, 128, 4, 16>()", ("moe",)),
        (GEMM, ("gemm",)),
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16>()", ("gemm",)),
        ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64", ("gemm",)),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>()",
            ("sampling",),
        ),
        ("triton_red_fused_add_mean_mul_pow_rsqrt_0", ()),
        ("", ()),
    ],
)
def test_what_kernels_are(name: str, classes: tuple[str, ...]) -> None:
    assert kernel_names().kernels.of(name) == classes


GOOD = "kernels: {a: {title: A, source: [s], pieces: [nccl]}}\n" + "".join(
    f"{section}: {{a: {{title: A, source: [s], pieces: [^abc]}}}}\n" for section in ("calls", "system", "steps")
)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("steps:", "step:", "expected the keys"),
        ("[nccl]", "[]", "must be a list"),
        ("[nccl]", "[nc]", "3 to 64 characters"),
        ("[nccl]", "[NCCL]", "lower case"),
        ("[nccl]", "[" + "x" * 65 + "]", "3 to 64 characters"),
        ("[nccl]", "[" + ", ".join(f"abc{n}" for n in range(65)) + "]", "at most 64"),
        ("title: A, source: [s], pieces: [nccl]", "title: A, pieces: [nccl]", "source"),
        ("title: A, source: [s], pieces: [nccl]", "title: A, source: [s], pieces: [nccl], within: b", "unknown class"),
        ("title: A, source: [s], pieces: [nccl]", "titel: A, source: [s], pieces: [nccl]", "title"),
    ],
)
def test_faults_of_the_file_are_told_with_their_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    (tmp_path / "kernels.yaml").write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(YamlError, match=problem):
        KernelNames.load(tmp_path)
    (tmp_path / "kernels.yaml").write_text(GOOD, encoding="utf-8")
    assert KernelNames.load(tmp_path).kernels.of("NCCLx") == ("a",)


@pytest.mark.parametrize(
    ("work", "busy", "launch", "step", "pause"),
    [
        ([(0, 1.0)], 1.0, 0, 0, 0),
        ([(0, 1.0), (0.5, 0.7), (0.2, 1.5)], 1.5, 0, 0, 0),
        ([(1.00005, 2.0), (0, 1.0)], 1.99995, 0.00005, 0, 0),
        ([(0, 1.0), (1.01, 2.0)], 1.99, 0, 0.01, 0),
        ([(0, 1.0), (1.5, 2.0)], 1.5, 0, 0, 0.5),
        ([(1.0, 0.5), (2.0, float("nan")), (0, 1.0), (3, float("inf"))], 1.0, 0, 0, 0),
    ],
)
def test_gaps(work: list[tuple[float, float]], busy: float, launch: float, step: float, pause: float) -> None:
    kept = Work()
    for start, end in work:
        kept.add(0, start, end)
    gaps = kept.gaps()
    assert gaps is not None
    assert (gaps.busy, gaps.launch, gaps.step, gaps.pause) == pytest.approx((busy, launch, step, pause))


def test_a_profile_stands_among_the_figures_in_every_report(knowledge: Knowledge) -> None:
    report = Session(["-"], stdin=io.BytesIO((NOW + ROWS).encode()), knowledge=knowledge).report
    assert report.runs[0].figures["profile.comm_share"].median == pytest.approx(0.6)
    for form in ("text", "markdown"):
        text = " ".join(report_format(form).render(report, RenderOptions()).split())
        assert "profile: 60 % communication kernels, 40 % matrix products" in text
        assert "median kernel 9 us" in text
