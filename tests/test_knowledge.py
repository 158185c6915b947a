"""YAML files, the vocabulary and where they are found."""

import time
from pathlib import Path

import pytest

from diagnoser.knowledge import yamlfile
from diagnoser.knowledge.labels import LabelMap
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary, VocabularyError
from diagnoser.knowledge.yamlfile import YamlError, parse


@pytest.fixture(params=["c", "python"])
def parser(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(yamlfile, "_loader", yamlfile._PythonLoader)
    elif yamlfile.CParser is None:
        pytest.skip("PyYAML without libyaml")
    return parse


def test_rules_dir_is_a_rule_base():
    assert (rules_dir() / "knobs.yaml").is_file()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("Off", "Off"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("007", "007"),
        ("0", 0),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("12:30:00", "12:30:00"),
        ("1:30", "1:30"),
        ("0.9.2", "0.9.2"),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-", [None]),
        (".", "."),
        ("2026-01-02", "2026-01-02"),
        ("'12'", "12"),
        ('"true"', "true"),
        (".inf", ".inf"),
        ("9" * 60, "9" * 60),
        ("<", "<"),
    ],
)
def test_scalars(parser, text, value):
    data = parse(f"key: {text}").data["key"] if value != [None] else parse(text).data
    assert data == value
    assert type(data) is type(value)


def test_keys_are_text(parser):
    assert parser("on: 1\n12: 2\ntrue: 3\nany: 4").data == {"on": 1, "12": 2, "true": 3, "any": 4}


def test_places(parser):
    document = parser("a:\n  b:\n    - x\n    - y: 1\n")
    assert document.place(("a",)) == (1, 1)
    assert document.place(("a", "b")) == (2, 3)
    assert document.place(("a", "b", 0)) == (3, 7)
    assert document.place(("a", "b", 1, "y")) == (4, 7)
    assert document.place(("a", "b", 1, "y"), value=True) == (4, 10)
    assert document.place(("a", "nothing", "below")) == (1, 1)
    assert document.place(()) == (1, 1)
    assert parser("").place(("a",)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a'"),
        ("a: &x 1\nb: *x\n", 1, 4, "alias"),
        ("a: &x [*x]\n", 1, 4, "alias"),
        ("a: !!python/name:os.system 1\n", 1, 4, "tag"),
        ("a: !x {b: 1}\n", 1, 4, "tag"),
        ("? [a]\n: 1\n", 1, 3, "key"),
        ("a: [1, 2\n", 2, 1, ""),
        ("a: 1\n---\nb: 2\n", 2, 1, "document"),
        ("a: b: c\n", 1, 5, "mapping values"),
        ("x: 1\ny: \x01\n", 2, 4, "character"),
        ("a: *nothing\n", 1, 4, "undefined alias"),
    ],
)
def test_errors_have_a_place(parser, text, line, column, word):
    with pytest.raises(YamlError) as caught:
        parser(text, "f.yaml")
    error = caught.value
    assert error.file == "f.yaml"
    assert error.line == line
    assert word in error.text
    if yamlfile._loader is not yamlfile._PythonLoader:  # the two parsers differ by a column in places
        assert error.column == column


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 50_000, "[" * 60 + "]" * 60])
def test_depth_is_bounded(parser, text):
    with pytest.raises(YamlError):
        parser(text)


def test_load_bounds_and_encodings(tmp_path):
    big = tmp_path / "big.yaml"
    big.write_bytes(b"#" * (yamlfile.MAX_BYTES + 1))
    with pytest.raises(YamlError, match="larger"):
        yamlfile.load(big)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    with pytest.raises(YamlError, match="UTF-8") as caught:
        yamlfile.load(latin)
    assert (caught.value.line, caught.value.column) == (2, 7)
    with pytest.raises(YamlError, match="cannot be read"):
        yamlfile.load(tmp_path / "none.yaml")
    bom = tmp_path / "bom.yaml"
    bom.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert yamlfile.load(bom, "short").data == {"a": 1}


def test_loading_is_fast(tmp_path):
    if yamlfile.CParser is None:
        pytest.skip("PyYAML without libyaml")
    text = "events:\n" + "".join(
        f'  name.{i}:\n    title: something happened {i}\n    vllm: "text {{a:int}} of {{b}}"\n    in: message\n'
        for i in range(67)
    )
    assert len(text) > 6000
    started = time.process_time()
    for i in range(80):
        parse(text, f"{i}.yaml")
    assert time.process_time() - started < 0.8  # 0.2 here; twice the aim, for slow machines


def test_own_vocabulary_loads():
    vocabulary = Vocabulary.load(rules_dir())
    assert vocabulary.series["kv.usage"].unit == "ratio"
    assert vocabulary.facts["limits.running"].args["sglang"] == ("max_running_requests",)
    assert vocabulary.knobs["running_limit"].flags["vllm"] == ("--max-num-seqs",)
    assert vocabulary.label_map("sglang")("full token usage") == ("kv.usage", "kv.full_usage")
    assert vocabulary.label_map("vllm")("XPU KV cache usage") == ("kv.usage",)
    assert vocabulary.label_map("vllm")("nothing") == ()
    assert "limits.context" in vocabulary.arg_map("vllm")["max_model_len"]
    assert vocabulary.knob_of("sglang", "--max-running-requests").name == "running_limit"


def test_labels_from_a_log_do_not_grow_memory():
    labels = LabelMap({"a": ("x", "{any} y")})
    for i in range(5000):
        assert labels(f"{i} y") == ("a",)
    assert len(labels._found) <= 1024
    assert labels("1 2 y") == ()


def write(folder: Path, **files: str) -> Path:
    whole = {"series": "a: {title: a, unit: ratio, kind: gauge}", "facts": "f: {title: f, type: int}"}
    whole["knobs"] = "k: {title: k, fact: f, vllm: [--x]}"
    for name, text in {**whole, **files}.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_vocabulary_reports_every_fault_with_its_place_and_the_nearest_word(tmp_path):
    folder = write(
        tmp_path,
        series="a:\n  title: a\n  unit: ratios\n  kind: gauge\nb:\n  title: b\n  unit: ratio\n  kid: gauge\n",
        facts="limit:\n  title: f\n  type: int\n  args: {vlm: [x]}\n",
        knobs="k:\n  title: k\n  fact: limt\n  vllm: [max]\n",
    )
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.load(folder)
    text = str(caught.value)
    assert "series.yaml:3:3: unknown unit 'ratios'; did you mean ratio?" in text
    assert "series.yaml:8:3: unknown key 'kid'; did you mean kind?" in text
    assert "series.yaml:5:1: b: kind is missing" in text
    assert "facts.yaml:4:10: unknown writer 'vlm'; did you mean vllm?" in text
    assert "knobs.yaml:3:3: unknown fact 'limt'; did you mean limit?" in text
    assert "knobs.yaml:4:3: k: a flag starts with --" in text


@pytest.mark.parametrize(
    "text", ["", "- a", "a: 1", "a: {title: 1, unit: ratio, kind: gauge}", "a: {log: 1}", "a: [", "a: {log: {vllm: 3}}"]
)
def test_vocabulary_survives_odd_shapes(tmp_path, text):
    with pytest.raises(VocabularyError):
        Vocabulary.load(write(tmp_path, series=text))
