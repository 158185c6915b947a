"""Inputs that nobody would write: a few hundred of each reader here, `python -m tools.fuzz` makes as many as wanted."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from serverlogs import diagnose, encoded, ids, vllm_serving, vllm_start

from diagnoser import __version__
from diagnoser.rules.compiling.expression import ExpressionError, parse
from tools.fuzz.__main__ import FailureError, one
from tools.fuzz.faults import FAIR, FAULTS, PIPED, inject, kinds
from tools.fuzz.mutation import mutated
from tools.fuzz.targets import TARGETS, traces, words

ROOT = Path(__file__).parent.parent
#: Changed inputs of each reader; slow readers get fewer.
INPUTS = 240
#: Faults injected into the samples, from this number on.
FIRST, INJECTED = 20_000, 48


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_nothing_raises_or_hangs(name: str) -> None:
    seeds, pieces = TARGETS[name].seeds(), sorted(set(words(name)))
    assert seeds
    for number in range(max(12, INPUTS // TARGETS[name].cost)):
        data = mutated(seeds, pieces, number)
        try:
            one(name, data)
        except FailureError as failure:
            pytest.fail(f"python -m tools.fuzz show {name} --first {number}: {failure}")


@st.composite
def inputs(draw: st.DrawFn, name: str) -> bytes:
    """Draw bytes, text, or a seed with pieces of it changed, doubled and left out."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace")))
    data = draw(st.sampled_from(TARGETS[name].seeds()))
    for _ in range(draw(st.integers(1, 4))):
        start, stop = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        put = draw(st.sampled_from([b"", data[start:stop] * 2]) | st.binary(max_size=12) | st.just(b"\n"))
        data = data[:start] + put + data[stop:]
    return data[: 4 * 6000]


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_nothing_raises_whatever_is_drawn(name: str) -> None:
    @settings(
        max_examples=max(5, 80 // TARGETS[name].cost), deadline=None, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(inputs(name))
    def drawn(data: bytes) -> None:
        one(name, data)

    drawn()


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
def test_nothing_raises_where_coverage_leads(tmp_path: Path) -> None:
    """A second of a third of the quick readers, others with each version; docs/security.md has the long run."""
    code = (
        "import sys; from tools.fuzz.__main__ import guided; from pathlib import Path;"
        "names = sys.argv[2:]; sys.exit(guided(names, 1, Path(sys.argv[1])))"
    )
    quick = [name for name in sorted(TARGETS) if TARGETS[name].cost <= 4]
    names = random.Random(__version__).sample(quick, len(quick) // 3)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), *names], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert f"{len(names)} readers guided by coverage" in done.stdout


def test_a_number_is_an_input() -> None:
    assert mutated([b"abc" * 100], [b"x", b"y"], 7) == mutated([b"abc" * 100], [b"x", b"y"], 7)


# -- what fuzzing found, each in the form that was left of it

#: A zip whose only member has no name: the end of the archive, the entry, what is packed.
NAMELESS = (
    b"PK\x03\x04\x14" + b"\0" * 21 + b"\0\0\0\0" + b"PK\x01\x02\x14\x03\x14" + b"\0" * 39 + b"PK\x05\x06" + b"\0" * 4
    + b"\1\0\1\0" + (46).to_bytes(4, "little") + (30).to_bytes(4, "little") + b"\0\0"
)  # fmt: skip

#: (target, input): everything here raised, or took seconds, once.
FOUND = [
    ("records", b"2026-03-08T10:00:04.00" + b" " * 50_000 + b"0451696Z usage: x"),
    ("records", b"2026-11-29T12:00:00.1.2Z stdout F x"),
    ("records", b"[2026-03-01 12:34:56]" + b"\t" * 50_000 + b"ready"),
    ("templates", b""),
    ("sources", NAMELESS),
    ("expressions", b" or ".join([b"run.served"] * 3000)),
    ("expressions", b"(" * 500 + b"1" + b")" * 500),
    ("traces", b"Metric,avg,min,max\r\nTime To F\r" + b" " * 3000 + b"\rx,8,7\r\n"),
    ("traces", b"Metric,avg,min,max\nTime To F" + b" " * 50_000 + b"(,8,7\n"),
    (
        "traces",
        b"| NVIDIA-SMI 550.1 |\n|===|\n|   0  H100  On  | 00000000:18:00.0 Off | 0 |\n| N/A 34C P0 " + b"/a" * 30_000,
    ),
    ("traces", b"============ Serving Benchmark Result ============\nBackend:" + b"\t" * 60_000 + b"\n"),
    ("traces", b'{"traceEvents": [' + b"[" * 60_000),
    ("traces", b'{"traceEvents": [' + b"[" * 30_000 + b"]" * 30_000 + b"]}"),
]


@pytest.mark.parametrize(("target", "data"), FOUND, ids=lambda value: value if isinstance(value, str) else value[:24])
def test_found_by_fuzzing(target: str, data: bytes) -> None:
    assert one(target, data, limit=8) < 4


def test_damaged_sqlite_whose_errors_are_no_text(tmp_path: Path) -> None:
    data = bytearray((Path(__file__).parents[1] / "samples/profile-launch-bound/decode.sqlite").read_bytes())
    at = data.index(b"CREATE TABLE")
    data[at - 20 : at + 300] = bytes([0xA8]) * 320
    one("sqlite", bytes(data))


@pytest.mark.parametrize("text", [" or ".join(["run.served"] * 200), "(" * 120 + "1" + ")" * 120])
def test_deep_expressions_are_refused_in_words(text: str) -> None:
    with pytest.raises(ExpressionError, match="nested deeper than 80"):
        parse(text)


def test_a_list_that_is_damaged_in_the_middle_keeps_what_stands_before() -> None:
    sample = json.loads((Path(__file__).parents[1] / "samples/oom-killed-pod/pod.json").read_text())
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [sample] * 4}, indent=1)
    half = len(text) // 2
    from diagnoser.traces._kube_documents import Thing, things

    given = list(things("x", text[:half] + "\x01{" + text[half:]))
    assert len([one for one in given if isinstance(one, Thing)]) >= 2
    assert len(given) > len([one for one in given if isinstance(one, Thing)])


def test_a_container_that_was_cut_is_no_container_with_defaults() -> None:
    from diagnoser.traces._kube_documents import Thing, things

    first = '{"kind": "Pod", "spec": {"containers": [{"name": "a", "x": [1, {"y": 2}]}, '
    whole = first + '{"name": "b", "startupProbe": {"periodSeconds": 10, '
    (pod,) = (one for one in things("x", whole) if isinstance(one, Thing))
    assert pod.get("spec", "containers") == [{"name": "a", "x": [1, {"y": 2}]}]


def test_a_first_line_without_its_envelope_takes_the_year_of_the_others(tmp_path: Path) -> None:
    lines = [*vllm_start(), *vllm_serving()]
    wrapped = [json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-07-12T10:01:00Z"}) for line in lines]
    cut = [lines[20], *wrapped[21:]]
    session = diagnose(tmp_path, encoded(cut))
    [run] = session.runs
    assert run.started is not None and run.ended is not None
    assert run.ended - run.started < 86400
    assert ids(session) == []


def test_the_rest_of_a_prompt_on_the_first_line_is_no_message(tmp_path: Path) -> None:
    rest = "f589: prompt: 'Why CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has', params: SamplingParams(n=1)"
    tail = "EngineCore encountered a fatal error. NCCL error: unhandled system error', params: SamplingParams(n=1)"
    quoted = (
        'hits an error: File \\"model.py\\", line 3 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2'
    )
    logged = f'{quoted} G\\n","stream":"stderr","time":"2026-07-12T10:01:00Z"}}'
    for first in (rest, tail, quoted, logged):
        session = diagnose(tmp_path, encoded([first, *vllm_serving()]))
        assert ids(session) == []
        assert session.report.unrecognised == []


def test_lines_out_of_order_are_no_silence(tmp_path: Path) -> None:
    serving = vllm_serving(40, 60)
    shuffled = [*serving[:20], *serving[60:], *serving[20:60]]
    assert ids(diagnose(tmp_path, [*vllm_start(), *shuffled])) == []


# -- faults


def test_faults_of_every_kind_are_injected() -> None:
    got = [inject(number) for number in range(FIRST, FIRST + INJECTED)]
    assert {one.fault for one in got} == {*FAULTS, *PIPED}
    wrong = [one for one in got if one.new and one.fault not in FAIR]
    assert wrong == []
    assert sum(bool(one.error) for one in got) < INJECTED // 4
    assert sum(one.new != frozenset() for one in got) <= INJECTED // 8


@pytest.mark.parametrize("fault", [*FAULTS, *PIPED])
def test_every_fault_in_every_kind_of_input(fault: str) -> None:
    """A report or one line, at places that the number picks: two of each, so hundreds in all."""
    assert len(kinds()) >= 10
    got = [inject(FIRST + at, kind, fault) for kind in kinds() for at in (1, 2)]
    assert [one for one in got if one.new and fault not in FAIR] == []
    assert not any("\n" in one.error for one in got)


def test_time_is_what_a_hang_costs() -> None:
    start = time.process_time()
    with pytest.raises(FailureError, match="processor time"):
        target = TARGETS["alerts"]
        TARGETS["hang"] = target._replace(run=_forever)
        try:
            one("hang", b"", limit=0.2)
        finally:
            del TARGETS["hang"]
    assert time.process_time() - start < 5


def _forever(data: bytes) -> None:
    while True:
        traces(data or b"x 1\n")
