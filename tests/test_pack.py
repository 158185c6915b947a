"""A rule pack of somebody else: built, installed beside the program, tested as its authors test it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PACK = ROOT / "tests" / "data" / "acme-pack"
REFUSED = "INFO 11-29 10:00:0{} [gate.py:1] tenant acme is over its quota of 5000 tokens\n"
LOG = "INFO 11-29 10:00:00 [api_server.py:1] vLLM API server version 0.9.2\n" + "".join(
    map(REFUSED.format, range(1, 5))
)
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the pack into a folder, from its own build."""
    folder = tmp_path_factory.mktemp("packs")
    source = shutil.copytree(PACK, tmp_path_factory.mktemp("source") / "pack")
    offline = ["--no-build-isolation", "--no-index"] if importlib.util.find_spec("hatchling") else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        *offline,
        "--target",
        str(folder),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *arguments: str, log: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "diagnoser", *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
            "DIAGNOSE_CACHE_DIR": str(folder / "cache"),
        },
        input=log,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_installed_pack_is_used(beside: Path) -> None:
    done = run(beside, "--format", "json", "--exit-zero", log=LOG)
    assert [one["id"] for one in json.loads(done.stdout)["findings"]] == ["acme.ingress.quota"], done.stderr


def test_a_broken_pack_costs_only_itself(beside: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(beside, tmp_path / "broken")
    rule = broken / "acme_rules" / "ingress" / "quota.yaml"
    rule.write_text(rule.read_text().replace("when: tenants_refused", "when: tenants_refusd"))
    done = run(broken, "--format", "json", "--exit-zero", log=LOG)
    assert done.returncode == 0 and json.loads(done.stdout)["findings"] == []
    assert "warning: rule pack acme is left out" in done.stderr and "did you mean tenants_refused?" in done.stderr


def test_the_hook_is_a_valid_one() -> None:
    main = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    main.load_manifest(ROOT / ".pre-commit-hooks.yaml")


@pytest.mark.parametrize(("change", "code"), [("", 0), (">= 3|>= 5", 1)])
def test_the_hook_tells_good_from_bad(change: str, code: int, tmp_path: Path) -> None:
    """Run what the hook runs, where it runs it: at the top of the pack's repository."""
    shutil.copytree(PACK, tmp_path / "repo")
    rule = tmp_path / "repo" / "acme_rules" / "ingress" / "quota.yaml"
    rule.write_text(rule.read_text().replace(*change.split("|")) if change else rule.read_text())
    assert HOOK["entry"] == "diagnose rules test" and HOOK["pass_filenames"] is False
    done = subprocess.run(
        [sys.executable, "-m", "diagnoser", *HOOK["entry"].split()[1:], "acme_rules"],
        cwd=tmp_path / "repo",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("path", "mine"),
    [
        ("acme_rules/ingress/quota.yaml", True),
        ("rules/events/gateway.yaml", True),
        ("memory/x.yaml", True),
        ("docs/x.yaml", False),
        ("rules/ingress/quota.yml", False),
        ("myingress/x.yaml", False),
    ],
)
def test_files_that_the_hook_looks_at(path: str, mine: bool) -> None:
    from diagnoser.rules.model import STAGES

    assert (re.search(HOOK["files"], path) is not None) is mine
    inside = HOOK["files"].removeprefix("(^|/)(").partition(")")[0]
    assert set(inside.split("|")) == {*STAGES, "events"}
