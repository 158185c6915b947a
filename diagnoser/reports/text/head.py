"""The head of the report: which server, how long, how it ended, and the state of the eight stages."""

from __future__ import annotations

from diagnoser.findings import Input, Report, RunReport, Stage
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.summary import answers, ending, engine_name, focus, gpus, parallelism, recognised, verdict
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import number, plural, span
from diagnoser.times import duration

#: A crash loop has hundreds of runs: the first ones and the last one tell it.
_RUNS_SHOWN = 5
_INPUTS_SHOWN = 3
#: Scrapes over less time than this may have missed what happens now and then, seconds.
_BRIEF = 30.0


def write(page: Page, report: Report) -> RunReport | None:
    """Write the head; return the run that it is about: the one of the worst finding, else the last."""
    shown = focus(report) if recognised(report) else None
    if shown is not None:
        _verdict(page, report)
        for piece in layout.flow(_identity(report, shown), page.width, page.dot):
            page.add((piece, ""))
    for piece in layout.flow(_extent(report, shown), page.width, page.dot):
        page.add((piece, "dim"))
    for note in (*answers(report), *(shown.notes if shown is not None else ())):
        for piece in layout.wrap(line(note), page.width):
            page.add((piece, "dim"))
    if shown is not None and len(report.runs) > 1:
        page.gap()
        _runs(page, report, shown)
    if report.stages and shown is not None:
        page.gap()
        _stages(page, report.stages)
    page.gap()
    return shown


def _verdict(page: Page, report: Report) -> None:
    """Write the answer first: the rest of the page is its proof."""
    level, colon, rest = verdict(report).partition(": ")
    if not colon:
        page.add((level.capitalize(), "ok" if report.healthy else "title"))
        return
    lead = f"{level.upper()}: "
    for i, piece in enumerate(layout.wrap(rest, page.width - len(lead))):
        page.add((lead[:-1], level) if i == 0 else " " * (len(lead) - 1), " ", (piece, "title"))


def _identity(report: Report, run: RunReport) -> list[str]:
    place = report.runs.index(run) + 1
    items = [
        engine_name(run),
        line(str(run.facts.get("model.name") or "")),
        gpus(run.facts),
        parallelism(run.facts),
        f"run {place} of {len(report.runs)}, {ending(report, run)}",
    ]
    return [item for item in items if item]


def _extent(report: Report, run: RunReport | None) -> list[str]:
    # What was judged stands before what was only recognised.
    names = [_named(source) for source in sorted(report.inputs, key=lambda source: source.kind != "log")]
    sources = ", ".join(names[:_INPUTS_SHOWN])
    if len(names) > _INPUTS_SHOWN:
        sources += f" and {len(names) - _INPUTS_SHOWN} more"
    lines = sum(source.lines for source in report.inputs)
    if run is None:
        return [sources, plural(lines, "line")]
    envelopes = sorted({line(source.envelope) for source in report.inputs if _wrapped(source)})
    items = [sources, span(run.started, run.ended), plural(lines, "line") + "".join(f", {name}" for name in envelopes)]
    if run.stats_samples:
        every = f", every {duration(run.stats_interval)}" if run.stats_interval else ""
        items.append(plural(run.stats_samples, "stat sample") + every)
    elif not run.scrapes and not any("statistics" in note for note in run.notes):
        items.append("no statistics lines")
    if run.scrapes:
        items.append(plural(run.scrapes, "scrape"))
    if not run.complete_start and run.lines:
        items.append("begins in the middle of this run")
    return [item for item in items if item]


def _named(source: Input) -> str:
    """Return an input's name; of metrics how many scrapes it has over what time, for rates are of that time only."""
    name, live = line(source.name), "://" in source.name
    if not source.scrapes or not (live or source.scrapes > 1):
        return name
    over = f" over {duration(source.seconds)}" if source.seconds else ", so no rates" if source.scrapes == 1 else ""
    brief = "; --for 60s sees more" if live and source.kind == "prometheus" and (source.seconds or 0) < _BRIEF else ""
    return f"{name} ({plural(source.scrapes, 'scrape')}{over}{brief})"


def _wrapped(source: Input) -> bool:
    return source.envelope not in ("", "plain", "none", "bare")


def _runs(page: Page, report: Report, shown: RunReport | None) -> None:
    causes = {run: finding for finding in reversed(report.findings) if finding.role == "root" for run in finding.runs}
    for place, run in enumerate(report.runs, 1):
        hidden = len(report.runs) - _RUNS_SHOWN
        if hidden > 1 and not page.options.verbose and _RUNS_SHOWN <= place < len(report.runs):
            if place == _RUNS_SHOWN:
                page.add((f"  {page.mark} {hidden} more like these (-v)", "dim"))
            continue
        finding = causes.get(run.id)
        ended = ending(report, run)
        lead = "> " if run is shown else "  "
        stream = f"  {layout.cut_left(line(run.stream), 28, page.mark)}" if run.stream else ""
        text = f"{lead}run {number(place)}  {span(run.started, run.ended)}  {ended}{stream}"
        page.add((layout.cut(text, page.width, page.mark), "title" if run is shown else "dim"))
        if finding is not None and len(report.runs) > 1:
            page.add(
                ("         " + layout.cut(f"{finding.id}: {line(finding.title)}", page.width - 9, page.mark), "dim")
            )


def _stages(page: Page, stages: list[Stage]) -> None:
    cells = [(line(stage.name), "CAUSE" if stage.state == "cause" else line(stage.state)) for stage in stages]
    if sum(len(name) + len(state) + 4 for name, state in cells) - 3 <= page.width:
        spans: list[tuple[str, str]] = []
        for name, state in cells:
            spans += [("   " if spans else "", ""), (f"{name} ", ""), (state, _shade(state))]
        page.add(*spans)
        return
    # Rows of four in columns, or of two on a narrow terminal.
    columns = 4 if page.width >= 70 else 2
    for start in range(0, len(cells), columns):
        spans = []
        for i, (name, state) in enumerate(cells[start : start + columns]):
            width = max(len(" ".join(cell)) for cell in cells[i::columns]) + 3
            spans += [(f"{name} ", ""), (layout.pad(state, width - len(name) - 1), _shade(state))]
        page.add(*spans)


def _shade(state: str) -> str:
    return "dim" if state in ("unknown", "n/a") else state
