"""Sources: kinds from content, compression, rotation, folders, names that do not exist, and bounded reading."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import json
import lzma
import os
import threading
from pathlib import Path

import pytest
import zstandard

from diagnoser.sources import InputError, Source, compression, open_inputs
from diagnoser.sources.kinds import sniff

LINE = b"INFO 11-29 12:00:00 [loggers.py:118] Engine 000: Running: 3 reqs"
PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": functools.partial(lzma.compress, preset=1),
    "zst": zstandard.compress,
}


def one(path: Path | str) -> Source:
    (source,) = open_inputs([str(path)], None)
    return source


def texts(source: Source) -> list[bytes]:
    return [line for _, _, line in source.raw_lines()]


def piped(data: bytes) -> Source:
    (source,) = open_inputs(["-"], io.BytesIO(data))
    return source


METRICS = (
    b'# HELP vllm:num_requests_running N\n# TYPE vllm:num_requests_running gauge\nvllm:x{a="b c"} 1.0\ny_total 3e+05\n'
)
KINDS = [
    (LINE + b"\n", "log"),
    (b"\n\n" + LINE, "log"),
    (b"[2026-11-29 12:00:00 TP0] Decode batch, #running-req: 1, #token: 2\n" * 3, "log"),
    (b"[pod/a/b] x\n", "log"),
    (b"[1;36m(Worker pid=1)[0;0m INFO\n", "log"),
    (b"vllm-1  | x\n", "log"),
    (b'{"log":"x\\n","stream":"stderr","time":"2026-11-29T12:00:00Z"}\n', "log"),
    (b'{"stream":"stderr","log":"x","time":"2026-11-29T12:00:00Z"}\n', "log"),
    (b'{"__CURSOR":"s","MESSAGE":"x"}\n', "log"),
    (b'{"asctime": "2026-11-29 17:24:06,448", "levelname": "INFO", "message": "x"}\n', "log"),
    (b'{"log":"' + b"x" * 100_000, "log"),
    (b"W1129 16:21:14 x\n" + b'{"a": 1}\n', "log"),
    (b"usage: launch_server.py [-h] --model-path\n  a, b, c\n", "log"),
    (METRICS, "metrics"),
    (METRICS.replace(b"\n", b"\r\n"), "metrics"),
    (b'up{a="b"} 1\nup{a="c"} NaN 1795953600000\n', "metrics"),
    (METRICS + b"# EOF\n", "metrics"),
    (b"vllm:num_requests_running 24\nvllm:num_requests_waiting 6\n", "metrics"),
    (LINE + b"\n" + METRICS[:40], "log"),
    (b'{"request_rate": 1, "p99_ttft_ms": 2.0}', "json"),
    (b'{"backend":"vllm"}\n{"backend":"sglang"}\n', "json"),
    (b'{\n  "status": "success",\n  "data": {}\n}', "json"),
    (b'[\n  {"message": "x", "time": 1}\n]', "json"),
    (b"[1, 2, 3]\n", "json"),
    (b'{"error": {"message": "x", "type": "y"}}', "json"),
    (b"timestamp, name, utilization.gpu [%]\n2026/11/29 12:00:00, H100, 97 %\n", "csv"),
    (b"a\tb\tc\n1\t2\t3\n", "csv"),
    (b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n60.0,6,6,1.0,a\n", "csv"),
    (b"Processing [a.sqlite] with [b.py]... \nTime (%),Total Time (ns),Instances,Name\n60.0,6,6,a\n", "reports"),
    (b" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n Time (%)  Total Time (ns)  Name\n", "reports"),
    (LINE + b"\n Time (%)  Total Time (ns)  Name\n", "log"),
    (b"Processing [a.sqlite] with [b.py]... \nSKIPPED: a.sqlite does not contain CUDA kernel data.\n", "log"),
    (b"============ Serving Benchmark Result ============\nSuccessful requests:       80\n", "printed"),
    (b"Starting main benchmark run...\n  0%|          | 0/80 [00:00<?, ?it/s]\r 1%|", "printed"),
    (b'INFO: 127.0.0.1:1 - "GET /v1 HTTP/1.1" 200 OK\n======== Serving Benchmark Result ========\n', "log"),
    (b"Sun Nov 29 10:00:00 2026\n+-----+\n| NVIDIA-SMI 550.54.15  |\n|-----+\n|  0  H100 |\n", "printed"),
    (b"+-----+\n| NVIDIA-SMI 550.54.15  |\n+-----+\n" + (LINE + b"\n") * 4, "log"),
    (b"SQLite format 3\0" + b"\0" * 100, "sqlite"),
    (b"<!DOCTYPE html><html>", "unknown"),
]


@pytest.mark.parametrize(("data", "kind"), KINDS)
def test_kind_comes_from_content(data: bytes, kind: str) -> None:
    source = piped(data)
    assert (source.kind, source.state, source.problems) == (kind, "ok", [])


BINARY = [
    (b"\x7fELF\x02\x01\x01" + b"\0" * 100, "ELF"),
    ((200).to_bytes(8, "little") + b'{"a":{"dtype":"F32"}}' + os.urandom(500), "safetensors"),
    (bytes(range(256)) * 20, "not text"),
    (b"\0" * 5000, "not text"),
]


@pytest.mark.parametrize(("data", "word"), BINARY, ids=[word for _, word in BINARY])
def test_binary_is_told_what_it_is(data: bytes, word: str, tmp_path: Path) -> None:
    kind, state, reason = sniff(data)
    assert (kind, state) == ("unknown", "binary")
    assert word in reason
    (tmp_path / "a.log").write_bytes(data)
    with pytest.raises(InputError, match=word):
        one(tmp_path / "a.log")


def test_text_with_oddities_is_no_binary() -> None:
    for data in (b"\0" * 3000 + LINE, "é☃ – ░█".encode(), b"caf\xe9 " + LINE, b"\x1b[1m" + LINE, b"\xff\xff ok" + LINE):
        assert sniff(data)[1] == "ok"


def test_empty_and_binary_beside_content_become_problems(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LINE)
    (tmp_path / "b.log").write_bytes(b"")
    (tmp_path / "c.log").write_bytes(b"\x7fELF")
    sources = open_inputs([str(tmp_path / name) for name in ("a.log", "b.log", "c.log")], None)
    assert [(source.state, len(source.problems)) for source in sources] == [("ok", 0), ("empty", 1), ("binary", 1)]
    assert [texts(source) for source in sources] == [[LINE], [], []]
    with pytest.raises(InputError, match="empty"):
        open_inputs([], io.BytesIO(b" \n"))


@pytest.mark.parametrize("ending", PACK)
def test_compressed_files_and_pipes_by_magic(ending: str, tmp_path: Path) -> None:
    data = b"".join(b"%d %s\n" % (n, LINE) for n in range(50_000))
    packed = PACK[ending](data[:1_000_000]) + PACK[ending](data[1_000_000:])
    (tmp_path / "named-badly.log").write_bytes(packed)
    for source in (one(tmp_path / "named-badly.log"), piped(packed)):
        assert b"\n".join(texts(source)) + b"\n" == data
        assert (source.lines, source.bytes, source.kind, source.problems) == (50_000, len(data), "log", [])
        assert source.path is None


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("damage", ["cut", "garbage", "broken"])
def test_damaged_compression_gives_what_can_be_had(ending: str, damage: str) -> None:
    data = b"".join(b"%d %s %d\n" % (n, LINE, n * n * 7919) for n in range(40_000))
    packed = bytearray(PACK[ending](data))
    if damage == "cut":
        del packed[-len(packed) // 4 :]
    elif damage == "garbage":
        packed += b"trailing garbage"
    else:
        packed[len(packed) * 3 // 4 : len(packed) * 3 // 4 + 40] = b"\xaa" * 40
    source = piped(bytes(packed))
    got = texts(source)
    (problem,) = source.problems
    assert problem.source == "stdin"
    assert "byte" in problem.text
    if damage == "garbage":
        assert b"\n".join(got) + b"\n" == data
    else:
        assert problem.line is not None
        assert len(got) > 10_000 or ending == "xz" or damage == "broken"
        assert got[:1000] == data.split(b"\n")[:1000]


def test_a_decompression_bomb_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "RATIO_FREE", 4 << 20)
    source = piped(bz2.compress(LINE + b"\n" + b"a" * (40 << 20)))
    texts(source)
    assert "grows to" in source.problems[0].text
    assert source.bytes < 20 << 20


ENCODED = [
    ("utf-8-sig", LINE + b"\ncaf\xc3\xa9"),
    ("utf-16", LINE + b"\ncaf\xc3\xa9"),
]


@pytest.mark.parametrize(("encoding", "content"), ENCODED)
def test_byte_order_marks(encoding: str, content: bytes) -> None:
    source = piped(content.decode().encode(encoding))
    assert (texts(source), source.kind) == (content.split(b"\n"), "log")
    big = (content.decode() + "\n") * 100_000
    assert len(texts(piped(big.encode(encoding)))) == 200_000


LINES = [
    (b"a\nb\n", [b"a", b"b"]),
    (b"a\nb", [b"a", b"b"]),
    (b"a\r\n\r\nb\r\n", [b"a\r", b"\r", b"b\r"]),
    (b"x\n\n\n", [b"x", b"", b""]),
    (b"\0\0\0x\ny", [b"x", b"y"]),
]


@pytest.mark.parametrize(("data", "lines"), LINES)
def test_lines_and_numbers(data: bytes, lines: list[bytes], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(data)
    source = one(tmp_path / "a.log")
    for _ in range(2):  # a file can be read again
        assert list(source.raw_lines()) == [(str(tmp_path / "a.log"), n, line) for n, line in enumerate(lines, 1)]
        assert (source.lines, source.bytes) == (len(lines), len(data))


def test_block_borders_do_not_show(tmp_path: Path) -> None:
    lines = [b"%d " % n + b"x" * (n * 37 % 5000) for n in range(2000)]
    (tmp_path / "a.log").write_bytes(b"\n".join(lines))
    assert texts(one(tmp_path / "a.log")) == lines


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000])
@pytest.mark.parametrize("last", [True, False])
def test_long_lines_are_cut(size: int, last: bool) -> None:
    source = piped(LINE + b"\n" + b"a" * size + (b"" if last else b"\nend\nx"))
    got = list(source.raw_lines())
    assert [len(line) for _, _, line in got] == [len(LINE), min(size, 1 << 20), *([] if last else [3, 1])]
    assert [number for _, number, _ in got] == list(range(1, len(got) + 1))
    assert [problem.line for problem in source.problems] == ([2] if size > 1 << 20 else [])


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = name.encode() + b" x\n"
        path.write_bytes(PACK[path.suffix[1:]](data) if path.suffix[1:] in PACK else data)


ROTATED = [
    ["server.log.10", "server.log.3.gz", "server.log.2.zst", "server.log.1", "server.log"],
    ["server.log-20251231.gz", "server.log-20260101.gz", "server.log"],
    ["server.log.2025-12-31", "server.log.2026-01-01", "server.log"],
    ["server.log-20260101-1767225600.xz", "server.log-20260101-1767229200", "server.log"],
    ["0.log.20260101-120000.gz", "0.log.20260101-130000", "0.log", "1.log.20260102-120000.gz", "1.log"],
    ["c0ffee-json.log.2.gz", "c0ffee-json.log.1", "c0ffee-json.log"],
    ["server-20251231.log", "server-20260101.log.bz2", "server.log"],
    ["server.2.log", "server.1.log", "server.log"],
]


@pytest.mark.parametrize("names", ROTATED, ids=lambda names: names[0])
def test_rotated_sets_are_one_source_oldest_first(names: list[str], tmp_path: Path) -> None:
    write(tmp_path, *names)
    shuffled = [str(tmp_path / name) for name in sorted(names, key=lambda name: name[::-1])]
    for inputs in ([str(tmp_path)], shuffled):
        (source,) = open_inputs(inputs, None)
        assert [Path(part).name for part, _, _ in source.raw_lines()] == names
        assert [number for _, number, _ in source.raw_lines()] == [1] * len(names)
        assert Path(source.name).name == names[-1]


def test_other_files_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.log", "a.log.1", "x-20260101.log", "y-20260101.log", "z.1.log", "sub/a.log")
    assert len(open_inputs([str(tmp_path)], None)) == 7 - 1
    names = ["b.log", "a.log", "a.log.1"]
    sources = open_inputs([str(tmp_path / name) for name in names], None)
    assert [Path(source.name).name for source in sources] == ["b.log", "a.log"]


def test_folders_are_searched(tmp_path: Path) -> None:
    wanted = ["a.log", "b.txt", "c.out", "d.err", "deep/er/e.jsonl", "f.log.gz", "g.prom", "h.csv", "llm-pod.yaml"]
    write(tmp_path, *wanted, ".hidden.log", ".git/x.log", "model.safetensors", "case.yaml", "noext", "x.py")
    assert [str(Path(s.name).relative_to(tmp_path)) for s in open_inputs([str(tmp_path)], None)] == sorted(
        wanted, key=lambda name: (name.count("/"), name)
    )


def test_the_same_file_counts_once(tmp_path: Path) -> None:
    write(tmp_path, "a.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    assert len(open_inputs([str(tmp_path / "a.log"), str(tmp_path), str(tmp_path / "b.log")], None)) == 1


def test_standard_input_among_files(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.log")
    sources = open_inputs([str(tmp_path / "a.log"), "-", str(tmp_path / "b.log")], io.BytesIO(LINE))
    assert [Path(source.name).name for source in sources] == ["a.log", "stdin", "b.log"]
    assert list(sources[1].raw_lines()) == [("stdin", 1, LINE)]
    assert open_inputs([], io.BytesIO(LINE))[0].name == "stdin"


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(LINE + b"\nend\n"))
    writer.start()
    assert texts(one(fifo)) == [LINE, b"end"]
    writer.join()


WRONG = [
    (["sever.log"], "no such file or folder: .*sever.log; did you mean .*server.log"),
    (["SERVER.LOG"], "did you mean .*server.log"),
    (["lgos/server.log"], "lgos does not exist.*did you mean .*logs"),
    (["server.log/x"], "no such file"),
    (["empty"], "no logs in folder"),
    (["-", "-"], "only once"),
    (["a\0b"], "cannot read"),
]


@pytest.mark.parametrize(("names", "message"), WRONG)
def test_wrong_names(names: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path, "server.log", "logs/server.log")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        open_inputs([name if name == "-" else str(tmp_path / name) for name in names], io.BytesIO(LINE))


def test_no_standard_input() -> None:
    with pytest.raises(InputError, match="nothing to read"):
        open_inputs([], None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, "a.log")
    (tmp_path / "a.log").chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        one(tmp_path / "a.log")


def test_content_for_whole_documents(tmp_path: Path) -> None:
    data = json.dumps({"a": list(range(1000))}).encode()
    (tmp_path / "a.json").write_bytes(data)
    source = one(tmp_path / "a.json")
    assert (source.kind, source.content(), source.path) == ("json", data, tmp_path / "a.json")
    assert len(source.content(100)) == 100
    assert "larger than 100 bytes" in source.problems[0].text


def test_an_error_while_reading_is_a_problem() -> None:
    class Breaking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read(size)

    (source,) = open_inputs(["-"], Breaking(LINE + b"\n" + b"x" * 10))
    assert texts(source) == [LINE, b"x" * 10]
    assert "Input/output error" in source.problems[0].text
