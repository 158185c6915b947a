"""Metrics of the vocabulary as PromQL: a series at a moment, what a counter grew by, the parts of a histogram."""

from __future__ import annotations

from diagnoser.alerting.promql import Expr, call, join, number
from diagnoser.knowledge.metricref import COUNTERS, MetricRef, Term, parse_ref
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.values import dataclass, field

#: What tells one server from another, whoever scrapes it.
SERVER = ("job", "instance", "namespace", "pod")
#: Labels of ranks that hold requests of their own, and of ranks that all tell the same, by engine.
RANK = {"vllm": "engine", "sglang": "dp_rank"}
ALIKE = {"sglang": "tp_rank, pp_rank, moe_ep_rank"}
MODEL = "model_name"
#: Levels that SGLang's tokenizer manager makes of the whole server, without a rank.
_WHOLE = (
    "sglang:generation_tokens_total",
    "sglang:prompt_tokens_total",
    "sglang:cached_tokens_total",
    "sglang:process_cpu_seconds_total",
)

#: Metrics of an engine that do not name its model, by the beginnings of their names.
_NAMELESS = ("vllm:cache_config_info", "sglang:http_", "sglang:process_cpu_seconds")

#: Names of recorded series begin so.
PREFIX = "diagnoser"


def names_model(metric: str) -> bool:
    """Whether a metric has the label of the model: the engines' own have it, those of libraries do not."""
    return metric.startswith(("vllm:", "sglang:")) and not metric.startswith(_NAMELESS)


class CannotSayError(Exception):
    """PromQL has no words for it; the text says what."""


@dataclass(slots=True)
class Metrics:
    """The metrics of one engine. ``recorded`` fills with the series that were asked for."""

    engine: str
    vocabulary: Vocabulary
    interval: int
    recorded: dict[str, Expr] = field(default_factory=dict)

    @property
    def rank(self) -> str:
        """The label that tells ranks of a server apart; "" where the engine has none."""
        return RANK.get(self.engine, "")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of recorded series."""
        return tuple(filter(None, (*SERVER, MODEL, self.rank)))

    def record(self, name: str, expr: Expr) -> str:
        """Ask for a recorded series; return its name."""
        full = f"{PREFIX}:{self.engine.replace('-', '_')}:{name.replace('.', '_')}"
        self.recorded.setdefault(full, expr)
        return full

    def refs(self, name: str) -> list[MetricRef]:
        """Return the references of a series; empty where this engine's metrics do not tell it."""
        series = self.vocabulary.series.get(name)
        return [parse_ref(text) for text in series.metric.get(self.engine, ())] if series else []

    def says(self, name: str) -> frozenset[str]:
        """Return which labels beyond the server's own every metric of a series, or a fact, has."""
        spec = self.vocabulary.series.get(name) or self.vocabulary.facts[name]
        refs = [parse_ref(text) for text in spec.metric.get(self.engine, ())]
        names = [term.name for ref in refs for term in (*ref.terms, *ref.over)]
        out = {MODEL} if all(map(names_model, names)) else set()
        if self.rank and out and not any(name in _WHOLE for name in names):
            out.add(self.rank)
        return frozenset(out)

    def row(self, name: str) -> str:
        """Return the recorded series of a level; the growth of a counter is no level."""
        series = self.vocabulary.series[name]
        if series.kind not in ("gauge", "total"):
            raise CannotSayError(f"{name} row by row: it is what a counter grew by")
        return self.record(name, self._any([self._level(ref, series) for ref in self.refs(name)]))

    def _any(self, names: list[Expr]) -> Expr:
        """Whichever name this version exports; the newest first."""
        if not names:
            raise CannotSayError("no metric")
        out = names[0]
        for one in names[1:]:
            out = join("or", out, one)
        return out

    def _level(self, ref: MetricRef, series: Series) -> Expr:
        if ref.bits:
            raise CannotSayError("bits of a mask")
        by = ", ".join(self.labels)
        short = f"{4 * self.interval}s"
        if ref.over:
            grow = all(term.name.endswith(COUNTERS) for term in (*ref.terms, *ref.over))
            parts = [
                self._added(terms, "sum", by, "rate" if grow else "", short if grow else "")
                for terms in (ref.terms, ref.over)
            ]
            return self._scaled(join("/", parts[0], join(">", parts[1], number(0))), ref)
        if ref.form == "rate":
            return self._scaled(self._added(ref.terms, "sum", by, "rate", short), ref)
        combine = "max" if series.unit == "ratio" and series.kind == "gauge" else "sum"
        level = self._added(ref.terms, combine, by)
        if ref.form:
            level = join(">" if ref.form == "positive" else ">=", level, number(0))
        return self._scaled(level, ref)

    def _scaled(self, expr: Expr, ref: MetricRef) -> Expr:
        return expr if ref.scale == 1.0 else join("*", expr, number(ref.scale))

    def _added(self, terms: tuple[Term, ...], combine: str, by: str, function: str = "", window: str = "") -> Expr:
        """Add terms up, each of which may be absent."""
        parts = [self.one(term, combine, by, function, window) for term in terms]
        if len(parts) == 1:
            return parts[0]
        out = parts[0]
        for part in parts[1:]:
            out = join("or", join("+", out, part), join("or", out, part))
        return out

    def one(self, term: Term, combine: str, by: str, function: str = "", window: str = "") -> Expr:
        """Return one metric, added up over the labels that do not count."""

        def measured(where: bool) -> Expr:
            held = ",".join(f'{name}{operator}"{text}"' for name, operator, text in term.where) if where else ""
            inner = Expr(term.name + (f"{{{held}}}" if held else ""))
            if function:
                inner = call(function, f"{inner.text}[{window}]")
            alike = ALIKE.get(self.engine) if term.name.startswith(f"{self.engine}:") else None
            if alike:
                inner = call(f"max without ({alike}) ", inner)
            return call(f"{combine} by ({by}) ", inner)

        # A label set that nobody counted yet is zero where its metric is there.
        return join("or", measured(True), join("*", number(0), measured(False))) if term.where else measured(True)

    def grown(self, name: str, by: str, window: str, suffix: str = "") -> Expr:
        """Return what a counter, or a part of a histogram, grew by in the window."""
        out = []
        for ref in self.refs(name):
            if ref.form or ref.over or ref.bits:
                raise CannotSayError(f"growth of {name}")
            terms = tuple(term._replace(name=term.name + suffix) for term in ref.terms)
            scaled = ref if suffix in ("", "_sum") else ref._replace(scale=1.0)
            out.append(self._scaled(self._added(terms, "sum", by, "increase", window), scaled))
        return self._any(out)

    def quantile(self, name: str, share: float, by: str, window: str) -> Expr:
        """Return a percentile of a distribution over the window."""
        out = []
        for ref in self.refs(name):
            terms = tuple(term._replace(name=term.name + "_bucket") for term in ref.terms[:1])
            buckets = self._added(terms, "sum", f"{by}, le", "rate", window)
            out.append(self._scaled(call("histogram_quantile", f"{share:.12g}", buckets), ref))
        return self._any(out)

    def fact(self, name: str, by: str) -> Expr | None:
        """Return a fact that a metric's value tells; None where none does. Raises CannotSayError for labels."""
        spec = self.vocabulary.facts.get(name)
        refs = [parse_ref(text) for text in spec.metric.get(self.engine, ())] if spec else []
        if any(term.label for ref in refs for term in ref.terms):
            raise CannotSayError(f"{name}, the text of a label")
        return self._any([self._scaled(self.one(ref.terms[0], "max", by), ref) for ref in refs]) if refs else None

    def flag(self, name: str, by: str, wanted: bool) -> Expr:
        """Return where a label says yes, or no."""
        spec = self.vocabulary.facts[name]
        text = "True|true|1" if wanted else "False|false|0"
        out = []
        for ref in map(parse_ref, spec.metric.get(self.engine, ())):
            term = ref.terms[0]
            out.append(self.one(term._replace(where=(), name=f'{term.name}{{{term.label}=~"{text}"}}'), "max", by))
        return self._any(out)

    @property
    def works(self) -> bool:
        """Whether this engine tells when it has work; routers do not."""
        return bool(self.refs("requests.running") and self.refs("requests.waiting"))

    def load(self) -> str:
        """Return the recorded series that is 1 where a rank has work and 0 where it has none."""
        if not self.works:
            raise CannotSayError("whether the server has work")
        total = running = Expr(self.row("requests.running"))
        total = join("+", total, Expr(self.row("requests.waiting")))
        for name in ("requests.swapped", "requests.deferred"):
            if self.refs(name):  # not every version exports these
                total = join("+", total, join("or", Expr(self.row(name)), join("*", number(0), running)))
        return self.record("loaded", join("> bool", total, number(0)))

    def server(self, names: tuple[str, ...]) -> Expr:
        """Return a vector of every server of this engine."""
        known = (
            "requests.running" if self.refs("requests.running") else next((one for one in names if self.refs(one)), "")
        )
        if not known:
            raise CannotSayError("which servers there are")
        by = ", ".join((*SERVER, MODEL))
        first = self._any([call(f"count by ({by}) ", term.name) for ref in self.refs(known) for term in ref.terms[:1]])
        return Expr(self.record("server", first))
