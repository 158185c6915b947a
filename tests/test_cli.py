"""The program as a person or a script meets it: exit codes, streams, messages. Each case is one process."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BANNER = "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2\n"
STATS = (
    "INFO 07-12 10:{m:02}:{s:02} [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation "
    "throughput: 100.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.6%, "
    "Prefix cache hit rate: 0.0%\n"
)
HEALTHY = BANNER + "".join(STATS.format(m=i // 6, s=i % 6 * 10) for i in range(30))
RULE = """\
title: A made-up mishap
stage: platform
severity: {severity}
source: [test]
events:
  mishap.seen:
    any: "mishap number {{n:int}} happened"
    source: test
symptoms:
  mishap_seen: count(mishap.seen) >= 1
when: mishap_seen
meaning: A mishap happened.
false_positives: never
verify: no more mishaps
examples:
  fires:
    - log: ["INFO {{t}} [a.py:1] vLLM API server version 0.9.2", "ERROR {{t}} [a.py:1] mishap number 3 happened"]
  silent:
    - log: ["INFO {{t}} [a.py:1] vLLM API server version 0.9.2"]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a healthy log, a log with a mishap, and rules that know it."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "healthy.log").write_text(HEALTHY)
    (folder / "mishap.log").write_text(HEALTHY + "ERROR 07-12 10:05:02 [core.py:1] mishap number 3 happened\n")
    (folder / "empty.log").write_text("")
    (folder / "binary.log").write_bytes(bytes(range(256)) * 64)
    (folder / "readme.txt").write_text("This is prose about nothing at all.\n" * 20)
    for severity in ("critical", "warning"):
        (folder / severity / "platform").mkdir(parents=True)
        (folder / severity / "platform" / "mishap.yaml").write_text(RULE.format(severity=severity))
    (folder / "broken" / "platform").mkdir(parents=True)
    (folder / "broken" / "platform" / "bad.yaml").write_text("title: x\nwhen: (\nsevrity: warning\n")
    return folder


class Runner:
    """Runs `diagnose` in a folder with a clean environment."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "LC_ALL": "C.UTF-8",
            **more,
        }

    def __call__(
        self, *arguments: str, stdin: bytes | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "diagnoser", *arguments],
            cwd=self.home,
            env=self.environment(**environment),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=60,
        )
        out = subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode()
        )
        assert "Traceback" not in out.stderr, out.stderr
        assert "internal error" not in out.stderr, out.stderr
        return out


@pytest.fixture(scope="module")
def run(home: Path) -> Runner:
    return Runner(home)


class TestReport:
    def test_a_file(self, run: Runner) -> None:
        done = run("healthy.log")
        assert done.returncode == 0
        assert done.stdout.startswith("Nothing found\nvLLM 0.9.2")
        assert done.stderr == ""

    @pytest.mark.parametrize("arguments", [[], ["-"]])
    def test_a_pipe(self, run: Runner, arguments: list[str]) -> None:
        assert run(*arguments, stdin=HEALTHY.encode()).stdout.startswith("Nothing found\nvLLM 0.9.2")

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            (["--rules", "critical"], 1),
            (["--rules", "critical", "--fail-on", "never"], 0),
            (["--rules", "critical", "--exit-zero"], 0),
            (["--rules", "warning"], 0),
            (["--rules", "warning", "--fail-on", "warning"], 1),
            (["--rules", "warning", "--fail-on", "info"], 1),
        ],
    )
    def test_exit_code(self, run: Runner, options: list[str], code: int) -> None:
        done = run(*options, "mishap.log")
        assert (done.returncode, done.stderr) == (code, "")
        assert "platform.mishap" in done.stdout

    def test_json(self, run: Runner) -> None:
        done = run("--format", "json", "--rules", "critical", "mishap.log")
        data = json.loads(done.stdout)
        assert data["findings"][0]["id"] == "platform.mishap"
        assert data["findings"][0]["evidence"][0]["line"] == 32

    def test_same_input_same_bytes(self, run: Runner) -> None:
        assert run("healthy.log").stdout == run("healthy.log").stdout

    def test_output_file(self, run: Runner, home: Path) -> None:
        done = run("--rules", "critical", "mishap.log", "-o", "out.md", "--format", "markdown", "--color", "always")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "diagnose: out.md: 1 critical\n"
        assert (home / "out.md").read_text().startswith("## diagnose: critical: A made-up mishap")
        assert not list(home.glob(".out.md*"))
        assert run("mishap.log", "-o", "out.md", "-q").stderr == ""

    def test_a_window_that_leaves_out_everything_is_named(self, run: Runner) -> None:
        done = run("healthy.log", "--until", "1999-01-01")
        assert done.returncode == 2
        assert "--until 1999-01-01 may have left out all of it" in done.stderr

    def test_no_server_in_the_input_is_not_health(self, run: Runner) -> None:
        done = run("readme.txt")
        assert done.returncode == 2
        assert "nothing in the input is the log or another trace of an inference server" in done.stderr

    def test_why(self, run: Runner) -> None:
        done = run("--rules", "critical", "--why", "platform.mishap", "mishap.log")
        assert done.returncode == 0
        assert "reported, its condition is true" in done.stdout
        assert "yes  mishap_seen = count(mishap.seen) >= 1 (is 1)" in done.stdout
        done = run("--rules", "critical", "--why-not", "platform.mishap", "healthy.log")
        assert "not reported, its condition is false" in done.stdout

    def test_environment_twins(self, run: Runner) -> None:
        done = run("mishap.log", DIAGNOSE_FORMAT="json", DIAGNOSE_RULES="critical", DIAGNOSE_EXIT_ZERO="1")
        assert done.returncode == 0
        assert json.loads(done.stdout)["findings"]
        assert run("healthy.log", "--format", "text", DIAGNOSE_FORMAT="json").stdout.startswith("Nothing found\nvLLM")


class TestColour:
    @pytest.mark.parametrize(
        ("options", "environment", "colour"),
        [
            ([], {}, False),
            (["--color", "always"], {}, True),
            (["--color", "always"], {"NO_COLOR": "1"}, True),
            ([], {"FORCE_COLOR": "1"}, True),
            ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ],
    )
    def test_piped(self, run: Runner, options: list[str], environment: dict[str, str], colour: bool) -> None:
        assert ("\x1b[" in run(*options, "healthy.log", **environment).stdout) is colour

    def test_an_encoding_without_blocks(self, run: Runner) -> None:
        done = run("healthy.log", PYTHONIOENCODING="ascii")
        assert done.returncode == 0
        assert done.stdout.isascii()

    def test_json_is_utf8_in_any_locale(self, run: Runner, home: Path) -> None:
        (home / "läuft.log").write_text(HEALTHY)
        done = run("--format", "json", "läuft.log", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
        assert json.loads(done.stdout)["inputs"][0]["name"] == "läuft.log"

    @pytest.mark.parametrize("width", ["60", "80", "120"])
    def test_width(self, run: Runner, width: str) -> None:
        assert max(map(len, run("--width", width, "healthy.log").stdout.splitlines())) <= int(width)


class TestErrors:
    """One line that says what and where, the nearest right word, exit code 2, nothing on standard output."""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["missing.log"], ["missing.log"]),
            (["healty.log"], ["healty.log", "healthy.log"]),
            (["empty.log"], ["empty.log", "empty"]),
            (["binary.log"], ["binary.log"]),
            (["--format", "jsno", "healthy.log"], ["--format", "jsno", "did you mean json?"]),
            (["--formt", "json", "healthy.log"], ["--formt", "did you mean --format?"]),
            (["--fail-on", "warn", "healthy.log"], ["--fail-on", "did you mean warning?"]),
            (["--color", "allways", "healthy.log"], ["did you mean always?"]),
            (["--engine", "vlm", "healthy.log"], ["--engine", "vlm", "did you mean vllm?"]),
            (["--width", "3", "healthy.log"], ["--width"]),
            (["--since", "yesterday", "healthy.log"], ["--since", "yesterday"]),
            (
                ["--since", "2026-11-30", "--until", "2026-11-29", "healthy.log"],
                ["--since 2026-11-30 is later than --until 2026-11-29"],
            ),
            (["--slo", "tfft=1s", "healthy.log"], ["--slo", "did you mean ttft?"]),
            (["--slo", "ttft=500", "healthy.log"], ["ttft=500ms"]),
            (["--rules", "nowhere", "healthy.log"], ["nowhere"]),
            (["--why", "platform.mishp", "--rules", "critical", "healthy.log"], ["did you mean platform.mishap?"]),
            (["--output", "no/such/x.txt", "healthy.log"], ["--output", "no folder"]),
            (["--output", "healthy.log", "healthy.log"], ["would overwrite the input"]),
            (["--format"], ["--format", "expected one argument"]),
            (["--color", "never", "rules", "list"], ["put it first", "diagnose rules"]),
            (["explain"], ["explain", "./explain"]),
            (["explain", "platform.mishp", "--rules", "critical"], ["did you mean platform.mishap?"]),
            (["explain", "--max-num-seqs"], ["--max-num-seqs"]),
            (["rules", "lst"], ["did you mean list?"]),
            (["--engine-version", "abc", "healthy.log"], ["--engine-version abc", "such as 0.9.2"]),
            (["rules"], ["say what to do: list, test, score, schema, new"]),
            (["rules", "test", "zzz"], ["no rule and no file 'zzz'", "diagnose rules list"]),
            (["--json", "healthy.log"], ["did you mean --format json?"]),
            (["expalin", "memory.kv_cache_exhausted"], ["did you mean explain?"]),
            (["explain", "--max-num-seqs"], ["diagnose catalog flag max-num-seqs"]),
            (["explain", "--lsit"], ["did you mean --list?"]),
            (["explain", "memory.kv_exhausted"], ["did you mean memory.kv_cache_exhausted?"]),
            (["explain", "ingress.quota"], ["a rule of your own needs --rules DIR"]),
            (["rules", "new", "memry.x"], ["did you mean memory?"]),
            (["rules", "new", "Memory"], ["STAGE.CAUSE"]),
            (["catalog", "flag", "max-num-sequs"], ["--max-num-sequs", "did you mean --max-num-seqs?"]),
            (["catalog", "build", "nowhere"], ["nowhere"]),
        ],
    )
    def test_message(self, run: Runner, arguments: list[str], words: list[str]) -> None:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("diagnose: error: ")
        assert len(done.stderr.splitlines()) <= 2
        for word in words:
            assert word in done.stderr

    def test_invalid_rules_are_reported_all_at_once(self, run: Runner) -> None:
        done = run("--rules", "broken", "healthy.log")
        assert done.returncode == 2
        assert "broken/platform/bad.yaml:3" in done.stderr
        assert "severity" in done.stderr
        assert len(done.stderr.splitlines()) >= 2

    def test_environment_errors_name_the_variable(self, run: Runner) -> None:
        done = run("healthy.log", DIAGNOSE_FAIL_ON="warn")
        assert done.returncode == 2
        assert "DIAGNOSE_FAIL_ON" in done.stderr
        assert "did you mean warning?" in done.stderr
        assert "DIAGNOSE_QUIET" in run("healthy.log", DIAGNOSE_QUIET="maybe").stderr

    def test_names_cannot_command_the_terminal(self, run: Runner) -> None:
        assert "\x1b" not in run("no\x1b[2Jfile").stderr

    def test_one_missing_of_two_is_a_problem_not_an_end(self, run: Runner) -> None:
        done = run("healthy.log", "missing.log")
        assert "missing.log" in done.stdout + done.stderr


class TestProcess:
    def test_nothing_and_a_terminal_gives_help(self, home: Path) -> None:
        parent, child = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-m", "diagnoser"],
            stdin=child,
            env=Runner(home).environment(),
            capture_output=True,
            timeout=20,
            text=True,
        )
        os.close(parent)
        os.close(child)
        assert (done.returncode, done.stdout) == (2, "")
        assert "usage: diagnose" in done.stderr
        assert len(done.stderr.splitlines()) < 8

    def test_closed_standard_input(self, home: Path) -> None:
        command = f"{sys.executable} -m diagnoser <&-"
        done = subprocess.run(["sh", "-c", command], env=Runner(home).environment(), capture_output=True, text=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        "what", ["--rules critical mishap.log", "--format json mishap.log", "--help", "explain --list"]
    )
    def test_closed_pipe_is_silent(self, home: Path, what: str) -> None:
        command = f"{{ {sys.executable} -m diagnoser {what}; echo $? >&3; }} | true"
        done = subprocess.run(
            ["bash", "-c", f"exec 3>&2; {command}"],
            cwd=home,
            env=Runner(home).environment(),
            capture_output=True,
            text=True,
        )
        assert done.stderr.strip() in ("0", "1"), done.stderr

    @pytest.mark.usefixtures("interruptible")
    def test_ctrl_c(self, home: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "diagnoser", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=Runner(home).environment(),
            text=True,
        )
        assert process.stdin
        process.stdin.write(HEALTHY)
        process.stdin.flush()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
        assert (process.returncode, told) == (130, "")

    def test_progress_only_on_a_terminal_and_late(self, home: Path) -> None:
        told = "".join(_on_terminal(home, ["-"], 1.8))
        assert "reading: " in told
        assert "reading: " not in "".join(_on_terminal(home, ["-", "-q"], 1.8))
        assert "reading: " not in "".join(_on_terminal(home, ["-"], 0.1))

    def test_version_is_cheap(self, home: Path) -> None:
        code = (
            "import sys, time; from diagnoser.cli import main; main(['--version']);"
            "print(time.process_time(), len(sys.modules)); print([m for m in sys.modules if m.startswith('diagnoser')])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=Runner(home).environment(), capture_output=True, text=True, check=True
        )
        version, numbers, modules = done.stdout.splitlines()
        assert version.startswith("diagnose ")
        assert float(numbers.split()[0]) < 0.1
        assert modules == "['diagnoser', 'diagnoser.cli']"

    def test_help(self, run: Runner) -> None:
        done = run("--help")
        assert done.returncode == 0
        for word in ("--fail-on", "DIAGNOSE_FAIL_ON", "exit code:", "diagnose explain", "github, html, json, junit"):
            assert word in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 110

    def test_json_does_without_rich(self, home: Path) -> None:
        code = (
            "import sys; from diagnoser.cli import main; code = main(['--format', 'json', 'healthy.log']);"
            "sys.exit(any(m.startswith('rich') for m in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=home, env=Runner(home).environment(), stdout=subprocess.DEVNULL
        )
        assert done.returncode == 0


class TestSubCommands:
    def test_explain(self, run: Runner) -> None:
        done = run("explain", "mishap", "--rules", "critical")
        for heading in ("Meaning", "Diagnosis", "When this is wrong", "Verify", "mishap number {n:int} happened"):
            assert heading in done.stdout
        page = json.loads(run("explain", "platform.mishap", "--rules", "critical", "--format", "json").stdout)
        assert page["diagnosis"]["symptoms"] == [{"name": "mishap_seen", "condition": "count(mishap.seen) >= 1"}]
        assert run("explain", "mishap", "--rules", "critical", "--format", "markdown").stdout.startswith("# A made-up")

    @pytest.mark.parametrize(
        "name", ["kv.usage", "token usage", "GPU KV cache usage", "#running-req", "running_limit", "latency.ttft"]
    )
    def test_explain_a_name(self, run: Runner, name: str) -> None:
        assert run("explain", name).returncode == 0

    def test_explain_all(self, run: Runner, home: Path) -> None:
        assert run("explain", "--all", "--rules", "critical", "--output", "pages", "-q").returncode == 0
        assert (home / "pages" / "platform" / "mishap.md").read_text().startswith("# A made-up mishap")
        check = ("explain", "--all", "--check", "--rules", "critical", "--output", "pages")
        assert run(*check).returncode == 0
        (home / "pages" / "platform" / "mishap.md").write_text("old")
        assert run(*check).returncode == 1

    def test_rules_list(self, run: Runner) -> None:
        rows = json.loads(run("rules", "list", "--rules", "critical", "--format", "json").stdout)
        assert {
            "id": "platform.mishap",
            "severity": "critical",
            "status": "stable",
            "title": "A made-up mishap",
        } in rows
        assert "A made-up mishap" in run("rules", "list", "--rules", "critical").stdout

    def test_rules_schema(self, run: Runner) -> None:
        assert "definitions" in json.loads(run("rules", "schema").stdout)

    def test_rules_test(self, run: Runner, home: Path) -> None:
        done = run("rules", "test", "critical", "--junit", "junit.xml", "-v")
        assert (done.returncode, done.stderr) == (0, "")
        assert "critical/platform/mishap.yaml:17: platform.mishap fires 1: ok" in done.stdout
        assert done.stdout.endswith("1 rule, 2 examples, none failed\n")
        assert (home / "junit.xml").read_text().count("<testcase") == 2
        wrong = home / "wrong" / "platform"
        wrong.mkdir(parents=True, exist_ok=True)
        (wrong / "mishap.yaml").write_text(RULE.format(severity="info").replace("mishap number 3", "mishap number x"))
        done = run("rules", "test", "wrong/platform/mishap.yaml", "--coverage")
        assert done.returncode == 1
        assert "FAIL: does not fire" in done.stdout
        assert "mishap.seen" in done.stdout
        assert run("rules", "test", "platform.mishp", "--rules", "critical").returncode == 2

    def test_rules_new_loads(self, run: Runner, home: Path) -> None:
        assert run("rules", "new", "memory.my_cause", "--dir", "mine").returncode == 0
        assert run("explain", "memory.my_cause", "--rules", "mine").returncode == 0
        before = (home / "mine/memory/my_cause.yaml").read_text()
        assert run("rules", "new", "memory.my_cause", "--dir", "mine").returncode == 2
        assert (home / "mine/memory/my_cause.yaml").read_text() == before

    def test_catalog_flag(self, run: Runner) -> None:
        done = run("catalog", "flag", "max_num_seqs")
        assert done.returncode == 0
        assert done.stdout.startswith("vllm --max-num-seqs")

    def test_a_file_named_like_a_command(self, run: Runner, home: Path) -> None:
        (home / "explain").write_text(HEALTHY)
        assert run("./explain").stdout.startswith("Nothing found\nvLLM 0.9.2")
        (home / "explain").unlink()


def _on_terminal(home: Path, arguments: list[str], seconds: float) -> Iterator[str]:
    """Yield what a terminal on standard error sees while standard input stays open for some seconds."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "diagnoser", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=child,
        env=Runner(home).environment(),
    )
    os.close(child)
    assert process.stdin
    process.stdin.write(HEALTHY.encode())
    process.stdin.flush()
    time.sleep(seconds)
    process.stdin.close()
    process.wait(timeout=30)
    while select.select([parent], [], [], 0.2)[0]:
        try:
            yield os.read(parent, 4096).decode()
        except OSError:  # the other end is closed
            break
    os.close(parent)


def test_the_program_ends_when_all_is_said_and_exit_handlers_have_run() -> None:
    script = (
        "import atexit, sys; from diagnoser.__main__ import main; atexit.register(print, 'handled');"
        "sys.argv = ['diagnose', '--version']; main(); print('goes on')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["handled"]
