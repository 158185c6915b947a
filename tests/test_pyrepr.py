"""Configuration dumps: what the grammar reads, what a broken dump still gives."""

from __future__ import annotations

import math
import re
import time
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.formats._pyvalue import DEPTH_LIMIT, _parser, parse_value
from diagnoser.formats.pyrepr import SIZE_LIMIT, find_dump, parse_dump

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(max_size=20),
)
HASHABLE = st.one_of(SCALARS, st.tuples(SCALARS, SCALARS))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=4),
        st.frozensets(SCALARS, max_size=4),
    ),
    max_leaves=20,
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True)


def same(left: object, right: object) -> bool:
    """Equality that keeps 1, 1.0 and True apart."""
    return repr(left) == repr(right) if not isinstance(left, frozenset) else left == right


@given(VALUES)
@settings(max_examples=400, deadline=None)
def test_repr_round_trips(value):
    assert parse_value(repr(value)) == value


@given(SCALARS)
@settings(max_examples=300, deadline=None)
def test_quick_scalars_agree_with_the_grammar(value):
    text = repr(value)
    assert same(parse_value(text), _parser()(text))


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_dump_of_either_form_round_trips(arguments):
    call = "server_args=ServerArgs(" + ", ".join(f"{key}={value!r}" for key, value in arguments.items()) + ")"
    for text in (call, f"server_args={arguments!r}"):
        dump = find_dump(text)
        assert dump is not None
        assert dump.complete
        assert dump.kind == "server_args"
        assert {key: value.value for key, value in dump.values.items()} == arguments
        assert all(text[value.start : value.end].endswith(value.raw) for value in dump.values.values())


@given(st.text(), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_survived(noise, position):
    text = "server_args=ServerArgs(a=1, b=[2, {'c': 'd'}], e=<F.G: 'h'>, i=j)"
    for candidate in (noise, text[:position] + noise + text[position:], "with config: a=" + noise):
        dump = find_dump(candidate)
        if dump is not None:
            assert all(isinstance(value.raw, str) for value in dump.values.values() if value.value is not value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<LoadFormat.AUTO: 'auto'>", "auto"),
        ("<CompilationMode.VLLM_COMPILE: 3>", "VLLM_COMPILE"),
        ("<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>", "FULL_AND_PIECEWISE"),
        ("LoadFormat.DUMMY", "DUMMY"),
        ("torch.bfloat16", "bfloat16"),
        ("DeepSeek-V3.2", "DeepSeek-V3.2"),
        ("0.0.0.0", "0.0.0.0"),
        ("tiny-llama", "tiny-llama"),
        ("512MB", "512MB"),
        ("null", None),
        ("1e-05", 1e-05),
        ("-inf", -math.inf),
        ("PosixPath('/tmp/x')", "/tmp/x"),
        ("frozenset({1, 2})", frozenset({1, 2})),
        ("frozenset()", frozenset()),
        ("defaultdict(<class 'dict'>, {})", {}),
        ("OrderedDict({'a': 1})", {"a": 1}),
        ("{(1, 2): [3]}", {(1, 2): [3]}),
        ("(1,)", (1,)),
        ("[1, 2,]", [1, 2]),
        ('"it\'s"', "it's"),
        (r"'a\'b\"\n\x41\u00e9'", "a'b\"\n\u0041é"),
        ('{"level":3,"on":true,"path":"a\\/b","none":null,"list":[1,2]}', None),
        ("<function f.<locals>.<lambda> at 0x7f00>", "<function f.<locals>.<lambda> at 0x7f00>"),
        ("<Sampler: greedy (v2)>", "<Sampler: greedy (v2)>"),
        (
            "PoolerConfig(pooling_type='LAST', 7)",
            {"__class__": "PoolerConfig", "__args__": [7], "pooling_type": "LAST"},
        ),
        ("DecodingConfig()", {"__class__": "DecodingConfig"}),
        ('Regular { urls: ["a"], n: Some(3) }', {"__class__": "Regular", "urls": ["a"], "n": 3}),
        ("[1, ", "[1, "),
        ("", ""),
    ],
)
def test_values(text, value):
    if text.startswith('{"level"'):
        value = {"level": 3, "on": True, "path": "a/b", "none": None, "list": [1, 2]}
    assert same(parse_value(text), value)
    assert PurePosixPath("/tmp/x") != parse_value("PosixPath('/tmp/x')")


def test_kinds_and_spans():
    text = "[utils.py:223] non-default args: {'model_tag': 'a/b', 'max_num_seqs': 64, 'kv': {'x': [1, 2]}}"
    dump = find_dump(text)
    assert dump.kind == "non_default_args"
    assert text[dump.values["max_num_seqs"].start : dump.values["max_num_seqs"].end] == "'max_num_seqs': 64"
    assert dump.values["kv"].value == {"x": [1, 2]}
    assert (
        find_dump("args: Namespace(host=None, port=8000, dispatch_function=<function serve at 0x7f>)").kind
        == "namespace"
    )
    assert find_dump("The server is fired up and ready to roll!") is None


def test_engine_config_with_bare_words():
    text = (
        "Initializing a V0 LLM engine (v0.8.5) with config: model='/m/tiny', speculative_config=None, "
        "tokenizer_mode=auto, dtype=torch.bfloat16, load_format=LoadFormat.DUMMY, kv_cache_dtype=auto,  "
        "device_config=cpu, decoding_config=DecodingConfig(backend='auto'), seed=None, "
        "served_model_name=it's a, b name, rope={'a': 1}, "
        'compilation_config={"splitting_ops":[],"max_capture_size":0}, use_cached_outputs=True, '
    )
    dump = find_dump(text)
    values = {key: value.value for key, value in dump.values.items()}
    assert dump.kind == "engine_config"
    assert dump.complete
    assert values["device_config"] == "cpu"
    assert values["load_format"] == "DUMMY"
    assert values["served_model_name"] == "it's a, b name"
    assert values["compilation_config"] == {"splitting_ops": [], "max_capture_size": 0}
    assert values["use_cached_outputs"] is True


def test_engine_config_of_old_versions_ends_with_a_bracket():
    dump = find_dump("Initializing an LLM engine (v0.4.2) with config: model='m', seed=0, served_model_name=m)")
    assert dump.complete
    assert dump.values["served_model_name"].value == "m"


def test_cut_end_leaves_out_the_value_it_cuts():
    whole = "server_args=ServerArgs(model_path='m', context_length=32768, served='abc', l=[1, 2])"
    for length in range(len("server_args=ServerArgs(model_path='m', context_length="), len(whole)):
        dump = find_dump(whole[:length])
        assert not dump.complete
        assert dump.values["model_path"].value == "m"
        assert "context_length" not in dump.values or dump.values["context_length"].value == 32768
        assert "l" not in dump.values


def test_cut_start():
    body = ", ".join(f"key_{index}={index}" for index in range(9))
    text = f"e_config=SpeculativeConfig(draft='[ngram]', n=5), tokenizer='t', {body}, max_seq_len=2048, seed=0, last=1"
    dump = find_dump(text)
    assert dump.kind == "engine_config"
    assert not dump.complete
    assert "e_config" not in dump.values
    assert dump.values["tokenizer"].value == "t"
    assert dump.values["max_seq_len"].value == 2048
    inside = find_dump("x', n=5), " + text.partition("), ")[2])
    assert "n" not in inside.values
    assert inside.values["tokenizer"].value == "t"
    dictionary = find_dump("del', " + ", ".join(f"'key_{index}': {index}" for index in range(9)) + ", 'tp_size': 4}")
    assert dictionary.kind == "server_args"
    assert dictionary.values["tp_size"].value == 4


def test_one_bad_value_costs_one_value():
    dump = find_dump("server_args=ServerArgs(a=1, b=<odd: [x y z]>, c={'d': ???}, e='f')")
    assert dump.values["a"].value == 1
    assert dump.values["c"].value == "{'d': ???}"
    assert dump.values["e"].value == "f"


def test_wrapped_dump_is_joined_and_spans_stay():
    line = "server_args=ServerArgs(model_path='abcdefghijklmnop', tp_size=1, mem_fraction_static=0.875)"
    for width in (30, 41, 57):
        wrapped = "\n".join(line[at : at + width] for at in range(0, len(line), width))
        dump = find_dump(wrapped)
        assert dump.complete
        assert {key: value.value for key, value in dump.values.items()} == {
            "model_path": "abcdefghijklmnop",
            "tp_size": 1,
            "mem_fraction_static": 0.875,
        }
        for key, value in dump.values.items():
            assert re.match(rf"{key}=", wrapped[value.start : value.end].replace("\n", ""))
    followed = find_dump("engine with config: model='m', seed=0, graph=True\n  0%|   | 0/4")
    assert followed.values["graph"].value is True


def test_router_start_line():
    dump = find_dump(
        'Starting router on 127.0.0.1:19300 | mode: Regular { worker_urls: ["http://127.0.0.1:19301"] } | '
        "policy: CacheAware { cache_threshold: 0.3, max_tree_size: 67108864 } | max_payload: 512MB"
    )
    assert dump.kind == "router_args"
    assert dump.values["address"].value == "127.0.0.1:19300"
    assert dump.values["policy"].value["cache_threshold"] == 0.3
    assert dump.values["max_payload"].value == "512MB"


def test_parse_dump_needs_no_head():
    assert parse_dump("ServerArgs(tp_size=2)").kind == "server_args"
    assert parse_dump(" {'model_path': 'm'}").kind == "server_args"
    assert parse_dump("model='m', seed=0").kind == "engine_config"
    assert parse_dump("nothing here") is None


def test_bounds():
    deep = "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1)
    assert parse_value(deep) == deep
    assert isinstance(parse_value(deep[1:-1]), list)
    assert parse_value("9" * 5000) == "9" * 5000
    huge = "server_args=ServerArgs(a=1, b='" + "x" * SIZE_LIMIT + "', c=2)"
    assert list(find_dump(huge).values) == ["a"]


def test_a_long_dump_is_read_in_time():
    arguments = {f"argument_number_{index}": [None, True, 0.5, "value"][index % 4] for index in range(600)}
    text = f"server_args={arguments!r}"
    assert len(text) > 17_000
    find_dump(text)
    start = time.process_time()
    dump = find_dump(text)
    assert {key: value.value for key, value in dump.values.items()} == arguments
    assert time.process_time() - start < 0.1  # about 5 ms; the limit leaves room for a busy machine
