"""Limits: the page says what the code has, and what lies beyond one ends in words, in bounded time."""

from __future__ import annotations

import importlib
import json
import os
import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import serverlogs as logs
from serverlogs import compiled, diagnose, encoded, ids, judge, vllm

from diagnoser.cli import main
from diagnoser.knowledge.yamlfile import YamlError, documents, parse
from diagnoser.rules import packs
from diagnoser.rules.compiling.kinds import NodeError, pattern
from diagnoser.rules.model import Node
from diagnoser.sources import InputError, open_inputs

PAGE = (Path(__file__).parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
ROWS = re.findall(r"(?m)^\| (.+?) \| ([\d.]+)(?: (\w+))? \| `([\w.]+)` \| .+ \|$", PAGE)
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ms": 1e-3, "s": 1}


@pytest.mark.parametrize(("what", "value", "unit", "name"), ROWS, ids=[row[3] for row in ROWS])
def test_the_page_has_the_values_of_the_code(what: str, value: str, unit: str, name: str) -> None:
    module, _, constant = name.rpartition(".")
    assert getattr(importlib.import_module(f"diagnoser.{module}"), constant) == pytest.approx(
        float(value) * UNITS[unit]
    )


def test_every_row_of_the_page_is_compared() -> None:
    assert len(ROWS) == len([line for line in PAGE.partition("\n## ")[0].splitlines() if line.startswith("| ")]) - 1


# -- YAML and JSON

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "text", [LAUGHS, f"kind: Pod\napiVersion: v1\n{LAUGHS}", "a: " + "[" * 9000, "- " * 9000, "{a: " * 999]
)
def test_yaml_that_would_grow_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    for read in (lambda: parse(text), lambda: list(documents(text))):
        with pytest.raises(YamlError):
            read()
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["pod.yaml", "pod.json", "report.json", "profile.json"])
def test_documents_that_are_too_deep(name: str, tmp_path: Path) -> None:
    deep = {
        "pod.yaml": f"apiVersion: v1\nkind: Pod\n{LAUGHS}",
        "pod.json": '{"apiVersion": "v1", "kind": "Pod", "spec": ' + '{"a":' * 90_000,
        "report.json": "[" * 200_000,
        "profile.json": '{"traceEvents": [' + "[{" * 60_000,
    }
    (tmp_path / name).write_text(deep[name])
    (tmp_path / "server.log").write_bytes(encoded(logs.LOGS["vllm quiet"]))
    session = judge(tmp_path / "server.log", tmp_path / name)
    assert ids(session) == []
    assert session.inputs[1].problems


#: (a regular expression after `matches`, what is said of it)
REFUSED = [
    (r"(a|aa)+$", "without bound"),
    (r"(?:0|0)+$", "without bound"),
    (r"(?:ab|ab)+$", "without bound"),
    (r"(?R)?a", "without bound"),
    (r"(?:vllm){99999999}", "repeats more than 10000 times"),
    (r"((a{1,100}){1,100}){1,100}$", "repeats more than 10000 times"),
    (r"(?:(?:ab|cd){1000}){,1000}", "repeats more than 10000 times"),
    ("a" * 2001, "more than 2000 characters"),
    ("(" * 900 + "a" + ")" * 900, "nested too deep"),
    ("(a", "not a regular expression"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[text[:30] for text, _ in REFUSED])
def test_a_pattern_without_bound_is_refused_where_it_is_written(text: str, said: str) -> None:
    start = time.process_time()
    with pytest.raises(NodeError, match=said):
        pattern(Node("text", (text,), repr(text), "text"))
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "text", [r"(?i)h100|h200", r"a{2,5}b{1,1000}", r"^/models/[\w.-]+$", "(" * 20 + "a" + ")" * 20]
)
def test_usual_patterns_are_taken(text: str) -> None:
    pattern(Node("text", (text,), repr(text), "text"))


# -- files that are none, and files that change


def test_links_that_lead_in_circles(tmp_path: Path) -> None:
    (tmp_path / "a.log").symlink_to(tmp_path / "b.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "server.log").write_bytes(encoded(logs.LOGS["vllm death"]))
    assert [source.name for source in open_inputs([str(tmp_path)], None)] == [str(tmp_path / "server.log")]
    with pytest.raises(InputError, match=r"cannot read .*a\.log"):
        open_inputs([str(tmp_path / "a.log")], None)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/urandom"])
def test_devices(device: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"no {device}")
    with pytest.raises(InputError, match=r"empty|binary"):
        open_inputs([device], None)


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a link to nothing"])
@pytest.mark.parametrize("cached", [True, False])
def test_what_is_no_file_in_a_folder_of_rules(kind: str, cached: bool, tmp_path: Path, capsys: Any) -> None:
    rules, log = tmp_path / "rules", tmp_path / "s.log"
    (rules / "platform").mkdir(parents=True)
    log.write_bytes(encoded(logs.LOGS["vllm quiet"]))
    command = ["-q", "--cache-dir", str(compiled()) if cached else "none", "--rules", str(rules), str(log)]
    if cached:
        assert main(command) == 0
    odd = rules / "platform" / "odd.yaml"
    if kind == "a pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero" if kind == "a device" else "nowhere")
    capsys.readouterr()
    assert main(command) == 2
    assert capsys.readouterr().err == f"diagnose: error: {odd}:1:1: is no file\n"


def test_more_rules_than_anybody_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "MOST_RULES", 2)
    (tmp_path / "rules" / "platform").mkdir(parents=True)
    for name in ("a", "b", "c"):
        (tmp_path / "rules" / "platform" / f"{name}.yaml").write_text("not read")
    found, [error] = packs.sources(tmp_path / "rules")
    assert found == [] and str(error) == f"{tmp_path / 'rules'}:1:1: more than 2 files of rules"


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_a_ledger_reads_its_inputs_twice(kind: str, tmp_path: Path, capsys: Any) -> None:
    odd = tmp_path / "odd.log"
    if kind == "a pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    assert main(["ledger", "add", "-q", "--ledger", str(tmp_path / "l.db"), str(odd)]) == 2
    assert "cannot be read twice" in capsys.readouterr().err
    assert not (tmp_path / "l.db").exists()


def test_a_pipe_whose_writer_dies(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    data = encoded([*logs.LOGS["vllm death"]])

    def write() -> None:
        with pipe.open("wb") as file:
            file.write(data[: len(data) - 40])

    writer = threading.Thread(target=write)
    writer.start()
    session = judge(pipe)
    writer.join(10)
    assert "memory.gpu_oom_runtime" in ids(session)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is readable for root")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0)
    try:
        with pytest.raises(InputError, match="permission denied"):
            open_inputs([str(tmp_path / "closed")], None)
    finally:
        (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize("change", ["grows", "is truncated", "is removed", "is replaced"])
def test_a_file_that_changes_while_it_is_read(change: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    whole = encoded(logs.LOGS["vllm death"]) * 400
    path.write_bytes(whole)
    (source,) = open_inputs([str(path)], None)
    lines = source.raw_lines()
    first = [next(lines) for _ in range(10)]
    if change == "grows":
        with path.open("ab") as file:
            file.write(whole)
    elif change == "is truncated":
        os.truncate(path, 100)
    elif change == "is removed":
        path.unlink()
    else:
        (tmp_path / "new").write_bytes(b"another file\n" * 5)
        (tmp_path / "new").replace(path)
    rest = list(lines)
    numbers = [number for _, number, _ in (*first, *rest)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 2 * whole.count(b"\n")


# -- clocks


def at(day: str, seconds: int, text: str) -> str:
    return vllm(seconds, text).replace(" 07-12 ", f" {day} ")


@pytest.mark.parametrize(("first", "second"), [("02-28", "02-29"), ("02-29", "03-01"), ("12-31", "01-01")])
def test_midnight_without_a_year(first: str, second: str, tmp_path: Path) -> None:
    def line(moment: int) -> str:
        hour = 23 * 3600 + 3480 + moment
        day, hour = (first, hour) if hour < 86400 else (second, hour - 86400)
        return logs.stats(0, 6, 0, 20.0).replace(
            "07-12 10:00:00", f"{day} {hour // 3600:02}:{hour // 60 % 60:02}:{hour % 60:02}"
        )

    session = diagnose(tmp_path, [line(10 * moment) for moment in range(30)])
    [run] = session.runs
    assert run.started is not None and run.ended is not None
    assert run.ended - run.started == 290
    assert ids(session) == []


@pytest.mark.parametrize("zone", ["Z", "+02:00", "-08:00", "+05:45"])
def test_the_zone_of_an_envelope_is_not_the_log_s(zone: str, tmp_path: Path) -> None:
    """A night in which the clocks of the envelope are set back, with a log in a zone of its own."""
    lines = [*logs.vllm_start(), *logs.vllm_serving(40, 30)]
    half = len(lines) // 2
    other = {"Z": "Z", "+02:00": "+01:00", "-08:00": "-07:00", "+05:45": "+05:45"}[zone]
    wrapped = []
    for number, text in enumerate(lines):
        told = zone if number < half else other
        moment = datetime(2026, 7, 12, 10, number // 60, number % 60, 100_000, UTC)
        stamp = moment.astimezone(datetime.fromisoformat(f"2000-01-01T00:00:00{told}").tzinfo).isoformat()
        wrapped.append(json.dumps({"log": f"{text}\n", "stream": "stdout", "time": stamp}))
    session = diagnose(tmp_path, encoded(wrapped))
    assert ids(session) == []
    [run] = session.runs
    assert run.started is not None and run.ended is not None and run.ended - run.started < 3700


def test_nuls_and_wrong_encodings_between_lines(tmp_path: Path) -> None:
    lines = encoded(logs.LOGS["vllm death"]).split(b"\n")
    odd = [b"\0" * 20, b"\xff\xfe\xfa", "ÅÄÖ".encode("latin-1"), "日本".encode("shift-jis"), b"\xc0\x80\xed\xa0\x80"]
    for number in range(len(lines), 0, -6):
        lines.insert(number, odd[number // 6 % 5])
    assert "memory.gpu_oom_runtime" in ids(diagnose(tmp_path, b"\n".join(lines)))


# -- patterns of rules that take too long

SLOW = """\
title: Words of a gate in a row
stage: platform
severity: warning
status: experimental
gain: 1
source: ["gate.py"]
events:
  gate.row:
    title: words in a row
    any: "the gate is {{a}}, {{b}}, {{c}}, {{d}}; shut"
    source: gate.py
    role: root
when: gate.row
meaning: The gate says so.
impact: "requests are refused"
false_positives: None known.
remedies:
  - action: "Open the gate"
verify: it is open
examples:
  fires:
    - name: the words
      log:
        - "INFO {{t}} [api_server.py:1] vLLM API server version 0.9.2"
        - "ERROR {{t}} [gate.py:1] the gate is 1, 2, 3, 4; shut"
  silent:
    - name: {name}
      log:
        - "INFO {{t}} [api_server.py:1] vLLM API server version 0.9.2"
        - "ERROR {{t}} [gate.py:1] {line}"
"""
HOSTILE = "the gate is " + ", " * 1500


def slow_rule(folder: Path, name: str, line: str) -> Path:
    path = folder / "rules" / "platform" / "slow_gate.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(SLOW.format(name=name, line=line))
    return path


def test_a_users_pattern_that_runs_out_of_time_is_named_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = slow_rule(tmp_path, "another word", "the gate is open")
    log = tmp_path / "server.log"
    log.write_bytes(encoded([*logs.vllm_start(), *[vllm(50, HOSTILE)] * 3]))
    out = tmp_path / "out.json"
    command = ["--rules", str(tmp_path / "rules"), "--cache-dir", "none", "--exit-zero", "--format", "json"]
    start = time.process_time()
    assert main([*command, "-o", str(out), str(log)]) == 0
    assert time.process_time() - start < 20
    [problem] = json.loads(out.read_text())["inputs"][0]["problems"]
    assert problem.startswith("line 10: the pattern of the event 'gate.row'") and "on 3 lines" in problem
    assert f"{rule}:10" in problem
    capsys.readouterr()


def test_a_pattern_that_runs_out_of_time_on_its_own_example_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = slow_rule(tmp_path, "words without an end", HOSTILE)
    assert main(["rules", "test", str(rule)]) == 1
    said = capsys.readouterr().out
    assert "FAIL: line 2: the pattern of the event 'gate.row'" in said and f"{rule}:10" in said


def test_the_rule_of_a_pattern_without_bound_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = slow_rule(tmp_path, "another word", "the gate is open")
    rule.write_text(rule.read_text().replace("when: gate.row", r"""when: gate.row and engine matches "(a|aa)+$" """))
    log = tmp_path / "s.log"
    log.write_bytes(encoded(logs.LOGS["vllm quiet"]))
    assert main(["--cache-dir", "none", "--rules", str(tmp_path / "rules"), str(log)]) == 2
    assert capsys.readouterr().err.startswith(f"diagnose: error: {rule}:13:35: a regular expression without bound")


def test_a_condition_whose_pattern_runs_out_of_time_is_named_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No text that is tried when the rule is loaded shows it: one in the log does."""
    rule = slow_rule(tmp_path, "another word", "the gate is open")
    condition = 'model.name matches "/(?:am|a|m)+$"'
    rule.write_text(rule.read_text().replace("when: gate.row", f"when: {condition}"))
    log = tmp_path / "s.log"
    log.write_bytes(encoded(logs.LOGS["vllm quiet"]).replace(b"/models/m", b"/" + b"am" * 40 + b"!"))
    assert main(["--cache-dir", "none", "--rules", str(tmp_path / "rules"), str(log)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"platform.slow_gate could not be judged: on a text of this input it took too long to say {condition}" in told
    )
