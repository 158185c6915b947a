"""What a reader of each format would refuse: one check a format, for fixed reports, samples and hostile input."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import junitparser
from prometheus_client.parser import text_string_to_metric_families

SCHEMA = Path(__file__).parent / "data" / "sarif" / "sarif-schema-2.1.0.json"

#: Element -> its attributes (needed ones first, after them a bar) and its children, after the schema of Jenkins' xUnit
#: plugin for JUnit (junit-10.xsd).
JUNIT: dict[str, tuple[str, str]] = {
    "testsuites": ("| name time tests failures errors", "testsuite"),
    "testsuite": ("name tests failures errors | group time skipped id package", "testsuite properties testcase"),
    "properties": ("", "property"),
    "property": ("name value", ""),
    "testcase": ("name | time classname group", "skipped error failure system-out system-err"),
    "failure": ("| type message", ""),
    "error": ("| type message", ""),
    "skipped": ("| type message", ""),
    "system-out": ("", ""),
}
#: Lines of the digest begin with one of these; quoted text with a bar.
DIGEST = re.compile(
    r"digest of diagnose |(?:(?:cause|impact|window|fix|proof) \d+|verdict|server|run|stages|rules|next|command|unknown"
    r"|not readable|left out|message): "
)


@functools.cache
def _schema() -> Any:
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def sarif(text: str) -> dict[str, Any]:
    """Return the one run of a valid log that code scanning takes."""
    log = json.loads(text)
    _schema().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert len(rule["properties"]["tags"]) <= 10
        assert max(len(rule[key]["text"]) for key in ("shortDescription", "fullDescription")) <= 1024
    for result in run.get("results", []):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert len(result["locations"]) == 1
        assert len(result["locations"] + result.get("relatedLocations", [])) <= 100
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        assert 0 < len(result["message"]["text"]) <= 1024
        for place in result["locations"] + result.get("relatedLocations", []):
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[\w./%~-]+", uri) or uri.startswith("file:///"), uri
    return run  # type: ignore[no-any-return]


def junit(text: str) -> dict[str, str]:
    """Return the state of each test case of a document that the schema and a reader take."""
    root = ElementTree.fromstring(text.encode("utf-8"))
    _element(root)
    states: dict[str, str] = {}
    for suite in junitparser.JUnitXml.fromstring(text.encode("utf-8")):
        cases = list(suite)
        kinds = [[type(one).__name__.lower() for one in case.result] or ["passed"] for case in cases]
        assert suite.tests == len(cases)
        assert suite.failures == kinds.count(["failure"])
        assert suite.errors == kinds.count(["error"])
        assert suite.skipped == kinds.count(["skipped"])
        for case, (kind,) in zip(cases, kinds, strict=True):
            assert (case.classname, case.name) not in states
            states[f"{case.classname} {case.name}"] = kind
    return states


def _element(element: ElementTree.Element) -> None:
    attributes, children = JUNIT[element.tag]
    needed, _, more = attributes.partition("|")
    assert set(needed.split()) <= set(element.attrib) <= set(needed.split()) | set(more.split()), element.tag
    for child in element:
        assert child.tag in children.split(), child.tag
        _element(child)


def github(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Take the output apart as the runner does: the commands, each with its properties and its message."""
    commands = []
    for said in text.splitlines():
        assert not re.search(r"(?i)##\[|##vso\[", said), said
        if not said.lstrip().startswith("::"):
            assert said.startswith("diagnose: "), said
            continue
        found = re.fullmatch(r"::(\w+)(?: ([^\n]*?))?::(.*)", said)
        assert found, said
        properties = dict(pair.split("=", 1) for pair in (found[2] or "").split(",") if pair)
        assert set(properties) <= {"file", "line", "title"}, said
        assert not any(":" in value for value in properties.values())
        commands.append((found[1], {key: _decoded(value) for key, value in properties.items()}, _decoded(found[3])))
    kinds = [kind for kind, _, _ in commands]
    assert set(kinds) <= {"error", "warning", "notice"}
    assert all(kinds.count(kind) <= 10 for kind in set(kinds))
    return commands


def _decoded(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def llm(text: str) -> list[str]:
    """Return the quoted lines of a digest that is short enough and whose other lines are all its own."""
    assert len(text.encode("utf-8")) <= 4096
    lines = text.split("\n")
    assert lines.pop() == ""
    for before, said in zip(["", *lines], lines, strict=False):
        if said.startswith("| "):
            assert re.match(r"(?:proof \d+|message): ", before), before
        else:
            assert DIGEST.match(said), said
    assert text.splitlines() == lines, "a line break that is none for everybody"
    return [said for said in lines if said.startswith("| ")]


def prom(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return the samples by name, as Prometheus' own parser reads them."""
    out: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation
        assert family.name not in out
        out[family.name] = [(sample.labels, sample.value) for sample in family.samples]
        keys = [tuple(sorted(labels.items())) for labels, _ in out[family.name]]
        assert len(set(keys)) == len(keys), family.name
        assert all(len(value) <= 100 for labels, _ in out[family.name] for value in labels.values())
    return out


CHECKS = {"sarif": sarif, "junit": junit, "github": github, "llm": llm, "prom": prom}
