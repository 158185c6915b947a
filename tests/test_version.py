"""Versions read off the arguments of a dump."""

import pytest

from diagnoser.evidence.version import infer_version
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.model import Fact, Run
from diagnoser.tables.table import Origin

CATALOG = Catalog(rules_dir())
VERSIONS = CATALOG.versions("sglang")
LIVES = CATALOG.lifetimes("sglang")


def dump_of(version: str, extra: tuple[str, ...] = (), without: int = 0) -> Run:
    """A run whose dump has the arguments of a release."""
    place = VERSIONS.index(version)
    names = [name for name, (first, last) in LIVES.items() if first <= place <= last]
    run = Run(0, "", "sglang")
    for name in [*names[: len(names) - without], *extra]:
        run.arguments[name] = Fact(name, None, Origin("a.log", 1), f"{name}=None")
    return run


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_every_release_is_told_from_its_neighbours_or_has_the_same_arguments(version):
    run = dump_of(version)
    found = infer_version(run, VERSIONS, LIVES)
    place, other = VERSIONS.index(version), VERSIONS.index(found)
    differs = [name for name, (first, last) in LIVES.items() if (first <= place <= last) != (first <= other <= last)]
    assert not differs
    assert run.facts["version.inferred"].value == found


def test_a_fork_with_arguments_of_its_own_is_still_placed():
    run = dump_of("0.5.9", extra=("vendor_flag", "vendor_mode"), without=8)
    assert infer_version(run, VERSIONS, LIVES) == "0.5.9"


@pytest.mark.parametrize("names", [(), ("tp_size", "model_path")])
def test_a_dump_with_few_arguments_says_nothing(names):
    run = Run(0, "", "sglang")
    for name in names:
        run.arguments[name] = Fact(name, None, Origin("a.log", 1), "")
    assert infer_version(run, VERSIONS, LIVES) == ""
    assert "version.inferred" not in run.facts
