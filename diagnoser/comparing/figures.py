"""Figures of two sides: which are shown to differ, which way, and which way is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnoser.comparing.significance import LEAST, compare
from diagnoser.contracts.comparison import FigureChange
from diagnoser.contracts.figurerows import FigureRow, SpreadRow
from diagnoser.contracts.findings import RunReport
from diagnoser.language import ENGLISH, Say

#: Which way is better under the same load; figures that are not here have no good direction.
BETTER = {
    "gen.tps": "higher",
    "requests.waiting": "lower",
    "requests.swapped": "lower",
    "requests.deferred": "lower",
    "preemptions": "lower",
    "cache.hit_rate": "higher",
    "spec.accept_length": "higher",
}

#: Over all figures together one false alarm in twenty comparisons (Bonferroni).
LEVEL = 0.05

#: Smaller changes are of no use to anybody, shown or not: shares of the value before, and absolute ones by unit.
LEAST_CHANGE = 0.03
_LEAST_ABSOLUTE = {"ratio": 0.01, "requests": 1.0, "events": 0.5}

_PER_LINE = {"events": "events/min"}


def changes(before: Sequence[RunReport], after: Sequence[RunReport], say: Say = ENGLISH) -> list[FigureChange]:
    """Return every figure that either side has, in the order of the report; reasons in the language of ``say``."""
    names = dict.fromkeys(name for run in (*before, *after) for name in run.figures)
    pairs = [(_rows(before, name), _rows(after, name)) for name in names]
    tested = sum(all(row.blocks for row in (*old, *new)) for old, new in pairs if old and new)
    out = [_change(old, new, LEVEL / max(1, tested), say) for old, new in pairs]
    latencies = dict.fromkeys(name for run in (*before, *after) for name in run.spreads)
    for name in latencies:
        out += _latency(*_alike(_spread(before, name), _spread(after, name)), say)
    return out


def _rows(runs: Iterable[RunReport], name: str) -> list[FigureRow]:
    return [run.figures[name] for run in runs if name in run.figures]


def _spread(runs: Iterable[RunReport], name: str) -> SpreadRow | None:
    rows = [run.spreads[name] for run in runs if name in run.spreads]
    return max(rows, key=lambda row: row.count, default=None)


def _alike(old: SpreadRow | None, new: SpreadRow | None) -> tuple[SpreadRow | None, SpreadRow | None]:
    """Where only one side has requests one by one, what the servers of both told is compared."""
    if old is None or new is None or old.medium == new.medium:
        return old, new
    return old.served or old, new.served or new


def _change(old: list[FigureRow], new: list[FigureRow], level: float, say: Say) -> FigureChange:
    some = (old or new)[0]
    cut = all(row.blocks for row in (*old, *new))
    before, after = _level(old, cut), _level(new, cut)
    unit = _PER_LINE.get(some.unit, some.unit) if cut else some.unit
    samples = [sum(row.loaded if row.blocks else row.samples for row in rows) for rows in (old, new)]
    change = FigureChange(
        some.name, some.title, unit, before, after, _share(before, after), "unknown", "", "", samples, [0.0, 0.0], None
    )
    if not old or not new:
        change.reason = say("only after prints it") if new else say("only before prints it")
        return change
    if cut and [row.blocks for row in old] == [row.blocks for row in new]:
        change.state, change.reason = "same", "identical"
        return change
    if not cut:
        few = min(samples) < 2 * LEAST
        change.reason = say("too few samples under load") if few else say("no stretches are kept of it")
        return change
    shown = compare([row.blocks for row in old], [row.blocks for row in new])
    change.blocks = [round(worth, 1) for worth in shown.worth]
    change.p = shown.p
    if shown.p is None:
        change.reason = say("it drifts: no level to compare") if shown.drifts else _too_few(shown.worth, say)
        return change
    assert before is not None and after is not None  # both sides have rows
    if shown.p > level or _small(before, after, some.unit):
        change.state = "same"
        return change
    change.state = "higher" if after > before else "lower"
    change.means = _means(change.state, BETTER.get(some.name))
    return change


def _too_few(worth: tuple[float, float], say: Say) -> str:
    told = say("worth {count} independent stretches, {least} needed")
    return told.format(count=f"{min(worth):.0f}", least=f"{LEAST:.0f}")


def _latency(old: SpreadRow | None, new: SpreadRow | None, say: Say) -> Iterable[FigureChange]:
    some = old or new
    assert some is not None  # the name came from one of both
    labels = dict.fromkeys(label for row in (old, new) if row is not None for label in row.percentiles)
    for label in labels:
        was = old.percentiles.get(label) if old is not None else None
        now = new.percentiles.get(label) if new is not None else None
        before, after = was[0] if was else None, now[0] if now else None
        counts = [row.count if row is not None else 0 for row in (old, new)]
        name, title = f"{some.name}.{label}", f"{some.title} {label}"
        bounds = [row.range(label) if row is not None else None for row in (old, new)]
        share = None if any(bounds) else _share(before, after)
        change = FigureChange(name, title, some.unit, before, after, share, "unknown", "", "", counts, [], None, bounds)
        if was is None or now is None:
            change.reason = say("only after has it") if now else say("only before has it")
        elif None in was or None in now:
            change.reason = say("too few requests to bound it, or only the percentile is known")
        elif old is not None and new is not None and old.medium != new.medium:
            told = say("measured by {before} before and by {after} after")
            change.reason = told.format(before=old.medium, after=new.medium)
        else:
            change.state = _apart(was, now)
            # Lengths of prompts and answers are the load, and no outcome.
            change.means = _means(change.state, "lower" if some.name.startswith("latency.") else None)
        yield change


def _apart(before: list[float | None], after: list[float | None]) -> str:
    """Bounds that touch show nothing; nor does a change smaller than anybody would mind."""
    (old, low, high), (new, least, most) = before, after
    if None in (old, low, high, new, least, most) or abs(new - old) < LEAST_CHANGE * abs(old):  # type: ignore[operator, arg-type]
        return "same"
    return "higher" if least >= high else "lower" if most <= low else "same"  # type: ignore[operator]


def _means(state: str, better: str | None) -> str:
    if better is None or state not in ("higher", "lower"):
        return ""
    return "better" if state == better else "worse"


def _level(rows: list[FigureRow], cut: bool) -> float | None:
    values = sorted(value for row in rows for value in (row.blocks if cut else [row.median]))
    if not values:
        return None
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def _share(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else (after - before) / abs(before)


def _small(before: float, after: float, unit: str) -> bool:
    least = max(LEAST_CHANGE * abs(before), _LEAST_ABSOLUTE.get(unit, 0.0))
    return abs(after - before) < least
