"""The head of the report: which server, how long, how it ended, and the state of the eight stages."""

from __future__ import annotations

from diagnoser.contracts.findings import Input, Report, RunReport, Stage
from diagnoser.language import Say
from diagnoser.reports import layout
from diagnoser.reports.safe import line
from diagnoser.reports.summary import (
    answer,
    answers,
    ending,
    engine_name,
    focus,
    gpus,
    parallelism,
    recognised,
    which_run,
)
from diagnoser.reports.text import fleet
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
        for piece in layout.flow(_identity(page, report, shown), page.width, page.dot):
            page.add((piece, ""))
    for piece in layout.flow(_extent(page, report, shown), page.width, page.dot):
        page.add((piece, "dim"))
    for note in (*answers(report, page.say), *(shown.notes if shown is not None else ())):
        for piece in layout.wrap(line(note), page.width):
            page.add((piece, "dim"))
    if shown is not None and report.fleet is not None:
        page.gap()
        fleet.write(page, report)
    elif shown is not None and len(report.runs) > 1:
        page.gap()
        _runs(page, report, shown)
    if report.stages and shown is not None:
        page.gap()
        _stages(page, report.stages)
    page.gap()
    return shown


def _verdict(page: Page, report: Report) -> None:
    """Write the answer first: the rest of the page is its proof."""
    level, told = answer(report, page.say)
    if not level:
        page.add((told.capitalize(), "ok" if report.healthy else "title"))
        return
    lead = page.say.pair(page.say(level).upper(), "")
    used, mark = layout.cells(lead), lead.rstrip()
    for i, piece in enumerate(layout.wrap(told, page.width - used)):
        page.add(
            (mark, level) if i == 0 else " " * layout.cells(mark), " " * (used - layout.cells(mark)), (piece, "title")
        )


def _identity(page: Page, report: Report, run: RunReport) -> list[str]:
    items = [
        engine_name(run, page.say),
        line(str(run.facts.get("model.name") or "")),
        gpus(run.facts),
        parallelism(run.facts),
        which_run(report, run, page.say),
    ]
    return [item for item in items if item]


def _extent(page: Page, report: Report, run: RunReport | None) -> list[str]:
    say = page.say
    # What was judged stands before what was only recognised.
    names = [_named(source, say) for source in sorted(report.inputs, key=lambda source: source.kind != "log")]
    sources = ", ".join(names[:_INPUTS_SHOWN])
    if len(names) > _INPUTS_SHOWN:
        sources = say("{names} and {count} more").format(names=sources, count=len(names) - _INPUTS_SHOWN)
    lines = sum(source.lines for source in report.inputs)
    if run is None:
        return [sources, plural(lines, "line", say=say)]
    envelopes = sorted({line(source.envelope) for source in report.inputs if _wrapped(source)})
    wrapped = "".join(f"{say(', ')}{name}" for name in envelopes)
    items = [sources, span(run.started, run.ended), plural(lines, "line", say=say) + wrapped]
    if run.stats_samples:
        samples = plural(run.stats_samples, "stat sample", say=say)
        every = duration(run.stats_interval) if run.stats_interval else ""
        items.append(say("{samples}, every {interval}").format(samples=samples, interval=every) if every else samples)
    elif not run.scrapes and not any(say("statistics") in note for note in run.notes):
        items.append(say("no statistics lines"))
    if run.scrapes:
        items.append(plural(run.scrapes, "scrape", say=say))
    if not run.complete_start and run.lines:
        items.append(say("begins in the middle of this run"))
    return [item for item in items if item]


def _named(source: Input, say: Say) -> str:
    """Return an input's name; of metrics how many scrapes it has over what time, for rates are of that time only."""
    name, live = line(source.name), "://" in source.name
    if not source.scrapes or not (live or source.scrapes > 1):
        return name
    told = plural(source.scrapes, "scrape", say=say)
    if source.seconds:
        told = say("{scrapes} over {duration}").format(scrapes=told, duration=duration(source.seconds))
    elif source.scrapes == 1:
        told = say("{scrapes}, so no rates").format(scrapes=told)
    if live and source.kind == "prometheus" and (source.seconds or 0) < _BRIEF:
        told = say("{scrapes}; --for 60s sees more").format(scrapes=told)
    return f"{name} ({told})"


def _wrapped(source: Input) -> bool:
    return source.envelope not in ("", "plain", "none", "bare")


def _runs(page: Page, report: Report, shown: RunReport | None) -> None:
    causes = {run: finding for finding in reversed(report.findings) if finding.role == "root" for run in finding.runs}
    for place, run in enumerate(report.runs, 1):
        hidden = len(report.runs) - _RUNS_SHOWN
        if hidden > 1 and not page.options.verbose and _RUNS_SHOWN <= place < len(report.runs):
            if place == _RUNS_SHOWN:
                more = page.say("{count} more like these (-v)").format(count=hidden)
                page.add((f"  {page.mark} {more}", "dim"))
            continue
        finding = causes.get(run.id)
        ended = ending(report, run, page.say)
        lead = "> " if run is shown else "  "
        stream = f"  {layout.cut_left(line(run.stream), 28, page.mark)}" if run.stream else ""
        name = page.say("run {number}").format(number=number(place))
        text = f"{lead}{name}  {span(run.started, run.ended)}  {ended}{stream}"
        page.add((layout.cut(text, page.width, page.mark), "title" if run is shown else "dim"))
        if finding is not None and len(report.runs) > 1:
            page.add(
                ("         " + layout.cut(f"{finding.id}: {line(finding.title)}", page.width - 9, page.mark), "dim")
            )


def _stages(page: Page, stages: list[Stage]) -> None:
    states = ["CAUSE" if stage.state == "cause" else stage.state for stage in stages]
    cells = [
        (line(page.say(stage.name)), line(page.say(state)), _shade(state))
        for stage, state in zip(stages, states, strict=True)
    ]
    if sum(layout.cells(name + state) + 4 for name, state, _ in cells) - 3 <= page.width:
        spans: list[tuple[str, str]] = []
        for name, state, style in cells:
            spans += [("   " if spans else "", ""), (f"{name} ", ""), (state, style)]
        page.add(*spans)
        return
    # Rows of four in columns, or of two on a narrow terminal.
    columns = 4 if page.width >= 70 else 2
    for start in range(0, len(cells), columns):
        spans = []
        for i, (name, state, style) in enumerate(cells[start : start + columns]):
            width = max(layout.cells(f"{one} {other}") for one, other, _ in cells[i::columns]) + 3
            spans += [(f"{name} ", ""), (layout.pad(state, width - layout.cells(name) - 1), style)]
        page.add(*spans)


def _shade(state: str) -> str:
    return "dim" if state in ("unknown", "n/a") else state
