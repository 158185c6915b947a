"""Every message that a rule looks for is printed by some version, or names where it was seen."""

from collections import Counter

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.rules.compiling.template import parse_template
from diagnoser.rules.grounded import ungrounded
from diagnoser.rules.matching.matcher import PLATFORMS
from diagnoser.rules.model import EventSpec, RuleBase

CATALOG = Catalog(rules_dir())


def test_the_shipped_rules_are_grounded(written):
    base = written.base
    loose = [f"{one.place.file}:{one.place.line}: {spec.name}: {one.text}" for spec, one in ungrounded(base, CATALOG)]
    assert not loose, "\n".join(loose)


def test_the_page_tells_how_many_are(written):
    told: Counter[str] = Counter()
    for spec in written.base.events.values():
        for one in spec.templates:
            if one.engine in PLATFORMS:
                told["pods"] += 1
            elif ".." in one.versions:
                told["taken"] += 1
            else:
                told["sourced" if spec.source else "found"] += 1
    said = (
        f"Of {told.total():,} templates {told['taken']:,} are taken from the catalogue,"
        f" {told['found']} are found in it, {told['sourced']} belong to events that name a source of their own,"
        f" {told['pods']} are about pods,"
    )
    page = " ".join((rules_dir().parent / "docs" / "catalog.md").read_text(encoding="utf-8").split())
    assert said in page


def test_a_message_that_no_version_prints_is_found():
    invented = parse_template("The flux capacitor of the KV cache is empty: {n:int} gigawatts missing", "vllm")
    real = parse_template("Available KV cache memory: {gib:float} GiB", "vllm")
    base = RuleBase(events={name: EventSpec(name, name, (t,)) for name, t in (("a", invented), ("b", real))})
    assert [spec.name for spec, _ in ungrounded(base, CATALOG)] == ["a"]
