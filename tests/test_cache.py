"""The cache of compiled rules: the same rules back, nothing trusted that should not be, nothing heavy imported."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import diagnoser
from diagnoser.api import Knowledge
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import FILES, Vocabulary
from diagnoser.rules.cache import KEEP, Cache, Shipped
from diagnoser.rules.cache import RULES as RULES_KIND
from diagnoser.rules.loader import load, load_vocabulary, shipped
from diagnoser.rules.model import RuleBase
from diagnoser.rules.plain import base_from_plain, base_to_plain

RULES = rules_dir()
HOME = Path(diagnoser.__file__).parent.parent

RULE = """\
title: The pool is full
stage: memory
severity: {critical: version >= "0.9", warning: "true"}
source: [B3]
events:
  pool.full: {any: "pool is full: {n:int}", source: x, sets: {kv.capacity_tokens: {value: n * 2}, kv.blocks: n}}
symptoms: {kv_full: 'sustained(kv.usage >= 95%, 30s) and engine in ["vllm", "sglang"]'}
when: kv_full and last(pool.full.n) > 3
supports: [time(pool.full) > run.ready]
meaning: Every block is taken.
impact: "{count(pool.full):int} times"
false_positives: a burst
remedies: [{knob: running_limit, to: floor(kv.capacity_tokens / 900), if: known(kv.blocks), engine: vllm}]
verify: less
examples: {fires: [{log: a}], silent: [{log: a}]}
"""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.load(RULES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "rules" / "memory" / "full.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(RULE, encoding="utf-8")
    return tmp_path / "rules"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache" / "diagnoser")


def compiled(folder: Path, vocabulary: Vocabulary, cache: Cache | None) -> RuleBase:
    return load([folder], vocabulary, cache, catalog=Catalog(RULES))


def stored(cache: Cache) -> list[Path]:
    return sorted(cache.folder.glob("*"))


def entry(cache: Cache, path: Path) -> RuleBase | None:
    return cache.read(RULES_KIND, path.stem.removeprefix("rules-"), base_from_plain)


def without_examples(base: RuleBase) -> RuleBase:
    return replace(base, rules={name: replace(rule, fires=(), silent=()) for name, rule in base.rules.items()})


def test_gives_the_same_rules_back(folder: Path, vocabulary: Vocabulary, cache: Cache) -> None:
    fresh = without_examples(compiled(folder, vocabulary, None))
    assert compiled(folder, vocabulary, cache) == fresh
    [path] = stored(cache)
    assert entry(cache, path) == fresh
    assert compiled(folder, vocabulary, cache) == fresh
    assert stored(cache) == [path]


def test_the_shipped_rules_survive_it(vocabulary: Vocabulary, written: Knowledge, cache: Cache) -> None:
    fresh = without_examples(written.base)
    assert load([RULES], vocabulary, cache) == fresh
    assert load([RULES], vocabulary, cache) == fresh


def test_the_vocabulary_survives_it(vocabulary: Vocabulary, cache: Cache) -> None:
    assert load_vocabulary(RULES, cache) == vocabulary
    assert load_vocabulary(RULES, cache) == vocabulary
    [path] = stored(cache)
    path.write_bytes(path.read_bytes()[:-9])
    assert load_vocabulary(RULES, cache) == vocabulary


def test_a_changed_vocabulary_is_another(vocabulary: Vocabulary, cache: Cache, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes((RULES / name).read_bytes())
    assert load_vocabulary(tmp_path, cache) == vocabulary
    text = (tmp_path / "knobs.yaml").read_text(encoding="utf-8")
    (tmp_path / "knobs.yaml").write_text(text.replace("title: ", "title: !", 1).replace("!", "X"), encoding="utf-8")
    assert load_vocabulary(tmp_path, cache) != vocabulary


def test_only_this_user_can_write(folder: Path, vocabulary: Vocabulary, cache: Cache) -> None:
    compiled(folder, vocabulary, cache)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(stored(cache)[0].stat().st_mode) == 0o600


def test_a_changed_file_is_another_rule_base(folder: Path, vocabulary: Vocabulary, cache: Cache) -> None:
    compiled(folder, vocabulary, cache)
    path = folder / "memory" / "full.yaml"
    times = path.stat()
    path.write_text(RULE.replace("Every block", "Every place"), encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert compiled(folder, vocabulary, cache).rules["memory.full"].meaning == "Every place is taken."
    assert len(stored(cache)) == 2


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"x" * 100, b"[" * 100_000])
def test_a_damaged_file_is_compiled_anew(folder: Path, vocabulary: Vocabulary, cache: Cache, damage: bytes) -> None:
    compiled(folder, vocabulary, cache)
    [path] = stored(cache)
    whole = path.read_bytes()
    for content in (damage, whole[: len(whole) // 2], whole.replace(b"pool is full", b"pool is gone")):
        path.write_bytes(content)
        assert compiled(folder, vocabulary, cache).events["pool.full"].templates[0].anchor == "pool is full: "
        assert path.read_bytes() == whole


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(
    folder: Path, vocabulary: Vocabulary, cache: Cache, mode: int
) -> None:
    cache.folder.mkdir(parents=True)
    cache.folder.chmod(mode)
    assert compiled(folder, vocabulary, cache).rules
    assert stored(cache) == []


def test_a_file_that_others_may_write_to_is_not_read(folder: Path, vocabulary: Vocabulary, cache: Cache) -> None:
    compiled(folder, vocabulary, cache)
    [path] = stored(cache)
    path.chmod(0o666)
    assert entry(cache, path) is None


def test_a_folder_that_cannot_be_made_is_fine(folder: Path, vocabulary: Vocabulary, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert compiled(folder, vocabulary, Cache(tmp_path / "file" / "cache")).rules


def test_a_wheel_brings_rules_that_need_no_compiling(tmp_path: Path, cache: Cache) -> None:
    rules = tmp_path / "elsewhere"
    shutil.copytree(RULES, rules)
    made = shipped(rules)
    (rules / Shipped.NAME).mkdir()
    for name, content in made.items():
        (rules / Shipped.NAME / name).write_bytes(content)
    assert str(tmp_path).encode() not in b"".join(made.values())
    vocabulary = load_vocabulary(rules, cache)
    assert vocabulary == Vocabulary.load(RULES)
    base = load([rules], vocabulary, cache)
    assert not cache.folder.exists()
    assert base == base_from_plain(base_to_plain(load([rules], vocabulary)))
    # What does not fit the rules is left alone.
    with (rules / "notes.yaml").open("a", encoding="utf-8") as file:
        file.write("# more\n")
    assert load([rules], vocabulary, cache) == base
    assert list(cache.folder.iterdir())


def test_old_ones_go(folder: Path, vocabulary: Vocabulary, cache: Cache) -> None:
    path = folder / "memory" / "full.yaml"
    for number in range(KEEP + 3):
        path.write_text(RULE.replace("a burst", f"a burst {number}"), encoding="utf-8")
        compiled(folder, vocabulary, cache)
        newest = max(stored(cache), key=lambda found: found.stat().st_mtime_ns)
        os.utime(newest, (number + 1, number + 1))
    assert len(stored(cache)) == KEEP


def test_a_run_from_the_cache_imports_neither_parsers_nor_models(
    folder: Path, vocabulary: Vocabulary, cache: Cache
) -> None:
    compiled(folder, vocabulary, cache)
    code = f"""
import sys
from pathlib import Path
from diagnoser.knowledge.catalog import Catalog
from diagnoser.rules.cache import Cache
from diagnoser.rules.loader import load
base = load([Path({str(folder)!r})], None, Cache(Path({str(cache.folder)!r})), catalog=Catalog(Path({str(RULES)!r})))
assert base.rules
print(*(name for name in ("lark", "pydantic", "regex", "importlib.metadata") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME)
    assert done.stdout.strip() == ""
