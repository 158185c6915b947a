"""What is built and installed: the wheel by itself, away from the checkout."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest

import diagnoser

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SAMPLE = ROOT / "samples" / "kv-cache-exhausted" / "server.log"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it; without the network where the build back end is here."""
    folder = tmp_path_factory.mktemp("dist")
    offline = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [sys.executable, "-m", "build", *offline, "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    (path,) = dist.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(wheel.read(name).decode())


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone into a new environment that borrows the dependencies of this one."""
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "venv", with_pip=False)
    (path,) = dist.glob("*.whl")
    command = [sys.executable, "-m", "pip", "--python", str(home / "venv"), "install", "-q", "--no-deps", "--no-index"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    inside = sysconfig.get_path("purelib", vars={"base": str(home / "venv"), "platbase": str(home / "venv")})
    # A path line brings the packages in, but not the editable checkout, whose own .pth file is not read this way.
    (Path(inside) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


@pytest.fixture(scope="module")
def run(installed: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    scripts = installed / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def call(program: str, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(scripts / program), *arguments],
            cwd=installed,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": str(installed / "cache")},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )

    return call


def test_the_wheel_is_whole(wheel: zipfile.ZipFile) -> None:
    inside = set(wheel.namelist())
    grammars = {"diagnoser/formats/pyrepr.lark", "diagnoser/rules/compiling/expression.lark"}
    assert {"diagnoser/py.typed", *grammars} <= inside
    page = (ROOT / "diagnoser" / "reports" / "html").rglob("*")
    shown = {path.relative_to(ROOT).as_posix() for path in page if path.is_file() and path.suffix != ".pyc"}
    assert shown <= inside, "templates, style, script and charts of the HTML report, with their licence"
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "diagnoser").rglob("*.py")}
    rules = {
        f"diagnoser/_{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "rules").rglob("*") if path.is_file()
    }
    assert here <= inside
    assert rules <= inside
    assert {"diagnoser/_rules/catalog/vllm/flags.jsonl", "diagnoser/_rules/series.yaml"} <= inside
    tops = {name.partition("/")[0] for name in inside}
    assert tops == {"diagnoser", f"diagnoser-{diagnoser.__version__}.dist-info"}, "nothing else beside the package"
    assert not [name for name in inside if "__pycache__" in name or "test" in name.rpartition("/")[2].split("_")]


def test_the_source_distribution_is_whole(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "pyproject.toml", ".ci/run"}
    wanted |= {"samples/README.md", "docs/architecture.md", "tests/test_packaging.py", "rules/series.yaml"}
    assert wanted <= inside


def test_metadata(metadata: Message, wheel: zipfile.ZipFile) -> None:
    assert metadata["Name"] == "diagnoser"
    assert metadata["Version"] == diagnoser.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata.get_all("Provides-Extra") == list(PROJECT["optional-dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    (points,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    assert "diagnose = diagnoser.__main__:main" in wheel.read(points).decode()


def test_the_changelog_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert first
    assert first.group(1) == diagnoser.__version__


def test_every_dependency_is_explained() -> None:
    """CONTRIBUTING.md says of each dependency why it is there."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    wanted = [
        *PROJECT["dependencies"],
        *groups["dev"],
        *(one for some in PROJECT["optional-dependencies"].values() for one in some),
    ]
    names = {re.split(r"[<>=; \[]", line)[0].lower() for line in wanted}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = {
        name.lower()
        for row in re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert names <= rows, f"not explained: {names - rows}"


def test_the_entry_point(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert run("diagnose", "--version").stdout == f"diagnose {diagnoser.__version__}\n"
    assert run("python", "-m", "diagnoser", "--version").stdout == f"diagnose {diagnoser.__version__}\n"


def test_the_rules_are_those_of_the_wheel(
    run: Callable[..., subprocess.CompletedProcess[str]], installed: Path
) -> None:
    code = "from diagnoser.knowledge.paths import rules_dir; print(rules_dir())"
    done = run("python", "-c", code)
    assert Path(done.stdout.strip()).is_relative_to((installed / "venv").resolve()), done.stdout + done.stderr
    rules = json.loads(run("diagnose", "rules", "list", "--format", "json").stdout)
    stages = {path.parent.name for path in (ROOT / "rules").glob("*/*.yaml")} - {"events"}
    here = {
        f"{path.parent.name}.{path.stem}" for path in (ROOT / "rules").glob("*/*.yaml") if path.parent.name in stages
    }
    assert {rule["id"] for rule in rules} == here


def test_the_main_job(run: Callable[..., subprocess.CompletedProcess[str]], installed: Path) -> None:
    done = run("diagnose", "--cache-dir", "none", str(SAMPLE))
    assert "memory.kv_cache_exhausted" in done.stdout, done.stderr
    piped = run("diagnose", "--format", "json", stdin=SAMPLE.read_text(encoding="utf-8"))
    assert json.loads(piped.stdout)["findings"][0]["id"] == "memory.kv_cache_exhausted"
    assert run("diagnose", "catalog", "flag", "max_num_seqs").returncode == 0
    assert run("diagnose", "missing.log").returncode == 2


def test_no_cache_leaves_nothing_behind(
    run: Callable[..., subprocess.CompletedProcess[str]], installed: Path, tmp_path: Path
) -> None:
    before = {path for path in installed.rglob("*") if "__pycache__" not in path.parts}
    run("diagnose", "--cache-dir", "none", str(SAMPLE))
    assert {path for path in installed.rglob("*") if "__pycache__" not in path.parts} == before
    run("diagnose", "--cache-dir", str(tmp_path), str(SAMPLE))
    assert not list(tmp_path.iterdir()), "the wheel brings its rules compiled"
    pack = Path(__file__).parent / "data" / "acme-pack" / "acme_rules"
    run("diagnose", "--cache-dir", str(tmp_path), "--rules", str(pack), str(SAMPLE))
    assert list(tmp_path.iterdir()), "the cache of compiled rules is the one thing that is written"
