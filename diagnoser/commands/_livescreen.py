"""The live screen: figures over time, open findings worst first, what was closed, and how much was read."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from diagnoser.contracts.findings import Evidence, Report, RunReport
from diagnoser.following import Change
from diagnoser.language import phrase
from diagnoser.reports import layout
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.excerpt import excerpt, stems
from diagnoser.reports.safe import line
from diagnoser.reports.summary import engine_name, focus, gpus, parallelism, recognised
from diagnoser.reports.text import figures
from diagnoser.reports.text.page import Page
from diagnoser.reports.units import clock, number, plural
from diagnoser.values import replace

if TYPE_CHECKING:
    from rich.live import Live

#: Lines of figures, servers, closed findings and notes at most.
_FIGURES, _SERVERS, _CLOSED, _NOTES = 10, 4, 4, 2
#: Seconds over which the rate of lines is taken.
_RATE = 5.0
#: Ends of runs in words that fit what goes on.
_STATES = {
    "running": phrase("serving"),
    "cut": phrase("starting"),
    "clean": phrase("stopped"),
    "crash": phrase("CRASHED"),
    "killed": phrase("KILLED"),
}
_FAULTS = ("crash", "killed")


class View(NamedTuple):
    """Everything that the screen shows."""

    names: Sequence[str]
    report: Report | None
    open: Sequence[Change]
    closed: Sequence[Change]
    lines: int
    rate: float
    log_time: str | None
    judged: str
    notes: Sequence[str]


class Screen:
    """Draws on a terminal, on its second screen: what stood there before comes back when it is closed."""

    def __init__(self, names: Sequence[str], judged: str, options: RenderOptions, fixed: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        self._names, self._judged, self._options = names, judged, options
        #: Whether the width was chosen; else it is the terminal's at each moment.
        self._fixed = fixed
        self._console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
        self._live: Live = Live(console=self._console, screen=True, auto_refresh=False, vertical_overflow="crop")
        self._closed: deque[Change] = deque(maxlen=_CLOSED)
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._read: deque[tuple[float, int]] = deque(maxlen=64)

    @property
    def able(self) -> bool:
        """Whether the terminal can be drawn on."""
        return not self._console.is_dumb_terminal

    def open(self) -> None:
        """Take the terminal."""
        self._live.start()

    def close(self) -> None:
        """Give the terminal back."""
        self._live.stop()

    def take(self, changes: Sequence[Change]) -> None:
        """Note what was closed."""
        self._closed.extend(change for change in changes if change.event == "closed")

    def note(self, text: str) -> None:
        """Show a remark about the inputs."""
        self._notes.append(text)

    def draw(
        self, report: Report | None, open_: Sequence[Change], lines: int, log_time: str | None, now: float
    ) -> None:
        """Draw what is known now."""
        from rich.text import Text

        self._read.append((now, lines))
        then, before = next(one for one in self._read if now - one[0] <= _RATE)
        rate = (lines - before) / (now - then) if now > then else 0.0
        closed = list(self._closed)
        view = View(self._names, report, open_, closed, lines, rate, log_time, self._judged, list(self._notes))
        size = self._console.size
        width = min(size.width, self._options.width) if self._fixed else size.width
        options = self._options._replace(width=width)
        self._live.update(Text.from_ansi(picture(view, options, size.height), no_wrap=True), refresh=True)


def picture(view: View, options: RenderOptions, height: int) -> str:
    """Return the screen as text of at most so many lines: what does not fit is left out from below."""
    run = focus(view.report) if view.report is not None and recognised(view.report) else None
    head, found, foot = (Page(options, view.names) for _ in range(3))
    _head(head, view, run)
    _open(found, view)
    _foot(foot, view)
    ends = [part.text().rstrip("\n").split("\n") for part in (head, found, foot)]
    room = height - sum(map(len, ends)) - 2
    shown: list[str] = []
    if view.report is not None and run is not None and room >= 3:
        page = Page(options)
        _figures(page, view.report, run, min(room - 1, _FIGURES))
        shown = [*page.text().rstrip("\n").split("\n")[: room - 1], ""]
    top = [*ends[0], "", *shown, *ends[1]]
    keep = max(1, height - len(ends[2]) - 1)
    if len(top) > keep:
        top = [*top[: keep - 1], options.unicode * "…" or "..."]
    return "\n".join([*top, *[""] * (height - len(top) - len(ends[2])), *ends[2]])


def _head(page: Page, view: View, run: RunReport | None) -> None:
    if run is None:
        page.add((page.say("nothing of an inference server was seen yet"), "title"))
    else:
        state = page.say(_STATES.get(run.end, run.end))
        facts = [engine_name(run, page.say), line(str(run.facts.get("model.name") or "")), gpus(run.facts)]
        items = [one for one in [*facts, parallelism(run.facts)] if one]
        told = layout.cut(page.dot.join(items), page.width - layout.cells(state) - 3, page.mark)
        page.add((told, "title"), page.dot, (state, "critical" if run.end in _FAULTS else "ok"))
    names = page.say(", ").join(page.source(name) for name in islice(view.names, 3))
    if len(view.names) > 3:
        names = page.say("{names} and {count} more").format(names=names, count=len(view.names) - 3)
    said = [
        names,
        plural(view.lines, "line", say=page.say),
        f"{number(view.rate)}/s",
        clock(view.log_time),
        view.judged,
    ]
    page.add((layout.cut(page.dot.join(one for one in said if one), page.width, page.mark), "dim"))


def _figures(page: Page, report: Report, run: RunReport, most: int) -> None:
    told = [name for name in run.figures if not name.startswith("profile.")]
    others = [one for one in report.runs if one is not run][: _SERVERS if len(report.runs) > 1 else 0]
    kept = {name: run.figures[name] for name in told[: max(2, most - len(others))]}
    figures.write(page, report, replace(run, figures=kept))
    for one in others:
        state = page.say(_STATES.get(one.end, one.end))
        levels = [
            f"{page.say(word)} {number(one.figures[name].points[-1] or 0.0)}"
            for name, word in (("requests.running", phrase("running")), ("requests.waiting", phrase("waiting")))
            if name in one.figures and one.figures[name].points
        ]
        told = [line(one.stream or next(iter(one.sources), "")), state]
        page.add((layout.cut(page.dot.join([*told, *levels]), page.width, page.mark), "dim"))


def _open(page: Page, view: View) -> None:
    if not view.open:
        page.add((page.say("no open findings"), "ok"))
    for change in view.open:
        one = change.finding
        lead = layout.pad(page.say(one.severity).upper(), 9)
        name = line(one.id)
        title = layout.cut(line(one.title), page.width - layout.cells(lead) - layout.cells(name) - 2, page.mark)
        fill = page.width - layout.cells(lead) - layout.cells(title) - layout.cells(name)
        page.add(
            (lead.rstrip(), one.severity),
            " " * (len(lead) - len(lead.rstrip())),
            (title, "title"),
            " " * fill,
            (name, "dim"),
        )
        since = page.say("since {time}").format(time=clock(change.since)) if clock(change.since) else ""
        where = ", ".join(change.servers) if len(view.report.runs if view.report else ()) > 1 else ""
        items = [
            since,
            page.say(one.confidence),
            page.say("consequence") if one.role == "consequence" else "",
            line(where),
            line(one.impact),
        ]
        page.add("   ", layout.cut(page.dot.join(item for item in items if item), page.width - 3, page.mark))
        proof = _latest(one.evidence)
        if proof is not None:
            place = f"   {page.source(proof.source)}:{proof.line}  {clock(proof.time)}  "
            words = stems(page.say.english(one.title), one.id, one.impact)
            page.add((place, "dim"), excerpt(proof.text, words, max(20, page.width - layout.cells(place)), page.mark))
    for change in reversed(view.closed):
        title = page.say("{event} ({reason})").format(event=line(change.finding.title), reason=page.say(change.reason))
        told = f"{layout.pad(page.say('closed'), 9)}{clock(change.time)}  {title}"
        page.add((layout.cut(told, page.width, page.mark), "dim"))


def _foot(page: Page, view: View) -> None:
    for note in view.notes:
        page.add((layout.cut(line(note), page.width, page.mark), "dim"))
    page.add((page.say("Ctrl-C ends with the full report"), "dim"))


def _latest(evidence: Sequence[Evidence]) -> Evidence | None:
    timed = [one for one in evidence if one.time]
    return max(timed, key=lambda one: one.time or "") if timed else next(iter(evidence), None)
