"""Key figures of a run over time, for the report's head: median, extremes and a sparkline of each series."""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress, pairwise
from math import fsum
from operator import and_, eq, itemgetter, le

from diagnoser.contracts.figurerows import FigureRow
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.language import ENGLISH, Say
from diagnoser.model import Run
from diagnoser.portraits import stretches
from diagnoser.rules.evaluating.rows import Rows, rows_of
from diagnoser.tables.table import Table

#: Slices of a sparkline: wide enough to show a wave, narrow enough for 80 columns.
SLICES = 24

#: Fewer samples under load say little of a rank; more ranks than this are no table for a report.
RANK_SAMPLES = 10
MOST_RANKS = 256

#: The figures a report shows, in this order, where the log has them.
SHOWN = (
    "requests.running",
    "requests.waiting",
    "requests.deferred",
    "requests.swapped",
    "kv.usage",
    "gen.tps",
    "prompt.tps",
    "cache.hit_rate",
    "preemptions",
    "spec.accept_length",
    "gpu.util",
    "gpu.sm_active",
    "gpu.tensor_active",
    "gpu.dram_active",
    "gpu.memory_used",
    "gpu.power",
    "gpu.temperature",
    "gpu.sm_clock",
    "profile.comm_share",
    "profile.gemm_share",
    "profile.attention_share",
    "profile.moe_share",
    "profile.idle_share",
    "profile.kernel_median",
    "profile.short_share",
    "profile.prefill_share",
    "profile.graph_launches",
    "bench.concurrency",
    "bench.output_tps",
    "bench.finished_tps",
)


#: Levels that a log and a metrics page both tell -> the least difference worth a word; a row tells one moment, so some
#: are needed of either.
COMPARED = {"requests.running": 4.0, "requests.waiting": 4.0, "kv.usage": 0.2}
COMPARABLE = 5


def figures(run: Run, vocabulary: Vocabulary) -> dict[str, FigureRow]:
    """Return the shown series of a run; medians over loaded rows, extremes over all."""
    out: dict[str, FigureRow] = {}
    # Fields that no version read prints stand under their own labels, behind the others.
    strange = [label for label in run.drift if label and label not in SHOWN]
    every = [(table, _busy(table)) for table in run.tables.values() if table.medium != "gpu"]
    every += [(rows.table, _worked(rows)) for rows in rows_of(run)[0] if rows.table.medium == "gpu"]
    for name in (*SHOWN, *strange):
        series = vocabulary.series.get(name) or (Series(name, name, "", "gauge") if name in strange else None)
        if series is None:
            continue
        # Where several media tell a figure, the one with most rows shows its course best.
        media: dict[str, int] = {}
        for table, _ in every:
            if name in table.columns:
                media[table.medium] = media.get(table.medium, 0) + len(table)
        chosen = max(media, key=media.__getitem__, default="")
        tables = [pair for pair in every if pair[0].medium == chosen]
        under_load = stretches.of(tables, name, series.kind, SLICES)
        times: list[float] = []
        values: list[float] = []
        loaded: list[float] = []
        for table, busy in tables:
            column = table.columns.get(name)
            if column is not None:
                present = bytes(map(eq, column, column))  # a field that its line lacks is NaN
                times += compress(table.time, present)
                values += compress(column, present)
                loaded += compress(column, map(and_, present, busy))
        if values:
            out[name] = FigureRow(
                name,
                series.title,
                series.unit,
                _median(loaded or values),
                max(values),
                min(values),
                len(values),
                _slices(times, values),
                *under_load,
            )
    return out


def disagreements(run: Run, vocabulary: Vocabulary, say: Say = ENGLISH) -> list[str]:
    """Say where the log and the metrics page tell a level differently: both are shown, none is averaged."""
    said: list[str] = []
    if len({table.medium for table in run.tables.values()} & {"log", "metrics"}) < 2:
        return said
    for name, least in COMPARED.items():
        levels = {medium: _level(run, name, medium) for medium in ("log", "metrics")}
        log, metrics = levels["log"], levels["metrics"]
        if log is None or metrics is None or abs(log - metrics) < least or max(log, metrics) < 2 * min(log, metrics):
            continue
        title = vocabulary.series[name].title
        low, high = (f"{value * 100:.0f} %" if least < 1 else f"{value:.0f}" for value in (log, metrics))
        told = say(
            "the log and the metrics differ on {title}: {log} against {metrics} at the median; the log is judged by"
        )
        said.append(told.format(title=title, log=low, metrics=high))
    return said


def _level(run: Run, name: str, medium: str) -> float | None:
    values: list[float] = []
    for table in run.tables.values():
        if table.medium == medium and name in table.columns:
            values += [
                value for value, busy in zip(table.columns[name], _busy(table), strict=True) if busy and value == value
            ]
    return _median(values) if len(values) >= COMPARABLE else None


def scrapes(run: Run) -> int:
    """Metrics pages read."""
    tables = [table for table in run.tables.values() if table.medium == "metrics"]
    return max((int(sum(table.weight)) for table in tables), default=0)


def ranks(run: Run, vocabulary: Vocabulary) -> dict[str, dict[str, float]]:
    """Return for each of several ranks the medians of its figures under load; empty for one rank."""
    out: dict[str, dict[str, float]] = {}
    tables = _lines(run) or list(run.tables.values())
    for table in tables if len(tables) > 1 else ():
        label = " ".join(f"{name}{value}" for name, value in table.group)
        busy = _busy(table)
        for name in SHOWN:
            column = table.columns.get(name)
            if label and column is not None and name in vocabulary.series:
                loaded = [
                    value for value, under_load in zip(column, busy, strict=True) if under_load and value == value
                ]
                if len(loaded) >= RANK_SAMPLES:
                    out.setdefault(label, {})[name] = _median(loaded)
    return out if 1 < len(out) <= MOST_RANKS else {}


def interval(run: Run) -> float | None:
    """Median seconds between statistics lines of one rank, None where the log has no times."""
    gaps = [later - earlier for table in _lines(run) for earlier, later in pairwise(table.time) if later > earlier]
    return _median(gaps) if gaps else None


def samples(run: Run) -> int:
    """Statistics lines read."""
    return int(sum(sum(table.weight) for table in _lines(run)))


def _lines(run: Run) -> list[Table]:
    return [table for table in run.tables.values() if table.medium == "log"]


def _busy(table: Table) -> list[bool]:
    """Which rows were under load: requests run, or wait, or the table does not tell."""
    running, waiting = table.columns.get("requests.running"), table.columns.get("requests.waiting")
    if running is None:
        return [True] * len(table)
    if waiting is None:
        return [count != 0 for count in running]
    return [count != 0 or queue > 0 for count, queue in zip(running, waiting, strict=True)]


def _worked(rows: Rows) -> list[bool]:
    """Which rows of a GPU lie in moments in which the server had work."""
    return [True] * len(rows.table) if rows.loaded is None else list(map(bool, rows.loaded))


def _slices(times: list[float], values: list[float]) -> list[float | None]:
    known, ordered = times, values
    if not all(map(le, times, [*times[1:], times[-1]])):  # several ranks, or lines without a time
        timed = [pair for pair in zip(times, values, strict=True) if pair[0] == pair[0]]
        timed.sort(key=itemgetter(0))
        known, ordered = [time for time, _ in timed], [value for _, value in timed]
    start, end = (known[0], known[-1]) if known else (0.0, 0.0)
    if end <= start:
        step = max(1, -(-len(values) // SLICES))
        return [_mean(values[i : i + step]) for i in range(0, len(values), step)]
    # A few scrapes are a few columns, not a line with holes.
    columns = min(SLICES, len(set(known)))
    width = (end - start) / columns

    def number_of(time: float) -> int:
        return min(columns - 1, int((time - start) / width))

    begins = [bisect_left(known, number, key=number_of) for number in range(columns)]
    slices = [ordered[begin:stop] for begin, stop in pairwise([*begins, len(known)])]
    return [_mean(each) if each else None for each in slices]


# The standard library's statistics would do; importing it takes longer than everything that is computed here.
def _median(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values)
