"""Every folder under samples/: what `diagnose` must say about it, in every output format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import formatchecks
import jsonschema
import pydantic
import pytest
import yaml

from diagnoser import reports
from diagnoser.api import Knowledge, Options, Session
from diagnoser.commands._diagnose import exit_code
from diagnoser.contracts.findings import SCHEMA_VERSION, Report
from diagnoser.reports import RenderOptions
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of, readers

ROOT = Path(__file__).parent.parent
SAMPLES = sorted(path.parent for path in ROOT.glob("samples/*/expected.yaml"))
FIELDS = {"causes", "must_not", "severity", "exit", "engine", "engine_version", "envelope"}
#: Objectives in seconds, texts that the report holds, and texts that would send the reader the wrong way.
OPTIONAL = {"slo", "says", "never", "problems"}
#: Words that a field of the JSON report may hold; the dataclasses only say that it is a text.
WORDS = {
    "severity": {"info", "warning", "critical"},
    "confidence": {"certain", "likely", "possible"},
    "role": {"root", "consequence"},
}


def inputs(folder: Path) -> list[Path]:
    """Return what lies in a sample's folder: the server's log where there is one, then what was captured beside it."""
    names = [path for path in folder.iterdir() if path.name != "expected.yaml"]
    return sorted(names, key=lambda path: (path.name != "server.log", path.name))


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda folder: folder.name)
def case(request: pytest.FixtureRequest, knowledge: Knowledge) -> tuple[dict[str, Any], Report]:
    """A sample's expectation and its report."""
    expected = yaml.safe_load((request.param / "expected.yaml").read_text(encoding="utf-8"))
    options = Options(slo=expected.get("slo"))
    return expected, Session(inputs(request.param), knowledge=knowledge, options=options).report


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the report, made from the dataclasses; no field may be there that they do not name."""
    made = pydantic.TypeAdapter(Report).json_schema(mode="serialization")
    for part in [made, *made.get("$defs", {}).values()]:
        if "properties" in part:
            part["additionalProperties"] = False
            part["required"] = sorted(part["properties"])
    return made


def test_there_are_samples() -> None:
    assert len(SAMPLES) >= 14
    assert {folder.name for folder in SAMPLES} == {path.name for path in ROOT.glob("samples/*") if path.is_dir()}
    listed = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[([\w-]+)\]", listed, re.MULTILINE)) == {folder.name for folder in SAMPLES}


def test_every_reader_has_a_sample() -> None:
    """And every other input of a sample is one that somebody reads."""
    used: dict[str, list[str]] = {reader.NAME: [] for reader in readers()}
    for folder in SAMPLES:
        for source in open_inputs([str(path) for path in inputs(folder)], None):
            if source.kind != "log":
                reader = reader_of(source)
                assert reader is not None, source.name
                used[reader.NAME].append(folder.name)
    assert [name for name, found in used.items() if not found] == []


def test_samples_are_small() -> None:
    sizes = {path: path.stat().st_size for path in ROOT.glob("samples/*/*")}
    assert max(sizes.values()) < 100_000
    assert sum(sizes.values()) < 2_500_000


def test_causes(case: tuple[dict[str, Any], Report]) -> None:
    expected, report = case
    assert set(expected) - OPTIONAL == FIELDS
    found = [finding.id for finding in report.findings]
    serious = {finding.id for finding in report.findings if finding.severity != "info"}
    assert found[: len(expected["causes"])] == expected["causes"]
    assert not serious & set(expected["must_not"])
    if expected["causes"]:
        first = report.findings[0]
        assert (first.severity, first.role) == (expected["severity"], "root")
        assert first.evidence
        assert first.remedies
        assert report.healthy is (expected["severity"] == "info")
    else:
        assert not serious
        assert report.healthy is True


def test_says(case: tuple[dict[str, Any], Report]) -> None:
    expected, report = case
    for form in ("text", "markdown") if expected.get("says") or expected.get("never") else ():
        text = " ".join(reports.get(form).render(report, RenderOptions(width=160)).replace("\\", "").split())
        for said in expected.get("says", ()):
            assert said in text, (form, said)
        for said in expected.get("never", ()):
            assert said not in text, (form, said)


def test_exit_code(case: tuple[dict[str, Any], Report]) -> None:
    expected, report = case
    assert exit_code(report, "critical", exit_zero=False) == expected["exit"]
    assert exit_code(report, "warning", exit_zero=False) == int(
        bool(expected["causes"]) and expected["severity"] != "info"
    )
    assert exit_code(report, "critical", exit_zero=True) == 0


def test_reading(case: tuple[dict[str, Any], Report]) -> None:
    expected, report = case
    assert report.inputs[0].envelope == expected["envelope"]
    told = {Path(one.name).name: one.problems for one in report.inputs if one.problems}
    assert told == expected.get("problems", {})
    assert len(report.runs) == 1 or len(report.inputs) == 1, "what lies beside a log is of its run"
    assert report.runs[0].engine == expected["engine"]
    assert report.runs[0].engine_version == expected["engine_version"]


def test_json(case: tuple[dict[str, Any], Report], schema: dict[str, Any]) -> None:
    _, report = case
    written = json.loads(reports.get("json").render(report, RenderOptions()))
    jsonschema.validate(written, schema)
    assert written["schema_version"] == SCHEMA_VERSION
    for finding in written["findings"]:
        for field, words in WORDS.items():
            assert finding[field] in words
    assert {stage["state"] for stage in written["stages"]} <= {"cause", "suspect", "ok", "unknown", "n/a"}
    assert {check["state"] for check in written["checklist"]} <= {"pass", "fail", "unknown", "n/a"}


@pytest.mark.parametrize("form", sorted(reports.formats()))
def test_every_format_renders(case: tuple[dict[str, Any], Report], form: str) -> None:
    _, report = case
    for options in (RenderOptions(), RenderOptions(width=60, unicode=False), RenderOptions(color=True, verbose=True)):
        text = reports.get(form).render(report, options)
        assert text.endswith("\n")
        assert options.color or "\x1b" not in text
        for finding in report.findings:
            assert finding.id in text
    assert text == reports.get(form).render(report, options), "same input, same bytes"


def test_quoted_prompts_are_nobodys_failure(knowledge: Knowledge) -> None:
    """The trap works: its prompts do hold what the rules look for."""
    text = (ROOT / "samples" / "prompt-trap" / "server.log").read_text(encoding="utf-8")
    unquoted = "\n".join(re.findall(r"prompt: '(.*?)', params", text)).replace("\\n", "\n")
    assert "CUDA out of memory" in unquoted
    assert "Watchdog caught collective operation timeout" in unquoted
    assert "Xid" in unquoted
    report = Session([ROOT / "samples" / "prompt-trap" / "server.log"], knowledge=knowledge).report
    assert report.findings == []
    assert report.unrecognised == []


def test_formats_of_machines(case: tuple[dict[str, Any], Report]) -> None:
    """What build servers, collectors and agents are given is what they take, and names the causes."""
    expected, report = case
    for name, check in formatchecks.CHECKS.items():
        out = reports.render(report, name, RenderOptions(fail_on="info"))
        check(out)
        assert out == reports.render(report, name, RenderOptions(fail_on="info"))
        for cause in expected["causes"]:
            assert cause in out, (name, cause)
    told = reports.render(report, "text", RenderOptions(brief=True)).splitlines()
    assert [one.split()[1] for one in told[1:]] == [finding.id for finding in report.findings]
