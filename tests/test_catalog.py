"""The catalogue of engine versions: building it, its lookups, grounding of templates, GPUs."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diagnoser.knowledge import catalog_build
from diagnoser.knowledge.catalog import UNRESOLVED, Catalog
from diagnoser.knowledge.gpus import GpuTable
from diagnoser.knowledge.grounding import ground
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.versions import VersionList, parse_version
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.knowledge.wording import rule_tokens, shared, source_tokens
from diagnoser.knowledge.yamlfile import YamlError


@pytest.fixture(scope="module")
def catalog():
    return Catalog(rules_dir())


@pytest.fixture(scope="module")
def gpus():
    return GpuTable.load(rules_dir())


# -- versions


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("v0.9.2", "0.9.2"),
        ("0.6.3.post1+cu118", "0.6.3.post1"),
        ("0.9.2rc2.dev30+g1a2b3c4", "0.9.2rc2.dev30"),
        ("0.5.4.post3", "0.5.4.post3"),
        ("0.11.0-xpu", "0.11.0"),
        ("0.1.dev1+g0123456.d20250101", "0.1.dev1"),
        (" 0.9.2\n", "0.9.2"),
    ],
)
def test_versions_as_logs_print_them(text, public):
    assert str(parse_version(text)) == public


@pytest.mark.parametrize("text", ["", "dev", "latest", "unknown", "9", "v", "1..2"])
def test_no_version(text):
    assert parse_version(text) is None


def test_a_version_is_placed_between_its_neighbours():
    versions = VersionList(["0.4.1", "0.4.2.post1", "0.5.0"])
    assert versions.position("0.4.2.post1") == (1, 1)
    assert versions.position("v0.5.0+cu118") == (2, 2)
    assert versions.position("0.4.2") == (0, 1)
    assert versions.position("0.5.0rc1") == (1, 2)
    assert versions.position("0.9.9") == (2, 2)
    assert versions.position("0.9.9.dev3") == (2, 2)
    assert versions.position("0.1") == (0, 0)
    assert versions.position("0.1.dev7+gabc") is None  # a checkout that does not know its version
    assert versions.position("main") is None


# -- flags


@pytest.mark.parametrize(
    ("engine", "flag", "version", "has"),
    [
        ("vllm", "--max-num-seqs", "0.9.2", True),
        ("vllm", "--max_num_seqs", "0.9.2", True),
        ("vllm", "--max-num-seqs=12", "0.9.2", True),
        ("vllm", "-tp", "0.9.2", True),
        ("vllm", "--no-enable-prefix-caching", "0.9.2", True),
        ("vllm", "--no-enable-prefix-caching", "0.6.0", False),
        ("vllm", "--no-max-num-seqs", "0.9.2", False),
        ("vllm", "--compilation-config.cudagraph_mode", "0.12.0", True),
        ("vllm", "--num-scheduler-steps", "0.10.0", True),
        ("vllm", "--num-scheduler-steps", "0.10.1", False),
        ("vllm", "--num-scheduler-steps", "0.10.0.1", False),  # in between: only what both neighbours have
        ("vllm", "--max-num-queued-reqs", "0.28.0", False),
        ("vllm", "--max-num-queued-reqs", "0.29.0", True),
        ("vllm", "--max-num-queued-reqs", "99.0", True),
        ("vllm", "--max-num-queued-reqs", None, None),
        ("vllm", "--max-num-queued-reqs", "0.1.dev1+gabc", None),
        ("vllm", "--max-num-seqs", None, True),
        ("vllm", "--nothing-like-it", None, False),
        ("vllm", "", None, False),
        ("sglang", "--tensor-parallel-size", "0.5.4.post3", True),
        ("sglang", "--tp-size", "0.5.4", True),
        ("sglang", "--cuda-graph-max-bs", "0.5.19", True),
        ("sglang", "--cuda-graph-max-bs", "0.5.20", False),
        ("sglang", "--enable-hicache", "0.5.22", False),
        ("sglang", "--enable-hicache", "0.5.23", True),
        ("sglang", "--disable-shared-experts-fusion", "0.4.5.post3", False),
        ("sglang-router", "--health-check-endpoint", "0.3.2", True),
        ("vllm-router", "--anything", "0.1.0", None),
    ],
)
def test_has_flag(catalog, engine, flag, version, has):
    assert catalog.has_flag(engine, flag, version) is has


def test_has_flag_never_says_yes_outside_the_recorded_range(catalog):
    """The same judgement as by plain numbers: between first and last of the record, whatever the spelling."""
    for engine in ("vllm", "sglang"):
        versions = catalog.version_list(engine)
        for name, flag in catalog.flags(engine).items():
            for version in versions.read:
                if catalog.has_flag(engine, name, version):
                    index = versions.position(version).low
                    assert versions.first_index(flag.first) <= index <= versions.last_index(flag.last)


def test_every_knob_has_a_spelling_that_exists(catalog):
    for knob in Vocabulary.load(rules_dir()).knobs.values():
        for engine, flags in knob.flags.items():
            for flag in flags:
                assert catalog.flag(engine, flag), f"{knob.name}: {engine} {flag}"
            assert catalog.spelling(engine, flags, None), knob.name


def test_spelling(catalog):
    sizes = ("--max-cudagraph-capture-size", "--cuda-graph-sizes")
    assert catalog.spelling("vllm", sizes, "0.9.2").flag == "--cuda-graph-sizes"
    now = catalog.spelling("vllm", sizes, "0.20.0")
    assert (now.flag, now.certain) == ("--max-cudagraph-capture-size", True)
    graphs = ("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode")
    assert catalog.spelling("sglang", graphs, "0.5.16").flag == "--cuda-graph-max-bs"
    unknown = catalog.spelling("sglang", graphs, None)
    assert (unknown.flag, unknown.certain, unknown.versions) == ("--cuda-graph-max-bs-decode", False, "0.5.14+")
    assert catalog.spelling("vllm", ["--num-scheduler-steps"], None).versions == "0.5.5 to 0.10.0"
    assert catalog.spelling("vllm", ["--max-num-seqs"], None).versions == ""
    assert catalog.spelling("vllm", ["--num-scheduler-steps"], "0.20.0") is None
    assert catalog.spelling("vllm", [], "0.20.0") is None
    assert catalog.spelling("vllm", ["--nothing-like-it"], None) is None
    assert catalog.spelling("other", ["--max-num-seqs"], None) is None


def test_names_in_dumps(catalog):
    assert catalog.dest("vllm", "--max-num-seqs") == "max_num_seqs"
    assert catalog.dest("sglang", "--tensor-parallel-size") == "tp_size"
    assert catalog.dest("vllm", "--no-enable-prefix-caching") == "enable_prefix_caching"
    assert catalog.dest("vllm", "--nothing-like-it=3") == "nothing_like_it"
    assert catalog.flag_for_dest("sglang", "tp_size").name == "--tp-size"
    assert catalog.flag_for_dest("sglang", "cuda_graph_max_bs").name == "--cuda-graph-max-bs"
    assert catalog.flag_for_dest("sglang", "cuda_graph_max_bs_decode", "0.5.20").name == "--cuda-graph-max-bs-decode"
    assert catalog.flag_for_dest("vllm", "nothing") is None


def test_abbreviations_are_read_but_not_relied_on(catalog):
    assert catalog.flag("sglang", "--tp").name == "--tp-size"
    assert catalog.has_flag("sglang", "--tp", "0.5.20") is False
    assert catalog.flag("vllm", "--m") is None


@pytest.mark.parametrize(
    ("name", "version", "value"),
    [
        ("gpu_memory_utilization", "0.9.2", 0.9),
        ("gpu_memory_utilization", "0.20.0", 0.92),
        ("gpu_memory_utilization", "0.19.5", UNRESOLVED),  # the neighbours differ
        ("gpu_memory_utilization", None, UNRESOLVED),
        ("--tensor-parallel-size", None, 1),
        ("max_num_seqs", "0.6.0", 256),
        ("max_num_seqs", "0.9.2", UNRESOLVED),
        ("quantization", "0.9.2", None),
        ("--kv-cache-dtype", "0.9.2", "auto"),
        ("compilation_config", "0.33.0", UNRESOLVED),
        ("--max-num-queued-reqs", "0.9.2", UNRESOLVED),
        ("--nothing-like-it", "0.9.2", UNRESOLVED),
    ],
)
def test_defaults(catalog, name, version, value):
    assert catalog.default("vllm", name, version) == value


def test_a_default_made_at_start_up_is_told_in_words(catalog):
    rule = catalog.default_rule("vllm", "max_num_seqs", "0.9.2")
    assert rule.startswith("1024 (V1, GPU memory >= 70 GiB")
    assert rule.endswith("otherwise 256")
    assert "reserve table" in catalog.default_rule("sglang", "mem_fraction_static", "0.5.2")
    assert catalog.default_rule("vllm", "nothing", "0.9.2") == ""


@pytest.mark.parametrize(
    ("engine", "flag", "version", "story"),
    [
        ("vllm", "--max-num-seqs", "0.9.2", ""),
        (
            "vllm",
            "--guided-decoding-backend",
            "0.11.0",
            "removed after 0.10.2, use --structured-outputs-config.backend",
        ),
        ("vllm", "--preemption-mode", "0.12.0", "removed after 0.10.2, no successor (V1 always recomputes)"),
        ("vllm", "--max-num-queued-reqs", "0.9.2", "comes with 0.29.0"),
        ("vllm", "--max-num-queued-reqs", None, "comes with 0.29.0"),
        ("vllm", "-O", "0.12.0", "removed after 0.11.2, use --compilation-config"),
        ("vllm", "--max-num-seqz", "0.9.2", "never existed; nearest is --max-num-seqs"),
        ("vllm", "--zzz", None, "never existed"),
        ("vllm", "--max-running-requests", "0.9.2", "is an SGLang flag; vLLM's is --max-num-seqs"),
        ("sglang", "--max-num-seqs", "0.5.4", "is a vLLM flag; SGLang's is --max-running-requests"),
        ("sglang", "--cpu-offload-gb", "0.1.26", "comes with"),
        ("sglang", "--swap-space", "0.5.4", "is a vLLM flag; SGLang has none of that name"),
        ("sglang", "--cuda-graph-max-bs", "0.5.16", "deprecated since 0.5.14, use --cuda-graph-max-bs-decode"),
        ("sglang", "--disable-shared-experts-fusion", "0.4.5.post3", "is missing in 0.4.5.post3"),
        ("sglang", "--tp", "0.5.4", ""),
        ("sglang", "--reasoning_parser", None, "is written --reasoning-parser"),
        ("sglang", "--reasoning_parser", "0.4.0", "is written --reasoning-parser; comes with 0.4.3.post4"),
        ("vllm", "--max_num_seqs", "0.9.2", ""),
        ("vllm-router", "--max-num-seqs", None, "is a vLLM flag"),
        ("vllm-router", "--zzz", None, ""),
    ],
)
def test_flag_story(catalog, engine, flag, version, story):
    told = catalog.flag_story(engine, flag, version)
    assert told.startswith(story) if story else told == ""


def test_nearest_flag_is_one_the_version_has(catalog):
    assert catalog.nearest_flag("sglang", "--max-num-seqs") == "--max-running-requests"
    assert catalog.nearest_flag("vllm", "--max-running-requests", "0.9.2") == "--max-num-seqs"
    assert catalog.nearest_flag("sglang", "--cuda-graph-max-bsz", "0.5.20") == "--cuda-graph-max-bs-decode"


def test_environment(catalog):
    assert catalog.has_env("vllm", "VLLM_ATTENTION_BACKEND", "0.14.1") is True
    assert catalog.has_env("vllm", "VLLM_ATTENTION_BACKEND", "0.15.0") is False
    assert catalog.has_env("vllm", "VLLM_ATTENTION_BACKEND", None) is None
    assert catalog.has_env("vllm", "VLLM_NOTHING", None) is False
    assert catalog.has_env("vllm-router", "X", "1.0") is None
    assert catalog.env("vllm", "VLLM_ATTENTION_BACKEND").replaced_by.startswith("--attention-backend")
    assert catalog.has_env("sglang", "SGLANG_ENABLE_FLASHINFER_GEMM", "0.5.5.post3") is False


def test_newest_and_versions(catalog):
    assert catalog.engines() == ["sglang", "sglang-router", "vllm"]
    for engine in catalog.engines():
        read = catalog.versions(engine)
        assert list(read) == sorted(read, key=parse_version)
        assert catalog.newest(engine) == read[-1]
    assert catalog.newest("other") is None
    assert catalog.versions("other") == ()


def test_a_lookup_reads_one_table(tmp_path):
    """Start-up time counts: importing parses nothing, and a question about flags parses no messages."""
    code = (
        "import sys, time, diagnoser.knowledge.catalog as c, diagnoser.knowledge.paths as p\n"
        "assert 'yaml' not in sys.modules\n"
        "catalog = c.Catalog(p.rules_dir()); started = time.process_time()\n"
        "assert catalog.has_flag('sglang', '--tp-size', '0.5.4')\n"
        "took = time.process_time() - started\n"
        "assert sorted(catalog._memo) == ['flags sglang', 'versions sglang'], sorted(catalog._memo)\n"
        "assert 'yaml' not in sys.modules\n"
        "print(took)\n"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1  # 0.02 here


# -- building


def facts(folder: Path) -> Path:
    """Write a small set of facts in the two shapes."""
    vllm_flag = {
        "name": "--a-b", "aliases": [{"name": "-a", "first": "1.1", "last": None}], "negatable_since": "1.1",
        "negative_form": "--no-a-b", "type": "bool", "choices": [], "default": True,
        "default_history": [{"since": "1.0", "value": False}, {"since": "1.1", "value": True}],
        "first": "1.0", "last": None, "deprecated_in": None, "replaced_by": None, "config_field": "C.a_b",
        "where": "engine", "group": "g", "meaning": None,
    }  # fmt: skip
    sglang_flag = {
        "name": "--x-size", "aliases": ["--x"], "dest": "x_dest", "type": "int", "nargs": None, "first_seen": "2.0",
        "last_seen": "2.1", "not_in": None, "defaults": [{"from": "2.0", "to": "2.1", "value": 3}],
        "alias_ranges": {"--x": {"first_seen": "2.1", "last_seen": None}},
    }  # fmt: skip
    message = {
        "vllm": {"id": "m", "group": "g", "role": "root", "level": "error", "causes": [], "meaning": "x",
                 "variants": [{"template": "out of {n:d}", "first": "1.0", "last": None, "ranges": "1.0,1.1"}]},
        "sglang": {"id": "m", "topic": "g", "severity": "error", "causes": [], "first_seen": "2.0", "last_seen": None,
                   "origin": "sglang-router", "meaning": "x",
                   "formats": [{"text": "a\\nb", "level": "error", "first_seen": "2.0", "last_seen": None,
                                "module": "f", "anchor": "a"}]},
    }  # fmt: skip
    for engine, flag, versions in (("vllm", vllm_flag, ["1.0", "1.1"]), ("sglang", sglang_flag, ["2.0", "2.1"])):
        (folder / engine).mkdir(parents=True)
        for name, key, rows in (("flags", "flags", [flag]), ("env_vars", "env_vars", []), ("metrics", "metrics", [])):
            (folder / engine / f"{name}.json").write_text(json.dumps({"versions_read": versions, key: rows}))
        (folder / engine / "log_messages.yaml").write_text(json.dumps({"messages": [message[engine]]}))
    return folder


def test_build_normalises_both_shapes(tmp_path):
    source, out = facts(tmp_path / "facts"), tmp_path / "rules" / "catalog"
    written = catalog_build.build(source, out)
    assert all(path.is_file() for path in written)
    made = Catalog(tmp_path / "rules")
    flag = made.flag("vllm", "--a-b")
    assert [spelled.name for spelled in flag.spellings] == ["--a-b", "-a", "--no-a-b"]
    assert made.has_flag("vllm", "--no-a-b", "1.0") is False
    assert made.default("vllm", "a_b", "1.0") is False
    assert made.default("vllm", "a_b", "1.1") is True
    assert made.dest("sglang", "--x") == "x_dest"
    assert made.has_flag("sglang", "--x", "2.0") is False
    assert made.messages("vllm")[0].templates[0].text == "out of {n:d}"
    assert made.messages("sglang") == []
    assert made.messages("sglang-router")[0].templates[0].text == "a\nb"


def test_build_is_deterministic_and_check_tells_what_is_old(tmp_path):
    source, out = facts(tmp_path / "facts"), tmp_path / "out"
    catalog_build.build(source, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    catalog_build.build(source, out)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for name in catalog_build.HAND_KEPT:
        (out / name).write_text("")
    assert catalog_build.check(source, out) == []
    (out / "vllm" / "flags.jsonl").write_text("")
    (out / "sglang" / "env.jsonl").unlink()
    (out / "sglang" / "old.jsonl").write_text("")
    problems = catalog_build.check(source, out)
    assert problems == [
        "sglang/env.jsonl is missing",
        "sglang/old.jsonl is no longer made",
        "vllm/flags.jsonl is not current: 1 lines differ",
    ]


def test_build_loses_no_field_silently(tmp_path):
    source = facts(tmp_path / "facts")
    path = source / "vllm" / "flags.json"
    data = json.loads(path.read_text())
    data["flags"][0]["colour"] = "red"
    path.write_text(json.dumps(data))
    with pytest.raises(catalog_build.CatalogError, match=r"flags\.json: --a-b: unknown field 'colour'"):
        catalog_build.build(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    path.write_text("{")
    with pytest.raises(catalog_build.CatalogError, match=r"flags\.json"):
        catalog_build.build(source, tmp_path / "out")
    path.unlink()
    with pytest.raises(catalog_build.CatalogError, match=r"flags\.json: No such file"):
        catalog_build.build(source, tmp_path / "out")


def test_the_shipped_catalogue_is_sorted_and_small():
    folder = rules_dir() / "catalog"
    size = 0
    for path in folder.rglob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        keys = [row.get("name") or row.get("id") or (row["field"], row["line"]) for row in rows]
        assert keys == sorted(keys), path
        assert len(set(map(str, keys))) == len(keys), path
        size += path.stat().st_size
    assert size < 2_500_000


def test_reading_every_table_is_quick(catalog):
    started = time.process_time()
    fresh = Catalog(rules_dir())
    for engine in fresh.engines():
        fresh.flags(engine), fresh.envs(engine), fresh.messages(engine)
    assert time.process_time() - started < 1.0  # 0.12 here


# -- grounding


@pytest.mark.parametrize(
    ("engine", "template", "message"),
    [
        (
            "sglang",
            "Retract requests. #retracted_reqs: {n:int}, #new_token_ratio: {a:float} -> {b:float}",
            "retract",
        ),
        ("sglang", "timed out after {s:float}s in KVPoll.Bootstrapping", "pd_timeout"),
        ("sglang", "Prefill batch [{i:int}], #new-seq: {n:int}", "prefill_batch"),  # optional part of the wording
        ("vllm", "No available memory for the cache blocks", "mem.no_cache_blocks"),
        ("vllm", "Prefix cache hit rate: {x:float}%, Corrupted: {n:int} reqs", "stats.v1"),
        ("vllm", "Waiting: {w:int} reqs[, Deferred: {d:int} reqs]?[, Preemptions: {n:int}]?", "stats.v1"),
        ("vllm", "RPC call to execute_model timed out.", "comms.rpc_timeout"),  # a value where the source has a field
        ("vllm", "is preempted by PreemptionMode.RECOMPUTE mode", "kv.preempted_v0"),
        ("vllm", "Failed core proc(s): {{'{name}': {code:int}", "dead.core_init_failed"),  # literal braces
        ("vllm", "Engine process (pid {pid:int}) died", "live.vllm.engine_process_died"),
        ("vllm", "MQEngineDeadError: Engine process (pid {pid:int}) died", "live.vllm.engine_process_died"),
        (
            "vllm-router",
            "Timeout {s:int}s waiting for hosts {hosts} to become healthy",
            "live.vllm-router.start_timeout",
        ),
        ("any", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {s:gib}", "torch_oom"),
    ],
)
def test_grounded(catalog, engine, template, message):
    found = ground(engine, template, catalog)
    assert found.found, found
    assert message in found.messages
    assert found.first


@pytest.mark.parametrize(
    ("engine", "template"),
    [
        ("vllm", "KV cache pool is full. Retract requests."),  # the other engine's
        ("vllm", "Engine process (pid {pid:int}) vanished"),
        ("vllm", "GPU KV cache usage: {x:float}%, Preemptions: {n:int}"),  # the wrong way round
        ("vllm", "The flux capacitor is out of plutonium"),
        ("vllm", "{x}"),
        ("vllm", ""),
        ("sglang", "KV cache pool is full. Requests are retracted gracefully and politely"),
        ("nobody", "No available memory for the cache blocks"),
    ],
)
def test_not_grounded(catalog, engine, template):
    found = ground(engine, template, catalog)
    assert not found.found, found
    assert found.messages == ()


def test_grounding_tells_the_versions(catalog):
    found = ground("sglang", "Decode out of memory happened. #retracted_reqs: {n:int}", catalog)
    assert (found.first, found.last) == ("0.2.15", "0.4.6.post5")
    found = ground("vllm", "Corrupted: {n:int} reqs", catalog)
    assert found.last is None


def test_grounding_finds_every_wording_of_the_catalogue_itself(catalog):
    """A template written straight from a wording is grounded in it, whatever odd characters it holds."""
    for engine in ("vllm", "sglang"):
        for message in catalog.messages(engine)[::7]:
            text = message.templates[0].text.split("\n")[0]
            plain = text.replace("{", "\x01{").replace("}", "}\x01").split("\x01")
            template = "".join("{x}" if piece.startswith("{") else piece for piece in plain)
            if len(template) > 30 and "{{" not in template and "[" not in template and "%" not in template:
                assert ground(engine, template, catalog).share > 0.6, template


def test_shared_counts_characters_of_the_best_common_line():
    def both(ours, theirs):
        return shared(rule_tokens(ours), source_tokens(theirs))

    assert both("a b", "a b") == 2
    assert both("one two", "zero one two three") == 6
    assert both("one two", "one three two") == -1
    assert both("one {x} two", "one three two") == 6
    assert both("one {x:int} two", "one three two") == -1
    assert both("one 12 two", "one {n:d} two") == 6
    assert both("one twelve two", "one {n:d} two") == -1
    assert both("alpha", "alphabet") == 5
    assert both("{x}", "anything") == 0
    assert both("x", "") == -1


# -- GPUs


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA_H100_80GB_HBM3", "h100_sxm"),
        ("H100-80GB", "h100_sxm"),
        ("NVIDIA H100 PCIe", "h100_pcie"),
        ("NVIDIA H100 NVL", "h100_nvl"),
        ("NVIDIA A100-SXM4-80GB", "a100_sxm_80gb"),
        ("NVIDIA A100 80GB PCIe", "a100_pcie_80gb"),
        ("A100-PCIE-40GB", "a100_pcie_40gb"),
        ("NVIDIA L4", "l4"),
        ("l40s", "l40s"),
        ("Tesla T4", "t4"),
        ("Tesla V100-SXM2-32GB", "v100_sxm2_32gb"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx_3090_ti"),
        ("NVIDIA GH200 480GB", "gh200_96gb"),
        ("NVIDIA H20", "h20"),
        ("NVIDIA B300 SXM6 AC", "b300"),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("AMD_Instinct_MI325X", "mi325x"),
        ("NVIDIA_RTX_PRO_6000_Blackwell_Workstation_Edit", "rtx_pro_6000"),
        ("A100", None),  # 40 or 80 GB
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("Radeon", None),
        ("", None),
    ],
)
def test_find_gpu(gpus, text, gpu):
    found = gpus.find(text)
    assert (found and found.id) == gpu


def test_gpu_figures(gpus):
    found = gpus.find("NVIDIA H100 80GB HBM3")
    assert (found.memory_gib, found.bandwidth_gbs, found.bf16_tflops, found.capability) == (80, 3350, 989, "9.0")
    assert found.nvlink
    assert found.attention == {"vllm": "FLASH_ATTN", "sglang": "fa3"}
    for gpu in gpus.gpus.values():
        assert gpu.source
        assert 8 <= gpu.memory_gib <= 300
        assert 200 <= gpu.bandwidth_gbs <= 8000
        assert gpu.names
        for low, high in ((gpu.bf16_tflops, gpu.fp8_tflops), (gpu.fp8_tflops, gpu.fp4_tflops)):
            assert low is None or high is None or 1.9 < high / low < 4.1, gpu.id
        assert all(gpus.find(name) is gpu for name in gpu.names), gpu.id


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("{title: x}", "missing"),
        ("3", "mapping"),
        ("{title: x, names: [x], arch: hoper, memory_gib: 1, link: none, source: s}", "did you mean hopper"),
        ("{title: x, names: [x], arch: hopper, memory_gib: 1, link: nolink, source: s}", "unknown link"),
        ("{title: x, names: [x], arch: hopper, memory_gib: one, link: none, source: s}", "wrong kind"),
        ("{title: x, nams: [x], arch: hopper, memory_gib: 1, link: none, source: s}", "did you mean names"),
    ],
)
def test_a_faulty_gpu_table_names_the_place(tmp_path, row, word):
    head = 'architectures:\n  hopper: {vendor: nvidia, capability: "9.0"}\ngpus:\n'
    (tmp_path / "gpus.yaml").write_text(f"{head}  x: {row}\n")
    with pytest.raises(YamlError, match=word) as caught:
        GpuTable.load(tmp_path)
    assert caught.value.line == 4


def test_a_default_that_is_replaced_at_start_is_not_known(catalog):
    # SGLang prints "round_robin" for "auto": nobody knows whether it was set. Before 0.5.8.post1 it was the default.
    assert catalog.default("sglang", "load_balance_method", "0.5.23") is UNRESOLVED
    assert catalog.default("sglang", "load_balance_method", "0.5.2") == "round_robin"
    assert catalog.default("sglang", "kv_cache_dtype", "0.5.23") == "auto"
    for engine in catalog.engines():
        for name, value in catalog.replaced_at_start(engine):
            assert value in {row.value for row in catalog.flags(engine)[name].defaults}
