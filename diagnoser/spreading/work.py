"""A diagnosis given to a crew: logs to portions, runs to judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import diagnoser
from diagnoser.contracts.findings import Input
from diagnoser.evidence.taken import Taken
from diagnoser.judging.judge import Judgement, judge
from diagnoser.judging.loading import Knowledge
from diagnoser.judging.settling import context, settle
from diagnoser.language import Sentence
from diagnoser.model import Run
from diagnoser.options import Options
from diagnoser.portraits.portrait import Portrait
from diagnoser.session.portions import Portion, Window
from diagnoser.skimming.ahead import LONG, Others
from diagnoser.sources import Source
from diagnoser.spreading import tasks
from diagnoser.spreading.crew import AHEAD, Crew, Lost

#: Workers that one log keeps busy: whoever reads it holds the lines that each of them looks at.
MOST = 6


def read_logs(
    sources: Sequence[Source], crew: Crew, options: Options, window: Window | None = None
) -> dict[int, Portion]:
    """Have the logs read that workers can open; streams and what is in archives stay with the caller."""
    logs = sum(one.kind == "log" for one in sources)
    order = tasks.Order(diagnoser.__version__, options, window, logs).packed()
    places = [at for at, one in enumerate(sources) if one.kind == "log" and _open_elsewhere(one)]
    few_and_long = len(places) * 2 <= crew.size and all((sources[at].size() or 0) >= LONG for at in places)
    if len(places) < 2 or (crew.near and window is None and few_and_long):
        return {}  # there is more to gain where several look ahead in each
    portions: dict[int, Portion] = {}
    given = ((order, sources[at].name, [(part.name, part.where) for part in sources[at].parts]) for at in places)
    for number, result in crew.each(tasks.read, given):
        at = places[number]
        if isinstance(result, Lost):
            name = sources[at].name
            result = Portion(
                Taken([], [], set()), Input(name, "log", "", 0, 0, [Sentence("not read: {why}", why=result.why)])
            )
        portions[at] = result
        # What was found wrong when the input was looked at first is known here only.
        before = [problem.text for problem in sources[at].problems]
        result.input.problems = [*before, *(text for text in result.input.problems if text not in before)]
        for part in sources[at].parts:
            part.done = part.size() or 0
    return portions


def others(crew: Crew, options: Options) -> Others | None:
    """Return who looks ahead in the logs that are read here; what they get is too much for a network."""
    if not crew.near:
        return None
    order = tasks.Order(diagnoser.__version__, options, None, 1).packed()
    return Others(partial(crew.give, tasks.look, order), min(crew.size, MOST) * AHEAD + 1)


def _open_elsewhere(source: Source) -> bool:
    return source.state == "ok" and all(part.elsewhere for part in source.parts)


def judge_runs(
    runs: Sequence[Run], crew: Crew, options: Options, knowledge: Knowledge, starts: Counter[tuple[str, ...]]
) -> tuple[list[Judgement], dict[int, Portrait]]:
    """Have every run judged; one whose worker failed is judged here."""
    before: list[int] = []
    for run in runs:
        writer = (run.stream, *run.sources[:1])
        before.append(starts[writer])
        starts[writer] += 1
    order = tasks.Order(diagnoser.__version__, options, None, 0).packed()
    judgements: dict[int, Judgement] = {}
    portraits: dict[int, Portrait] = {}
    given = ((order, run, restarts) for run, restarts in zip(runs, before, strict=True))
    for at, result in crew.each(tasks.judged, given):
        run, restarts = runs[at], before[at]
        if isinstance(result, Lost):
            settle(run, knowledge, options)
            about = context(run, knowledge, restarts)
            judgements[at] = judge(run, knowledge.base, knowledge.vocabulary, options.inference, about)
        else:
            judgements[at] = tasks.accepted(result, run, knowledge, restarts)
            portraits[run.id] = result.portrait
    return [judgements[at] for at in range(len(runs))], portraits
