"""Remedies: flags by version, values, what is dropped, one knob moved once, the plan and its command."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

import pytest

from diagnoser.contracts.findings import Finding
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Fact, Run
from diagnoser.remedies import Context, proposals, recommend
from diagnoser.remedies.values import rounded, stepped
from diagnoser.rules.model import Node, Remedy, Rule
from diagnoser.tables.table import Origin

CATALOG = Catalog(rules_dir())
VOCABULARY = Vocabulary.load(rules_dir())
UNKNOWN = object()


@dataclass
class Answer:
    value: object


class Judge:
    """Knows the values of expressions by their text."""

    def __init__(self, values):
        self.values = values

    def result(self, node):
        return Answer(self.values.get(node.text, UNKNOWN))


def fact(name, value, state="set", line=1):
    return Fact(name, value, Origin("server.log", line), "", state)


def context(engine="vllm", version="0.12.0", arguments=(), facts=(), values=()):
    run = Run(0, "", engine=engine, version=version)
    run.arguments = {name: fact(name, value, *state) for name, value, *state in arguments}
    run.facts = {name: fact(name, value, *state) for name, value, *state in facts}
    return Context(run, Judge(dict(values)), CATALOG, VOCABULARY, str)


def to(text, op="/"):
    return Node(op, (), text, "number")


def rule(*remedies, id_="memory.a"):
    return Rule(
        id_,
        "",
        id_.split(".")[0],
        "stable",
        (("warning", None),),
        1,
        (),
        (),
        Node("bool", (True,)),
        (),
        (),
        "likely",
        (),
        "",
        "",
        "",
        "",
        remedies,
        "",
    )


def advised(remedy, where):
    found = proposals(rule(remedy), where)
    return [
        (one.advice.flag or one.advice.env or one.advice.action, one.advice.current, one.advice.proposed)
        for one in found
    ]


RUNNING = Remedy(knob="running_limit", to=to("n"))
SET = [("model", "m"), ("max_num_seqs", 256)]
FACT = [("limits.running", 256)]

TABLE = {
    # name: (remedy, context, expected (flag, current, proposed) or None)
    "computed, rounded down, current set": (
        RUNNING,
        context(arguments=SET, facts=FACT, values={"n": 162.03}),
        ("--max-num-seqs", "256 (set)", "160"),
    ),
    "a default of the version": (
        Remedy(knob="memory_fraction", to=to("n")),
        context(arguments=[("model", "m")], values={"n": 0.8512}),
        ("--gpu-memory-utilization", "0.9 (default)", "0.85"),
    ),
    "a later default of the version": (
        Remedy(knob="memory_fraction", to=to("n")),
        context(version="0.20.0", arguments=[("model", "m")], values={"n": 0.85}),
        ("--gpu-memory-utilization", "0.92 (default)", "0.85"),
    ),
    "a default computed at start-up": (
        RUNNING,
        context(version="0.9.2", arguments=[("model", "m")], values={"n": 96}),
        ("--max-num-seqs", "default", "96"),
    ),
    "observed, unknown whether set": (
        RUNNING,
        context(facts=[("limits.running", 256, "observed")], values={"n": 96}),
        ("--max-num-seqs", "256", "96"),
    ),
    "nothing known of now": (RUNNING, context(values={"n": 96}), ("--max-num-seqs", None, "96")),
    "the engine runs with less than asked": (
        Remedy(knob="running_limit", to=to("n")),
        context("sglang", "0.5.6", [("max_running_requests", 128)], [("limits.running", 50, "observed")], {"n": 96}),
        ("--max-running-requests", "50 (128 set)", "96"),
    ),
    "the other engine's flag": (
        RUNNING,
        context("sglang", "0.5.6", values={"n": 96}),
        ("--max-running-requests", None, "96"),
    ),
    "already so": (RUNNING, context(arguments=SET, facts=FACT, values={"n": 256}), None),
    "already so after rounding": (RUNNING, context(arguments=SET, facts=FACT, values={"n": 259.9}), None),
    "value not known": (RUNNING, context(arguments=SET, facts=FACT), None),
    "raise to less": (
        Remedy(knob="running_limit", to=to("n"), by="raise"),
        context(facts=FACT, values={"n": 96}),
        None,
    ),
    "lower to more": (
        Remedy(knob="running_limit", to=to("n"), by="lower"),
        context(facts=FACT, values={"n": 512}),
        None,
    ),
    "not for nothing": (RUNNING, context(arguments=SET, facts=FACT, values={"n": 0.4}), None),
    "condition true": (
        Remedy(knob="running_limit", to=to("n"), condition=to("c")),
        context(values={"n": 96, "c": True}),
        ("--max-num-seqs", None, "96"),
    ),
    "condition false": (
        Remedy(knob="running_limit", to=to("n"), condition=to("c")),
        context(values={"n": 96, "c": False}),
        None,
    ),
    "condition unknown": (Remedy(knob="running_limit", to=to("n"), condition=to("c")), context(values={"n": 96}), None),
    "for another engine": (
        Remedy(knob="running_limit", to=to("n"), engines=("sglang",)),
        context(values={"n": 9}),
        None,
    ),
    "a flag that came later": (
        Remedy(flag=(("vllm", "--attention-backend"),), to=to("n")),
        context(version="0.9.2", values={"n": "FLASHINFER"}),
        None,
    ),
    "a flag that is there": (
        Remedy(flag=(("vllm", "--attention-backend"),), to=to("n")),
        context(version="0.13.0", values={"n": "FLASHINFER"}),
        ("--attention-backend", None, "FLASHINFER"),
    ),
    "a word it does not take": (
        Remedy(flag=(("vllm", "--attention-backend"),), to=to("n")),
        context(version="0.13.0", values={"n": "FA9"}),
        None,
    ),
    "a word it does not take yet": (
        Remedy(knob="kv_dtype", to=to("n")),
        context("vllm", "0.4.0", values={"n": "fp8_e4m3"}),
        None,
    ),
    "a flag that is gone": (
        Remedy(knob="graph_max_batch", to=to("n")),
        context("sglang", "0.5.19", values={"n": 512}),
        ("--cuda-graph-max-bs", None, "512"),
    ),
    "its successor": (
        Remedy(knob="graph_max_batch", to=to("n")),
        context("sglang", "0.5.21", values={"n": 512}),
        ("--cuda-graph-max-bs-decode", None, "512"),
    ),
    "a flag nobody has": (
        Remedy(flag=(("sglang", "--enable-paged-attention"),), by="set"),
        context("sglang", "0.5.6"),
        None,
    ),
    "no flag for this engine": (
        Remedy(flag=(("vllm", "--max-loras"),), to=to("n")),
        context("sglang", "0.5.6", values={"n": 1}),
        None,
    ),
    # directions
    "half": (
        Remedy(knob="prefill_chunk", by="lower"),
        context("sglang", "0.5.6", [("chunked_prefill_size", 8192)]),
        ("--chunked-prefill-size", "8192 (set)", "4096"),
    ),
    "double": (Remedy(knob="running_limit", by="raise"), context(facts=FACT), ("--max-num-seqs", "256 (set)", "512")),
    "a little more memory": (
        Remedy(knob="memory_fraction", by="raise"),
        context(arguments=[("model", "m")]),
        ("--gpu-memory-utilization", "0.9 (default)", "0.92"),
    ),
    "a little less memory": (
        Remedy(knob="memory_fraction", by="lower"),
        context(facts=[("memory.fraction", 0.95)]),
        ("--gpu-memory-utilization", "0.95 (set)", "0.9"),
    ),
    "no memory left to give": (
        Remedy(knob="memory_fraction", by="raise"),
        context(facts=[("memory.fraction", 0.97)]),
        None,
    ),
    "direction without a value": (
        Remedy(knob="running_limit", by="lower"),
        context(),
        ("--max-num-seqs", None, "lower"),
    ),
    "conservativeness": (
        Remedy(knob="schedule_conservativeness", by="lower"),
        context("sglang", "0.5.6", facts=[("schedule.conservativeness", 1.0, "default")]),
        ("--schedule-conservativeness", "1 (default)", "0.7"),
    ),
    # switches
    "off again": (
        Remedy(knob="eager", by="remove"),
        context(arguments=[("enforce_eager", True)]),
        ("--enforce-eager", "on (set)", "remove"),
    ),
    "false is off": (
        Remedy(knob="eager", to=to("n", "bool")),
        context(arguments=[("enforce_eager", True)], values={"n": False}),
        ("--enforce-eager", "on (set)", "remove"),
    ),
    "off by default": (Remedy(knob="eager", by="remove"), context(arguments=[("model", "m")]), None),
    "on": (
        Remedy(flag=(("vllm", "--enable-chunked-prefill"),), by="set"),
        context(version="0.6.0", arguments=[("model", "m")]),
        ("--enable-chunked-prefill", "default", "on"),
    ),
    "already on": (
        Remedy(flag=(("vllm", "--enable-chunked-prefill"),), by="set"),
        context(arguments=[("enable_chunked_prefill", True)]),
        None,
    ),
    "its negative form": (
        Remedy(knob="prefix_cache", to=to("n", "bool")),
        context(arguments=[("enable_prefix_caching", True, "observed")], values={"n": False}),
        ("--no-enable-prefix-caching", "on", "off"),
    ),
    "a knob that is a --disable- flag": (
        Remedy(knob="prefix_cache", to=to("n", "bool")),
        context("sglang", "0.5.6", [("disable_radix_cache", True)], values={"n": True}),
        ("--disable-radix-cache", "on (set)", "remove"),
    ),
    # variables and actions
    "a variable": (
        Remedy(env=(("vllm", "VLLM_ROCM_USE_AITER"),), to=to("n")),
        context(values={"n": "1"}),
        ("VLLM_ROCM_USE_AITER", None, "1"),
    ),
    "a variable that is gone": (
        Remedy(env=(("vllm", "VLLM_ATTENTION_BACKEND"),), to=to("n")),
        context(version="0.20.0", values={"n": "FLASHINFER"}),
        None,
    ),
    "a variable nobody reads": (
        Remedy(env=(("vllm", "VLLM_GO_FASTER"),), to=to("n")),
        context(values={"n": "1"}),
        None,
    ),
    "a library's variable": (
        Remedy(env=(("vllm", "PYTORCH_CUDA_ALLOC_CONF"),), to=to("n")),
        context(values={"n": "expandable_segments:True"}),
        ("PYTORCH_CUDA_ALLOC_CONF", None, "expandable_segments:True"),
    ),
    "an action": (Remedy(action="Stop the other process"), context(), ("Stop the other process", None, None)),
    "no engine: words for both": (
        Remedy(knob="running_limit", by="lower"),
        context("", ""),
        ("Lower running requests at once: --max-num-seqs (vLLM), --max-running-requests (SGLang)", None, None),
    ),
    "no engine, for one only": (
        Remedy(knob="running_limit", by="lower", engines=("vllm",)),
        context("", ""),
        ("Lower running requests at once: --max-num-seqs (vLLM)", None, None),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_one_remedy(name):
    remedy, where, expected = TABLE[name]
    assert advised(remedy, where) == ([expected] if expected else [])


def test_an_unknown_version_says_for_which_the_flag_is():
    remedy = Remedy(flag=(("vllm", "--attention-backend"),), to=to("n"), text="made for this GPU")
    (one,) = proposals(rule(remedy), context(version="", values={"n": "FLASHINFER"}))
    assert one.advice.flag == "--attention-backend"
    assert one.advice.text == "made for this GPU (vLLM 0.13.0+)"


def test_of_two_spellings_the_one_that_the_dump_goes_by():
    remedy = Remedy(knob="graph_max_batch", by="raise")
    dumped = (("cuda_graph_max_bs", 32, "set"),)
    assert advised(remedy, context("sglang", None, dumped))[0][0] == "--cuda-graph-max-bs"
    assert advised(remedy, context("sglang", None))[0][0] == "--cuda-graph-max-bs-decode"
    assert advised(remedy, context("sglang", "0.5.21", dumped))[0][0] == "--cuda-graph-max-bs-decode"


def test_one_flag_under_two_knobs_is_advised_once():
    remedies = (Remedy(knob="prefill_chunk", by="lower"), Remedy(knob="batch_tokens", by="raise"))
    found = proposals(rule(*remedies), context(facts=[("limits.batch_tokens", 8192)]))
    assert [(one.advice.flag, one.advice.proposed) for one in found] == [("--max-num-batched-tokens", "4096")]


@pytest.mark.parametrize(
    ("value", "whole", "op", "expected"),
    [
        (162.03, True, "/", 160),
        (9.9, True, "/", 9),
        (910.2, True, "floor", 896),
        (5000, True, "/", 4864),
        (40000, True, "min", 39936),
        (500, True, "number", 500),
        (2112, True, "multiple", 2112),
        (0.8799999, False, "/", 0.87),
        (0.88, False, "+", 0.88),
        (0.875, False, "number", 0.875),
        (1.2345, False, "*", 1.23),
    ],
)
def test_rounding(value, whole, op, expected):
    assert rounded(value, whole, Node(op, (), "", "number")) == expected


@pytest.mark.parametrize(
    ("current", "by", "whole", "expected"),
    [
        (1, "raise", True, 2),
        (1, "lower", True, None),
        (300, "lower", True, 144),
        (0.96, "raise", False, 0.97),
        (0.3, "lower", False, None),
        (None, "lower", True, None),
        ("auto", "raise", True, None),
        (True, "raise", True, None),
    ],
)
def test_steps(current, by, whole, expected):
    assert stepped(current, by, whole) == expected


# --- several findings ---------------------------------------------------------------------------------------------


def finding(id_, role="root", severity="warning", parent=None):
    return Finding(id_, id_.split(".")[0], "", severity, "likely", role, [], parent, [0], "", "", "", [], [], "", "")


def run_of(findings, rules, where):
    plan = recommend(findings, {one.id: one for one in rules}, {0: where})
    return {
        one.id: [(item.flag or item.env or item.action, item.proposed, item.tradeoff) for item in one.remedies]
        for one in findings
    }, plan


def test_the_root_moves_the_knob_and_tells_who_is_against_it():
    findings = [finding("memory.a"), finding("scheduling.b", "consequence", parent="memory.a"), finding("compute.c")]
    rules = [
        rule(Remedy(knob="running_limit", to=to("less"), tradeoff="queueing"), id_="memory.a"),
        rule(Remedy(knob="running_limit", by="raise"), Remedy(action="Add a replica"), id_="scheduling.b"),
        rule(Remedy(knob="running_limit", by="raise"), id_="compute.c"),
    ]
    found, _ = run_of(findings, rules, context(facts=FACT, values={"less": 96}))
    assert found == {
        "memory.a": [
            ("--max-num-seqs", "96", "queueing; compute.c alone would raise it; scheduling.b alone would raise it")
        ],
        "scheduling.b": [("Add a replica", None, "")],
        "compute.c": [],
    }


def test_a_root_beats_a_consequence_that_stands_before_it():
    findings = [finding("memory.a"), finding("scheduling.b", "consequence", parent="memory.a"), finding("compute.c")]
    rules = [
        rule(id_="memory.a"),
        rule(Remedy(knob="running_limit", by="raise"), id_="scheduling.b"),
        rule(Remedy(knob="running_limit", by="lower"), id_="compute.c"),
    ]
    found, plan = run_of(findings, rules, context(facts=FACT))
    assert found["scheduling.b"] == []
    assert found["compute.c"] == [("--max-num-seqs", "128", "scheduling.b alone would raise it")]
    assert plan.finding == "compute.c"


def test_the_same_way_is_said_once_with_one_value():
    findings = [finding("memory.a"), finding("memory.x", "consequence", parent="memory.a"), finding("compute.c")]
    rules = [
        rule(Remedy(knob="running_limit", to=to("n")), id_="memory.a"),
        rule(Remedy(knob="running_limit", to=to("m")), id_="memory.x"),
        rule(Remedy(knob="running_limit", to=to("m")), id_="compute.c"),
    ]
    found, _ = run_of(findings, rules, context(facts=FACT, values={"n": 96, "m": 64}))
    assert found["memory.a"] == [("--max-num-seqs", "96", "")]
    assert found["memory.x"] == []
    assert found["compute.c"] == [("--max-num-seqs 96, as advised for memory.a", None, "")]


def test_two_words_for_one_flag_are_contrary():
    findings = [finding("memory.a"), finding("compute.c")]
    remedy = {name: Remedy(flag=(("vllm", "--attention-backend"),), to=to(name)) for name in ("x", "y")}
    rules = [rule(remedy["x"], id_="memory.a"), rule(remedy["y"], id_="compute.c")]
    where = context(version="0.13.0", values={"x": "FLASHINFER", "y": "TRITON_ATTN"})
    found, _ = run_of(findings, rules, where)
    assert found == {
        "memory.a": [("--attention-backend", "FLASHINFER", "compute.c alone would change it")],
        "compute.c": [],
    }


# --- the plan -----------------------------------------------------------------------------------------------------

VLLM = [
    ("model_tag", "meta/Llama 3"),
    ("model", "meta/Llama 3"),
    ("max_num_seqs", 256),
    ("tensor_parallel_size", 2),
    ("enforce_eager", True),
    ("enable_prefix_caching", False),
    ("api_key", ["sk-abc"]),
    ("hf_token", "hf_secret"),
    ("gpu_memory_utilization", 0.95),
    ("served_model_name", ["a", "b c"]),
    ("speculative_config", {"model": "x", "n": 1}),
    ("seed", None),
]


def plan_of(remedy, where, **about):
    _, plan = run_of([finding("memory.a", **about)], [rule(remedy)], where)
    return plan


def test_the_plan_of_vllm():
    plan = plan_of(RUNNING, context(arguments=VLLM, facts=FACT, values={"n": 162}))
    assert (plan.finding, plan.remove, plan.add, plan.env) == (
        "memory.a",
        ["--max-num-seqs", "256"],
        ["--max-num-seqs", "160"],
        [],
    )
    assert plan.command == (
        "vllm serve 'meta/Llama 3' --tensor-parallel-size 2 --enforce-eager --no-enable-prefix-caching --api-key '***' "
        "--hf-token '***' --gpu-memory-utilization 0.95 --served-model-name a 'b c' "
        """--speculative-config '{"model": "x", "n": 1}' --max-num-seqs 160"""
    )
    assert "***" in shlex.split(plan.command)


def test_the_plan_of_sglang_shows_what_it_cannot_know():
    arguments = [
        ("model_path", "/models/x"),
        ("tokenizer_path", "/models/x"),
        ("tp_size", 8),
        ("port", 30000, "default"),
        ("mem_fraction_static", 0.88, "observed"),
    ]
    plan = plan_of(
        Remedy(knob="memory_fraction", to=to("n")), context("sglang", "0.5.6", arguments, values={"n": 0.83})
    )
    assert plan.command == (
        "python -m sglang.launch_server --model-path /models/x --tp-size 8 … --mem-fraction-static 0.83"
    )
    assert plan.remove == []


def test_the_plan_of_a_log_without_arguments():
    plan = plan_of(RUNNING, context(facts=[("model.name", "m"), *FACT], values={"n": 96}))
    assert plan.command == "vllm serve m … --max-num-seqs 96"
    plan = plan_of(RUNNING, context(version="0.5.0", values={"n": 96}))
    assert plan.command == "python -m vllm.entrypoints.openai.api_server --model … … --max-num-seqs 96"


def test_switches_and_variables_in_the_plan():
    plan = plan_of(Remedy(knob="eager", by="remove"), context(arguments=[("model", "m"), ("enforce_eager", True)]))
    assert (plan.remove, plan.add, plan.command) == (["--enforce-eager"], [], "vllm serve m")
    plan = plan_of(
        Remedy(knob="prefix_cache", to=to("n")), context(arguments=VLLM[1:2] + VLLM[5:6], values={"n": True})
    )
    assert plan.add == ["--enable-prefix-caching"]
    assert plan.command == "vllm serve 'meta/Llama 3' --enable-prefix-caching"
    remedy = Remedy(env=(("vllm", "PYTORCH_CUDA_ALLOC_CONF"),), to=to("n"))
    plan = plan_of(remedy, context(arguments=[("model", "m")], values={"n": "expandable_segments:True"}))
    assert plan.env == ["PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"]
    assert plan.command == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve m"


def test_a_dump_of_what_was_set_is_complete():
    """vLLM prints the resolved configuration on another line; that leaves nothing open."""
    where = context(arguments=[("model", "m"), ("block_size", 16, "observed", 7)], values={"n": 96})
    assert plan_of(RUNNING, where).command == "vllm serve m --max-num-seqs 96"
    where = context(arguments=[("model", "m"), ("block_size", 16, "observed", 1)], values={"n": 96})
    assert plan_of(RUNNING, where).command == "vllm serve m … --max-num-seqs 96"


def test_printed_python_becomes_what_the_flag_takes():
    arguments = [
        ("model", "m"),
        ("speculative_config", "{'method': 'mtp', 'n': [1, None, True]}"),
        ("served_model_name", "['a', 'b']"),
        ("override_generation_config", "{broken"),
    ]
    plan = plan_of(RUNNING, context(arguments=arguments, values={"n": 96}))
    assert shlex.split(plan.command)[3:-2] == [
        "--speculative-config",
        '{"method": "mtp", "n": [1, null, true]}',
        "--served-model-name",
        "a",
        "b",
        "--override-generation-config",
        "{broken",
    ]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (
            ("kv_transfer_config", "KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_both', kv_rank=None)"),
            ["--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'],
        ),
        (("kv_transfer_config", "KVTransferConfig(kv_connector=Unknown())"), []),
        (("kv_transfer_config", "<vllm.config.KVTransferConfig object at 0x7f>"), []),
        (("tokenizer_mode", True), []),
    ],
)
def test_a_python_object_is_never_pasted(argument, words):
    """It becomes what the flag takes, or is left out and the command says so."""
    plan = plan_of(RUNNING, context(arguments=[("model", "m"), argument], values={"n": 96}))
    rest = shlex.split(plan.command)[3:-2]
    assert rest == words + ([] if words else ["…"])


def test_a_flag_that_was_replaced_is_a_switch_without_a_value():
    arguments = [("model_path", "m"), ("enable_deepep_moe", True)]
    where = context("sglang", "0.4.6.post5", arguments=arguments, values={"n": 96})
    command = plan_of(RUNNING, where).command
    assert "--enable-deepep-moe " in command
    assert "true" not in command


def test_a_hostile_model_name_stays_one_word():
    model = "x; rm -rf / #$(id)"
    plan = plan_of(RUNNING, context(arguments=[("model", model)], values={"n": 96}))
    assert shlex.split(plan.command) == ["vllm", "serve", model, "--max-num-seqs", "96"]


@pytest.mark.parametrize(
    "argument",
    [
        ("kv_transfer_config", '{"url": "https://user:hunter2@host/x"}'),
        ("kv_transfer_config", {"api_key": "hunter2"}),
        ("download_dir", "hf_hunter2hunter2hunter2"),
        ("api_key", "hunter2"),
        ("hf_token", "hunter2"),
        ("model", "s3://user:hunter2@host/x"),
    ],
)
def test_secrets_are_masked(argument):
    plan = plan_of(RUNNING, context(arguments=[("model", "m"), argument], values={"n": 96}))
    assert "***" in plan.command
    assert "hunter2" not in plan.command


def test_numbers_of_tokens_are_no_secrets():
    plan = plan_of(RUNNING, context(arguments=[("model", "m"), ("max_num_batched_tokens", 8192)], values={"n": 96}))
    assert "--max-num-batched-tokens 8192" in plan.command


def test_the_first_flag_of_the_first_root():
    findings = [finding("memory.a"), finding("scheduling.b", "consequence", parent="memory.a"), finding("compute.c")]
    rules = [
        rule(
            Remedy(action="Look"),
            Remedy(knob="running_limit", by="lower"),
            Remedy(knob="kv_dtype", to=to("d")),
            id_="memory.a",
        ),
        rule(Remedy(knob="memory_fraction", by="raise"), id_="scheduling.b"),
        rule(id_="compute.c"),
    ]
    # The direction has no value to type, so the next one is the experiment.
    _, plan = run_of(findings, rules, context(values={"d": "fp8"}))
    assert (plan.finding, plan.add) == ("memory.a", ["--kv-cache-dtype", "fp8"])


def test_a_longer_limit_is_advised_but_is_no_experiment():
    limit = Remedy(flag=(("sglang", "--watchdog-timeout"),), to=to("n"), experiment=False)
    running = Remedy(knob="running_limit", to=to("r"))
    where = context("sglang", "0.5.2", values={"n": 900, "r": 64})
    found, plan = run_of([finding("memory.a")], [rule(limit, running)], where)
    assert [flag for flag, *_ in found["memory.a"]] == ["--watchdog-timeout", "--max-running-requests"]
    assert plan.add == ["--max-running-requests", "64"]


def test_no_tuning_while_something_worse_is_broken():
    findings = [finding("platform.a", severity="critical"), finding("memory.b")]
    rules = [rule(Remedy(action="Replace the GPU"), id_="platform.a"), rule(RUNNING, id_="memory.b")]
    found, plan = run_of(findings, rules, context(values={"n": 96}))
    assert plan is None
    assert found["memory.b"] == [("--max-num-seqs", "96", "")]
    assert run_of([], [], context())[1] is None


# --- myths --------------------------------------------------------------------------------------------------------

MYTHS = (
    "--enable-paged-attention",
    "--enable-kv-cache-sharing",
    "--queue-max-size",
    "--router-address",
    "static batch splicing",
    "sglang_requests_total",
    "sglang_token_throughput",
    "sglang_kv_cache_usage_ratio",
    "sglang_gpu_memory_usage_bytes",
    "request_cache_hit_rate",
    "queue_time_p50_p99",
)
SMALLER = re.compile(r"--prefix-caching\b|--enable-prefix-caching smaller")


def test_no_remedy_tells_a_myth(written):
    for one in written.base.rules.values():
        for remedy in one.remedies:
            flags = [name for _, name in (*remedy.flag, *remedy.env)]
            words = " ".join((remedy.action, remedy.text, remedy.tradeoff, *flags))
            assert not [myth for myth in MYTHS if myth in words], one.id
            assert not SMALLER.search(words), one.id
            for engine, flag in remedy.flag:
                assert CATALOG.flag(engine, flag) is not None, f"{one.id}: no {engine} version has {flag}"


@pytest.mark.parametrize("myth", [myth for myth in MYTHS if myth.startswith("--")])
def test_myths_are_no_flags_of_any_version(myth):
    for engine in ("vllm", "sglang"):
        assert (
            advised(
                Remedy(flag=((engine, myth),), by="set"), context(engine, "0.5.6" if engine == "sglang" else "0.12.0")
            )
            == []
        )
        assert advised(Remedy(flag=((engine, myth),), by="set"), context("", "")) == []
