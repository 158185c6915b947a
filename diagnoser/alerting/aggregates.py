"""Aggregates of the rule language as PromQL over a window that ends now."""

from __future__ import annotations

from math import ceil

from diagnoser.alerting.names import MODEL, SERVER, CannotSayError, Metrics
from diagnoser.alerting.promql import Expr, Known, Missing, Side, Truth, call, join, number
from diagnoser.alerting.rows import NotTold, Rows
from diagnoser.rules.functions import PERCENTILE
from diagnoser.rules.model import Node
from diagnoser.rules.nodes import walk
from diagnoser.values import dataclass, field

Value = Expr | Known | Missing

#: Aggregate -> function over time, and how ranks of one server are put together.
_OVER_TIME = {
    "mean": ("avg_over_time", "avg"),
    "min": ("min_over_time", "min"),
    "max": ("max_over_time", "max"),
    "last": ("last_over_time", "avg"),
    "samples": ("count_over_time", "sum"),
}


@dataclass(slots=True)
class Window:
    """The stretch that an alert looks back on, in seconds; ``needed`` is the least that some condition asks for."""

    seconds: int
    interval: int
    needed: int = 0

    @property
    def text(self) -> str:
        """As PromQL writes it."""
        return span(self.seconds)

    def need(self, seconds: float) -> None:
        """Say that a condition cannot be met in less."""
        self.needed = max(self.needed, ceil(seconds))


def span(seconds: float) -> str:
    """Write a length of time as PromQL does."""
    whole = round(seconds)
    for size, unit in ((3600, "h"), (60, "m")):
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"


@dataclass(slots=True)
class Aggregates:
    """Translates aggregates of one rule. ``model`` says whether every metric of the rule names the model."""

    metrics: Metrics
    window: Window
    model: bool = True
    seen: set[str] = field(default_factory=set)

    @property
    def by(self) -> str:
        """The labels that an alert has of its server."""
        return ", ".join((*SERVER, MODEL) if self.model else SERVER)

    def universe(self) -> Expr:
        """Every server of this engine."""
        known = self.metrics.server(tuple(sorted(self.seen)))
        return known if self.model else Expr(f"max without ({MODEL}) ({known.text})")

    def answer(self, node: Node, pool: str = "") -> Value:
        """Return the value of an ``aggregate`` node; ``pool`` puts ranks together in another way than usual."""
        name, subject, second, condition, overall, _ = node.args
        try:
            if second is not None or name in ("slope", "corr", "gap", "delta", "best", "worst", "longest"):
                self._rows([subject, *([condition] if condition else [])], not overall)  # what nobody tells is unknown
                raise CannotSayError(f"{name}()")
            series = self.metrics.vocabulary.series
            if subject.op == "series" and series[subject.args[0]].kind == "count":
                return self._counted(name, subject.args[0], condition)
            rows = self._rows([subject, *([condition] if condition else [])], not overall)
            if name == "groups":
                return self._pooled("count", rows, self._range("last_over_time", rows.value(subject)))
            if name == "first":
                return self._first(rows, subject, condition, overall)
            if name == "share":
                held = rows.narrowed(rows.bits(subject), condition, overall)
                return self._pooled(pool or "avg", rows, self._range("avg_over_time", held))
            held = rows.narrowed(rows.value(subject), condition, overall)
            percent = PERCENTILE.match(name)
            if percent:
                over = call("quantile_over_time", f"{int(percent[1]) / 100:g}", Expr(self._span(held)))
                return self._pooled(pool or "avg", rows, over)
            if name not in _OVER_TIME:
                raise CannotSayError(f"{name}() of levels")
            function, usual = _OVER_TIME[name]
            out = self._pooled(pool or usual, rows, self._range(function, held))
            if name == "samples":  # where there are rows, but none of these, their number is 0
                out = join("or", out, join("*", number(0), self._pooled("sum", rows, rows.value(subject))))
            return out
        except NotTold as told:
            return Missing(True, str(told))
        except CannotSayError as told:
            return Missing(False, str(told))

    def _first(self, rows: Rows, subject: Node, condition: Node | None, overall: bool) -> Expr:
        """Return the value when the window began, or later where there was none: PromQL knows no first."""
        out: Expr | None = None
        back = self.window.seconds
        while back >= self.window.interval:
            rows.offset = span(back)
            one = self._pooled("avg", rows, rows.narrowed(rows.value(subject), condition, overall))
            out = one if out is None else join("or", out, one)
            back //= 2
        if out is None:
            raise CannotSayError("first() of so short a window")
        return out

    def _rows(self, nodes: list[Node], loaded: bool) -> Rows:
        self.seen |= {part.args[0] for node in nodes for part in walk(node) if part.op == "series"}
        return Rows.of(self.metrics, nodes, loaded)

    def _counted(self, name: str, series: str, condition: Node | None) -> Expr:
        """Growth of a counter: as a sum, or per second of loaded time."""
        if not self.metrics.refs(series):
            raise NotTold(series)
        self.seen.add(series)
        if condition is not None or name not in ("sum", "rate"):
            raise CannotSayError(f"{name}() of what a counter grew by")
        grown = self.metrics.grown(series, self.by, self.window.text)
        if name == "sum":
            return grown
        rows = Rows(self.metrics, self.metrics.says("requests.running"))
        busy = self._pooled("max", rows, self._range("sum_over_time", rows.loaded(equals=False)))
        return join("/", grown, join(">", join("*", busy, number(self.window.interval)), number(0)))

    def sustained(self, subject: Node, condition: Node | None, overall: bool, length: float) -> Truth | Missing:
        """Whether a condition has held without interruption, up to now, for so long."""
        try:
            rows = self._rows([subject, *([condition] if condition else [])], not overall)
            held = rows.bits(subject)
            if condition is not None:
                held = join("*", held, rows.bits(condition))
            if not overall and self.metrics.works:  # an idle row ends a stretch
                held = join("*", held, rows.loaded(equals=False))
        except NotTold as told:
            return Missing(True, str(told))
        except CannotSayError as told:
            return Missing(False, str(told))
        # So many evaluations lie that long apart at least, wherever in its interval this one falls.
        rows_in_a_row = ceil(length / self.window.interval) + 1
        back = rows_in_a_row * self.window.interval
        self.window.need(back)
        lasting = self._pooled("max", rows, self._range("min_over_time", held, back))
        whole = self._pooled("max", rows, self._range("count_over_time", held, back))
        enough = join(">=", whole, number(rows_in_a_row))
        return Truth(Side(join("and", join("==", lasting, number(1)), enough)), Side(join("==", lasting, number(0))))

    def ranked(self, node: Node) -> Value:
        """Return the highest or lowest value over ranks."""
        which, inner = node.args
        return self.answer(inner, "max" if which == "most" else "min")

    def spread(self, node: Node) -> Value:
        """Return a figure of a distribution over requests."""
        name, subject, level, _ = node.args
        series, window = subject.args[0], self.window.text
        if not self.metrics.refs(series):
            return Missing(True, series)
        self.seen.add(series)
        try:
            if name in ("samples", "sum"):
                return self.metrics.grown(series, self.by, window, "_count" if name == "samples" else "_sum")
            if name == "mean":
                count = join(">", self.metrics.grown(series, self.by, window, "_count"), number(0))
                return join("/", self.metrics.grown(series, self.by, window, "_sum"), count)
            percent = PERCENTILE.match(name)
            if percent and level is None:
                return self.metrics.quantile(series, int(percent[1]) / 100, self.by, window)
        except CannotSayError as told:
            return Missing(False, str(told))
        return Missing(False, f"{name}() of {series}")

    def beyond(self, series: str, share: float) -> Expr | Missing:
        """Return the level that ``share`` of a distribution lies above."""
        if not self.metrics.refs(series):
            return Missing(True, series)
        self.seen.add(series)
        return self.metrics.quantile(series, 1 - share, self.by, self.window.text)

    def _span(self, expr: Expr, length: float | None = None) -> str:
        over = span(length) if length else self.window.text
        plain = expr.text.replace(":", "").replace("_", "").isalnum()
        return f"{expr.text}[{over}]" if plain else f"{expr.inside(6)}[{over}:{self.window.interval}s]"

    def _range(self, function: str, expr: Expr, length: float | None = None) -> Expr:
        return call(function, Expr(self._span(expr, length)))

    def _pooled(self, how: str, rows: Rows, expr: Expr) -> Expr:
        """Put the ranks of a server together."""
        kept = {MODEL} if self.model else set()
        drop = [label for label in self.metrics.labels if label in rows.labels - kept]
        return call(f"{how} without ({', '.join(drop)}) ", expr) if drop else expr
