"""What the program is delivered in beside the wheel: krew's archive and manifest, the container image."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
URL = "https://example.org/releases"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("krew")
    wheel = out / "diagnoser-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    command = [sys.executable, str(ROOT / "tools" / "krew.py"), str(wheel), "--url", URL, "--out", str(out)]
    sums: list[str] = []
    for _ in range(2):
        subprocess.run(command, check=True, timeout=60)
        sums.append(hashlib.sha256((out / "diagnose-llm-v0.1.0.tar.gz").read_bytes()).hexdigest())
    (out / "sums").write_text(" ".join(sums))
    return out


def test_the_manifest_passes_krews_checks(made: Path) -> None:
    """The checks are those that krew makes before it takes a manifest (``internal/index/validation``)."""
    plugin: dict[str, Any] = yaml.safe_load((made / "diagnose-llm.yaml").read_text())
    assert plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2" and plugin["kind"] == "Plugin"
    assert re.fullmatch(r"[\w-]+", plugin["metadata"]["name"]) and plugin["metadata"]["name"] == "diagnose-llm"
    spec = plugin["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert spec["shortDescription"] and not re.search(r"[\r\n]", spec["shortDescription"])
    assert len(spec["shortDescription"]) <= 60 and spec["homepage"] and spec["description"]
    for platform in spec["platforms"]:
        assert platform["uri"].startswith("https://") and platform["bin"]
        assert re.fullmatch(r"[a-f0-9]{64}", platform["sha256"])
        expressions = platform["selector"]["matchExpressions"]
        assert expressions and {one["key"] for one in expressions} <= {"os", "arch"}
    (platform,) = spec["platforms"]
    content = (made / "diagnose-llm-v0.1.0.tar.gz").read_bytes()
    assert platform["sha256"] == hashlib.sha256(content).hexdigest()
    assert platform["uri"] == f"{URL}/diagnose-llm-v0.1.0.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = {one.name: one for one in archive}
    assert set(members) == {"LICENSE", platform["bin"], "diagnoser-0.1.0-py3-none-any.whl"}
    assert members[platform["bin"]].mode & 0o111
    assert len(set((made / "sums").read_text().split())) == 1, "the same wheel gives the same bytes"


@pytest.mark.parametrize(
    ("programs", "called"),
    [
        (["diagnose", "uv"], "diagnose kube llm-0 -n prod"),
        (["uv", "pipx"], "uv tool run --quiet --from {wheel} diagnose kube llm-0 -n prod"),
        (["pipx"], "pipx run --spec {wheel} diagnose kube llm-0 -n prod"),
        ([], ""),
    ],
)
def test_the_launcher(programs: list[str], called: str, made: Path, tmp_path: Path) -> None:
    """As krew does it: the archive in a folder, a link to the program on PATH."""
    store, path = tmp_path / "store", tmp_path / "bin"
    path.mkdir()
    with tarfile.open(made / "diagnose-llm-v0.1.0.tar.gz") as archive:
        archive.extractall(store, filter="data")
    (path / "kubectl-diagnose_llm").symlink_to(store / "kubectl-diagnose_llm")
    for tool in ("readlink", "dirname", "ls", "sh"):
        (path / tool).symlink_to(shutil.which(tool) or "")
    for program in programs:
        (path / program).write_text('#!/bin/sh\necho "${0##*/} $*"\n')
        (path / program).chmod(0o755)
    done = subprocess.run(
        ["kubectl-diagnose_llm", "llm-0", "-n", "prod"],
        executable=str(path / "kubectl-diagnose_llm"),
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    wheel = str(store.resolve() / "diagnoser-0.1.0-py3-none-any.whl")
    if called:
        assert done.stdout == called.format(wheel=wheel) + "\n", done.stderr
    else:
        assert done.returncode == 2 and "needs Python 3.11 or newer" in done.stderr


def test_only_released_wheels(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "krew.py"), "x.whl", "--url", URL],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "x.whl: is no wheel" in done.stderr


DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STAGES = [part.partition("\n")[2] for part in re.split(r"(?m)^FROM ", DOCKERFILE)[1:]]


def test_the_image_runs_as_nobody() -> None:
    last = STAGES[-1]
    assert re.findall(r"(?m)^USER (.*)$", last) == ["65532:65532"]
    assert 'ENTRYPOINT ["diagnose"]' in last and "\nRUN " not in last
    cache = re.findall(r"DIAGNOSE_CACHE_DIR=(\S+)", DOCKERFILE)
    assert len(set(cache)) == 1, "the rules are compiled where they are looked for"
    assert f"COPY --from=build --chown=65532:65532 {cache[0]} {cache[0]}" in last


def test_the_build_gets_what_the_wheel_is_made_of() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    let = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {name for line in re.findall(r"(?m)^COPY (?!--)(.*)$", STAGES[0]) for name in line.split()[:-1]}
    assert copied == let and all((ROOT / name).exists() for name in let)
    project = (ROOT / "pyproject.toml").read_text()
    for needed in ("README.md", "LICENSE", "diagnoser", "rules"):
        assert f'"{needed}"' in project and any(fnmatch(needed, name) for name in let)


def hadolint() -> str | None:
    return shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.mark.skipif(hadolint() is None, reason="no hadolint here")
def test_the_linter_has_nothing_to_say() -> None:
    done = subprocess.run([str(hadolint()), str(ROOT / "Dockerfile")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("page", ["kubernetes.md", "agents.md", "rule-packs.md"])
def test_what_pages_show_can_be_read(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"(?ms)^```(yaml|json|toml)\n(.*?)^```", text)
    assert found
    for kind, block in found:
        {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads}[kind](block)
