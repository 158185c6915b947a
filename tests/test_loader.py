"""Loading rules: what a good folder gives, and every fault with its line, column and the nearest right word."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest

from diagnoser.api import Knowledge
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.knowledge.yamlfile import load as load_yaml
from diagnoser.rules.compiling.schema import json_schema
from diagnoser.rules.loader import RuleBaseError, load
from diagnoser.rules.model import RuleBase
from diagnoser.rules.nodes import walk
from diagnoser.rules.packs import Pack, installed_packs

RULES = rules_dir()

RULE = """\
title: The pool is full
stage: memory
severity: {critical: kv_full and waiting, warning: kv_full}
source: [B3]
events:
  pool.full:
    sglang: "pool is full: {reqs:int} of {size:gib}"
    any: "the pool is full"
    source: somebody
    sets: {kv.capacity_tokens: reqs, memory.free_gib: {value: size * 2}}
symptoms:
  kv_full: sustained(kv.usage >= 95%, 30s)
  waiting: share(requests.waiting > 0) >= 20% or count(pool.full where reqs > 2) > 1
when: kv_full and waiting
unless: []
supports: [waiting]
explains: []
meaning: Every block is taken.
impact: "KV use {p95(kv.usage):percent}"
false_positives: a burst
remedies:
  - {knob: running_limit, to: "floor(kv.capacity_tokens / 900)", if: known(kv.blocks), text: "{kv.capacity_tokens:int}"}
  - {action: "Stop it", engine: vllm}
verify: less
examples:
  fires: [{log: ["INFO {t} [a.py:1] x"], expect: {severity: warning, remedies: --max-num-seqs}}]
  silent: [{log: "INFO {t} [a.py:1] x"}]
"""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.load(RULES)


class Folder:
    """A small folder of rules."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        self.path = path
        self.vocabulary = vocabulary

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def load(self, *more: Path, packs: tuple[Pack, ...] = ()) -> RuleBase:
        return load([self.path, *more], self.vocabulary, catalog=Catalog(RULES), packs=packs)

    def faults(self, *more: Path) -> list[str]:
        with pytest.raises(RuleBaseError) as caught:
            self.load(*more)
        return [f"{Path(e.file).name}:{e.line}:{e.column}: {e.text}" for e in caught.value.errors]


@pytest.fixture
def folder(tmp_path: Path, vocabulary: Vocabulary) -> Folder:
    return Folder(tmp_path / "rules", vocabulary)


def test_a_good_rule(folder: Folder) -> None:
    folder.write("memory/full.yaml", RULE)
    base = folder.load()
    rule = base.rules["memory.full"]
    assert [level for level, _ in rule.severity] == ["critical", "warning", "info"]
    assert rule.severity[-1] == ("info", None)
    assert (rule.gain, rule.confidence, rule.status) == (1, "likely", "stable")
    assert {node.op for node in walk(rule.when)} == {"and", "symptom"}
    assert [name for name, _ in rule.symptoms] == ["kv_full", "waiting"] == list(base.symptoms)
    assert [text for text, _ in rule.placeholders] == ["p95(kv.usage)", "kv.capacity_tokens"]
    knob, action = rule.remedies
    assert (knob.knob, knob.to is not None, knob.condition is not None) == ("running_limit", True, True)
    assert (action.action, action.engines, action.to) == ("Stop it", ("vllm",), None)
    assert (rule.fires[0].severity, rule.fires[0].remedies) == ("warning", ("--max-num-seqs",))
    assert rule.silent[0].lines == ("INFO 07-12 10:00:00 [a.py:1] x",)
    event = base.events["pool.full"]
    assert [template.engine for template in event.templates] == ["sglang", "any"]
    assert event.fields == {"reqs": "int", "size": "gib"}
    assert event.sets[0] == ("kv.capacity_tokens", "reqs")
    assert (event.place.line, event.place.column) == (6, 3)


#: (text in RULE, text instead, line, column, what the fault says)
FAULTS = [
    ("title: The pool is full", "title: The pool is full.", 1, 24, "no full stop"),
    ("stage: memory", "stage: memry", 2, 8, "'memry' is none of ingress"),
    ("stage: memory", "stage: memry", 2, 8, "did you mean memory?"),
    ("stage: memory", "stage: cache", 2, 8, "its stage is 'memory'"),
    ("severity: {critical:", "severity: {critcal:", 3, 12, "did you mean critical?"),
    ("warning: kv_full}", "warning: kv_ful}", 3, 52, "unknown name 'kv_ful'; did you mean kv_full?"),
    ("source: [B3]", "sorce: [B3]", 4, 1, "unknown key 'sorce'; did you mean source?"),
    ("source: [B3]", "source: [3]", 4, 10, "expected text, not the number 3; put it in quotes"),
    ("{reqs:int}", "{reqs:integer}", 7, 28, "unknown type 'integer'"),
    ('"pool is full: {reqs:int} of {size:gib}"', '"{reqs:int} of {size:gib}"', 7, 14, "at least 6 characters"),
    ("    source: somebody\n", "", 8, 5, "need 'source'"),
    ("{kv.capacity_tokens: reqs,", "{kv.capacity_token: reqs,", 10, 12, "did you mean kv.capacity_tokens?"),
    ("capacity_tokens: reqs,", "capacity_tokens: rqs,", 10, 32, "event pool.full: 'rqs'; did you mean reqs?"),
    ("value: size * 2", "value: siz * 2", 10, 63, "did you mean size?"),
    ("any: ", "anny: ", 8, 5, "unknown key 'anny'; did you mean any?"),
    ("kv.usage >= 95%, 30s", "kv.usge >= 95%, 30s", 12, 22, "did you mean kv.usage?"),
    ("kv.usage >= 95%, 30s", "kv.usage >= 95, 30s", 12, 34, "write 95%"),
    ("count(pool.full where reqs", "count(pool.full where rqs", 13, 72, "no field 'rqs'; did you mean reqs?"),
    ("when: kv_full and waiting", "when: kv_full & waiting", 14, 15, "did you mean and?"),
    ("when: kv_full and waiting", "when: 5", 14, 7, "a condition"),
    ("when: kv_full and waiting\n", "", 1, 1, "'when' is missing"),
    ("unless: []", "unless: [memory.ful]", 15, 10, "unknown cause 'memory.ful'; did you mean memory.full?"),
    ("unless: []", "unless: [memory.full]", 15, 10, "cannot name itself"),
    ("explains: []", "explains: [memory.ful]", 17, 12, "unknown cause"),
    ("supports: [waiting]", "supports: [waitng]", 16, 12, "did you mean waiting?"),
    ("{p95(kv.usage):percent}", "{p95(kv.usage):procent}", 19, 32, "'procent' is no format"),
    ("{p95(kv.usage):percent}", "{p95(kv.usge):percent}", 19, 22, "did you mean kv.usage?"),
    ("{p95(kv.usage):percent}", "{p95(kv.usage)", 19, 17, "never closed"),
    ("false_positives: a burst\n", "", 1, 1, "'false_positives' is missing"),
    ("knob: running_limit", "knob: runing_limit", 22, 12, "unknown knob 'runing_limit'; did you mean running_limit?"),
    ('to: "floor(', 'to: "flor(', 22, 32, "did you mean floor?"),
    ("to: \"floor(kv.capacity_tokens / 900)\"", "text2: x", 22, 27, "unknown key 'text2'; did you mean text?"),
    ("to: \"floor(kv.capacity_tokens / 900)\", ", "", 22, 5, "say what to change it to"),
    ("to: \"floor", "by: set, to: \"floor", 22, 27, "only be raise or lower"),
    ("{action: \"Stop it\",", "{action: \"Stop it\", knob: running_limit, to: 3,", 23, 5, "one of knob, flag"),
    ("engine: vllm", "engine: vlm", 23, 33, "did you mean vllm?"),
    ("expect: {severity: warning", "expect: {severity: bad", 26, 61, "'bad' is none of"),
    ("silent: [{log:", "silent: [{expect: {severity: info}, log:", 27, 13, "must stay silent"),
    ("fires: [{log: [\"INFO", "fires: [{log: [{wait: soon}, \"INFO", 26, 19, "no time span"),
    ("  silent: [{log: \"INFO {t} [a.py:1] x\"}]\n", "", 25, 1, "'silent' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "column", "words"), FAULTS)
def test_faults(folder: Folder, old: str, new: str, line: int, column: int, words: str) -> None:
    assert old in RULE
    folder.write("memory/full.yaml", RULE.replace(old, new))
    faults = folder.faults()
    assert any(fault.startswith(f"full.yaml:{line}:{column}: ") and words in fault for fault in faults), faults


def test_all_faults_of_all_files_come_at_once(folder: Folder) -> None:
    folder.write("memory/full.yaml", RULE.replace("severity", "sevrity").replace("knob: running", "knob: runing"))
    folder.write("cache/other.yaml", "title: [\n")
    folder.write("events/a.yaml", "events:\n  a.b: {vllm: short}\n")
    folder.write("memry/x.yaml", RULE)
    folder.write("memory/y.yml", RULE)
    folder.write("stray.yaml", RULE)
    faults = folder.faults()
    files = [fault.partition(":")[0] for fault in faults]
    assert set(files) == {"full.yaml", "other.yaml", "a.yaml", "x.yaml", "y.yml", "stray.yaml"}
    assert any("folder 'memry' is no stage; did you mean memory?" in fault for fault in faults)
    assert any("rule files end in .yaml" in fault for fault in faults)
    assert any("a rule lies in the folder of its stage" in fault for fault in faults)


def test_a_broken_file_does_not_make_others_look_wrong(folder: Folder) -> None:
    folder.write("memory/full.yaml", RULE.replace("severity", "sevrity"))
    other = RULE.partition("events:")[0].replace(
        "critical: kv_full and waiting, warning: kv_full", "warning: pool.full"
    )
    folder.write(
        "memory/other.yaml",
        other + "when: kv_full and pool.full\nexplains: [memory.full]\n" + RULE[RULE.index("meaning:") :],
    )
    assert {fault.partition(":")[0] for fault in folder.faults()} == {"full.yaml"}


def test_expressions_in_block_text_know_their_line(folder: Folder) -> None:
    folder.write("memory/full.yaml", RULE.replace("when: kv_full and waiting", "when: |\n  kv_full and\n  waitng"))
    [fault] = folder.faults()
    assert fault == "full.yaml:16:3: unknown name 'waitng'; did you mean waiting?"


def test_names_have_one_meaning(folder: Folder, tmp_path: Path) -> None:
    folder.write("memory/full.yaml", RULE)
    more = Folder(tmp_path / "more", folder.vocabulary)
    more.write("memory/full.yaml", RULE)
    more.write(
        "events/e.yaml",
        'events:\n  kv.usage: {any: "something", source: x}\n  pool.full: {any: "something", source: x}\n',
    )
    faults = folder.faults(more.path)
    where = f"{folder.path}/memory/full.yaml"
    assert (
        f"full.yaml:1:1: cause memory.full is already defined at {where}:1; rules can be added, not replaced" in faults
    )
    assert f"full.yaml:6:3: event pool.full is already defined at {more.path}/events/e.yaml:3" not in faults
    assert f"e.yaml:3:3: event pool.full is already defined at {where}:6" in faults
    assert f"full.yaml:12:3: symptom kv_full is already defined at {where}:12" in faults
    assert "e.yaml:2:3: event kv.usage is already defined in the vocabulary (as sample)" in faults


def rule(when: str, unless: str = "[]", symptoms: str = "{}") -> str:
    head, tail = RULE.partition("severity:")[0], RULE[RULE.index("meaning:") :]
    return f"{head}severity: info\nsource: [A1]\nsymptoms: {symptoms}\nwhen: {when}\nunless: {unless}\n{tail}"


@pytest.mark.parametrize(
    ("one", "other", "bad"),
    [
        (rule("memory.other"), rule("memory.one"), False),
        (rule("memory.other"), rule("version == \"1\" or memory.one"), False),
        (rule("not memory.other"), rule("memory.one"), True),
        (rule("known(memory.other)"), rule("memory.one"), True),
        (rule("memory.other"), rule("version == \"1\"", "[memory.one]"), True),
        (rule("version == \"1\"", "[memory.other]"), rule("version == \"1\"", "[memory.one]"), True),
        (rule("version == \"1\"", "[memory.other]"), rule("version == \"1\""), False),
        (rule("a", symptoms="{a: b, b: a}"), rule("memory.one"), True),
        (rule("a", symptoms="{a: a}"), rule("memory.one"), True),
        (rule("a", symptoms="{a: memory.other}"), rule("version == \"1\""), False),
    ],
)  # fmt: skip
def test_circles(folder: Folder, one: str, other: str, bad: bool) -> None:
    folder.write("memory/one.yaml", one)
    folder.write("memory/other.yaml", other)
    if not bad:
        assert set(folder.load().rules) == {"memory.one", "memory.other"}
        return
    [fault] = folder.faults()
    assert "depend on each other" in fault


def test_events_of_the_catalogue(folder: Folder) -> None:
    folder.write("events/a.yaml", dedent("""\
        events:
          a.oom: {sglang: {message: alloc_out_of_memory, match: Decode, not: "should never"}}
          a.capture: {vllm: {message: start.cudagraph_done, match: "took"}}
        """))  # fmt: skip
    base = folder.load()
    oom = base.events["a.oom"]
    assert oom.templates
    assert all("Decode" in template.text and template.engine == "sglang" for template in oom.templates)
    assert all(template.versions for template in oom.templates)
    assert base.events["a.capture"].fields["seconds"] == "float"


@pytest.mark.parametrize(
    ("entry", "place", "words"),
    [
        ("{message: start.cudagraph_don}", "2:23", "did you mean start.cudagraph_done?"),
        ("{message: start.cudagraph_done, match: nowhere}", "2:14", "no wording"),
        ("{versions: '1'}", "2:7", "a template is a text, or"),
        ("{message: start.cudagraph_done, text: something}", "2:7", "a template is a text, or"),
        ("[]", "2:13", "must not be empty"),
    ],
)
def test_faults_of_catalogue_events(folder: Folder, entry: str, place: str, words: str) -> None:
    folder.write("events/a.yaml", f"events:\n  a: {{vllm: {entry}}}\n")
    [fault] = folder.faults()
    assert fault.startswith(f"a.yaml:{place}: ") and words in fault, fault


def test_a_field_of_two_types_is_text(folder: Folder) -> None:
    folder.write("events/a.yaml", "events:\n  a: {vllm: ['one thing {x:int} {y:int}', 'other thing {x:word}']}\n")
    assert folder.load().events["a"].fields == {"x": "text", "y": "int"}


def test_an_event_has_a_template(folder: Folder) -> None:
    folder.write("events/a.yaml", "events:\n  b: {level: INFO}\n")
    [fault] = folder.faults()
    assert "event b has no template" in fault


def test_packs_are_added_under_their_name_and_broken_ones_are_left_out(folder: Folder, tmp_path: Path) -> None:
    folder.write("memory/full.yaml", RULE)
    good, bad = Folder(tmp_path / "good", folder.vocabulary), Folder(tmp_path / "bad", folder.vocabulary)
    good.write("memory/full.yaml", rule("kv_full and pool.full"))
    bad.write("memory/wrong.yaml", rule("kv_ful"))
    packs = (Pack("acme", good.path), Pack("broken", bad.path), Pack("gone", None, "package x cannot be found"))
    base = folder.load(packs=packs)
    assert set(base.rules) == {"memory.full", "acme.memory.full"}
    assert len(base.problems) == 2
    assert base.problems[0].startswith("rule pack broken is left out: ")
    assert "did you mean kv_full?" in base.problems[0]
    assert base.problems[1] == "rule pack gone is left out: package x cannot be found"


def test_entry_points_name_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_rules").mkdir()
    (tmp_path / "acme_rules" / "__init__.py").write_text("raise SystemExit('must not run')")
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[diagnoser.rules]\nacme = acme_rules\ngone = acme_gone\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {pack.name: pack for pack in installed_packs()}
    assert found["acme"].folder == tmp_path / "acme_rules"
    assert found["gone"].problem


def test_a_missing_folder(folder: Folder, tmp_path: Path) -> None:
    folder.write("memory/full.yaml", RULE)
    assert folder.faults(tmp_path / "nowhere") == ["nowhere:1:1: no such folder of rules"]


def test_the_shipped_rules_load_and_the_schema_is_current(written: Knowledge) -> None:
    base = written.base
    assert base.rules and base.events and not base.problems
    written = (RULES / "rule.schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == json_schema(), "write it anew: diagnose rules schema > rules/rule.schema.json"
    validator = jsonschema.Draft7Validator(json_schema())
    jsonschema.Draft7Validator.check_schema(json_schema())
    for path in sorted(RULES.glob("*/*.yaml")):
        assert not list(validator.iter_errors(load_yaml(path).data)), path


def test_the_schema_explains_every_key() -> None:
    for name, model in json_schema()["definitions"].items():
        assert model.get("description"), name
        for key, part in model.get("properties", {}).items():
            assert part.get("description"), f"{name}.{key}"
