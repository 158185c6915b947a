"""Completion in real shells, and the manual page as man reads it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from diagnoser import commands
from diagnoser.commands import _shells
from diagnoser.commands._surface import surfaces

#: What stands on the line, the last word half typed -> words that are offered, words that are not.
LINES = [
    ("diagnose --form", {"--format"}, {"--fail-on"}),
    ("diagnose --format js", {"json"}, {"text"}),
    ("diagnose --fail-on ", {"critical", "warning", "info", "never"}, {"server.log"}),
    ("diagnose expl", {"explain"}, {"rules"}),
    ("diagnose ser", {"server.log"}, {"explain"}),
    ("diagnose server.log --bas", {"--baseline"}, set()),
    ("diagnose -o ser", {"server.log"}, set()),
    ("diagnose --why memory.kv_cache_ex", {"memory.kv_cache_exhausted"}, {"memory.host_oom"}),
    ("diagnose explain memory.kv_cache_ex", {"memory.kv_cache_exhausted"}, set()),
    ("diagnose explain --fo", {"--format"}, {"--fail-on"}),
    ("diagnose rules te", {"test"}, {"list"}),
    ("diagnose compare --fail-on wo", {"worse"}, {"warning"}),
    ("diagnose completion z", {"zsh"}, {"bash"}),
    ("diagnose kube --bun", {"--bundle"}, set()),
    ("diagnose --rules fol", {"folder"}, {"server.log"}),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "server.log").write_text("x\n")
    (folder / "folder").mkdir()
    rules = ["memory.host_oom", "memory.kv_cache_exhausted"]
    found = surfaces()
    for shell in ("bash", "zsh", "fish"):
        (folder / f"script.{shell}").write_text(getattr(_shells, shell)(found, rules), encoding="utf-8")
    return folder


def run(home: Path, *words: str) -> str:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == 0, done.stderr
    return done.stdout


def asked(lines: list[list[str]]) -> str:
    """Write bash that completes each line and prints what it offers."""
    out = []
    for words in lines:
        out.append(f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _diagnose")
        out.append("printf '%s\\n' \"${COMPREPLY[@]}\" ==")
    return "\n".join(out)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash(home: Path) -> None:
    lines = [[*shlex.split(line), ""] if line.endswith(" ") else shlex.split(line) for line, *_ in LINES]
    lines += [["diagnose", "--format", "=", "js"], ["diagnose", "--format", "="]]
    assert run(home, "bash", "-c", ". ./script.bash; complete -p diagnose") == (
        "complete -o filenames -F _diagnose diagnose\n"
    )
    told = run(home, "bash", "-c", f". ./script.bash\n{asked(lines)}").split("==\n")
    for (line, there, absent), offered in zip(LINES, told, strict=False):
        assert there <= set(offered.split()), (line, offered)
        assert not absent & set(offered.split()), (line, offered)
    assert told[-3].split() == ["json"] and "json" in told[-2].split(), "--format=js"


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_fish(home: Path) -> None:
    script = "source script.fish\n" + "".join(f"complete -C {shlex.quote(line)}; echo ==\n" for line, *_ in LINES)
    told = run(home, "fish", "--no-config", "-c", script).split("==\n")
    for (line, there, absent), offered in zip(LINES, told, strict=False):
        words = {one.split("\t")[0].rstrip("/") for one in offered.splitlines()}
        assert there <= words, (line, offered)
        assert not absent & words, (line, offered)


#: Completes a line in a terminal of its own and prints what the screen shows.
ZSH = r"""
zmodload zsh/zpty
zpty -b one zsh -f -i
zpty -w one 'PS1= ; unsetopt prompt_cr; autoload -Uz compinit; compinit -D -u; source ./script.zsh; LISTMAX=999'
zpty -w one 'bindkey "^I" list-choices; zstyle ":completion:*" list-colors ""; print -r READY'
sleep 1
zpty -w -n one "$LINE"$'\t'
sleep 1
text=; while zpty -r -t one part; do text+=$part; done
zpty -d one
print -r -- "${text#*READY}"
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh(home: Path) -> None:
    assert run(home, "zsh", "-f", "-n", "script.zsh") == ""
    for line, there, absent in (LINES[2], LINES[3], LINES[4], LINES[8]):
        shown = run(home, "zsh", "-f", "-c", f"LINE={shlex.quote(line)}\n{ZSH}")
        words = set(re.findall(r"[\w.-]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", shown)))
        assert there <= words, (line, shown)
        assert not absent & words, (line, shown)


def test_every_command_is_there() -> None:
    assert [one.name for one in surfaces()] == ["", *commands.names()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["completion"], "for which shell? bash, zsh, fish"),
        (["completion", "bsh"], "did you mean bash?"),
        (["man", "x"], "unexpected argument 'x'"),
    ],
)
def test_bad_input(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    from diagnoser import cli

    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and told in err


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from diagnoser.commands import man

    path = tmp_path_factory.mktemp("man") / "diagnose.1"
    assert man.main(["-o", str(path)]) == 0
    return path


def test_the_page_names_everything(page: Path) -> None:
    text = page.read_text().replace("\\-", "-").replace("\\&", "")
    for one in surfaces():
        assert f"diagnose {one.name}".strip() in text
        for option in one.options:
            assert (one.name and option.group == "common") or "--help" in option.flags or option.flags[-1] in text
    assert "\\" not in re.sub(r"\\(?:f[BIR]|\(\w\w|e|&|-)", "", page.read_text())


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_the_page_has_no_faults(page: Path) -> None:
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "EXIT STATUS" in shown and "'10:00', or '15m' before the end of the log" in " ".join(shown.split())
    assert "curl" not in shown and "DIAGNOSE_FAIL_ON" in shown
