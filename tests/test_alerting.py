"""Alerts made of rules: what is translated and what is not, and a real Prometheus that evaluates them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnoser.alerting.aggregates import Aggregates, Window
from diagnoser.alerting.export import Exported, Wanted, alert_name, export, manifest
from diagnoser.alerting.names import Metrics
from diagnoser.alerting.promql import ALWAYS, LOST, NEVER, Expr, Side, Truth, bits, both, either, join, without
from diagnoser.alerting.replay import Scrape, input_series, pages, resampled
from diagnoser.alerting.translate import Translator
from diagnoser.api import Knowledge
from diagnoser.commands.rules import main
from diagnoser.rules.compiling.check import Names, check
from diagnoser.rules.compiling.expression import parse

ROOT = Path(__file__).parent.parent
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian package prometheus) is not installed")
A, B, U = Side(Expr("a")), Side(Expr("b")), Expr("u")


DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def loaded(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def promtool(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def exported(knowledge: Knowledge) -> Exported:
    return export(knowledge.base, knowledge.vocabulary, Wanted(least="info"))


# Three values


@pytest.mark.parametrize(
    ("side", "text", "exact"),
    [
        (both(A, B), "a and b", True),
        (both(A, NEVER), None, True),
        (both(A, LOST), None, False),
        (both(NEVER, LOST), None, True),  # what is never the case needs no second condition
        (both(A, ALWAYS), "a", True),
        (either(A, B), "a or b", True),
        (either(A, LOST), "a", False),  # some of the servers for which it holds
        (either(A, A), "a", True),
        (without(A, B, U), "a unless b", True),
        (without(A, LOST, U), None, False),  # nobody knows for whom it does not hold
        (without(ALWAYS, B, U), "u unless b", True),
        (both(A, without(ALWAYS, B, U)), "a unless b", True),
    ],
)
def test_sides(side: Side, text: str | None, exact: bool) -> None:
    assert (side.expr.text if side.expr else None, side.exact) == (text, exact)


def test_a_truth_as_a_number_knows_three_values() -> None:
    assert bits(Truth(A, B), U).text == "0 * a + 1 or 0 * b"
    assert bits(Truth(A, without(ALWAYS, A, U)), U).text == "0 * a + 1 or 0 * u"


def test_brackets_stand_where_they_change_the_meaning() -> None:
    one = join("-", Expr("a"), join("-", Expr("b"), Expr("c")))
    assert one.text == "a - (b - c)"
    assert join("and", join("or", Expr("a"), Expr("b")), Expr("c")).text == "(a or b) and c"


# The language


def translated(knowledge: Knowledge, text: str, engine: str = "vllm", slo: dict[str, float] | None = None) -> Truth:
    base, vocabulary = knowledge.base, knowledge.vocabulary
    names = Names(
        series={name: one.unit for name, one in vocabulary.series.items()},
        facts={name: (one.type, one.unit) for name, one in vocabulary.facts.items()},
        knobs=vocabulary.knobs,
        events={name: one.fields for name, one in base.events.items()},
        symptoms=base.symptoms,
        causes=base.rules,
        spreads=[name for name, one in vocabulary.series.items() if one.kind == "spread"],
    )
    figures = Aggregates(Metrics(engine, vocabulary, 15), Window(600, 15))
    translator = Translator(base, figures, slo or {}, lambda _: Truth(NEVER, NEVER), lambda name, _: f"x:{name}")
    return translator.truth(check(parse(text), names, "bool"))


SERVER = "job, instance, namespace, pod, model_name"
CASES = [
    ("p90(kv.usage overall) >= 90%", "vllm", "quantile_over_time(0.9, diagnoser:vllm:kv_usage[10m])"),
    ("share(requests.waiting > 0) >= 20%", "vllm", "diagnoser:vllm:loaded == 1"),
    (
        "max(requests.running overall) > 3",
        "sglang",
        "max without (dp_rank) (max_over_time(diagnoser:sglang:requests_running",
    ),
    ("sum(preemptions) >= 5", "vllm", f"sum by ({SERVER}) (increase(vllm:num_preemptions_total[10m])) >= 5"),
    ("rate(preemptions) > 1/min", "vllm", "sum_over_time(diagnoser:vllm:loaded[10m])) * 15 > 0"),
    ("p99(latency.ttft) > 2s", "vllm", "histogram_quantile(0.99, "),
    ("share(latency.ttft > 2s) > 5%", "vllm", "histogram_quantile(0.95, "),
    ("mean(latency.ttft) > 2s", "vllm", "(increase(vllm:time_to_first_token_seconds_count[10m])) > 0)"),
    ("sustained(requests.waiting > 0, 30s)", "vllm", "[45s:15s])) >= 3"),
    ("longest(requests.waiting > 0) >= 60s", "vllm", "[75s:15s])) == 1"),
    ("most(p50(requests.waiting)) >= 3", "vllm", "max without (engine) (quantile_over_time(0.5, "),
    ("groups(requests.running) >= 2", "vllm", "count without (engine) (last_over_time("),
    ("sum(cache.found) / sum(cache.queried) <= 30%", "vllm", "vllm:gpu_prefix_cache_hits_total[10m]"),  # both names
    ("sum(http.refusals) > 0", "vllm", "or 0 * sum by"),  # no refusal yet is none, not unknown
    ('engine == "vllm" and sum(preemptions) >= 5', "vllm", "increase("),
    ("sum(preemptions) >= (limits.running else 5)", "vllm", ">= 5"),
]


@pytest.mark.parametrize(("text", "engine", "piece"), CASES, ids=[text for text, _, _ in CASES])
def test_what_metrics_show_becomes_promql(knowledge: Knowledge, text: str, engine: str, piece: str) -> None:
    found = translated(knowledge, text, engine)
    assert found.true.expr is not None and found.true.exact
    assert piece in found.true.expr.text


@pytest.mark.parametrize(
    ("text", "true", "false"),
    [
        ("count(kv.retracted) >= 2", NEVER, NEVER),  # a log tells it
        ("not (count(kv.retracted) >= 2)", NEVER, NEVER),
        ("count(kv.retracted) >= 2 else false", NEVER, ALWAYS),
        ('arg("enforce_eager") == true else true', ALWAYS, NEVER),
        ("known(limits.running)", NEVER, ALWAYS),
        ('engine == "sglang"', NEVER, ALWAYS),
        ("p50(gpu.util) < 60%", NEVER, NEVER),  # another exporter's, of which no label tells whose GPU it is
        ("gap(requests.running) >= 60s", LOST, LOST),
        ("corr(gen.tps, kv.usage) <= -0.8", LOST, LOST),
        ("gap(requests.running) >= 60s else false", LOST, LOST),  # no default for what PromQL cannot say
        ('version >= "0.9.0"', LOST, LOST),
        ("share(latency.ttft > slo.ttft) > 5%", NEVER, NEVER),  # no objective was given
    ],
)
def test_what_metrics_do_not_show_is_unknown_and_what_promql_cannot_say_is_lost(
    knowledge: Knowledge, text: str, true: Side, false: Side
) -> None:
    found = translated(knowledge, text)
    assert (found.true._replace(but=None), found.false._replace(but=None)) in (
        (true, false),
        (true, Side(Expr("diagnoser:vllm:server"), exact=False)),
    )


def test_not_known_to_be_false_is_not_false(knowledge: Knowledge) -> None:
    found = translated(knowledge, "not (p90(kv.usage overall) >= 90%)")
    assert found.true.expr is not None and "< 0.9" in found.true.expr.text and "unless" not in found.true.expr.text


def test_objectives_are_numbers(knowledge: Knowledge) -> None:
    found = translated(knowledge, "mean(latency.ttft) > slo.ttft", slo={"ttft": 0.5})
    assert found.true.expr is not None and found.true.expr.text.endswith("> 0.5")


# The export


def test_every_rule_is_accounted_for(knowledge: Knowledge, exported: Exported) -> None:
    assert {one.rule for one in exported.told} == set(knowledge.base.rules)
    out = {one.rule for one in exported.told if one.levels}
    assert {"memory.kv_cache_exhausted", "scheduling.queue_saturation", "ingress.router_breaker"} <= out
    assert all(one.unseen or one.lost for one in exported.told if not one.levels)
    assert "platform.bad_flag" not in out


def test_alerts_carry_what_a_pager_needs(knowledge: Knowledge, exported: Exported) -> None:
    alerts = [rule for group in exported.groups for rule in group["rules"] if "alert" in rule]
    for rule in alerts:
        cause = rule["labels"]["cause"]
        assert rule["alert"] == alert_name(cause) and rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"]["runbook_url"].endswith(f"docs/rules/{cause.replace('.', '/')}.md")
        assert (ROOT / "docs/rules" / f"{cause.replace('.', '/')}.md").is_file()
        assert knowledge.base.rules[cause].title in rule["annotations"]["summary"]
        assert "{" not in rule["annotations"]["description"]
    assert len({(one["alert"], one["labels"]["severity"], one["labels"]["server"]) for one in alerts}) == len(alerts)


def test_recorded_series_stand_before_what_names_them(exported: Exported) -> None:
    for group in exported.groups:
        seen: set[str] = set()
        recorded = {rule["record"] for rule in group["rules"] if "record" in rule}
        for rule in group["rules"]:
            words = set(rule["expr"].replace("(", " ").replace(")", " ").replace("[", " ").split())
            assert (words & recorded) <= seen, rule
            seen.add(rule.get("record", ""))


def test_manifest_is_what_the_operator_takes(exported: Exported) -> None:
    document = manifest(exported.groups, "diagnose-llm", {"release": "prometheus"})
    assert (document["apiVersion"], document["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert document["metadata"] == {"name": "diagnose-llm", "labels": {"release": "prometheus"}}
    assert document["spec"]["groups"] == exported.groups


# Pages as time series


def test_pages_become_series() -> None:
    lines = [
        "# 2025-07-12 10:00:00",
        "a_total 0",
        'g{x="1"} 4',
        "# 2025-07-12 10:00:30",
        "a_total 30",
        'g{x="1"} 8',
        "n NaN",
    ]
    found = pages(lines)
    start = found[0].time
    series = input_series(found, start, start + 30, 15, 'job="j"')
    assert series[:2] == [
        {"series": 'a_total{job="j"}', "values": "0 15 30"},  # counters grow evenly
        {"series": 'g{x="1",job="j"}', "values": "4 4 8"},  # levels stay until the next page
    ]
    assert series[2]["values"] == "_ _ _"
    assert resampled(found, 15)[:3] == ["# 2025-07-12 10:00:00", "a_total 0", 'g{x="1"} 4']


def test_a_counter_that_fell_began_anew_and_a_late_series_is_absent_before() -> None:
    found = [Scrape(0, {"c_total{}": 9}), Scrape(30, {"c_total{}": 2, "late{}": 1})]
    assert [one["values"] for one in input_series(found, 0, 45, 15, "")] == ["9 9 2 2", "_ _ 1 1"]


# A real Prometheus


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules and their tests as the command writes them, at a slower beat than the default: it costs half."""
    folder = tmp_path_factory.mktemp("alerts")
    rules, tests = folder / "alerts.yml", folder / "alerts_test.yml"
    words = ["export", "--severity", "info", "--interval", "30s", "-q", "-o", str(rules), "--tests", str(tests)]
    assert main(words) == 0
    return folder


@needs_promtool
def test_promtool_takes_the_rules_and_their_tests_pass(written: Path) -> None:
    checked = promtool("check", "rules", "alerts.yml", cwd=written)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tests = loaded(written / "alerts_test.yml")["tests"]
    checks = tests[0]["promql_expr_test"]
    assert sum(bool(one["exp_samples"]) for one in checks) >= 30 and sum(not one["exp_samples"] for one in checks) >= 40
    tested = promtool("test", "rules", "alerts_test.yml", cwd=written)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def behind(rules: list[dict[str, Any]], cause: str) -> list[dict[str, Any]]:
    """The alerts of a cause, and what they are recorded from: the others only take time."""
    kept = [rule for rule in rules if rule.get("labels", {}).get("cause") == cause]
    while True:
        text = "\n".join(rule["expr"] for rule in kept)
        more = [rule for rule in rules if rule.get("record", "\n") in text and rule not in kept]
        if not more:
            return [rule for rule in rules if rule in kept]
        kept += more


MUTANTS = [
    ("diagnoser:vllm:requests_wait", ">= 0.2", ">= 1.2", "scheduling.concurrency_cap", True),
    ("diagnoser:vllm:kv_has_room", "< bool 0.9", "< bool 2", "scheduling.concurrency_cap", False),
]


@needs_promtool
@pytest.mark.parametrize(("record", "old", "new", "cause", "fires"), MUTANTS)
def test_a_changed_threshold_fails_a_test(
    written: Path, tmp_path: Path, record: str, old: str, new: str, cause: str, fires: bool
) -> None:
    rules = loaded(written / "alerts.yml")
    document = loaded(written / "alerts_test.yml")
    rules["groups"] = [group for group in rules["groups"] if group["name"] == "diagnose-vllm"]
    rules["groups"][0]["rules"] = behind(rules["groups"][0]["rules"], cause)
    (rule,) = [one for one in rules["groups"][0]["rules"] if one.get("record") == record]
    assert old in rule["expr"]
    test = document["tests"][0]
    test["promql_expr_test"] = [
        one
        for one in test["promql_expr_test"]
        if f'cause="{cause}"' in one["expr"] and bool(one["exp_samples"]) is fires
    ]
    test["input_series"] = [one for one in test["input_series"] if f'instance="{cause}/' in one["series"]]
    # That it passes as it is, is the test above.
    rule["expr"] = rule["expr"].replace(old, new)
    (tmp_path / "alerts.yml").write_text(yaml.dump(rules, Dumper=DUMPER), encoding="utf-8")
    (tmp_path / "alerts_test.yml").write_text(yaml.dump(document, Dumper=DUMPER), encoding="utf-8")
    tested = promtool("test", "rules", "alerts_test.yml", cwd=tmp_path)
    assert tested.returncode != 0 and cause in tested.stdout + tested.stderr


# The command


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["export", "--engine", "vlm"], "unknown value 'vlm'; did you mean vllm"),
        (["export", "--window", "soon"], "'soon' is no length of time such as 30s"),
        (["export", "--window", "1m"], "eight times --interval at least"),
        (["export", "--labels", "severity=x"], "'severity=x' is no label such as team=llm"),
        (["export", "--labels", "team"], "'team' is no label such as team=llm"),
        (["export", "--tests", "t.yml"], "give it with --output"),
        (["export", "memory.kv_cache_exhausted"], "unexpected 'memory.kv_cache_exhausted'"),
        (["list", "--format", "prometheus"], "is for 'diagnose rules export'"),
        (["export", "-o", "nowhere/alerts.yml"], "no folder nowhere"),
    ],
)
def test_bad_options_say_what_is_wrong(words: list[str], told: str) -> None:
    from diagnoser.commands._errors import CommandError

    with pytest.raises(CommandError, match=None) as error:
        main(words)
    assert told in str(error.value)


def test_options_reach_the_alerts_and_nothing_is_left_out_silently(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    words = ["export", "--engine", "sglang", "--manifest", "--for", "0", "--labels", "team=llm", "--explain"]
    assert main([*words, "--runbook-url", "https://wiki.example/rules/"]) == 0
    out, err = capsysbinary.readouterr()
    document: dict[str, Any] = yaml.safe_load(out)
    alerts = [rule for group in document["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts and all(one["for"] == "0s" and one["labels"]["team"] == "llm" for one in alerts)
    assert all(one["labels"]["server"] == "sglang" and one["labels"]["severity"] != "info" for one in alerts)
    assert all(one["annotations"]["runbook_url"].startswith("https://wiki.example/rules/") for one in alerts)
    told = err.decode()
    assert "rules exported" in told and "not exported, needs the log: " in told and "platform.bad_flag" in told
    assert "memory.gpu_oom_runtime (sglang): not exported" in told
