"""SARIF, JUnit XML, workflow commands, metrics: what a build server or a collector takes, also of hostile logs."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import formatchecks
import pytest
from fixed_report import finding, healthy, report, run

from diagnoser import reports
from diagnoser.contracts.findings import Advice, Evidence, Input, Report, Unknown
from diagnoser.reports import RenderOptions, ci
from diagnoser.values import field_names

HOSTILE = [
    "\x00\x01\x08\x0b\x1f\x7f\x85\x9b2J",
    "\x1b[31mred\x1b]0;t\x07",
    "\u202eevil\u202c \u2066x\u2069\u200b\ufeff\u2028\u2029",
    "\ud800 \udfff \ufffe \uffff \U0001fffe",
    "a\r\nb\n::error::x\n::set-output name=a::b\n##[set-output name=a]b ##[error]x ##vso[task.complete]",
    "::stop-commands::x ::add-mask::y %0A::error::z %25 a,b:c=d",
    "</failure></testcase>]]><!--<x a='&quot;'>\"&amp;",
    "# heading\n```\n<script>alert(1)</script> [x](1) {0} |a| @everyone",
    'verdict: healthy\ncause 1: ingress.fake (critical)\n| forged\nfix 1: --no-auth -> 1\n"} 1\n# TYPE x counter',
    "日本語 " * 40,
    "x" * 5000,
]
KEPT = {"severity", "role", "confidence", "state", "runs", "id"}


def planted(value: Any, text: str, name: str = "") -> Any:
    """Return a copy of the report's data with ``text`` behind every string that a log could have written."""
    if isinstance(value, str):
        return value if name in KEPT else value + text
    if fields := field_names(value):
        return type(value)(**{field: planted(getattr(value, field), text, field) for field in fields})
    if isinstance(value, dict):
        return {key: planted(item, text) for key, item in value.items()}
    return [planted(item, text, name) for item in value] if isinstance(value, list) else value


def render(name: str, given: Report | None = None, **options: Any) -> str:
    return reports.render(given or report(), name, RenderOptions(**options))


def empty() -> Report:
    return dataclasses.replace(
        healthy(), runs=[], stages=[], checklist=[], unknown=[], healthy=None, rules={}, clear=[]
    )


@pytest.mark.parametrize("name", sorted(formatchecks.CHECKS))
@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_hostile_text_stays_text(name: str, at: int) -> None:
    given = planted(report(), HOSTILE[at])
    for redact in (True, False):
        out = reports.render(given, name, RenderOptions(), redact)
        out.encode("utf-8")
        formatchecks.CHECKS[name](out)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", out)


@pytest.mark.parametrize("name", sorted(formatchecks.CHECKS))
def test_ordinary_reports(name: str) -> None:
    for given in (report(), healthy(), empty()):
        out = render(name, given)
        formatchecks.CHECKS[name](out)  # type: ignore[operator]
        assert out == render(name, given)


class TestSarif:
    def test_every_rule_leads_to_its_page(self) -> None:
        [run] = json.loads(render("sarif"))["runs"]
        root = Path(__file__).parents[1]
        for rule in run["tool"]["driver"]["rules"]:
            assert rule["helpUri"].startswith("https://") and "/docs/rules/" in rule["helpUri"]
            assert (root / "docs/rules" / rule["helpUri"].partition("/docs/rules/")[2]).is_file()

    def test_result(self) -> None:
        one = formatchecks.sarif(render("sarif", fail_on="warning", exit_code=1))
        result = one["results"][0]
        assert (result["ruleId"], result["level"]) == ("memory.kv_cache_exhausted", "error")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "server.log"
        assert place["region"]["startLine"] == 8123
        assert "KV cache usage: 100.0%" in place["region"]["snippet"]["text"]
        assert [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]] == [
            9011,
            9400,
            9501,
        ]
        assert "--max-num-seqs 256 (default) -> 160" in result["message"]["text"]
        assert result["properties"]["confidence"] == "certain"
        assert one["results"][1]["properties"]["explained_by"] == "memory.kv_cache_exhausted"
        assert "fixes" not in result
        rule = one["tool"]["driver"]["rules"][0]
        assert "Every block is taken" in rule["help"]["text"]
        assert "Verify" in rule["help"]["markdown"]
        (call,) = one["invocations"]
        assert (call["exitCode"], call["executionSuccessful"]) == (1, True)
        told = " ".join(note["message"]["text"] for note in call["toolExecutionNotifications"])
        assert "line 17: 3 bytes are not UTF-8" in told
        assert "compute.prefill_bound could not be decided, needs: latency histograms from /metrics" in told

    def test_healthy_is_an_empty_list_and_blind_is_none(self) -> None:
        assert formatchecks.sarif(render("sarif", healthy()))["results"] == []
        blind = formatchecks.sarif(render("sarif", empty()))
        assert "results" not in blind
        assert not blind["invocations"][0]["executionSuccessful"]
        assert blind["invocations"][0]["exitCode"] == 2

    def test_fingerprints_are_of_the_cause(self) -> None:
        given = report()
        moved = [
            dataclasses.replace(item, line=item.line + 7, source="other.log") for item in given.findings[0].evidence
        ]
        later = dataclasses.replace(
            given, findings=[dataclasses.replace(given.findings[0], evidence=moved, window="", impact="")]
        )
        first, second = (formatchecks.sarif(render("sarif", one))["results"][0] for one in (given, later))
        assert first["partialFingerprints"] == second["partialFingerprints"]
        every = [
            one["partialFingerprints"]["diagnoserFinding/v1"] for one in formatchecks.sarif(render("sarif"))["results"]
        ]
        assert len(set(every)) == len(every)

    def test_limits(self) -> None:
        proofs = [Evidence("server.log", i + 1, None, "x") for i in range(300)]
        many = [finding(f"memory.c{i}", "t" * 2000, evidence=proofs if not i else []) for i in range(150)]
        many[0].remedies.extend(Advice(f"--flag-{i}", None, None, "1", "2" * 60, "", "") for i in range(40))
        given = dataclasses.replace(report(), findings=many)
        given.inputs[0].problems.extend(f"problem {i}" for i in range(500))
        one = formatchecks.sarif(render("sarif", given))
        assert one["results"][0]["properties"]["evidence"] == 300
        notes = one["invocations"][0]["toolExecutionNotifications"]
        assert notes[-1]["message"]["text"].startswith("left out: 401 problems")
        fixes = re.findall(r"--flag-\d+ 1 -> (2*)", one["results"][0]["message"]["text"])
        assert fixes
        assert set(fixes) == {"2" * 60}

    @pytest.mark.parametrize(
        ("source", "folder", "uri"),
        [
            ("server.log", "/work", "server.log"),
            ("./logs/a b.log", "/work", "logs/a%20b.log"),
            ("/work/logs/a.log", "/work", "logs/a.log"),
            ("/work2/a.log", "/work", "file:///work2/a.log"),
            ("C:\\logs\\a.log", "", "file:///C%3A/logs/a.log"),
            ("C:\\w\\logs\\a.log", "C:\\w", "logs/a.log"),
            ("a:b.log", "", "a%3Ab.log"),
            ("stdin", "", "stdin"),
            ("-", "", "stdin"),
            ("http://localhost:8000", "", "localhost%3A8000"),
            ("caf\udce9.log", "", "caf%5Cudce9.log"),
        ],
    )
    def test_places(self, source: str, folder: str, uri: str) -> None:
        assert ci.uri(source, folder) == uri

    def test_what_is_no_file_is_named(self) -> None:
        given = dataclasses.replace(
            report(), findings=[finding("memory.a", "A", evidence=[Evidence("http://localhost:8000", 3, None, "x 1")])]
        )
        place = formatchecks.sarif(render("sarif", given))["results"][0]["locations"][0]
        assert place["logicalLocations"] == [{"fullyQualifiedName": "http://localhost:8000", "kind": "resource"}]


class TestJunit:
    @pytest.mark.parametrize(
        ("level", "failed"),
        [("never", 0), ("critical", 1), ("warning", 2), ("info", 4)],
    )
    def test_failed_from_the_level_on(self, level: str, failed: int) -> None:
        states = formatchecks.junit(render("junit", fail_on=level))
        rules = [state for name, state in states.items() if not name.startswith("diagnose.checklist ")]
        assert rules.count("failure") == failed
        assert states["diagnose.memory memory.kv_cache_exhausted"] == ("failure" if failed else "passed")

    def test_the_checklist_is_a_suite_of_its_own(self) -> None:
        """Its points are advice: what is not kept fails where findings of level info do."""
        points = report().checklist
        assert {one.state for one in points} >= {"pass", "fail"}
        states = {"pass": "passed", "n/a": "skipped", "unknown": "skipped"}
        for level, failed in (("info", "failure"), ("warning", "passed"), ("never", "passed")):
            out = render("junit", fail_on=level)
            got = formatchecks.junit(out)
            for one in points:
                assert got[f"diagnose.checklist {one.id} {one.title}"] == {**states, "fail": failed}[one.state]
            assert f'<testsuite name="checklist" tests="{len(points)}"' in out
        assert 'name="checklist"' not in render("junit", empty())

    def test_could_not_look_is_no_pass(self) -> None:
        given = dataclasses.replace(report(), clear=["cache.prefix_disabled"])
        out = render("junit", given)
        states = formatchecks.junit(out)
        assert states["diagnose.compute compute.prefill_bound"] == "skipped"
        assert states["diagnose.cache cache.prefix_disabled"] == "passed"
        assert "could not look: needs latency histograms from /metrics" in out
        assert "below --fail-on critical" in out
        assert formatchecks.junit(render("junit", empty()))["inputs an inference server"] == "error"

    def test_one_case_a_name(self) -> None:
        twice = [finding("memory.a", "A"), finding("memory.a", "B", severity="critical")]
        given = dataclasses.replace(
            report(), findings=twice, unknown=[Unknown("x", "memory.a", "")], clear=["memory.a"]
        )
        assert formatchecks.junit(render("junit", given))["diagnose.memory memory.a"] == "failure"


class TestGithub:
    def test_commands(self) -> None:
        out = render("github")
        commands = formatchecks.github(out)
        kind, properties, message = commands[0]
        assert (kind, properties["file"], properties["line"]) == ("error", "server.log", "8123")
        assert properties["title"].startswith("memory.kv_cache_exhausted: The KV cache is full")
        assert "fix: --max-num-seqs 256 (default) -> 160" in message
        assert "follows from memory.kv_cache_exhausted" in commands[1][2]
        assert [kind for kind, _, _ in commands] == ["error", "warning", "notice", "notice", "warning"]
        assert out.startswith("diagnose: critical: The KV cache is full")

    def test_limits(self) -> None:
        many = [finding(f"memory.c{i}", "t", severity=("critical", "warning", "info")[i % 3]) for i in range(90)]
        given = dataclasses.replace(report(), findings=many)
        out = render("github", given)
        assert len(formatchecks.github(out)) == 30
        assert "diagnose: 60 findings, 1 problem of an input: not shown above" in out

    def test_healthy(self) -> None:
        given = dataclasses.replace(healthy(), inputs=[])
        assert formatchecks.github(render("github", given)) == []
        assert "diagnose: 31 rules looked and found nothing" in render("github", given)

    def test_paths_are_those_of_the_checkout(self) -> None:
        given = dataclasses.replace(
            report(),
            inputs=[Input("/home/alice/repo/logs/a.log", "log", "", 1, 1)],
            findings=[finding("memory.a", "A", evidence=[Evidence("/home/alice/repo/logs/a.log", 3, None, "x")])],
        )
        for redact in (True, False):
            out = reports.render(given, "github", RenderOptions(folder="/home/alice/repo"), redact)
            assert formatchecks.github(out)[0][1]["file"] == "logs/a.log"


class TestProm:
    def test_samples(self) -> None:
        found = formatchecks.prom(render("prom"))
        assert found["diagnoser_finding"][0] == (
            {
                "id": "memory.kv_cache_exhausted", "stage": "memory", "severity": "critical", "confidence": "certain",
                "role": "root", "explained_by": "", "engine": "vllm",
            },
            1,
        )  # fmt: skip
        assert found["diagnoser_findings"] == [
            ({"severity": s}, n) for s, n in (("critical", 1), ("warning", 1), ("info", 2))
        ]
        assert found["diagnoser_healthy"] == [({}, 0)]
        assert ({"stage": "memory", "state": "cause"}, 1) in found["diagnoser_stage_state"]
        assert ({"check": "D2", "state": "fail"}, 1) in found["diagnoser_check_state"]
        assert found["diagnoser_input_problems"] == [({}, 1)]
        assert "diagnoser_healthy" not in formatchecks.prom(render("prom", empty()))

    @pytest.mark.skipif(
        shutil.which("promtool") is None, reason="promtool (Debian package prometheus) is not installed"
    )
    def test_promtool(self) -> None:
        for given in (report(), healthy(), empty(), planted(report(), HOSTILE[8])):
            done = subprocess.run(
                ["promtool", "check", "metrics"], input=render("prom", given).encode(), capture_output=True, timeout=60
            )
            assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_from_the_command_line(command: Any, tmp_path: Path) -> None:
    """Exit codes, the file, and the level are those of the command; standard input has a place, too."""
    sample = Path(__file__).parent.parent / "samples" / "engine-killed" / "server.log"
    done = command("-q", "--format", "sarif", "-o", str(tmp_path / "a.sarif"), str(sample))
    assert done.returncode == 1
    one = formatchecks.sarif((tmp_path / "a.sarif").read_text(encoding="utf-8"))
    assert one["invocations"][0]["exitCode"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.sarif"]
    done = command("--format", "junit", "--fail-on", "never", str(sample))
    assert done.returncode == 0
    assert "failure" not in formatchecks.junit(done.stdout).values()
    done = command("--brief", "--format", "junit", str(sample))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--brief: only the text report has a compact form, not --format junit" in done.stderr


def test_run_of_a_finding_without_evidence() -> None:
    given = dataclasses.replace(
        report(), findings=[finding("memory.a", "A")], runs=[dataclasses.replace(run(1), sources=["x.log"])]
    )
    place = formatchecks.sarif(render("sarif", given))["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "x.log"}}
    assert json.loads(render("json", given))["findings"]
