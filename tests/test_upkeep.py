"""Upkeep of the knowledge: what a version changed, what it breaks, what drifted, what a release's source tells."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from diagnoser.api import Knowledge, Session
from diagnoser.cli import main
from diagnoser.commands import _versionpage
from diagnoser.evidence.drift import MOST
from diagnoser.knowledge import catalog_build
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.catalog_diff import DiffError, diff
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Series
from diagnoser.rules.compiling.template import parse_template
from diagnoser.rules.model import EventSpec, RuleBase
from diagnoser.rules.standing import Upkeep
from diagnoser.values import replace
from tools.releases import registry
from tools.releases.compare import Wordings, agreement
from tools.releases.python import Unknown
from tools.releases.release import read
from tools.releases.renew import write_facts

ROOT = Path(__file__).parent.parent
CATALOG = Catalog(rules_dir())


@pytest.fixture(scope="module")
def base(written: Knowledge) -> RuleBase:
    return written.base


# -- what a version changed


@pytest.mark.parametrize(
    ("engine", "old", "new", "change"),
    [
        ("vllm", "0.10.0", "0.10.1", ("flags", "removed", "--num-scheduler-steps")),
        ("vllm", "0.28.0", "0.29.0", ("flags", "added", "--max-num-queued-reqs")),
        ("vllm", "0.11.0", "0.12.0", ("flags", "choices", "--block-size")),
        ("vllm", "0.32.0", "0.33.0", ("variables", "default", "VLLM_ROCM_USE_AITER_FP8BMM")),
        ("sglang", "0.5.2", "0.5.3.post3", ("metrics", "renamed", "sglang:avg_request_queue_latency")),
        ("sglang", "0.5.11", "0.5.12.post1", ("fields", "added", "#bootstrap-req")),
        ("vllm", "0.10.2", "0.11.1", ("messages", "reworded", "comms.all2all_manager")),
    ],
)
def test_a_diff_names_what_changed(engine, old, new, change):
    assert change in {(one.kind, one.word, one.name) for one in diff(CATALOG, engine, old, new)}


def test_nothing_changes_between_a_version_and_itself():
    assert not diff(CATALOG, "vllm", "0.12.0", "0.12.0")


@pytest.mark.parametrize(("engine", "old"), [("nobody", "0.1"), ("vllm", "main")])
def test_versions_that_cannot_be_compared(engine, old):
    with pytest.raises(DiffError):
        diff(CATALOG, engine, old, "0.12.0")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["diff", "vlm", "0.1", "0.2"], "did you mean vllm"),
        (["diff", "vllm", "0.9.2"], "two versions"),
        (["check", "--engine", "vlm"], "did you mean vllm"),
        (["check", "--engine-version", "0.9.2"], "needs --engine"),
        (["check", "--engine", "vllm", "--engine-version", "main"], "no version main"),
        (["flag", "max-num-seqs", "tp"], "one argument is enough"),
    ],
)
def test_wrong_words_get_one_line(words, says, capsys):
    assert main(["catalog", *words]) == 2
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1


# -- what a version breaks


@pytest.mark.parametrize("engine", CATALOG.engines())
def test_the_newest_version_breaks_no_stable_rule(base, engine):
    found = Upkeep(base, CATALOG.vocabulary(), CATALOG, engine, CATALOG.newest(engine)).breaks()
    assert not [one for one in found if one.breaks and one.stable]


def test_a_message_that_is_gone_breaks_a_rule_that_has_nothing_else(base):
    old = parse_template("Using Triton backend with FP16 kernel cache {version}: 0.4.2..0.4.3", "vllm")
    gone = EventSpec("kv.full", "gone", (replace(old, versions="0.4.2..0.8.5"),))
    rule = replace(base.rules["platform.port_in_use"], id="platform.mine", status="stable", remedies=())
    node = next(node for node in [rule.when] if node)
    mine = replace(node, op="event", args=("kv.full",))
    small = RuleBase(rules={rule.id: replace(rule, when=mine)}, events={"kv.full": gone})
    told = Upkeep(small, CATALOG.vocabulary(), CATALOG, "vllm", "0.33.0").breaks()
    assert [(one.rule, one.kind, one.breaks) for one in told] == [("platform.mine", "message", True)]
    assert "0.8.5" in told[0].reason
    assert not Upkeep(small, CATALOG.vocabulary(), CATALOG, "vllm", "0.8.5").breaks()


def test_a_metric_that_is_gone_names_its_heir(base):
    vocabulary = CATALOG.vocabulary()
    series = Series("mine", "mine", "seconds", "gauge", metric={"sglang": ("sglang:avg_request_queue_latency",)})
    vocabulary = vocabulary._replace(series={**vocabulary.series, "mine": series})
    rule = replace(base.rules["platform.port_in_use"], status="stable", remedies=())
    rule = replace(rule, when=replace(rule.when, op="series", args=("mine",)))
    told = Upkeep(RuleBase(rules={rule.id: rule}), vocabulary, CATALOG, "sglang", "0.5.23").breaks()
    assert [(one.kind, one.nearest, one.breaks) for one in told] == [("sample", "sglang:queue_time_seconds", True)]


def test_a_flag_that_is_gone_breaks_a_rule_without_another_remedy(base):
    rule = base.rules["compute.grammar_stall"]
    flags = tuple(one for one in rule.remedies if ("vllm", "--guided-decoding-backend") in one.flag)
    assert flags
    small = RuleBase(rules={rule.id: replace(rule, remedies=flags[:1])}, events=base.events, symptoms=base.symptoms)
    told = [one for one in Upkeep(small, CATALOG.vocabulary(), CATALOG, "vllm", "0.33.0").breaks() if one.breaks]
    assert [(one.kind, one.name, one.nearest) for one in told] == [
        ("flag", "--guided-decoding-backend", "--structured-outputs-config.backend")
    ]


def test_the_page_of_versions_is_current(base):
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    wanted = _versionpage.page(CATALOG, base, CATALOG.vocabulary())
    assert page == wanted, "diagnose catalog versions -o docs/versions.md"


# -- drift

_VLLM = (
    "INFO 07-12 10:{m:02}:00 [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation "
    "throughput: 100.0 tokens/s, Running: 12 reqs, Waiting: 0 reqs, {new}GPU KV cache usage: 19.6%, "
    "Prefix cache hit rate: 0.0%"
)
_SGLANG = (
    "[2025-07-12 10:{m:02}:00 TP0] Decode batch, #running-req: 12, #token: 3000, token usage: 0.40, cuda graph: True, "
    "gen throughput (token/s): 500.1, #queue-req: 0{new}"
)


@pytest.fixture
def told(tmp_path, knowledge):
    def report(lines):
        path = tmp_path / "server.log"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return Session([path], knowledge=knowledge).report

    return report


@pytest.mark.parametrize(
    ("line", "new", "label", "figure"),
    [
        (_VLLM, "New thing: 3, ", "New thing", 3.0),
        (_VLLM, "scheduler-mode: fast, ", "scheduler-mode", None),
        (_VLLM, "new thing (per GPU): 3, ", "new thing (per GPU)", 3.0),
        (_SGLANG, ", #new: 3", "#new", 3.0),
        (_SGLANG, ", mode: eager", "mode", None),
    ],
)
def test_a_field_that_no_version_printed_is_told_and_kept(told, line, new, label, figure):
    report = told([line.format(m=m, new=new) for m in range(6)])
    run = report.runs[0]
    notes = [note for note in run.notes if note.startswith("drift")]
    assert len(notes) == 1 and f"'{label}'" in notes[0] and "6 times" in notes[0] and "server.log:1" in notes[0]
    assert (run.figures[label].median if label in run.figures else None) == figure


_V0 = "INFO 01-22 10:0{m}:00 metrics.py:483] Prefix cache hit rate: GPU: 52.36%, CPU: 0.00%{new}"


@pytest.mark.parametrize("line", [_VLLM, _SGLANG, _V0])
def test_known_fields_are_no_drift(told, line):
    report = told([line.format(m=m, new="") for m in range(6)])
    assert not [note for note in report.runs[0].notes if note.startswith("drift")]


@pytest.mark.parametrize(
    ("line", "odd"),
    [
        (_VLLM, "INFO 07-12 10:09:00 [loggers.py:118] Engine 000: 10 tokens/s, GPU KV cache usage 19%"),
        (_SGLANG, "[2025-07-12 10:09:00 TP0] Decode batch (v2) #running=3"),
    ],
)
def test_a_line_that_cannot_be_read_is_told(told, line, odd):
    report = told([*(line.format(m=m, new="") for m in range(3)), odd])
    notes = [note for note in report.runs[0].notes if note.startswith("drift")]
    assert len(notes) == 1 and "server.log:4" in notes[0]


def test_drift_is_bounded(told):
    lines = [_VLLM.format(m=m % 60, new=f"Field {chr(97 + m % 26)}{chr(97 + m // 26)}: 1, ") for m in range(200)]
    report = told(lines)
    assert len([note for note in report.runs[0].notes if note.startswith("drift")]) <= 7
    assert len(report.runs[0].figures) <= MOST + 12


def test_every_wording_of_a_statistics_line_in_the_samples_is_known(knowledge):
    for path in sorted((ROOT / "samples").glob("*/server.log")):
        for run in Session([path], knowledge=knowledge).report.runs:
            assert not [note for note in run.notes if note.startswith("drift")], path


# -- what a release's source tells

_SOURCES = {
    "vllm/config/model.py": """
from typing import Literal
Mode = Literal["auto", "slow"]
@config
class ModelConfig:
    model: str = "a/b"
    mode: Mode = "auto"
    enforce_eager: bool = False
    stop: list[str] = field(default_factory=list)
""",
    "vllm/engine/arg_utils.py": """
LIMIT = 2 * 1024
class EngineArgs:
    model: str = ModelConfig.model
    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="x")
        group.add_argument("--model", **model_kwargs["model"])
        group.add_argument("--mode", "-m", **model_kwargs["mode"])
        group.add_argument("--enforce-eager", **model_kwargs["enforce_eager"])
        stop = model_kwargs["stop"]
        group.add_argument("--stop", **stop)
        parser.add_argument("--limit", type=int, default=LIMIT, help="Deprecated: use --mode")
        parser.add_argument("--quiet", action="store_true")
""",
    "vllm/entrypoints/openai/cli_args.py": """
class FrontendArgs:
    port: int = 8000
    @classmethod
    def add_cli_args(cls, parser):
        kwargs = get_kwargs(cls)
        for key, value in kwargs.items():
            parser.add_argument(f"--{key.replace('_', '-')}", **value)
""",
    "vllm/envs.py": """
import os
environment_variables = {
    "VLLM_A": lambda: bool(int(os.getenv("VLLM_A", "1"))),
    "VLLM_B": lambda: os.environ.get("VLLM_B", "Slow").lower(),
    "VLLM_C": lambda: os.path.join(somewhere(), "c"),
}
""",
    "vllm/v1/metrics/loggers.py": """
class Prometheus:
    def __init__(self):
        self.gauge = self._gauge_cls(name="vllm:running", documentation="x", labelnames=["model_name"])
        self.counter = self._counter_cls(name="vllm:seen", documentation="x", labelnames=[])
    def log(self):
        logger.info("Avg thing: %.1f tokens/s, Running: %d reqs", 1.0, 2)
        raise ValueError(f"The cache of {self.size:.2f} GiB is too " + "small for one request.")
""",
    "vllm/tests/test_x.py": "raise SystemExit('a test is not read')",
    "vllm/broken.py": "def f(:",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("release") / "vllm-99.0.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        for name, text in _SOURCES.items():
            info = tarfile.TarInfo(f"vllm-99.0/{name}")
            info.size = len(text.encode())
            out.addfile(info, io.BytesIO(text.encode()))
    return path


def test_a_release_is_read_without_running_it(archive):
    release = read("vllm", "99.0", archive)
    flags = {name: (one.default, one.choices, one.negatable) for name, one in release.flags.items()}
    assert flags == {
        "--model": ("a/b", (), False),
        "--mode": ("auto", ("auto", "slow"), False),
        "--enforce-eager": (False, (), True),
        "--stop": ([], (), False),
        "--limit": (2048, (), False),
        "--quiet": (False, (), False),
        "--port": (8000, (), False),
    }
    assert release.flags["--mode"].names == ("--mode", "-m") and release.flags["--limit"].deprecated
    known = {name: one.default for name, one in release.variables.items()}
    assert known["VLLM_A"] is True and known["VLLM_B"] == "slow" and isinstance(known["VLLM_C"], Unknown)
    assert {(name, one.kind, one.labels) for name, one in release.metrics.items()} == {
        ("vllm:running", "gauge", ("model_name",)),
        ("vllm:seen_total", "counter", ()),
    }
    texts = {(one.text, one.level) for one in release.texts}
    assert ("Avg thing: %.1f tokens/s, Running: %d reqs", "info") in texts
    assert ("The cache of {self.size:.2f} GiB is too small for one request.", "ValueError") in texts
    assert not any("a test" in one.text for one in release.texts)
    assert release.labels == {"Avg thing", "Running"}


_FIELDS = """
class ServerArgs:
    strict: A[bool, Arg(help="x", action=argparse.BooleanOptionalAction)] = False
    plain: A[Optional[bool], "x"] = None
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
"""


def test_a_field_that_carries_its_help_may_have_a_negative(tmp_path):
    path = tmp_path / "sglang-99.0.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        info = tarfile.TarInfo("sglang-99.0/sglang/srt/server_args.py")
        info.size = len(_FIELDS)
        out.addfile(info, io.BytesIO(_FIELDS.encode()))
    flags = read("sglang", "99.0", path).flags
    assert {name: one.negatable for name, one in flags.items()} == {"--strict": True, "--plain": False}


def test_the_catalogue_is_facts_of_its_own(tmp_path):
    write_facts(rules_dir() / "catalog", [], tmp_path)
    assert catalog_build.check(tmp_path, rules_dir() / "catalog") == []


def test_a_release_is_added_to_the_catalogue(archive, tmp_path):
    release = read("vllm", "99.0", archive)
    told = write_facts(rules_dir() / "catalog", [release], tmp_path)
    assert "vllm 99.0: flag --stop is new" in told and "vllm 99.0: flag --max-num-seqs is gone" in told
    files = catalog_build.render(tmp_path)
    rows = {(row := json.loads(line))["name"]: row for line in files["vllm/flags.jsonl"].splitlines()}
    assert rows["--stop"] == {
        "name": "--stop",
        "first": "99.0",
        "type": "list[str]",
        "defaults": [{"since": "99.0", "value": []}],
        "not_in": "0.33.0",
    }
    assert rows["--max-num-seqs"]["last"] == "0.33.0" and "last" not in rows["--port"]
    assert json.loads(files["vllm/versions.json"])["read"][-1] == "99.0"
    with pytest.raises(ValueError, match=r"not newer than 0\.33\.0"):
        write_facts(rules_dir() / "catalog", [replace_version(release, "0.12.0")], tmp_path)


def test_a_release_like_the_one_before_adds_nothing_but_its_version(archive, tmp_path):
    """What this reading finds in both and the catalogue has not was left out of it on purpose."""
    told = write_facts(rules_dir() / "catalog", [read("vllm", "99.0", archive)], tmp_path / "first")
    assert any("is new" in one for one in told)
    before = {"vllm": read("vllm", "0.33.0", archive)}
    assert write_facts(rules_dir() / "catalog", [read("vllm", "99.0", archive)], tmp_path, before) == [
        one for one in told if one.startswith("vllm 99.0: flag") and "is gone" in one
    ]


@pytest.mark.parametrize(
    ("listed", "address"),
    [
        ("global.index-url='https://a.example/simple/'\n", "https://a.example/simple"),
        ("global.index-url='https://a.example/simple'\n:env:.index-url='https://b.example/x'\n", "https://b.example/x"),
        ("global.extra-index-url='https://c.example'\n", None),
    ],
)
def test_the_index_is_the_one_that_pip_uses(monkeypatch, listed, address):
    def run(words, **options):
        return subprocess.CompletedProcess(words, 0, listed if "list" in words else "https://default.example/simple\n")

    monkeypatch.setattr(registry.subprocess, "run", run)
    assert registry.index_address() == (address or "https://default.example/simple")


def replace_version(release, version):
    release.version = version
    return release


def test_agreement_counts_what_was_not_read(archive):
    found = {one.kind: one for one in agreement(read("vllm", "0.33.0", archive), CATALOG)}
    assert found["flags"].recall < 0.02 and "--max-num-seqs" in found["flags"].missing
    assert found["flags"].extra == ("--limit", "--mode", "--quiet", "--stop")
    assert found["metrics"].found == 0 and found["messages"].recall < 0.02


@pytest.mark.parametrize(
    ("wording", "has"),
    [
        ("The cache of {size} GiB is too small for one request.", True),
        ("The cache of {size:.1f} GiB is too small for one request.", True),
        ("Cache too small", False),
        ("A request of {n} tokens was refused since nothing is left of it", False),
    ],
)
def test_wordings_are_compared_by_their_fixed_text(wording, has):
    assert Wordings(["The cache of {self.x:.2f} GiB is too small for one request."]).has(wording) is has


def test_the_source_archive_is_preferred():
    def made(name, size):
        return registry.Archive(name, registry.Version("0.1"), size, "", "")

    files = [made("vllm-0.1-py3-none-any.whl", 1), made("vllm-0.1.tar.gz", 9)]
    assert registry.choose(files, "0.1").name == "vllm-0.1.tar.gz"
    assert registry.choose(files[:1], "0.1").name == "vllm-0.1-py3-none-any.whl"
    with pytest.raises(registry.RegistryError, match=r"no version 0\.2"):
        registry.choose(files, "0.2")
