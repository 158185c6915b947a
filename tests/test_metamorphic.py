"""What a log says does not depend on how it was collected, nor on which version's prefix its lines carry."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from serverlogs import LOGS, diagnose, encoded, ids, judge, knowledge, verdict

from diagnoser.formats.records import RecordReader
from diagnoser.model import Line

POD = "llm-7c9d8b5f6-x2k4q"
YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp() - datetime(2000, 1, 1, tzinfo=UTC).timestamp()

Wrap = Callable[[Sequence[str], Sequence[float]], bytes]


def times(lines: Sequence[str]) -> list[float]:
    """The time at which a runtime would have seen each line: the last one printed, with a year."""
    reader = RecordReader()
    records = [one for at, text in enumerate(lines) for one in reader.feed(Line("x", at, text, None, "", "bare"))]
    printed = {one.origin.line: one.time for one in [*records, *reader.flush()] if one.time_known}
    last = next(time for _, time in sorted(printed.items()) if time is not None)
    seen = []
    for at in range(len(lines)):
        last = max(last, printed.get(at) or last)
        # A day more or less for the leap year does not matter: the envelope only has to name the year.
        seen.append(last + YEAR - 86400 if last < 1e9 else last)
    return seen


def iso(time: float, end: str = ".250000000Z") -> str:
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%S") + end


def each(make: Callable[[str, float], str]) -> Wrap:
    return lambda lines, seen: encoded(make(text, time) for text, time in zip(lines, seen, strict=True))


def cri(lines: Sequence[str], seen: Sequence[float]) -> bytes:
    """Long lines in pieces, as the runtime cuts them, and some short ones."""
    dice, out = random.Random(1), []
    for text, time in zip(lines, seen, strict=True):
        rest = text
        while len(rest) > 60 and dice.random() < 0.2:
            cut = dice.randrange(1, len(rest))
            out.append(f"{iso(time)} stderr P {rest[:cut]}")
            rest = rest[cut:]
        out.append(f"{iso(time)} stderr F {rest}")
    return encoded(out)


def docker(lines: Sequence[str], seen: Sequence[float]) -> bytes:
    """Chunks of 16 KiB; here every line is followed by a long one to have some."""
    out = []
    for text, time in zip(lines, seen, strict=True):
        for at in range(0, len(text) + 1, 16384):
            piece = (text + "\n")[at : at + 16384]
            out.append(json.dumps({"log": piece, "stream": "stdout", "time": iso(time)}))
    return encoded(out)


def journal(text: str, time: float) -> str:
    entry = {"__REALTIME_TIMESTAMP": str(int(time * 1e6)), "_SYSTEMD_UNIT": "vllm.service", "_PID": "7"}
    return json.dumps({**entry, "SYSLOG_IDENTIFIER": "python3", "MESSAGE": text})


def coloured(text: str, _: float) -> str:
    text = re.sub(r"^(\([^()]*pid=\d+\)) ", "\x1b[1;36m\\1\x1b[0;0m ", text)
    return re.sub(r"\b(INFO|ERROR)\b", "\x1b[32m\\1\x1b[0m", text, count=1)


def stern(lines: Sequence[str], _: Sequence[float]) -> bytes:
    return encoded([f"+ {POD} › server", *(f"{POD} server {text}" for text in lines)])


WRAPS: dict[str, Wrap] = {
    "kubectl --timestamps": each(lambda text, time: f"{iso(time)} {text}"),
    "kubectl --prefix": each(lambda text, _: f"[pod/{POD}/server] {text}"),
    "kubectl both": each(lambda text, time: f"[pod/{POD}/server] {iso(time)} {text}"),
    "cri": cri,
    "docker": docker,
    "compose": each(lambda text, _: f"llm-server-1  | {text}"),
    "compose -t": each(lambda text, time: f"llm-server-1  | {iso(time)} {text}"),
    "compose, a bare name": each(lambda text, _: f"server | {text}"),
    "journald short": each(
        lambda text, time: f"{datetime.fromtimestamp(time, UTC):%b %d %H:%M:%S} gpu-1 vllm[812]: {text}"
    ),
    "journald short-iso": each(lambda text, time: f"{iso(time, '+0000')} gpu-1 vllm[812]: {text}"),
    "journald json": each(journal),
    "stern": stern,
    "stern, words for a pod": each(lambda text, _: f"prod llm-0 server {text}"),
    "loki": each(lambda text, time: f'{iso(time)} {{app="llm", pod="{POD}"}} {text}'),
    "cri in kubectl": each(lambda text, time: f"[pod/{POD}/server] {iso(time)} stdout F {text}"),
    "colours": each(coloured),
    "colours without ESC": each(lambda text, time: coloured(text, time).replace("\x1b", "")),
    "CRLF": lambda lines, _: "".join(f"{text}\r\n" for text in lines).encode(),
    "byte order mark": lambda lines, _: b"\xef\xbb\xbf" + encoded(lines),
    "utf-16": lambda lines, _: encoded(lines).decode().encode("utf-16"),
    "gz": lambda lines, _: gzip.compress(encoded(lines)),
    "bz2": lambda lines, _: bz2.compress(encoded(lines)),
    "xz": lambda lines, _: lzma.compress(encoded(lines)),
    "zst": lambda lines, _: zstandard.ZstdCompressor().compress(encoded(lines)),
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    return {name: verdict(diagnose(tmp_path_factory.mktemp("bare"), lines)) for name, lines in LOGS.items()}


def test_the_logs_say_something(bare: dict[str, list[tuple[object, ...]]]) -> None:
    assert [len(found) > 1 for found in bare.values()] == ["quiet" not in name for name in bare]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", LOGS)
def test_envelopes_change_nothing(
    name: str, wrap: str, bare: dict[str, list[tuple[object, ...]]], tmp_path: Path
) -> None:
    lines = LOGS[name]
    assert verdict(diagnose(tmp_path, WRAPS[wrap](lines, times(lines)))) == bare[name]


@pytest.mark.parametrize("name", LOGS)
def test_rotation_changes_nothing(name: str, bare: dict[str, list[tuple[object, ...]]], tmp_path: Path) -> None:
    lines = LOGS[name]
    # The first file ends in the middle of a record, and proofs of the last one have lower line numbers.
    for file, part in {"a.log.2.gz": lines[:20], "a.log.1": lines[20:30], "a.log": lines[30:]}.items():
        data = encoded(part)
        (tmp_path / file).write_bytes(gzip.compress(data) if file.endswith("gz") else data)
    assert verdict(judge(tmp_path)) == bare[name]


@pytest.mark.parametrize("name", LOGS)
def test_a_first_line_cut_in_the_middle_is_no_line(name: str, tmp_path: Path) -> None:
    lines = LOGS[name]
    for at in (1, 3):
        whole = diagnose(tmp_path, lines[at + 1 :])
        cut = diagnose(tmp_path, [lines[at][len(lines[at]) // 2 :], *lines[at + 1 :]])
        assert ids(cut) == ids(whole)
        assert [run.end for run in cut.runs] == [run.end for run in whole.runs]


def test_two_pods_in_one_stream_are_two_servers(bare: dict[str, list[tuple[object, ...]]], tmp_path: Path) -> None:
    left, right = LOGS["vllm death"], LOGS["sglang full"]
    mixed = []
    for at in range(max(len(left), len(right))):
        mixed += [f"[pod/vllm-0/server] {text}" for text in left[at : at + 1]]
        mixed += [f"[pod/sglang-0/server] {text}" for text in right[at : at + 1]]
    session = diagnose(tmp_path, mixed)
    by_run = [{one.id for one in session.report.findings if run.id in one.runs} for run in session.runs]
    assert [run.stream for run in session.runs] == ["vllm-0/server", "sglang-0/server"]
    assert by_run == [{row[0] for row in bare[name][:-1]} for name in ("vllm death", "sglang full")]
    assert [run.records for run in session.runs] == [bare[name][-1][-1] for name in ("vllm death", "sglang full")]


_VLLM = re.compile(r"(\(\w+ pid=\d+\) )?(INFO|ERROR) (07-12) ([\d:]{8}) \[([\w.]+):(\d+)\] ?(.*)")
_TAG = re.compile(r"\(\w+ pid=\d+\) ")
_SGLANG = re.compile(r"\[(2026-07-12) ([\d:]{8})((?: [A-Z]+\d+)*)\] (.*)")


def json_logging(lines: Sequence[str]) -> list[str]:
    """vLLM 0.31's: one object per record, so the lines of one record come together."""
    out: list[str] = []
    last = None
    for text in lines:
        found = _VLLM.match(text)
        if found is None:
            out.append(_TAG.sub("", text, count=1))
            last = None
            continue
        who, level, _, clock, file, _, message = found.groups()
        if last == found.groups()[:6] and level == "ERROR" and not message.startswith("AsyncLLM"):
            entry = json.loads(out.pop())
            entry["message"] += f"\n{message}"
        else:
            name = (who or "(MainProcess )").strip("() ").split(" ")[0]
            entry = {"asctime": f"2026-07-12 {clock},123", "levelname": level, "name": f"vllm.{file}",
                     "processName": name, "process": 1, "message": message}  # fmt: skip
        out.append(json.dumps(entry))
        last = found.groups()[:6]
    return out


def prefixes(make: str, others: str = r"\g<0>") -> Callable[[Sequence[str]], list[str]]:
    return lambda lines: [
        _VLLM.sub(make, text) if _VLLM.match(text) else _TAG.sub(others, text, count=1) for text in lines
    ]


GENERATIONS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "0.4": prefixes(r"\2 \3 \4 \5:9\6] \7", ""),
    "0.8": prefixes(r"\2 \3 \4 [\5:9\6] \7", ""),
    "0.16": prefixes(r"\1\2 \3 \4 [\5:7\6] \7"),
    "0.32": prefixes(r"\1\2 \3 \4 [\5:1\6] \7", ""),
    "free prefix": prefixes(r"[prod-eu1] \1\2 \3 \4 [\5:\6] \7"),
    "json": json_logging,
}
BRACKETS = {
    "no rank": r"[\1 \2] \4",
    "TP0": r"[\1 \2 TP0] \4",
    "DP0 TP0": r"[\1 \2 DP0 TP0] \4",
    "all ranks": r"[\1 \2 DP0 PP0 ATTN_CP0 MOE_DP0 TP0 EP0] \4",
    "milliseconds": r"[\1 \2.123\3] \4",
    "no date": r"[\2 TP0] \4",
}


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("name", [name for name in LOGS if name.startswith("vllm")])
def test_prefixes_of_other_vllm_versions(
    name: str, generation: str, bare: dict[str, list[tuple[object, ...]]], tmp_path: Path
) -> None:
    got = verdict(diagnose(tmp_path, GENERATIONS[generation](LOGS[name])))
    assert [row[:3] for row in got] == [row[:3] for row in bare[name]]


@pytest.mark.parametrize("bracket", BRACKETS)
@pytest.mark.parametrize("name", [name for name in LOGS if name.startswith("sglang")])
def test_prefixes_of_other_sglang_versions(
    name: str, bracket: str, bare: dict[str, list[tuple[object, ...]]], tmp_path: Path
) -> None:
    got = verdict(diagnose(tmp_path, [_SGLANG.sub(BRACKETS[bracket], text) for text in LOGS[name]]))
    assert [row[:3] for row in got] == [row[:3] for row in bare[name]]


def test_same_input_same_bytes(tmp_path: Path) -> None:
    from diagnoser import reports

    for kind in ("json", "text", "markdown"):
        first, second = (
            reports.get(kind).render(diagnose(tmp_path, LOGS["sglang death"]).report, reports.RenderOptions())
            for _ in range(2)
        )
        assert first == second


def test_order_on_the_command_line_does_not_matter_to_a_run(tmp_path: Path) -> None:
    paths = []
    for at, lines in enumerate(LOGS.values()):
        paths.append(tmp_path / f"log{at}.txt")
        paths[-1].write_bytes(encoded(lines))
    seen = []
    for order in (paths, paths[::-1]):
        session = judge(*order)
        seen.append(
            {
                run.sources[0]: sorted(one.id for one in session.report.findings if run.id in one.runs)
                for run in session.runs
            }
        )
    assert seen[0] == seen[1]
    assert len(seen[0]) == len(paths)


def test_knowledge_is_loaded_once() -> None:
    assert knowledge() is knowledge()
