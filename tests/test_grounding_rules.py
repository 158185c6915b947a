"""Every message that a rule looks for is printed by some version, or names where it was seen."""

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.rules.grounded import ungrounded
from diagnoser.rules.loader import load
from diagnoser.rules.model import EventSpec, RuleBase
from diagnoser.rules.template import parse_template

CATALOG = Catalog(rules_dir())


def test_the_shipped_rules_are_grounded():
    base = load([rules_dir()], CATALOG.vocabulary())
    loose = [f"{one.place.file}:{one.place.line}: {spec.name}: {one.text}" for spec, one in ungrounded(base, CATALOG)]
    assert not loose, "\n".join(loose)


def test_a_message_that_no_version_prints_is_found():
    invented = parse_template("The flux capacitor of the KV cache is empty: {n:int} gigawatts missing", "vllm")
    real = parse_template("Available KV cache memory: {gib:float} GiB", "vllm")
    base = RuleBase(events={name: EventSpec(name, name, (t,)) for name, t in (("a", invented), ("b", real))})
    assert [spec.name for spec, _ in ungrounded(base, CATALOG)] == ["a"]
