"""Inputs that change under the eyes of the command: cut, replaced, removed, longer. A report says what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import serverlogs as logs
from serverlogs import compiled, encoded, vllm

from diagnoser.cli import main
from diagnoser.sources.part import Part

#: More than one block, so that there is something left to read when the file changes.
PADDING = [vllm(42, f"odd but harmless words {number} " + "x" * 4000) for number in range(400)]
HEAD = encoded([*logs.vllm_start(), *logs.vllm_serving(count=6), *PADDING[:300]])
TAIL = encoded([*PADDING[300:], *logs.vllm_death(140)])


def truncated(path: Path) -> None:
    os.truncate(path, 1000)


def emptied(path: Path) -> None:
    """As ``copytruncate`` and ``> server.log`` do; then the server goes on."""
    path.write_bytes(b"")
    with path.open("ab") as file:
        file.write(encoded(logs.vllm_serving(200, 3)))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(encoded(logs.LOGS["sglang death"]))
    other.replace(path)


def removed(path: Path) -> None:
    path.unlink()


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(encoded(PADDING) * 2)


def overwritten(path: Path) -> None:
    """The same length, other words."""
    with path.open("r+b") as file:
        file.seek(len(HEAD))
        file.write(b"\0" * len(TAIL))


#: What happens to the file after its first block was read, and whether the death at its end can still be read.
CHANGES: dict[Callable[[Path], None], bool] = {
    truncated: False, emptied: False, replaced: True, removed: True, longer: True, overwritten: False,
}  # fmt: skip


@pytest.fixture(scope="module")
def cache() -> Path:
    """Keep the rules compiled."""
    return compiled()


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let something happen after the first block of the next reading; a look at the first bytes is none."""

    def begin(change: Callable[[], None]) -> None:
        whole, waiting = Part.blocks, [change]

        def blocks(self: Part, report: Callable[[str], None]) -> Iterator[bytes]:
            for block in whole(self, report):
                yield block
                if waiting:
                    waiting.pop()()

        monkeypatch.setattr(Part, "blocks", blocks)

    return begin


Begin = Callable[[Callable[[], None]], None]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("style", ["json", "html"])
def test_a_log_that_changes_while_it_is_read(
    change: Callable[[Path], None], style: str, tmp_path: Path, cache: Path, changing: Begin, capsys: Any
) -> None:
    """HTML reads its input a second time: what stands there then is another file."""
    path = tmp_path / "server.log"
    path.write_bytes(HEAD + TAIL)
    changing(lambda: change(path))
    out = tmp_path / "out"
    code = main(["--cache-dir", str(cache), "--format", style, "--output", str(out), str(path)])
    said = capsys.readouterr().err
    assert code == int(CHANGES[change]), said
    assert "Traceback" not in said and "internal error" not in said
    text = out.read_text()
    if style != "json":
        assert ("memory.gpu_oom" in text) == CHANGES[change]
        assert ("became shorter while it was read" in text) == (change in (truncated, emptied))
        return
    report = json.loads(text)
    assert any("memory.gpu_oom" in one["id"] for one in report["findings"]) == CHANGES[change]
    [told] = report["inputs"]
    assert told["lines"] > 250
    assert [one for one in told["problems"] if "became shorter" in one][1:] == []
    assert all("sglang" not in run["engine"] for run in report["runs"])


@pytest.mark.parametrize("change", [truncated, replaced, removed, longer], ids=lambda change: change.__name__)
@pytest.mark.parametrize("sample", ["oom-killed-pod", "metrics-kv-exhausted", "profile-launch-bound", "guidellm-sweep"])
def test_a_sample_of_which_a_file_changes_between_two_looks(
    sample: str, change: Callable[[Path], None], tmp_path: Path, cache: Path, changing: Begin, capsys: Any
) -> None:
    """Every file is looked at before any is read, so that all of them can be others by then."""
    folder = Path(__file__).parents[1] / "samples" / sample
    files = [tmp_path / one.name for one in sorted(folder.iterdir()) if one.name != "expected.yaml"]
    for file in files:
        file.write_bytes((folder / file.name).read_bytes())
    changing(lambda: [change(file) for file in files] and None)
    out = tmp_path / "out.json"
    code = main(["--cache-dir", str(cache), "--format", "json", "--output", str(out), *map(str, files)])
    said = capsys.readouterr().err
    assert code in (0, 1, 2) and "Traceback" not in said and "internal error" not in said
    if code < 2:
        assert json.loads(out.read_text())["inputs"]
    else:
        assert said.startswith("diagnose: error: ") and said.count("\n") <= 2
