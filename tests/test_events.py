"""Messages of libraries and the system, as they were seen in issues and recordings, and the events they make."""

# ruff: noqa: E501 - messages stand as they are printed

from __future__ import annotations

from typing import Any

import pytest

from diagnoser.api import Knowledge
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.yamlfile import load as load_yaml
from diagnoser.model import Record
from diagnoser.rules.matching.matcher import Matcher
from diagnoser.tables.table import Origin

#: Events of other files may match the same lines; only those of these files are looked at.
MINE = frozenset(
    name
    for file in ("torch", "nccl", "kernel", "http", "python")
    for name in load_yaml(rules_dir() / "events" / f"{file}.yaml").data["events"]
    if name != "python.exception"  # which each of them may be besides
)


@pytest.fixture(scope="module")
def matcher(written: Knowledge) -> Matcher:
    return written.matcher


MESSAGES: list[tuple[str, dict[str, dict[str, Any]]]] = [
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 79.15 GiB "
        "of which 61.19 MiB is free. Including non-PyTorch memory, this process has 79.08 GiB memory in use. Of the "
        "allocated memory 76.41 GiB is allocated by PyTorch, with 1.31 GiB allocated in private pools (e.g., CUDA "
        "Graphs), and 512.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large",
        {"oom.device": {"tried": 4.64, "gpu": 0, "total": 79.15, "free": 61.19 / 1024, "allocated": 76.41, "graphs": 1.31,
                        "unallocated": 0.5,}},
    ),
    (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 1 has a total capacity of 191.98 GiB "
        "of which 0 bytes is free. Process 11 has 5.00 GiB memory in use. Process 12 has 170.50 GiB memory in use. Of the "
        "allocated memory 4.00 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.",
        {"oom.device": {"tried": 20 / 1024, "gpu": 1, "total": 191.98, "free": 0.0, "pid": 11, "pid_gib": 5.0, "pid2": 12,
                        "pid2_gib": 170.5, "allocated": 4.0, "unallocated": 300 / 1024}},
    ),
    (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.65 GiB total capacity; "
        "22.10 GiB already allocated; 5.56 MiB free; 22.40 GiB reserved in total by PyTorch) If reserved memory is >>",
        {"oom.device": {"tried": 20 / 1024, "gpu": 0, "total": 23.65, "allocated": 22.1, "free": 5.56 / 1024, "reserved": 22.4}},
    ),
    (
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 14.56 GiB already "
        "allocated; 38.44 MiB free; 14.80 GiB cached)",
        {"oom.device": {"tried": 2.0, "gpu": 0, "total": 15.78, "allocated": 14.56, "free": 38.44 / 1024}},
    ),
    ("RuntimeError: Worker failed with error 'CUDA out of memory. Tried to allocate 27.47 GiB.', please check",
     {"oom.device": {"tried": 27.47}}),
    ("torch.AcceleratorError: CUDA error: out of memory", {"oom.device": {}, "cuda.error": {"error": "out of memory"}}),
    ("RuntimeError: Triton Error [CUDA]: out of memory", {"oom.device": {}}),
    ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     {"oom.device": {}, "cublas.failed": {"status": "ALLOC_FAILED"},
      "cuda.error": {"error": "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}}),
    ("Cuda failure 2 'out of memory'", {"oom.device": {"number": 2}}),
    ("Cuda failure 'out of memory'", {"oom.device": {}}),
    ("RuntimeError: CUDA error: an illegal memory access was encountered",
     {"cuda.illegal_access": {}, "cuda.error": {"error": "an illegal memory access was encountered"}}),
    ("Memory access fault by GPU node-2 (Agent handle: 0x5) on address 0x7f. Reason: Unknown.",
     {"cuda.illegal_access": {"node": 2}}),
    ("RuntimeError: CUDA error: device-side assert triggered",
     {"cuda.device_assert": {}, "cuda.error": {"error": "device-side assert triggered"}}),
    ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", {"cuda.advice": {}}),
    ("RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver",
     {"cuda.driver_too_old": {"found": 12020}}),
    ("RuntimeError: No CUDA GPUs are available", {"cuda.no_device": {}}),
    ("    NVIDIA H200 with CUDA capability sm_90 is not compatible with the current PyTorch installation.",
     {"cuda.no_kernel_image": {"capability": "90"}}),
    ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 180224, Hardware limit: 101376. "
     "Reducing block sizes or `num_stages` may help.",
     {"triton.out_of_resource": {"resource": "shared memory", "required": 180224, "limit": 101376}}),
    (
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=884127, OpType=ALLREDUCE, NumelIn=1048576, "
        "NumelOut=1048576, Timeout(ms)=600000) ran for 600019 milliseconds before timing out.",
        {"nccl.timeout": {"seq": 884127, "op": "ALLREDUCE", "timeout_ms": 600000, "ran_ms": 600019}},
    ),
    (
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=1800000) ran for "
        "1800021 milliseconds before timing out.",
        {"nccl.timeout": {"op": "BROADCAST", "timeout_ms": 1800000, "ran_ms": 1800021}},
    ),
    (
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled "
        "cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.26.2",
        {"nccl.error": {"place": "../torch/csrc/distributed/c10d/NCCLUtils.hpp:317", "nccl": "2.26.2",
                        "error": "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"}, "nccl.cuda_error": {}},
    ),
    ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
     {"nccl.error": {"error": "unhandled system error (run with NCCL_DEBUG=INFO for details)"}, "nccl.system_error": {}}),
    ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
     {"nccl.invalid_usage": {"rank": 1, "other": 0, "device": "1000"}}),
    ("NCCL WARN Error: failed to extend /dev/shm/nccl-Kx3d9A to 33030532 bytes",
     {"nccl.warning": {"warning": "Error: failed to extend /dev/shm/nccl-Kx3d9A to 33030532 bytes"},
      "nccl.shm": {"path": "/dev/shm/nccl-Kx3d9A", "bytes": 33030532}}),
    ("torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).",
     {"dist.connect_timeout": {"ms": 600000, "host": "10.0.0.1", "port": 29500}}),
    ("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
     {"dist.clients_missing": {"seconds": 601, "joined": 1, "expected": 2}}),
    ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.0.0.2]:1234: Connection reset by peer",
     {"dist.gloo": {"peer": "10.0.0.2", "port": 1234, "error": "Connection reset by peer"}}),
    ("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     {"gpu.xid": {"bus": "PCI:0000:3b:00", "code": 79, "detail": "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
      "gpu.fell_off_bus": {}}),
    ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
     {"gpu.sxid": {"bus": "PCI:0000:c1:00.0", "code": 12028, "detail": "Non-fatal, Link 32 egress non-posted PRIV error"}}),
    ("Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:98304000kB, anon-rss:66000000kB, file-rss:1kB",
     {"host.oom_kill": {"pid": 4242, "name": "VLLM::EngineCor", "vm_kib": 98304000, "rss_kib": 66000000}, "host.oom_cgroup": {}}),
    ("Out of memory: Kill process 123 (python) score 900 or sacrifice child",
     {"host.oom_kill": {"pid": 123, "name": "python", "score": 900}}),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=python3,pid=77,uid=0",
     {"host.oom_kill": {"constraint": "CONSTRAINT_MEMCG", "name": "python3", "pid": 77},
      "host.oom_cgroup": {}}),
    ("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", {"pcie.uncorrected": {"severity": "Fatal"}}),
    ("pcieport 0000:00:01.0: AER: Corrected error received: 0000:3b:00.0", {"pcie.corrected": {}}),
    ("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
     {"pcie.corrected": {"type": "Physical Layer"}}),
    ("Killed", {"process.killed": {}}),
    ("/entrypoint.sh: line 12:    77 Killed                  vllm serve /models/x",
     {"process.killed": {"line": 12, "pid": 77}}),
    ("vllm.service: Main process exited, code=killed, status=9/KILL",
     {"process.killed": {}, "process.exit": {"how": "killed", "code": 9, "status": "KILL"}}),
    ("Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
     {"process.killed": {"code": -9}, "process.exit": {"code": -9}}),
    ("engine-1 exited with code 1", {"process.exit": {"code": 1}}),
    ("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
     {"process.bus_error": {}, "host.shm_full": {}}),
    ("ModuleNotFoundError: No module named 'flash_attn'", {"python.module_missing": {"module": "flash_attn"}}),
    ("Ignore import error when loading sglang.srt.models.inkling: No module named 'cutlass'", {}),
    ("ImportError: /usr/lib/vllm/_C.abi3.so: undefined symbol: _ZN3c106ivalue",
     {"python.import_error": {"problem": "/usr/lib/vllm/_C.abi3.so: undefined symbol: _ZN3c106ivalue"},
      "python.undefined_symbol": {"symbol": "_ZN3c106ivalue"}}),
    ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
     {"python.import_error": {"problem": "libcudart.so.12: cannot open shared object file: No such file or directory"},
      "python.shared_library": {"library": "libcudart.so.12"}}),
    ("OSError: [Errno 28] No space left on device: '/psm_1a2b'", {"host.shm_full": {"name": "1a2b"}, "host.disk_full": {}}),
    ("OSError: [Errno 24] Too many open files", {"python.too_many_files": {}}),
    ("This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n", {}),
    ("[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
     {"net.address_in_use": {"host": "0.0.0.0", "port": 8000}}),
    ("zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5557')",
     {"net.address_in_use": {"host": "127.0.0.1", "port": 5557}}),
    ("Port 8000 is already in use, trying port 8001", {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), MESSAGES)
def test_messages(matcher: Matcher, line: str, expected: dict[str, dict[str, Any]]) -> None:
    found = {match.spec.name: match.fields for match in matcher.match(Record(Origin("x", 1), line, "message"), "vllm")}
    mine = {name: fields for name, fields in found.items() if name in MINE}
    assert mine.keys() == expected.keys()
    for name, fields in expected.items():
        assert mine[name] == pytest.approx(fields) if _numeric(fields) else mine[name] == _close(mine[name], fields)


def _numeric(fields: dict[str, Any]) -> bool:
    return all(isinstance(value, int | float) for value in fields.values())


def _close(found: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Numbers that are nearly equal count as equal."""
    return {
        key: found[key] if isinstance(value, float) and found.get(key) == pytest.approx(value) else value
        for key, value in fields.items()
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('10.1.2.3:53012 - "POST /v1/chat/completions HTTP/1.1" 200 OK', {"http.ok"}),
        ('10.1.2.3:53012 - "POST /v1/completions HTTP/1.1" 400 Bad Request', {"http.client_error", "http.bad_request"}),
        ('10.1.2.3:53012 - "POST /v1/completions HTTP/1.1" 429 Too Many', {"http.client_error", "http.rate_limited"}),
        ('10.1.2.3:53012 - "GET /v1/models HTTP/1.0" 401 Unauthorized', {"http.client_error", "http.unauthorized"}),
        ('10.1.2.3:53012 - "POST /v1/completions HTTP/1.1" 500 Internal', {"http.server_error", "http.internal_error"}),
        (
            '10.1.2.3:53012 - "GET /health HTTP/1.1" 503 Service Unavailable',
            {"http.server_error", "http.unavailable", "http.health_failed"},
        ),
        ('10.1.2.3:53012 - "GET /docs HTTP/1.1" 307 Temporary Redirect', set()),
    ],
)
def test_access_lines(matcher: Matcher, line: str, expected: set[str]) -> None:
    matches = matcher.match(Record(Origin("x", 1), line, "access", level="INFO"), "sglang")
    assert {match.spec.name for match in matches} & MINE == expected
