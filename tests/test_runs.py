"""Lifetimes of servers in one log: where one ends and the next begins, how each ended, and what the clock says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import serverlogs as logs
from serverlogs import API, CORE, access, diagnose, ids, knowledge, sglang, stats, vllm

from diagnoser.api import Options, Session
from diagnoser.evidence.hosts import MOST_HOST


def ends(session: Session) -> list[tuple[str, bool]]:
    return [(run.end, run.complete_start) for run in session.runs]


def test_crash_loop(tmp_path: Path) -> None:
    lines = [line for hour in (10, 11, 12) for line in [*logs.vllm_start(hour), *logs.vllm_death(60, hour)]]
    session = diagnose(tmp_path, lines)
    assert ends(session) == [("crash", True)] * 3
    # What each launch prints before its start marker is its own.
    each = len(lines) // 3
    assert [run.first.line for run in session.runs if run.first] == [1, each + 1, 2 * each + 1]
    assert {run.ended - run.started for run in session.runs if run.ended and run.started} == {60.0}
    assert [one.runs for one in session.report.findings if one.severity == "critical"] == [[0, 1, 2]] * 2


def test_crash_loop_without_tracebacks(tmp_path: Path) -> None:
    lines = [line for hour in (10, 11, 12) for line in [*logs.sglang_start(hour)[:4], "Killed"]]
    session = diagnose(tmp_path, lines)
    assert [run.complete_start for run in session.runs] == [True] * 3
    assert {run.end for run in session.runs} <= {"crash", "killed"}
    assert [run.first.line for run in session.runs if run.first] == [1, 6, 11]


def test_restart_after_an_orderly_stop(tmp_path: Path) -> None:
    lines = [*logs.LOGS["vllm quiet"], *logs.vllm_start(12), *logs.vllm_serving(hour=12)]
    session = diagnose(tmp_path, lines)
    assert ends(session) == [("clean", True), ("running", True)]
    assert session.runs[1].first is not None
    assert session.runs[1].first.line == len(logs.LOGS["vllm quiet"]) + 1
    assert ids(session) == []


def test_restart_without_a_word(tmp_path: Path) -> None:
    """Killed from outside: the old server's last words are told from the new one's first by the time between them."""
    last = vllm(290, "Some last words", where="api_server.py:1")
    lines = [*logs.vllm_start(), *logs.vllm_serving(), last, *logs.vllm_start(12), *logs.vllm_serving(hour=12)]
    session = diagnose(tmp_path, lines)
    assert ends(session) == [("running", True)] * 2
    assert [run.first.line for run in session.runs if run.first] == [1, lines.index(last) + 2]
    assert session.runs[0].records + session.runs[1].records == 2 * session.runs[1].records + 1


def test_two_engines_one_after_the_other(tmp_path: Path) -> None:
    lines = [*logs.LOGS["vllm quiet"], *logs.sglang_start(12), decode_at_noon()]
    session = diagnose(tmp_path, lines)
    assert [(run.engine, run.end) for run in session.runs] == [("vllm", "clean"), ("sglang", "running")]
    # No line of the second server lengthens the life of the first; its dates name the year of both.
    assert [run.time_known for run in session.runs] == ["full", "full"]
    assert (session.runs[0].ended or 0) < (session.runs[1].started or 0)


def decode_at_noon() -> str:
    return sglang(40, "Decode batch, #running-req: 4, #token: 90, token usage: 0.01, gen throughput (token/s): 90.00, "
                      "#queue-req: 0", " TP0", 12)  # fmt: skip


def test_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    session = diagnose(tmp_path, [*logs.vllm_serving(), *logs.vllm_start(12), *logs.vllm_serving(hour=12)])
    assert ends(session) == [("running", False), ("running", True)]
    assert session.runs[0].ready is not None  # it served


def test_log_that_ends_during_the_start(tmp_path: Path) -> None:
    for lines in (logs.vllm_start()[:5], logs.sglang_start()[:4]):
        session = diagnose(tmp_path, lines)
        assert ends(session) == [("cut", True)]
        assert session.runs[0].ready is None
        assert all(event.phases.keys() == {"startup"} for event in session.runs[0].events.values())


def test_access_lines_alone(tmp_path: Path) -> None:
    session = diagnose(tmp_path, [access().removeprefix(API)] * 50)
    assert [(run.engine, run.end, run.started) for run in session.runs] == [("", "running", None)]
    assert ids(session) == []


def test_phases(tmp_path: Path) -> None:
    stop = vllm(300, "[shutdown] API server: shutdown triggered", where="launcher.py:254")
    session = diagnose(tmp_path, [*logs.vllm_start(), *logs.vllm_serving(), stop, *logs.vllm_stop(300)])
    [run] = session.runs
    assert run.events["server.ready"].phases == {"startup": 1}
    assert run.events["server.stop"].first is not None
    assert run.events["server.stop"].first.phase == "serving"
    assert run.events["server.stop"].last is not None
    assert run.events["server.stop"].last.phase == "stopping"
    assert run.end == "clean"


def test_a_traceback_during_the_start_is_no_death(tmp_path: Path) -> None:
    trace = ["Traceback (most recent call last):", '  File "plugin.py", line 1, in load', "    import it",
             "ImportError: no module named it"]  # fmt: skip
    start = logs.vllm_start()
    session = diagnose(tmp_path, [*start[:5], *trace, *start[5:]])
    assert ends(session) == [("running", True)]
    session = diagnose(tmp_path, [*start[:5], *trace])
    assert ends(session) == [("crash", True)]


def test_an_error_that_the_server_survived(tmp_path: Path) -> None:
    boom = [line for line in logs.vllm_death(140) if "AsyncLLM" not in line and "500 " not in line]
    session = diagnose(tmp_path, [*logs.vllm_start(), *boom, *logs.vllm_serving(160)])
    assert ends(session) == [("running", True)]
    session = diagnose(tmp_path, [*logs.vllm_start(), *boom, *logs.vllm_serving(160), *logs.vllm_stop(500)])
    assert ends(session) == [("clean", True)]


def test_a_dead_engine_behind_a_front_end_that_answers(tmp_path: Path) -> None:
    """Open streams end with 200, the last interval is reported late, and then the front end stops in order."""
    dead = [*logs.vllm_death(140), stats(141, 5, 0, 20.0), *[access()] * 50, *logs.vllm_stop(150)]
    session = diagnose(tmp_path, [*logs.vllm_start(), *logs.vllm_serving(count=6), *dead])
    assert ends(session) == [("crash", True)]


def test_an_engine_that_dies_and_the_stop_it_causes(tmp_path: Path) -> None:
    """The front end's first words may be those of the stop; in an orderly one the engine's end is reported late."""
    stop = [vllm(300, f"[shutdown] {text}", where="core_client.py:770") for text in
            ("Process manager: send sigterm to process EngineCore", "MPClient: start timeout=default",
             "MPClient: stopping engine manager", "MPClient: engine manager stopped",
             "MPClient: cleaning up background resources", "MPClient: complete")]  # fmt: skip
    gone = vllm(300, "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup", "WARNING")
    trace = ["AsyncLLM output_handler failed.", "Traceback (most recent call last):", '  File "async_llm.py", line 1',
             "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."]  # fmt: skip
    late = [vllm(300, text, "ERROR", where="async_llm.py:700") for text in trace]
    before, after = [*logs.vllm_start(), *logs.vllm_serving()], logs.vllm_stop(300)
    assert ends(diagnose(tmp_path, [*before, stop[0], gone, *stop[1:], *late, *after])) == [("crash", True)]
    assert ends(diagnose(tmp_path, [*before, *stop, *late, *after])) == [("clean", True)]


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """The application is up before the port is bound, and shut down in order after that has failed."""
    taken = sglang(26, "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address "
                       "already in use")  # fmt: skip
    down = sglang(26, "INFO:     Application shutdown complete.")
    assert ends(diagnose(tmp_path, [*logs.sglang_start()[:6], taken, down])) == [("crash", True)]


def test_without_statistics_answers_tell(tmp_path: Path) -> None:
    died = vllm(60, "EngineCore encountered a fatal error.", "ERROR", CORE)
    later = [vllm(60 + 20 * at, f"Adapter {at} loaded") for at in range(1, 9)]
    working = [line for one in later for line in (one, access())]
    assert ends(diagnose(tmp_path, [*logs.vllm_start(), access(), died, *working])) == [("running", True)]
    assert ends(diagnose(tmp_path, [*logs.vllm_start(), access(), died, access()])) == [("crash", True)]


def test_ranks_with_one_error_are_one_finding(tmp_path: Path) -> None:
    ranks = [f" TP{rank}" for rank in range(8)]
    session = diagnose(tmp_path, [*logs.sglang_start(), *logs.sglang_serving(), *logs.sglang_death(170, ranks)])
    [first] = [one for one in session.report.findings if one.role == "root" and one.severity == "critical"]
    assert {"0", "7"} <= set(re.split("[-,]", first.evidence[0].labels["tp"]))
    assert len([line for line in first.evidence if "OutOfMemory" in line.text]) == 1


@pytest.mark.parametrize("restart", [False, True])
def test_two_launch_lines_of_one_launch(tmp_path: Path, restart: bool) -> None:
    """Several API servers of one launch print the marker each; half a minute later it is another launch."""
    start = logs.vllm_start()
    again = vllm(40 if restart else 1, "vLLM API server version 0.12.0", who="(ApiServer_1 pid=9) ")
    assert len(diagnose(tmp_path, [*start[:4], again, *start[4:]]).runs) == 1 + restart


def test_new_year(tmp_path: Path) -> None:
    lines = [line.replace("07-12 10:", "12-31 23:") for line in [*logs.vllm_start(), *logs.vllm_serving(3200, 24)]]
    turned = [line.replace("07-12 10:", "01-01 00:") for line in logs.vllm_serving(0, 6)]
    session = diagnose(tmp_path, [*lines, *turned])
    [run] = session.runs
    assert run.started is not None
    assert run.ended is not None
    assert 3500 < run.ended - run.started < 4000


def test_new_year_with_envelope_times(tmp_path: Path) -> None:
    lines = []
    for year, day, clock in ((2026, "12-31", "23:59"), (2027, "01-01", "00:00")):
        for second in (10, 30, 50):
            text = stats(0, 6, 0, 20.0).replace("07-12 10:00:00", f"{day} {clock}:{second}")
            lines.append(f"{year}-{day}T{clock}:{second}.000000000Z {text}")
    [run] = diagnose(tmp_path, lines).runs
    assert run.time_known == "full"
    assert (run.ended or 0) - (run.started or 0) == 100


@pytest.mark.parametrize("before", [2, 40])
def test_dated_lines_among_lines_without_a_year(tmp_path: Path, before: int) -> None:
    """Libraries print dates, vLLM does not: the run must not last from a nominal year to the real one."""
    dated = "2026-07-12 10:05:00,123 - nixl - INFO - agent is ready"
    quiet = logs.vllm_serving(40, before)
    session = diagnose(tmp_path, [*logs.vllm_start(), *quiet * 10, dated, *logs.vllm_serving(300, 6)])
    [run] = session.runs
    assert (run.ended or 0) - (run.started or 0) < 1000
    assert run.time_known == ("full" if before == 2 else "yearless")


def test_clocks_that_jump(tmp_path: Path) -> None:
    """A step back (time server, end of summer time) neither splits a run nor breaks it."""
    for back in (90, 3600):
        lines = [*logs.vllm_start(), *logs.vllm_serving(4000, 12), *logs.vllm_serving(4120 - back, 12)]
        session = diagnose(tmp_path, [*lines, *logs.vllm_stop(0)])
        assert ends(session) == [("clean", True)]
        assert ids(session) == []
    lines = [*logs.vllm_start(), *logs.vllm_serving(40, 6), *logs.vllm_serving(40 + 60 + 3600, 6)]
    assert len(diagnose(tmp_path, lines).runs) == 1


def test_a_log_without_times(tmp_path: Path) -> None:
    lines = [line.split("] ", 1)[1] if line.startswith("[") else line for line in logs.LOGS["sglang death"]]
    session = diagnose(tmp_path, ["[gpu_id=0] Init nccl begin.", *lines])
    [run] = session.runs
    assert (run.engine, run.end, run.started, run.time_known) == ("sglang", "crash", None, "")
    assert "memory.gpu_oom_runtime" in ids(session)


def test_times_without_dates(tmp_path: Path) -> None:
    lines = [line.replace("[2026-07-12 ", "[") for line in logs.LOGS["sglang full"]]
    late = [line.replace("[2026-07-12 10:", "[00:") for line in logs.sglang_serving(0, 4)]
    early = [line.replace("[10:", "[23:") for line in lines]
    [run] = diagnose(tmp_path, [*early, *late]).runs
    assert run.time_known == "clock"
    assert (run.ended or 0) - (run.started or 0) > 3000


def test_the_kernel_is_heard_after_much_chatter(tmp_path: Path) -> None:
    chatter = [f"kernel: [ {i}.000000] igb 0000:01:00.0 eth0: NIC Link is Up" for i in range(MOST_HOST + 1)]
    killed = "kernel: Out of memory: Killed process 77 (VLLM::EngineCor) total-vm:1kB, anon-rss:9000000kB"
    log = ["INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.9.2", *chatter, killed]
    assert "memory.host_oom" in [finding.id for finding in diagnose(tmp_path, log).report.findings]


def test_what_the_log_shows_counts_more_than_the_engine_given(tmp_path: Path) -> None:
    plain = diagnose(tmp_path, logs.LOGS["vllm quiet"])
    given = Session([str(tmp_path / "server.log")], knowledge=knowledge(), options=Options(engine="sglang"))
    assert [run.engine for run in given.runs] == ["vllm"]
    assert ids(given) == ids(plain)
    assert any("--engine sglang was given, but this is a log of vllm" in note for note in given.report.runs[0].notes)
    assert not any("--engine" in note for note in plain.report.runs[0].notes)


def test_a_version_given_against_the_log_is_said(tmp_path: Path) -> None:
    diagnose(tmp_path, logs.LOGS["vllm quiet"])
    (run,) = Session(
        [str(tmp_path / "server.log")], knowledge=knowledge(), options=Options(engine_version="0.7.0")
    ).report.runs
    assert run.engine_version == "0.7.0"
    assert any("--engine-version says; the log says" in note for note in run.notes)


@pytest.mark.parametrize(
    ("sample", "first", "engine"),
    [
        ("healthy-sglang", "INFO 03-04 10:00:01 [__init__.py:239] Automatically detected platform cuda.", "sglang"),
        ("healthy-sglang", "(RayWorkerWrapper pid=291) INFO 03-12 10:20:15 worker.py:267] ok", "sglang"),
        ("healthy-vllm", "[2025-06-07 20:33:02,562] LMCache INFO: LMCache Configuration: {} (config.py:579)", "vllm"),
    ],
)
def test_a_library_that_greets_first(tmp_path: Path, sample: str, first: str, engine: str) -> None:
    """SGLang to 0.4 imports vLLM (sglang #5100, #7033), vLLM imports LMCache: a prefix does not tell whose log."""
    log = (Path(__file__).parents[1] / "samples" / sample / "server.log").read_text()
    (tmp_path / "server.log").write_text(f"{first}\n{log}")
    (run,) = Session([tmp_path / "server.log"], knowledge=knowledge()).runs
    assert run.engine == engine
    assert run.arguments
    assert not run.drift
    (tmp_path / "cut.log").write_text(
        f"{first}\n" + "".join(line for line in log.splitlines(True) if "throughput" in line)
    )
    (run,) = Session([tmp_path / "cut.log"], knowledge=knowledge()).runs
    assert run.engine == engine


def test_a_warning_of_an_import_in_front_of_the_launch_begins_no_run(tmp_path: Path) -> None:
    """vLLM tries its compiled part before it says which version it is."""
    warning = "Failed to import from vllm._C with ImportError('libcuda.so.1: cannot open shared object file')"
    lines = [vllm(0, warning, level="WARNING", where="_custom_ops.py:20"), *logs.vllm_start(), *logs.vllm_serving()]
    assert ends(diagnose(tmp_path, lines)) == [("running", True)]
