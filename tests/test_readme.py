"""What the pages for people quote is what the program says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from serverlogs import compiled

from diagnoser import cli, reports
from diagnoser.api import Knowledge

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "samples/README.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))


def blocks(kind: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(arguments: list[str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "diagnoser", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "DIAGNOSE_CACHE_DIR": str(compiled()),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


def test_the_first_screen_is_the_real_output() -> None:
    """Every quoted line is in the output, in that order; a lone … stands for lines left out."""
    (screen,) = blocks("console")
    prompt, *quoted = screen.splitlines()
    command = shlex.split(prompt.rpartition("&& ")[2])
    assert command[0] == "diagnose"
    told = iter(run([*command[1:], "--width", "100"]).stdout.splitlines())
    for line in quoted:
        if line != "…":
            assert line in told, f"not in the output, or not in this order: {line}"


def test_quoted_formats_are_the_real_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for the page of the formats; in this process, which compiles the rules once."""
    monkeypatch.chdir(ROOT)
    screens = blocks("console", (ROOT / "docs" / "formats.md").read_text(encoding="utf-8"))
    assert len(screens) == 4
    for screen in screens:
        prompt, *quoted = screen.splitlines()
        cli.main(["--cache-dir", str(compiled()), *shlex.split(prompt)[2:]])
        told = iter(capsys.readouterr().out.splitlines())
        for line in quoted:
            assert line == "…" or line in told, f"not in the output, or not in this order: {line}"


def test_quoted_help_is_the_real_help() -> None:
    told = run(["--help"]).stdout.splitlines()
    quoted = [line for block in blocks("text") for line in block.splitlines()]
    assert len(quoted) > 5
    for line in quoted:
        assert line in told, line


def test_every_option_named_is_one() -> None:
    text = "\n".join(
        run([*sub, "--help"]).stdout
        for sub in ([], ["rules"], ["explain"], ["catalog"], ["compare"], ["ledger"], ["kube"])
    )
    known = set(re.findall(r"--[a-z][a-z-]+", text))
    pip = {"--group"}
    others = {"--timestamps", "--prefix", "--all-containers", "--previous", "--check"}  # kubectl, ruff
    for page in (ROOT / "README.md", ROOT / "docs" / "on-call.md"):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"(?s)```console.*?```", "", page.read_text())))
        assert named - known - pip - others - {"--since"} == set(), page.name


def test_every_format_is_named() -> None:
    line = next(line for line in README.splitlines() if "`--format` takes" in line)
    named = re.findall(r"`(\w+)`", line.partition("takes")[2].partition(". The report")[0])
    assert named == sorted(reports.formats())


def test_every_rule_named_exists(knowledge: Knowledge) -> None:
    stages = {rule.stage for rule in knowledge.base.rules.values()}
    for page in PAGES:
        text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
        named = {one for one in re.findall(r"`([a-z]+\.[a-z_]+)`", text) if one.partition(".")[0] in stages}
        assert named - set(knowledge.base.rules) - {"ingress.quota"} <= {"memory.my_cause"}, page.name
    rows = set(re.findall(r"^\| (\w+) \|", README, re.MULTILINE)) - {"stage"}
    assert rows == stages, "the table of stages"


def test_the_rule_of_the_readme_works(tmp_path: Path) -> None:
    (rule,) = blocks("yaml")
    (tmp_path / "mine" / "ingress").mkdir(parents=True)
    (tmp_path / "mine" / "ingress" / "quota.yaml").write_text(rule, encoding="utf-8")
    done = run(["rules", "test", "mine"], tmp_path)
    assert done.stdout == "1 rule, 2 examples, none failed\n", done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link.partition("#")[0]).exists()]
    assert not missing
