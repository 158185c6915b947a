"""From the rule base to groups of recording and alerting rules, and to an account of what could not be exported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from diagnoser.alerting.aggregates import Aggregates, Window, span
from diagnoser.alerting.names import MODEL, PREFIX, SERVER, CannotSayError, Metrics
from diagnoser.alerting.promql import LOST, NEVER, Expr, Side, Truth, both, either, join, number, without
from diagnoser.alerting.translate import Translator
from diagnoser.contracts.findings import PAGES
from diagnoser.knowledge.vocabulary import ENGINES, Vocabulary
from diagnoser.rules.model import SEVERITIES, Node, Rule, RuleBase
from diagnoser.rules.texts import Placeholder, split
from diagnoser.values import dataclass, field

#: Where the pages of the rules lie, for ``runbook_url``.
RUNBOOKS = PAGES


@dataclass(slots=True, frozen=True)
class Wanted:
    """What to export. Lengths of time are in seconds; ``least`` is the lowest severity."""

    engines: Sequence[str] = ENGINES
    window: int = 600
    interval: int = 15
    hold: int = 60
    least: str = "warning"
    labels: Mapping[str, str] = field(default_factory=dict)
    runbooks: str = RUNBOOKS
    slo: Mapping[str, float] = field(default_factory=dict)


class Told(NamedTuple):
    """What became of one rule for one engine: ``levels`` that are exported, what they leave out and why."""

    rule: str
    engine: str
    levels: tuple[str, ...]
    exact: bool
    lost: tuple[str, ...]
    unseen: tuple[str, ...]
    nodes: tuple[Node, ...] = ()
    holds: bool = False


class Exported(NamedTuple):
    """Groups as a rule file has them, and what became of every rule."""

    groups: list[dict[str, Any]]
    told: list[Told]


class _Case(NamedTuple):
    """A rule for one engine: for which servers it holds, by severity."""

    holds: Side
    levels: dict[str, Side]
    exact: bool
    lost: tuple[str, ...]
    unseen: tuple[str, ...]
    nodes: tuple[Node, ...] = ()


def export(base: RuleBase, vocabulary: Vocabulary, wanted: Wanted) -> Exported:
    """Translate every rule that metrics can show."""
    groups: list[dict[str, Any]] = []
    told: list[Told] = []
    for engine in wanted.engines:
        one = _Engine(base, Metrics(engine, vocabulary, wanted.interval), wanted)
        alerts = []
        for rule in base.rules.values():
            if rule.status == "deprecated":
                continue
            case = one.case(rule.id)
            levels = [level for level in case.levels if SEVERITIES.index(level) >= SEVERITIES.index(wanted.least)]
            told.append(Told(rule.id, engine, tuple(levels), case.exact, *case[3:], holds=bool(case.levels)))
            alerts += [one.alert(rule, level, case.levels[level]) for level in levels]
        if alerts:
            groups += one.groups(alerts)
    return Exported(groups, told)


class _Engine:
    """The rules of one engine, each translated once."""

    def __init__(self, base: RuleBase, metrics: Metrics, wanted: Wanted) -> None:
        self._base, self._metrics, self._wanted = base, metrics, wanted
        self._cases: dict[str, _Case] = {}
        self._open: set[str] = set()
        #: Causes that others name, in the order in which they can be worked out.
        self._shared: dict[str, Expr] = {}

    def case(self, name: str) -> _Case:
        """Translate a rule; one that asks for more than the usual window gets it."""
        if name not in self._cases:
            self._open.add(name)
            window, model = self._wanted.window, True
            # What a rule turns out to need is known when it is translated: a longer window, no label of the model.
            for _ in range(3):
                case, figures = self._translate(self._base.rules[name], window, model)
                longer = max(window, -(-figures.window.needed // 60) * 60)
                named = all(MODEL in self._metrics.says(one) for one in figures.seen)
                if (longer, named) == (window, model):
                    break
                window, model = longer, named
            self._cases[name] = case
            self._open.discard(name)
        return self._cases[name]

    def _translate(self, rule: Rule, window: int, model: bool) -> tuple[_Case, Aggregates]:
        figures = Aggregates(self._metrics, Window(window, self._wanted.interval), model)

        def keep(name: str, expr: Expr) -> str:
            return self._keep(name, expr, figures)

        translator = Translator(self._base, figures, self._wanted.slo, lambda name: self._cause(name, figures), keep)

        try:
            holds = translator.truth(rule.when).true
            for other in rule.unless:
                holds = without(holds, self._cause(other, figures).true, figures.universe(), _ON)
            before, levels = NEVER, {}
            for level, condition in (*rule.severity, ("info", None)):
                side = holds
                if condition is not None:
                    truth = translator.truth(condition).true
                    side = both(holds, truth)
                else:
                    truth = holds
                side = without(side, before, figures.universe())
                if level not in levels and side.expr is not None:
                    levels[level] = side
                if condition is None or condition.op == "bool":
                    break
                before = truth if before.never and before.exact else either(before, truth)
        except CannotSayError as fault:
            translator.lost.setdefault(str(fault))
            holds, levels = LOST, {}
        if holds.always:
            holds, levels = LOST, {}
        exact = holds.exact and all(side.exact for side in levels.values())
        lost, unseen = tuple(translator.lost), tuple(translator.unseen)
        return _Case(holds, levels, exact, lost, unseen, tuple(translator.nodes)), figures

    def _cause(self, name: str, figures: Aggregates) -> Truth:
        """Return for which servers another cause holds: it is worked out before, under a name of its own."""
        if name in self._open or name not in self._base.rules:
            return Truth(NEVER, NEVER)
        case = self.case(name)
        if case.holds.expr is None:
            # What metrics can never show is no reason to be silent; what they show in part is.
            return Truth(NEVER, NEVER)
        recorded = Expr(self._keep(name, _one(case.holds.expr), None))
        return Truth(Side(recorded), LOST)

    def _keep(self, name: str, expr: Expr, figures: Aggregates | None) -> str:
        """Record an expression; the name says where it differs from the usual one of this name."""
        recorded = f"{PREFIX}:{self._metrics.engine.replace('-', '_')}:{name.replace('.', '_')}"
        if figures and figures.window.seconds != self._wanted.window:
            recorded += f":{figures.window.text}"
        if figures and not figures.model:
            recorded += ":any_model"
        self._shared.setdefault(recorded, expr)
        return recorded

    def alert(self, rule: Rule, level: str, side: Side) -> dict[str, Any]:
        """Return one alerting rule."""
        assert side.expr
        server = self._metrics.engine
        return {
            "alert": alert_name(rule.id),
            "expr": side.expr.text,
            "for": span(self._wanted.hold),
            "labels": {
                "severity": level,
                "stage": rule.stage,
                "cause": rule.id,
                "server": server,
                **self._wanted.labels,
            },
            "annotations": {
                "summary": f"{rule.title} ({{{{ $labels.pod }}}} {{{{ $labels.instance }}}})",
                "description": f"{' '.join(_plain(rule.meaning).split())} "
                f"Ask the server's log: diagnose --alert FILE, or diagnose explain {rule.id}.",
                "runbook_url": f"{self._wanted.runbooks.rstrip('/')}/{rule.id.replace('.', '/')}.md",
            },
        }

    def _rank(self, name: str) -> int:
        if name not in self._metrics.recorded:
            return 2
        return int(name.endswith(":loaded"))

    def groups(self, alerts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return one group: rules of a group are evaluated in their order."""
        # A name is asked for before what is recorded under it is known to be needed.
        recorded = {**self._metrics.recorded, **self._shared}
        used: set[str] = set()
        waiting = [one["expr"] for one in alerts]
        while waiting:
            for name in _RECORDED.findall(waiting.pop()):
                if name in recorded and name not in used:
                    used.add(name)
                    waiting.append(recorded[name].text)
        # What a rule of a group names must stand before it: levels, then whether there is work, then conditions.
        order = sorted((one for one in recorded if one in used), key=lambda one: self._rank(one))
        recording = [{"record": one, "expr": recorded[one].text} for one in order]
        name = f"diagnose-{self._metrics.engine}"
        return [{"name": name, "interval": span(self._wanted.interval), "rules": [*recording, *alerts]}]


_ON = f" on ({', '.join(SERVER)})"


_RECORDED = re.compile(rf"{PREFIX}(?::\w+)+")


def _one(expr: Expr) -> Expr:
    return join("+", join("*", number(0), expr), number(1))


def _plain(text: str) -> str:
    return "".join(part.expression if isinstance(part, Placeholder) else part for part in split(text))


def alert_name(rule: str) -> str:
    """Return the name of a rule's alerts: ``memory.kv_cache_exhausted`` is ``LlmMemoryKvCacheExhausted``."""
    return "Llm" + "".join(word.capitalize() for word in rule.replace(".", "_").split("_"))


def manifest(groups: Iterable[dict[str, Any]], name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest that the Prometheus operator takes."""
    metadata: dict[str, Any] = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
    return {**kind, "metadata": metadata, "spec": {"groups": list(groups)}}
