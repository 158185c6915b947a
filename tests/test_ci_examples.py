"""The CI examples and the on-call page: YAML that parses, and commands that the real parsers take."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnoser.commands import _options, compare, explain, rules
from diagnoser.commands._pagetext import rule_text
from diagnoser.commands._rulepage import describe
from diagnoser.judging.loading import Knowledge

ROOT = Path(__file__).parent.parent
GITHUB, GITLAB = ROOT / "docs/ci/github-actions.yml", ROOT / "docs/ci/gitlab-ci.yml"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def shown(text: str) -> list[list[str]]:
    """Every call of diagnose in a piece of shell, as words; what follows in the pipe is another program's."""
    out = []
    for line in text.splitlines():
        for call in re.split(r"\||&&|\d?>>?&?\S*|(?<=\s)#.*", line):
            words = (
                shlex.split(call.strip().removeprefix("- "))
                if call.strip().startswith(("diagnose ", "- diagnose "))
                else []
            )
            out += [words[1:]] if words and words[0] == "diagnose" else []
    return out


def github_steps() -> list[str]:
    jobs = load(GITHUB)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def gitlab_steps() -> list[str]:
    return [line for job in load(GITLAB).values() if isinstance(job, dict) for line in job["script"]]


def blocks(name: str) -> list[str]:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(r"^```(?:sh)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


CALLS = [
    *(
        (where, words)
        for where, steps in (("github", github_steps()), ("gitlab", gitlab_steps()))
        for words in shown("\n".join(steps))
    ),
    *((page, words) for page in ("on-call.md", "alerting.md") for block in blocks(page) for words in shown(block)),
]
PARSERS = {"compare": compare, "rules": rules, "explain": explain}


@pytest.mark.parametrize(("where", "words"), CALLS, ids=[f"{where}: {' '.join(words)}" for where, words in CALLS])
def test_the_real_parser_takes_every_command(where: str, words: list[str]) -> None:
    module = PARSERS.get(words[0])
    # Raises CommandError for an option, a value or a format that is none.
    parser = _options.parser() if module is None else module._parser()  # type: ignore[attr-defined]
    parser.read(words if module is None else words[1:])


def test_there_are_commands_in_each() -> None:
    for where in ("github", "gitlab", "on-call.md", "alerting.md"):
        assert sum(one == where for one, _ in CALLS) >= 4, where


def test_pipelines_have_the_shape_that_their_servers_take() -> None:
    workflow = load(GITHUB)
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads the key `on` as true
    assert all({"runs-on", "steps"} <= set(job) for job in workflow["jobs"].values())
    assert all(("uses" in step) != ("run" in step) for job in workflow["jobs"].values() for step in job["steps"])
    pipeline = load(GITLAB)
    stages = pipeline.pop("stages")
    assert all(
        job["stage"] in stages and all(isinstance(line, str) for line in job["script"]) for job in pipeline.values()
    )


HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "When this is wrong", "Verify", "Sources"]


def test_pages_that_runbook_url_points_at_have_the_same_sections(knowledge: Knowledge) -> None:
    """Anchors are made of headings: a link to #mitigation must not break. `diagnose explain` prints the same."""
    index = (ROOT / "docs/rules/README.md").read_text(encoding="utf-8")
    for rule in knowledge.base.rules.values():
        name = f"{rule.id.replace('.', '/')}.md"
        page = (ROOT / "docs/rules" / name).read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)", page, re.MULTILINE) == HEADINGS, rule.id
        assert f"({name})" in index
        text = rule_text(describe(rule, knowledge.base, knowledge.vocabulary), 80)
        assert [line for line in text.splitlines() if line in HEADINGS] == HEADINGS, rule.id
