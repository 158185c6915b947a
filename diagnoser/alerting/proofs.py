"""Unit tests for promtool made from the examples of the rules: what must fire fires, a near miss does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from diagnoser.alerting.export import Exported, Told, Wanted
from diagnoser.alerting.names import names_model
from diagnoser.alerting.replay import Scrape, input_series, pages, resampled, rounded
from diagnoser.knowledge.metricref import parse_ref
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.rules.model import SEVERITIES, Example, Node, RuleBase
from diagnoser.values import replace

_METRIC = re.compile(r"[A-Za-z_:][\w:]*")


class Left(NamedTuple):
    """An example that is no test, and why."""

    rule: str
    example: str
    why: str


class Proofs(NamedTuple):
    """The tests, as promtool reads them, the examples that are none, and the number of those that are."""

    document: dict[str, Any]
    left: list[Left]
    made: int


class _Proof(NamedTuple):
    rule: str
    kind: str
    example: Example
    scrapes: list[Scrape]


Judge = Callable[[str, list[str]], Mapping[str, str]]


def proofs(
    base: RuleBase, vocabulary: Vocabulary, exported: Exported, wanted: Wanted, files: Iterable[str], judge: Judge
) -> Proofs:
    """Make a test of every example that metrics pages alone tell. ``base`` must have been loaded with its examples.

    ``judge(engine, lines)`` is what diagnose says of pages, by what PromQL can say of the rules: id to severity.
    """
    told = {(one.rule, one.engine): one for one in exported.told}
    names = (name for group in exported.groups for rule in group["rules"] for name in _METRIC.findall(rule["expr"]))
    used = frozenset(names)
    owners = _owners(vocabulary)
    chosen: list[_Proof] = []
    left = []
    for rule, kind, example in _examples(base):
        scrapes = [one for _, lines in example.files for one in pages(lines)]
        engine = _engine(scrapes, owners)
        one = told.get((rule, engine))
        why = _unfit(example, kind, scrapes, one, engine, wanted)
        if not why:
            found = judge(engine, resampled(scrapes, wanted.interval))
            if (found.get(rule) in (one.levels if one else ())) is not (kind == "fires"):
                why = f"at one scrape every {wanted.interval} s, by what PromQL can say, it is another case"
        if why:
            left.append(Left(rule, example.name, why))
        else:
            chosen.append(_Proof(rule, kind, example, scrapes))
    step = f"{wanted.interval}s"
    tests = [_together(chosen, wanted, used)] if chosen else []
    return Proofs({"rule_files": list(files), "evaluation_interval": step, "tests": tests}, left, len(chosen))


def reduced(base: RuleBase, exported: Exported, engine: str) -> RuleBase:
    """Return the rule base with unknowns in place of what PromQL cannot say."""
    lost = [node for one in exported.told if one.engine == engine for node in one.nodes]

    def cut(node: Node) -> Node:
        if node in lost:
            return Node("fact", ("slo.unknown",), node.text, node.kind)
        return replace(node, args=tuple(cut(arg) if isinstance(arg, Node) else arg for arg in node.args))

    out = replace(base, symptoms={name: cut(node) for name, node in base.symptoms.items()})
    out.rules = {
        rule.id: replace(
            rule,
            when=cut(rule.when),
            severity=tuple((level, cut(node) if node else None) for level, node in rule.severity),
        )
        for rule in base.rules.values()
    }
    return out


def _unfit(example: Example, kind: str, scrapes: list[Scrape], one: Told | None, engine: str, wanted: Wanted) -> str:
    if one is None or not one.levels:
        return f"not exported for {engine or 'what it shows'}"
    if kind == "fires" and example.severity and example.severity not in one.levels:
        return f"severity {example.severity} is not exported"
    if len(scrapes) < 2:
        return "one page tells no time"
    if example.slo and dict(example.slo) != dict(wanted.slo):
        return "it has objectives of its own (--slo)"
    if scrapes[-1].time - scrapes[0].time > wanted.window:
        return "it lasts longer than the window (--window)"
    return ""


def _examples(base: RuleBase) -> Iterator[tuple[str, str, Example]]:
    for rule in base.rules.values():
        for kind, examples in (("fires", rule.fires), ("silent", rule.silent)):
            for example in examples:
                if example.files and not example.lines and all(name.endswith(".prom") for name, _ in example.files):
                    yield rule.id, kind, example


def _owners(vocabulary: Vocabulary) -> dict[str, str]:
    """Return the engine of every metric that one engine alone exports."""
    found: dict[str, set[str]] = {}
    for series in vocabulary.series.values():
        for engine, refs in series.metric.items():
            for ref in map(parse_ref, refs):
                for term in (*ref.terms, *ref.over):
                    found.setdefault(term.name, set()).add(engine)
    return {name: next(iter(engines)) for name, engines in found.items() if len(engines) == 1}


def _engine(scrapes: list[Scrape], owners: dict[str, str]) -> str:
    for scrape in scrapes:
        for key in scrape.samples:
            name = key.partition("{")[0]
            for suffix in ("", "_bucket", "_sum", "_count"):
                if name.endswith(suffix) and (owner := owners.get(name.removesuffix(suffix))):
                    return owner
    return ""


def _together(chosen: list[_Proof], wanted: Wanted, used: frozenset[str]) -> dict[str, Any]:
    """All examples in one test, each a server of its own, ending together: rules are evaluated once for all of them."""
    step = wanted.interval
    length = rounded(max(one.scrapes[-1].time - one.scrapes[0].time for one in chosen), step)
    series: list[dict[str, str]] = []
    checks = []
    levels = "|".join(SEVERITIES[SEVERITIES.index(wanted.least) :])
    for number, (rule, kind, example, scrapes) in enumerate(chosen):
        server = f"{rule}/{number}"
        end = scrapes[-1].time
        for one in input_series(scrapes, end - length, end, step, f'job="llm",instance="{server}"', used):
            # The engines name their model in all of their metrics; the examples of the rules are shorter.
            if names_model(one["series"]) and "model_name=" not in one["series"]:
                one["series"] = one["series"].removesuffix("}") + ',model_name="m"}'
            series.append(one)
        labels = ["cause", "severity"] if kind == "fires" and example.severity else ["cause"]
        severity = f', severity="{example.severity}"' if "severity" in labels else ""
        # Alerts that are pending count: how long they wait is the operator's choice and no part of the rule.
        alerts = f'ALERTS{{cause="{rule}",instance="{server}",severity=~"{levels}"}}'
        expected = [{"labels": f'{{cause="{rule}"{severity}}}', "value": 1}] if kind == "fires" else []
        checks.append(
            {"expr": f"max by ({', '.join(labels)}) ({alerts})", "eval_time": f"{length}s", "exp_samples": expected}
        )
    name = "what must fire fires, and near misses do not"
    return {"name": name, "interval": f"{step}s", "input_series": series, "promql_expr_test": checks}
